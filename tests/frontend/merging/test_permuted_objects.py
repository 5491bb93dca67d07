# SPDX-License-Identifier: Apache-2.0
"""Objects that one arm swaps, rotates or sorts: paths merge where every alias agrees, and only there."""

import pytest
import torch

from tests.frontend.support.harness import T, check

INPUTS = [(T(1, 2, 3),), (T(-1, 5, 2),), (T(3, -2, 1),), (T(-3, -2, -1),), (T(2, 2, 2),)]


class Box:
    def __init__(self, value):
        self.value, self.items, self.other = value, [], None


def swapped(x):
    a, b = [x], [x * 2]
    if x[0] > 0:
        a, b = b, a
    a.append(x + 1)
    b[0] = b[0] - 1
    return a, b


def swapped_beside_another_name(x):
    a, b = [x], [x * 2]
    first = a
    if x[0] > 0:
        a, b = b, a
    a.append(x + 1)
    return a, b, first, first is a


def swapped_in_a_holder_that_stays(x):
    a, b = [x], [x * 2]
    holder = {"first": a, "second": (b,)}
    if x[0] > 0:
        a, b = b, a
    a.append(x + 1)
    holder["second"][0].append(x - 1)
    return a, b, holder


def swapped_with_a_holder_made_later(x):
    a, b = [x], [x * 2]
    if x[0] > 0:
        a, b = b, a
    holder = {"first": a}
    holder["first"].append(x + 1)
    return a, b, holder["first"] is a, holder["first"] is b


def swapped_in_a_closure(x):
    a, b = [x], [x * 2]

    def add(value):
        a.append(value)

    other = a
    if x[0] > 0:
        a, b = b, a
    add(x + 1)
    return a, b, other


def rotated(x):
    a, b, c = [x], [x * 2], [x * 3]
    if x[0] > 0:
        a, b, c = b, c, a
    elif x[1] > 0:
        a, b, c = c, a, b
    a.append(x)
    b.append(x + 1)
    c.append(x + 2)
    return a, b, c


def linked(x):
    a, b = Box(x), Box(-x)
    a.other, b.other = b, a
    if x[0] > 0:
        a, b = b, a
    a.items.append(x)
    a.other.value = a.other.value + 1
    return a.value, b.value, len(a.items), len(b.items), a.other is b, b.other.other is b


def one_way(x):
    a, b = Box(x), Box(-x)
    a.other = b
    if x[0] > 0:
        a, b = b, a
    b.value = b.value * 2
    return a.value, b.value, a.other is b, b.other is None


def keys(x):
    a, b = Box(x), Box(-x)
    names = {a: "a", b: "b"}
    if x[0] > 0:
        a, b = b, a
    return names[a], names[b], a.value


def sorted_in_place(x):
    boxes = [Box(v) for v in x]
    boxes.sort(key=lambda box: float(box.value))
    boxes[0].items.append(x)
    boxes[-1].value = boxes[-1].value + 10
    return [box.value for box in boxes], [len(box.items) for box in boxes]


def sorted_beside_their_first_order(x):
    boxes = [Box(v) for v in x]
    by_value = sorted(boxes, key=lambda box: float(box.value), reverse=True)
    by_value[0].items.append(x)
    by_value[-1].value = by_value[-1].value + 10
    return [box.value for box in boxes], [len(box.items) for box in boxes], by_value[0] is boxes[0]


def sorted_twice(x):
    rows = [[v, i] for i, v in enumerate(x.tolist())]
    rows.sort()
    rows[0].append(7)
    rows.sort(key=lambda row: -row[1])
    return rows


def kept_in_an_attribute(x):
    box = Box(x)
    a, b = [x], [x * 2]
    box.items = a
    if x[0] > 0:
        a, b = b, a
    b.append(x + 1)
    return box.items, a, b, box.items is a


def swapped_elements(x):
    rows = [[x], [x * 2], [x * 3]]
    if x[0] > 0:
        rows[0], rows[2] = rows[2], rows[0]
    rows[0].append(x)
    rows[1].extend(rows[2])
    return rows


def swapped_while_iterated(x):
    a, b = [x], [x * 2]
    it = iter(a)
    if x[0] > 0:
        a, b = b, a
    a.append(x + 1)
    return list(it), a, b


def swapped_in_a_loop(x):
    a, b = [x.sum()], [x.sum() * 2]
    for v in x:
        if v > 0:
            a, b = b, a
        a.append(v)
    return a, b


PROGRAMS = [swapped, swapped_beside_another_name, swapped_in_a_holder_that_stays, swapped_with_a_holder_made_later,
            swapped_in_a_closure, rotated, linked, one_way, keys, sorted_in_place, sorted_beside_their_first_order,
            sorted_twice, kept_in_an_attribute, swapped_elements, swapped_while_iterated,
            swapped_in_a_loop]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_objects_in_each_others_places(program):
    check(program, INPUTS, by_result=True)


class Search(torch.nn.Module):
    """Beam search as it is written with lists; hypotheses that end are put aside."""

    def __init__(self):
        super().__init__()
        self.words, self.cell, self.out = torch.nn.Embedding(7, 8), torch.nn.GRUCell(8, 8), torch.nn.Linear(8, 7)

    def forward(self, h):
        beams, done = [(0.0, [1], h[None])], []
        for _ in range(3):
            found = []
            for score, words, state in beams:
                state = self.cell(self.words(torch.tensor([words[-1]])), state)
                best, which = torch.log_softmax(self.out(state), -1)[0].topk(2)
                for value, word in zip(best.tolist(), which.tolist()):
                    found.append((score + value, words + [word], state))
            found.sort(key=lambda one: one[0], reverse=True)
            beams = []
            for one in found[:2]:
                (done if one[1][-1] == 0 else beams).append(one)
            if not beams:
                break
        best = max(done + beams, key=lambda one: one[0] / len(one[1]))
        return torch.tensor(best[1]), best[0]


def test_beams_in_lists():
    torch.manual_seed(3)
    inputs = [(torch.randn(8) * scale,) for scale in (1, 2, 3, 0.1, 5, 8, 8, 8)]
    program = check(Search, inputs, by_result=True)
    assert program.report()["blocks"] < 150  # 24 orders of four are not 24 paths


def test_a_sort_that_fails_keeps_its_elements():
    def f(x):
        rows = [x.sum().item(), "a", 2.0]
        try:
            rows.sort()
        except TypeError:
            rows.append(x)
        return len(rows), rows[-1]

    check(f, INPUTS, paths=1)


@pytest.mark.parametrize("where", [slice(None), slice(1, None), slice(0, 0), slice(1, 2), slice(5, 9), slice(None, -1)])
def test_a_slice_replaced_by_a_list_of_run_time_length(where):
    """It raised a TypeError of its own."""

    def f(x):
        found, held = [], [x.sum(), x.mean(), x.max()]
        again = held
        for _ in range(100):
            if x.sum() < 0:
                break
            found.append(x.sum())
            x = x - 1
        held[where] = found
        held.append(x.min())
        return held, again is held, len(again)

    check(f, INPUTS)
