# SPDX-License-Identifier: Apache-2.0
"""Values of which only the run says what kind they are: paths that differ in them merge where they are many."""

import pytest
import torch

import dycl
from dycl.frontend.values import one_of
from tests.frontend.support.compare import differences


def rows(count, *shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for _ in range(count)]


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """Those that a compilation made."""
    found = []
    met = one_of.met
    monkeypatch.setattr(one_of, "met", lambda *args: found.append(met(*args)) or found[-1])
    return found


def check(made, program, inputs, blocks=None, **options):
    """Equal to eager on all inputs, and not captured path by path."""
    compiled = dycl.compile(program, (inputs[0],), **options)
    assert made
    assert blocks is None or compiled.report()["blocks"] < blocks
    for x in inputs:
        assert not differences(program(x), compiled(x), "result")
    return compiled


def slots(x):
    found = [None] * 8
    for i in range(8):
        if x[i] > 0:
            found[i] = x[i] * 2
    total, n = 0, 0
    for one in found:
        if one is not None:
            total = total + one
            n += 1
    return total, n, found[0]


def test_a_list_is_filled_on_some_paths(made):
    check(made, slots, rows(40, 8), blocks=400)  # 2**8 paths


def test_places_known_only_at_run_time(made):
    def program(x):
        found = [None] * 4
        for rank, i in enumerate(sorted(range(4), key=lambda i: x[i].item())):
            found[i] = x[i] * rank
        return torch.stack(found), found

    check(made, program, rows(40, 4), blocks=200)


@pytest.mark.parametrize("copied", [lambda found: [*found], list, tuple, lambda found: found[:]])
def test_a_copy_of_a_list_looks_at_none_of_its_elements(made, copied):
    def program(x):
        found = [None] * 7
        for i in range(7):
            if x[i] > 0:
                found[i] = x[i] * 2
        total = 0
        for one in copied(found):
            total = total if one is None else total + one
        return total

    check(made, program, rows(20, 7), blocks=100)  # 2**7 paths


def test_a_join_of_tensors_fails_at_the_first_element_that_is_none():
    def program(x):
        found = [None] * 6
        for i in range(6):
            if x[i] > -1:
                found[i] = x[i]
        return torch.stack(found)

    inputs = [torch.ones(6), torch.tensor([1.0, -2.0, 1.0, -2.0, 1.0, 1.0])]
    compiled = dycl.compile(program, (inputs[0],), max_variants=1)
    assert torch.equal(compiled(inputs[0]), program(inputs[0]))
    with pytest.raises(TypeError) as eager:
        program(inputs[1])
    with pytest.raises(TypeError, match="element 1 in argument 0") as ours:
        compiled(inputs[1])
    assert str(ours.value).splitlines()[0] in str(eager.value) or str(eager.value) in str(ours.value)


@pytest.mark.parametrize("values", ["None, x * 2", "1, x * 2", "1, 2.5", "x * 2, x[0]", "True, 3"])
def test_of_all_kinds(made, values):
    """Looked at by operators, tests, calls, attributes and formats."""
    space = {"torch": torch}
    exec(f"""
def program(x):
    pair = ({values})
    v = pair[0] if x[0] > 0 else pair[1]
    w = pair[1] if x[1] > 0 else pair[0]
    kept = {{"v": v, "w": [w, v]}}
    def size(y):
        if y is None:
            return -1
        if isinstance(y, torch.Tensor):
            return y.dim() + 10
        return y
    found = [size(v), size(kept["w"][0]), v is None, type(v) is type(w), bool(v is not None)]
    if isinstance(w, float):
        found.append(w * 2 + 1)
    return found, kept, (v, w)
""", space)
    check(made, space["program"], rows(12, 4), max_variants=1)


def test_an_object_keeps_them(made):
    class Best:
        def __init__(self):
            self.value, self.at = None, -1

        def offer(self, value, at):
            if self.value is None or value > self.value:
                self.value, self.at = value, at

    def program(x):
        best = Best()
        for i in range(6):
            if x[i] > 0.3:
                best.offer(x[i].item(), i)
        return best.value, best.at

    check(made, program, [*rows(20, 6), -torch.ones(6)], max_variants=1)


def test_a_loop_whose_end_the_run_decides_hands_them_on(made):
    def program(x):
        last, n = None, 0
        while x.sum() > 1 and n < 5:
            last = x.max().item() if x[0] > 0 else last
            x = x - 0.5
            n += 1
        return last, n

    check(made, program, [*rows(20, 4), torch.ones(4) * 3], max_variants=1)


def test_a_write_in_place_keeps_the_paths_apart(made):
    def program(x):
        a = x * 2
        v = a if x[0] > 0 else None
        w = x + 1 if x[1] > 0 else None
        a += 1
        if v is not None:
            v += 1
        return a, v, w

    check(made, program, rows(12, 4), max_variants=1)


@pytest.mark.parametrize("made_of", [lambda x: x.reshape(2, 2).t(), lambda x: x.expand(3, 4)])
def test_a_program_may_ask_how_a_tensor_lies_in_memory(made, made_of):
    def program(x):
        y = made_of(x)
        v = y if x[0] > 0 else None
        w = y if x[1] > 0 else None
        return v is None or v.stride(), v is None or v.is_contiguous(), w

    check(made, program, [-torch.ones(4), *rows(12, 4)], max_variants=1)


def test_native_code_meets_none_of_them(made):
    def program(x):
        v = 1 if x[0] > 0 else 2.5
        w = [v, 3] if x[1] > 0 else [3, v]
        return torch.tensor(w), max(w), sorted(w), sum(w), f"{v}", w == [3, 1], v in w, {v: 1}

    check(made, program, rows(12, 4), max_variants=1)


def test_lists_that_hold_each_other_hold_them(made):
    def program(x):
        parent = [None, None, None]
        child = [None, parent, parent]
        parent[1:] = [child, child]
        for i in range(2):
            if x[i] > 0:
                (parent, child)[i][0] = x[i] * 2
        return parent

    compiled = dycl.compile(program, (torch.ones(2),), max_variants=1)
    assert made
    for x in (torch.ones(2), -torch.ones(2), torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 1.0])):
        ours, eager = compiled(x), program(x)
        assert ours[1] is ours[2] and ours[1][1] is ours
        assert not differences([eager[0], eager[1][0]], [ours[0], ours[1][0]], "result")


def test_between_calls_only_what_it_is_is_kept():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            v = x * 2 if x[0] > 0 else None
            w = x if x[1] > 0 else None
            self.last = v
            return v, w

    ours, eager = Model().eval(), Model().eval()
    inputs = rows(12, 4)
    compiled = dycl.compile(ours, (inputs[0],), max_variants=1)
    for x in inputs:
        assert not differences(eager(x), compiled(x), "result")
        assert not differences(eager.last, ours.last, "state")
