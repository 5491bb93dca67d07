# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers under an index known only at run time (semantics/number_lists.py)."""

import pytest
import torch

from tests.frontend.support.harness import check


def squares(*seeds):
    return [torch.randn(6, 6, generator=torch.Generator().manual_seed(s)) for s in seeds] + [torch.ones(6, 6)]


def union_find(x):
    n = 6
    parent, size = list(range(n)), [1] * n

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i in range(n):
        for j in range(i + 1, n):
            if x[i, j] > 0.8:
                a, b = find(i), find(j)
                if a != b:
                    if size[a] < size[b]:
                        a, b = b, a
                    parent[b] = a
                    size[a] += size[b]
    return [find(i) for i in range(n)], size


def heads_without_cycles(x):
    heads = [-1] * 6
    for child in range(1, 6):
        for head in x[child].argsort(descending=True).tolist():
            node, steps = head, 0
            while node > 0 and node != child and steps < 6:
                node, steps = heads[node], steps + 1
            if node != child and head != child:
                heads[child] = head
                break
    return heads


def of_bools_and_floats(x):
    seen, best = [False] * 6, [-1.0] * 6
    order = x.argmax(1).tolist()
    for k, place in enumerate(order):
        if not seen[place]:
            seen[place] = True
            best[place] = float(x[k, place])
        else:
            best[place] = max(best[place], float(x[k, place]))
            seen[-1 - place] = k % 2 == 0
    return seen, best, best[order[0]], seen[order[-1] - 6]


def beyond_the_end(x):
    steps = [3, 1, 4, 1, 5, 9]
    at = int((x[0] > 0).sum())
    for _ in range(3):
        at = steps[at]
    return at


def caught(x):
    steps = [1, 0, 2, 7]
    at, missed = int((x[0] > 0).sum()), 0
    for _ in range(4):
        try:
            at = steps[at]
        except IndexError:
            missed, at = missed + 1, at % 3
    return at, missed


def by_two_names(x):
    table = [0, 0, 0, 0, 0, 0]
    other, inner = table, (table, 1)
    for place in x.argmax(1).tolist():
        table[place] += 1
        other[5 - place] += 2
    table.append(9)
    return inner[0], other is table, sum(other)


@pytest.mark.parametrize("f", [union_find, heads_without_cycles, of_bools_and_floats, beyond_the_end, caught,
                               by_two_names])
def test_same_as_eager(f):
    program = check(f, squares(0, 1, 2, 3, 4), paths=1 if f is by_two_names else 2)
    assert len(program.ir_text) < 300_000  # without choosing: millions, if at all


def sizes_that_must_be_known(x):
    """A path for each size, as it was."""
    place, sizes = 0, [1, 2, 3]
    for row in x[:2]:
        if row[0] > 0:
            place += 1
    taken = torch.nn.functional.avg_pool1d(x[None], sizes[place])
    return taken.sum(), sizes[place]


def test_sizes_that_must_be_known():
    check(sizes_that_must_be_known, squares(0, 1, 2, 3, 4))
