# SPDX-License-Identifier: Apache-2.0
"""Many states that meet: those of different kinds are told apart without a full comparison, those of one kind merge."""

import itertools

import torch

from dycl.frontend.merging.merge import Merger
from tests.frontend.support.harness import T, check, refused

SIGNS = [(T(*signs),) for signs in itertools.product((-1.0, 1.0), repeat=4)]


def test_kinds_of_values():
    def f(x):
        found = []
        best = None
        for v in x:
            if v > 0:
                found.append((v, "seen"))
                best = v if best is None else best + v
            else:
                found.append((v * 2, None))
        total = x.sum()
        for v, how in found:
            total = total + (v if how is None else v * 3)
        return total, best, len([h for _, h in found if h])

    check(f, SIGNS)


def test_dicts_and_lists():
    def f(x):
        found = {}
        for k, v in enumerate(x[1:]):
            if v > 0:
                found[f"k{k}"] = [v, v * 2]
            elif k % 2:
                found[f"k{k}"] = [v]
        return {k: sum(v) for k, v in found.items()}

    check(f, SIGNS)


def test_lists_of_run_time_length_merge_with_lists():
    def f(x, n):
        made = [x[0]] if x[1] > 0 else [x[0], x[1]]
        more = [v * 2 for v in x] if x[2] > 0 else [] if x[3] > 0 else [x[2]]
        for k in range(int(n)):
            made.append(x[0] * k)
        first = made if x[3] > 0 else made + more
        return torch.stack(first).sum(), len(first)

    check(f, [(x, torch.tensor(n)) for n, (x,) in zip(itertools.cycle((0, 1, 3)), SIGNS)])


def test_too_many_name_the_variable():
    def f(x):
        names = {}
        for k in range(4):
            if x[k] > 0:
                names[f"k{k}"] = x[k]
        return names

    refused(f, [(T(1, 1, 1, 1),)], "f.names: of different kinds", max_states=6)


def test_forks_of_one_state_whose_callers_differ_in_what_inner_calls_wrote():
    """What kept two of them apart was taken to keep all apart: each branch doubled them."""

    def f(x):
        seen = [0]

        def note(a):
            seen[0] = x.sum() * a

        def search(v):
            if v < 0:
                v = -v
            for k in range(12):
                if v > k:
                    v = v / 2
                else:
                    v = v - 0.1
            return v

        if x.max() > 2:
            note(2.0)
        return search(x.sum()), seen[0]

    program = check(f, [(T(1, 2),), (T(3, 9),), (T(-1, -1),), (T(20, 30),), (T(1.5, 1.9),)])
    assert program.report()["blocks"] < 150


class _Node:
    def __init__(self, depth):
        self.children = [_Node(depth - 1) for _ in range(2)] if depth else []


def test_objects_from_before_capture_are_told_apart_at_once(monkeypatch):
    """Each path has walked to another node of a tree: no two of them are compared in full."""
    from dycl.frontend.merging.merge import Merger

    compared = []
    union = Merger._union
    monkeypatch.setattr(Merger, "_union", lambda self, *given, **how: (
        compared.append(given) or union(self, *given, **how)))
    root = _Node(4)
    nodes = [root]
    for node in nodes:
        nodes.extend(node.children)

    def f(x):
        node, path = root, []
        for v in x:
            node = node.children[0] if v > 0 else node.children[1]
            path.append(node)
        total = x.sum()
        for k, n in enumerate(path):
            total = total + k * nodes.index(n)
        return total

    check(f, SIGNS)
    assert len(compared) < 60


def test_lists_of_several_kinds_among_lists_of_run_time_length():
    def f(x, n):
        made = [k * 2 for k in range(int(n))]
        mixed = [x[0]] if x[1] > 0 else [x[0], 1]
        for k in range(1, 4):
            mixed.append(k if x[k] > 0 else x[k])
        total = x.sum() + sum(made)
        for v in mixed:
            total = total * 2 + v
        return total, mixed, len(made)

    check(f, [(x, torch.tensor(n)) for n, (x,) in zip(itertools.cycle((0, 1, 3)), SIGNS)])


def test_states_of_different_kinds_are_not_compared_with_each_other(monkeypatch):
    def f(x):
        a = b = c = d = None
        if x[0] > 0:
            a = x
        if x[1] > 0:
            b = x * 2
        if x[2] > 0:
            c = x + 1
        if x[3] > 0:
            d = -x
        out = x
        for t in (a, b, c, d):
            if t is not None:
                out = out + t
        return out

    pairs, pair = [], Merger.pair
    monkeypatch.setattr(Merger, "pair", lambda self, a, b, **how: pairs.append(1) or pair(self, a, b, **how))
    check(f, SIGNS)
    assert len(pairs) < 100
