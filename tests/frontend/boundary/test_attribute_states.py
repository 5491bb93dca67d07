# SPDX-License-Identifier: Apache-2.0
"""Attributes kept from call to call: what they hold, and what is written to them on some paths."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check


class Anchors(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
        self.kind = "f"

    def forward(self, x):
        self.scales = [s.to(x.dtype) for s in self.scales]
        self.kind = "f" if x.dtype == torch.float32 else "d"
        return x * self.scales[0] if x.sum() > 0 else x + self.scales[1]


def test_attributes_assigned_what_they_hold():
    check(Anchors, [(T(1, 2),), (T(-1, -2),)])


class Plan:
    def __init__(self, scale):
        self.scale = scale


class FirstCallDiffers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache, self.mode, self.plan = None, "a", None

    def forward(self, x):
        first = self.cache is None
        if first:
            self.cache, self.plan = [torch.arange(2.0) + 1, 3], Plan(1.0)
        x, mode = x * self.plan.scale, self.mode
        self.mode = {"a": "b", "b": "c", "c": "a"}[mode] if x.sum() > 0 else mode
        bias = {"a": 1, "b": 2, "c": 3}[mode]
        return x * self.cache[0] + bias if x.sum() > 0 else x - self.cache[1] - (10 if first else bias)


def test_attributes_that_hold_one_of_a_few_values(tmp_path):
    """A cache filled by the first call, a mode by name: each value is known, which one is a number of run time."""
    inputs = [(T(1, 2),), (T(-1, -2),), (T(1, 2),), (T(1, 2),), (T(1, 2),), (T(-1, -2),)]
    check(FirstCallDiffers, inputs)
    check(FirstCallDiffers, inputs[1:])
    dycl.compile(FirstCallDiffers().eval(), inputs[0]).save(tmp_path / "p.dycl")
    loaded, eager = dycl.load(tmp_path / "p.dycl"), FirstCallDiffers()
    for args in inputs:
        assert torch.equal(loaded(*args), eager(*args))
    model = FirstCallDiffers().eval()
    program = dycl.compile(model, inputs[0])
    model.mode = "unknown"
    with pytest.raises(ValueError, match="another value"):
        program(*inputs[0])


class Setting:
    state = 1

    def __init__(self, value):
        self.value = value

    def __enter__(self):
        self.old = Setting.state
        Setting.state = self.value

    def __exit__(self, *_):
        Setting.state = self.old


def with_settings(x):
    with Setting(2):
        y = x * Setting.state if x.sum() > 0 else x - Setting.state
        with Setting(5):
            y = y + Setting.state
    return y + Setting.state


def test_class_attributes_set_and_put_back():
    check(with_settings, [(T(1, 2),), (T(-1, -2),)])
    assert Setting.state == 1


class Neuron(torch.nn.Module):
    """As spiking layers do: the membrane is a number, or empty, before the first call."""

    def __init__(self):
        super().__init__()
        self.v, self.name = 0.0, "rest"
        self.register_buffer("trace", torch.zeros(0))

    def forward(self, x):
        if self.trace.shape != x.shape:
            self.trace = torch.zeros_like(x)
        self.trace = self.trace * 0.5 + x
        self.v = self.v + x
        if self.v.sum() > 3:
            self.v = 0.0
            return x + self.trace
        return self.v * 2


def test_tensor_attributes_that_are_something_else_at_first(tmp_path):
    inputs = [(T(1, 1),), (T(0.5, 1),), (T(2, 2),), (T(-1, -2),), (T(4, 4),)]
    check(Neuron, inputs)
    check(Neuron, inputs[2:])
    dycl.compile(Neuron().eval(), inputs[0]).save(tmp_path / "p.dycl")
    loaded, eager = dycl.load(tmp_path / "p.dycl"), Neuron()
    for args in inputs:
        assert torch.allclose(loaded(*args), eager(*args))


class GrowingState(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = torch.zeros(0)

    def forward(self, x):
        self.memory = torch.cat([self.memory, x])
        return self.memory.sum()


def test_a_tensor_attribute_that_grows():
    check(GrowingState, [T(1, 2), T(3, 4), T(-1, 0)], paths=1)


class Memories(torch.nn.Module):
    """State in a dict that is read as a whole: values(), items(), **, copies."""

    def __init__(self):
        super().__init__()
        self.memory, self.counts, self.spread, self.copied = {"v": 0.0}, {"n": 0}, {"k": 1}, {"c": 2}

    def forward(self, x):
        (v,) = tuple(self.memory.values())
        v = torch.full_like(x, v) if isinstance(v, float) else v
        for name, value in zip(self.memory.keys(), (v * 0.5 + x,)):
            self.memory[name] = value
        for name, n in self.counts.items():
            self.counts[name] = n + 1
        self.spread["k"] = dict(**self.spread)["k"] + 2
        self.copied["c"] = self.copied.copy()["c"] + 3
        return v if x.sum() > 0 else v + self.counts["n"] + self.spread["k"] + self.copied["c"]


def test_states_in_dicts_read_as_wholes():
    check(Memories, [(T(1, 2),), (T(-1, -2),), (T(3, 4),), (T(-3, -2),)])


class OwnDict(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.m = 0, 1

    def forward(self, x):
        mine = self.__dict__
        mine["n"] = mine["n"] + 1
        self.m = sum(v for k, v in vars(self).items() if k == "m") + 2
        return x + self.n if x.sum() > 0 else x - mine["m"]


def test_states_by_way_of_an_objects_dict():
    check(OwnDict, [(T(1, 2),), (T(-1, -2),), (T(3, 4),)])


class HooksInForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        seen = []
        handle = self.inner.register_forward_hook(lambda module, args, output: seen.append(output) or output * 2)
        y = self.inner(x)
        handle.remove()
        return y, seen, self.inner(x) if x.sum() > 0 else x


def test_hooks_set_and_removed_by_forward():
    check(HooksInForward, [(T(1, 2),), (T(-1, -2),)])


class CachedOnFirstCall(torch.nn.Module):
    """A table filled on the first call, as rotary embeddings keep it, under a decorator of torch."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(8, 2), persistent=False)
        self.filled = 0

    @torch.amp.autocast("cuda", enabled=False)
    def rows(self, t):
        if t.shape[0] <= self.filled:
            return self.table[: t.shape[0]]
        rows = t[:, None] * torch.tensor([1.0, 2.0])
        self.table[: t.shape[0]] = rows.detach()
        self.filled = t.shape[0]
        return rows

    def forward(self, x):
        t = torch.arange(3.0) + x[0]
        return self.rows(t) + self.rows(t)


def test_caches_under_a_decorator_of_autocast():
    check(CachedOnFirstCall, [(T(1, 2),), (T(3, 4),)])


class ReplacesWhatItAppendedTo(torch.nn.Module):
    """Where the new list equals the old one as it is by then, the assignment was taken for no change."""

    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, x):
        self.log.append(x)
        if x.max() < -1:
            self.log = [x]
        return x + 1


def test_a_list_appended_to_and_replaced():
    check(ReplacesWhatItAppendedTo, [(T(1, 2),), (T(-3, -2),), (T(3, 4),), (T(-5, -6),), (T(-5, -7),)])


def positive(x):
    return x.sum() > 0


class Adds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.steps = 0

    def forward(self, x):
        self.total.add_(x)
        self.steps += 1
        return self.total * self.steps if positive(x) else x


def test_a_buffer_that_was_replaced_between_calls():
    eager, subject = Adds(), Adds()
    program = dycl.compile(subject, (T(1, 2),))
    for new in (None, T(7, 7), None, T(5, 5)):
        for model in (eager, subject) if new is not None else ():
            model.total = new.clone()
        assert torch.equal(eager(T(1, 2)), program(T(1, 2))) and torch.equal(eager.total, subject.total)
    subject.double()
    with pytest.raises(dycl.InputError, match="f64"):
        program(T(1, 2))


def test_a_counter_beyond_64_bits():
    subject = Adds()
    program = dycl.compile(subject, (T(1, 2),))
    subject.steps = 2**70
    with pytest.raises(OverflowError):
        program(T(1, 2))


def test_results_kept_under_the_identity_of_a_tensor_are_refused_with_the_place():
    kept = {}

    def program(x, y):
        key = id(x), id(y)
        if key not in kept:
            kept[key] = x * y
        return kept[key]

    with pytest.raises(dycl.CompileError, match=r"why the last began anew: .* is one of a few values\n.*such as id\(x\)"
                       ) as error:
        dycl.compile(program, (torch.ones(3), torch.ones(3)), max_restarts=3)
    assert error.value.kind == "restarts"
