# SPDX-License-Identifier: Apache-2.0
"""What a call wrote before it raised stays written, as in eager: buffers, attributes, inputs, containers.

PYTEST_DONT_REWRITE: the models' own asserts are compiled as they stand.
"""

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import I, T, check, outcome

GOOD, BAD = T(1.0, 1.0), T(-1.0, -2.0)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.steps = 0

    def forward(self, x):
        self.total += x
        self.steps += 1
        if x.sum() < 0:
            raise ValueError(f"negative after {self.steps}")
        return self.total * 2


def test_a_buffer_and_a_number():
    check(Counts, [GOOD, BAD, GOOD, BAD, BAD, GOOD])


def test_the_message_counts_on():
    program = dycl.compile(Counts().eval(), (GOOD,))
    for k in (1, 2):
        with pytest.raises(ValueError, match=f"negative after {k}"):
            program(BAD)


class OnlyIfItRaises(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bad", torch.zeros(()))
        self.failed = 0

    def forward(self, x):
        if x.sum() < 0:
            self.bad += 1
            self.failed += 1
            raise ValueError("no")
        return x * (1 + self.failed)


def test_written_on_no_way_that_returns():
    check(OnlyIfItRaises, [GOOD, BAD, GOOD, BAD, GOOD])


def test_compiled_on_inputs_that_raise():
    check(OnlyIfItRaises, [BAD, GOOD, BAD, GOOD])


class Asserts(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(2)
        self.mode = "none"

    def forward(self, x):
        self.last = x * 2
        self.mode = "seen"
        assert x.sum() > 0, "not positive"
        return x + 1


def test_an_attribute_and_assert():
    check(Asserts, [GOOD, BAD, GOOD * 3, BAD * 2])


class ReadsItsAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(2)

    def forward(self, x):
        before = self.last
        self.last = before + x
        assert x.sum() > 0
        self.last = self.last * 2
        return before


def test_an_attribute_that_is_read():
    check(ReadsItsAttribute, [GOOD, BAD, GOOD, BAD, GOOD])


def test_inputs_written_in_place():
    def f(x, y):
        x += 1
        y[0] = 9
        if x.sum() < 0:
            raise RuntimeError("too small")
        y[1] = 7
        return x * y

    check(f, [(GOOD, T(0.0, 0.0)), (T(-3.0, -3.0), T(0.0, 1.0)), (GOOD, BAD)])


def test_an_input_written_only_before_a_raise():
    def f(x, k):
        if k > 2:
            x.mul_(2)
            raise RuntimeError("k")
        return x + 1

    program = check(f, [(GOOD, I(1)), (GOOD, I(3)), (GOOD, I(2))])
    both = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ValueError, match="shares memory"):
        program(both.view(torch.float32)[:2], both[0])


def test_arms_that_raise_differently():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.zeros(2))
            self.register_buffer("b", torch.zeros(2))
            self.why = 0

        def forward(self, x):
            self.a += x
            if x[0] > 5:
                self.why = 1
                raise ValueError("first")
            self.b -= x
            if x[1] > 5:
                self.why = 2
                self.a.zero_()
                raise KeyError("second")
            if x.sum() < 0:
                raise RuntimeError("third")
            self.why = 0
            return self.a + self.b + self.why

    check(Net, [GOOD, T(6.0, 0.0), T(0.0, 7.0), BAD, GOOD, T(9.0, 9.0), GOOD])


def test_in_a_loop():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))
            self.rounds = 0

        def forward(self, x, n):
            for k in range(int(n)):
                self.seen += x
                self.rounds += 1
                if self.seen.sum() > 6:
                    raise ValueError(f"round {k}")
            return self.seen.clone()

    check(Net, [(GOOD, I(2)), (GOOD, I(5)), (BAD, I(3)), (GOOD * 4, I(4)), (BAD, I(6)), (GOOD, I(0))])


def test_in_a_function_that_is_called():
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.hits = 0

        def forward(self, x):
            self.hits += 1
            if x.max() > 4:
                raise ValueError("part")
            return x * self.hits

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            y = self.part(x)
            return self.part(y + 1) + self.calls

    check(Net, [GOOD, T(5.0, 0.0), GOOD, T(0.0, 2.0), BAD])


def test_lists_and_dicts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []
            self.best = {"x": None, "n": 0}

        def forward(self, x):
            self.log.append(x * 2)
            self.best["x"] = x + 1
            if x.sum() < 0:
                self.log.append("bad")
                raise ValueError("negative")
            return x

    check(Net, [GOOD, BAD, GOOD, BAD])


def test_containers_of_the_caller():
    def f(items, table):
        items.append(items[0] + 1)
        table["seen"] = items[0] * 3
        items[0][1] = 8
        if items[0].sum() < 0:
            raise ValueError("negative")
        return items[-1]

    check(f, [([GOOD.clone()], {"a": GOOD.clone()}), ([T(-20.0, 1.0)], {"a": BAD.clone()})])


def test_caught_inside_the_model():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tries = 0
            self.caught = 0

        def risky(self, x):
            self.tries += 1
            if x.sum() < 0:
                raise ValueError("negative")
            return x

        def forward(self, x):
            try:
                return self.risky(x)
            except ValueError:
                self.caught += 1
                if x[0] < -5:
                    raise RuntimeError("far too negative") from None
                return -x

    check(Net, [GOOD, BAD, T(-6.0, 0.0), GOOD, BAD])


def test_finally_writes_too():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.open = 0
            self.done = 0

        def forward(self, x):
            self.open += 1
            try:
                if x.sum() < 0:
                    raise ValueError("negative")
                return x + self.open
            finally:
                self.open -= 1
                self.done += 1

    check(Net, [GOOD, BAD, GOOD])


def test_numbers_that_only_run_time_knows():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.best = 0.0
            self.place = 0

        def forward(self, x):
            if x.max().item() > self.best:
                self.best = x.max().item()
                self.place = int(x.argmax())
            if self.place == 1 and self.best > 3:
                raise IndexError(self.place)
            return x * self.best

    check(Net, [GOOD, T(2.0, 1.0), T(0.0, 9.0), T(1.0, 1.0)])


def test_an_attribute_of_a_few_values():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = None

        def forward(self, x):
            if self.cache is None:
                self.cache = x * 2
            else:
                self.cache = self.cache + x
            if x.sum() < 0:
                raise ValueError("negative")
            return self.cache + 1

    check(Net, [BAD, GOOD, BAD, GOOD])


@pytest.mark.parametrize("backend", ["reference", "ort"])
def test_other_engines(backend):
    check(Counts, [GOOD, BAD, GOOD], backend=backend)


def test_a_loaded_program_keeps_states_and_inputs(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(2))

        def forward(self, x):
            self.total += 1
            x += self.total
            if x.sum() < 0:
                raise ValueError("negative")
            return self.total.clone()

    dycl.compile(Net().eval(), (GOOD.clone(),)).save(tmp_path / "m.dycl")
    loaded, eager = dycl.load(tmp_path / "m.dycl"), Net().eval()
    for given in (GOOD, BAD * 9, GOOD, BAD * 20, GOOD):
        ours, theirs = given.clone(), given.clone()
        kind, value = outcome(eager, (ours,), {})
        told, got = outcome(loaded, (theirs,), {})
        assert kind == told and (type(value) is type(got))
        assert torch.equal(ours, theirs)
        if kind == "returned":
            assert torch.equal(value, got)


def test_nothing_written_nothing_kept():
    def f(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x + 1

    assert "  keep " not in check(f, [GOOD, BAD]).ir_text


def test_results_are_not_more_for_it():
    """A raise needs no room among the results; a state has one name."""
    def f(x):
        if x.sum() < 0:
            x.mul_(2)
            raise ValueError("negative")
        return x + 1

    program = dycl.compile(f, (GOOD.clone(),))
    assert [name for name, _ in program._engine.program.outputs] == ["out0"]
    assert 'names=["x_after"]' in program.ir_text
    text = dycl.compile(OnlyIfItRaises().eval(), (GOOD,)).ir_text
    assert text.count("@OnlyIfItRaises.failed\"") == 1 and "case" not in text


class LooksUp(nn.Module):
    """A transducer's bookkeeping: attributes set, counted on, and taken away at the end;
    the look-up between may fail."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.register_buffer("total", torch.zeros(()))
        self.steps = 0

    def forward(self, tokens):
        self.finished = None
        self.total = self.total + tokens.sum()
        self.steps += 1
        row = self.table(tokens)
        self.finished = row > 0
        found = row.sum() * 2 if self.finished.any() else row.sum()
        del self.finished
        return found


def test_an_operation_that_fails_leaves_all_as_it_was():
    """Not as in eager, which has written: docs/supported_python.md, known differences. Later calls are right."""
    eager, subject = LooksUp().eval(), LooksUp().eval()
    subject.load_state_dict(eager.state_dict())
    program = dycl.compile(subject, (I(1, 2),))
    assert torch.allclose(program(I(1, 2)), eager(I(1, 2)))
    with pytest.raises(IndexError):
        eager(I(1, 7))
    with pytest.raises(IndexError):
        program(I(1, 7))
    assert hasattr(eager, "finished") and eager.steps == 2
    assert not hasattr(subject, "finished") and subject.steps == 1 and subject.total == 3
    assert torch.allclose(program(I(0, 3)), eager(I(0, 3)))
    assert subject.steps == 2 and subject.total == 6
