# SPDX-License-Identifier: Apache-2.0
"""Objects that change, in lists of run-time length or reached from each other: rows of tables (values/arena.py)."""

import copy
import dataclasses
import enum
import heapq

import pytest
import torch

from dycl import CompileError
from tests.frontend.support.harness import check


def rows(*seeds):
    return [torch.randn(12, 2, generator=torch.Generator().manual_seed(s)) for s in seeds] + [-torch.ones(12, 2)]


class Track:
    made = 0

    def __init__(self, number, place):
        self.number = number
        self.place = place
        self.age = 0

    def hit(self, place):
        self.place = 0.5 * self.place + 0.5 * place
        self.age = 0

    @property
    def old(self):
        return self.age > 2

    def __len__(self):
        return self.age

    def __bool__(self):
        return True


def followed(x):
    tracks = []
    for row in x:
        for t in tracks:
            t.age += 1
        best = None
        for t in tracks:
            if (t.place - row).abs().sum() < 1.0:
                best = t
        if best is not None:
            best.hit(row)
        else:
            tracks.append(Track(len(tracks), row))
        tracks = [t for t in tracks if not t.old]
    return [t.number for t in tracks], [len(t) for t in tracks], sum([t.place.sum() for t in tracks])


class Phase(enum.IntEnum):
    NEW = 0
    KNOWN = 1


@dataclasses.dataclass
class Spot:
    where: torch.Tensor
    phase: Phase = Phase.NEW
    name: str = "fresh"
    seen: tuple = ()
    score: object = None


def of_several_kinds(x):
    """None, then a number; names; members of an enumeration; tuples that grow."""
    spots = []
    for k, row in enumerate(x):
        for s in spots:
            if (s.where - row).norm() < 0.8:
                s.seen = s.seen + (k,)
                s.score = float(row[0]) if s.score is None else s.score + float(row[0])
                if s.phase is Phase.NEW:
                    s.phase = Phase.KNOWN
                    s.name = "known"
                break
        else:
            spots.append(Spot(row))
    return ([len(s.seen) for s in spots], [s.name == "known" for s in spots],
            sum([1 for s in spots if s.score is None]), sum([1 for s in spots if s.phase is Phase.KNOWN]))


class Leaf:
    __slots__ = ("key", "left", "right")

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None


def tree(x):
    root, depth = Leaf(float(x[0, 0])), 0
    for row in x[1:]:
        key, node, level = float(row[0]), root, 0
        while True:
            level += 1
            side = "left" if key < node.key else "right"
            below = getattr(node, side)
            if below is None:
                setattr(node, side, Leaf(key))
                break
            node = below
        depth = max(depth, level)
    node, spine = root, []
    while node is not None:
        spine.append(node.key)
        node = node.left
    return depth, spine


class Step:
    def __init__(self, at, cost, before):
        self.at, self.cost, self.before = at, cost, before


def cheapest(x):
    costs = x[:5, 0].abs()
    agenda, count = [(0.0, 0, Step(0, 0.0, None))], 1
    while agenda:
        _, _, step = heapq.heappop(agenda)
        if step.at == 4:
            break
        for far in (1, 2):
            if step.at + far < 5:
                cost = step.cost + costs[step.at + far].item()
                heapq.heappush(agenda, (cost, count, Step(step.at + far, cost, step)))
                count += 1
    way, node = [], step
    while node is not None:
        way.append(node.at)
        node = node.before
    return way, step.cost


class Box:
    def __init__(self, n):
        self.n = n


def aliases(x):
    """One object under many names, told apart by `is`, in lists, as keys and as elements of sets."""
    boxes, last, marked = [], None, set()
    for row in x:
        if row[0] > 0 or last is None:
            last = Box(0)
            boxes.append(last)
        else:
            last.n += 1
            marked.add(last)
    first = boxes[0]
    first.n += 10
    counts = {}
    for b in boxes:
        counts[b] = counts.get(b, 0) + b.n
    return ([b.n for b in boxes], sum([1 for b in boxes if b is last]), boxes.index(last), len(marked),
            first is last, first in marked, counts[last])


class Base:
    def __init__(self):
        self.kind = "base"
        self.extra = 1


class Derived(Base):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight
        if weight > 1:
            self.heavy = weight - 1

    def __getattr__(self, name):
        if name == "heavy":
            return 0.0
        raise AttributeError(name)

    def __eq__(self, other):
        return isinstance(other, Derived) and self.weight == other.weight

    def __lt__(self, other):
        return self.weight < other.weight


def inherited(x):
    """super(), attributes that some objects lack, comparisons of the class's own."""
    found = []
    for row in x:
        if row[0] > 0:
            found.append(Derived(float(row[1])))
        elif found:
            found[-1].extra += 1
    ordered = sorted(found)
    return ([d.weight for d in ordered], [d.heavy for d in found], sum([d.extra for d in found]),
            [hasattr(d, "nothing") for d in found[:1]], len([d for d in found if d == found[0]]),
            all([isinstance(d, Base) and d.kind == "base" for d in found]))


@pytest.mark.parametrize("f", [followed, of_several_kinds, tree, cheapest, aliases, inherited])
def test_same_as_eager(f):
    program = check(f, rows(0, 1, 2, 3))
    assert len(program.ir_text) < 120_000  # without tables: millions, if at all


class Memory:
    def __init__(self, value):
        self.value = value


def copied_deeply(x):
    found = []
    for row in x:
        if row[0] > 0:
            found.append(Memory(row * 1))
        elif found and row[1] > 0:
            found[len(found) // 2].value = row * 2
    others = copy.deepcopy(found)
    for m in others:
        m.value = m.value + 50
    return sum([m.value for m in found], torch.zeros(2)), sum([m.value for m in others], torch.zeros(2))


def written_in_place(x):
    found, last = [], None
    for row in x:
        if row[0] > 0 or last is None:
            last = Memory(row * 1)
            found.append(last)
        else:
            last.value += row
    return sum([m.value for m in found])


def through_an_argument(x, y):
    found, last = [], None
    for row in x:
        if row[0] > 0 or last is None:
            last = Memory(y)
            found.append(last)
        else:
            last.value = last.value + row
    y.add_(1)
    return sum([m.value.sum() for m in found])


def test_writes_in_place_reach_the_object():
    """Without tables, or not at all."""
    try:
        check(written_in_place, [x[:5] for x in rows(0, 1, 2, 3)])
    except CompileError as error:
        assert error.is_kind("list.element") or error.is_kind("blow-up")


def test_writes_to_an_argument_reach_the_object():
    try:
        check(through_an_argument, [(x[:6], torch.ones(2)) for x in rows(0, 1, 2, 3)])
    except CompileError as error:
        assert error.kind in ("list.element", "blow-up", "alias")


def test_deep_copies_are_other_objects():
    """Without tables, or not at all."""
    try:
        check(copied_deeply, [x[:6] for x in rows(0, 1, 2, 3)])
    except CompileError as error:
        assert error.kind.startswith("escape") or error.is_kind("blow-up"), error
