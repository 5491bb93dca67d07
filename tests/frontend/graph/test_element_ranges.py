# SPDX-License-Identifier: Apache-2.0
"""Numbers whose range is known from what computes them: slices of known length, keys of dicts and elements of sets."""

import collections

import pytest
import torch

import dycl


def row_of_the_largest(x):
    j = int(x.sum(1).argmax())
    row = x[j:j + 1]
    for _ in range(2):
        row = torch.nn.functional.relu(row @ torch.ones(4, 4)) + x[:, j:j + 1].sum()
        if row.sum() > 3:
            j = int(row.argmax())
            row = x[j % 3:j % 3 + 1]
    return row, row.shape[0]


def groups(x):
    found = collections.defaultdict(list)
    for row in x[:4]:
        found[int(row.argmax())].append(row)
    return {k: torch.stack(v).mean(0) for k, v in sorted(found.items())}


def counted(x):
    count = {}
    for k in x.topk(2, dim=1).indices[:2].flatten().tolist():
        count[k] = count.get(k, 0) + 1
    return count


def sets(x):
    a = {int(row.argmax()) for row in x[:2, :3]}
    b = {int(x[0, :3].argmin())}
    a.add(int(x[2, :2].argmin()))
    b.discard(int(x[2, :2].argmax()))
    return sorted(a), sorted(b), sorted(a & b), int(x[3].argmax()) in b


def dicts(x):
    names = {int(x[0].argmax()): "first", 7: "other"}
    by = {int(row.argmax()): float(row.max()) for row in x[:2]}
    by.setdefault(int(x[2].argmax()), -1.0)
    gone = by.pop(int(x[0].argmin()), None)
    return names, by, gone is None


def remainders(x):
    n = int((x.abs().sum() * 10).long() % 3)
    table = {n: x[0]}
    k = int(torch.clamp((x[0] * 3).long(), 1, 3)[0])
    return table[n] + n, {k, 2}, x[n:n + 2].mean(0)


def made_of_positions(x):
    k = int((x.argmax(1) * 2 + 1)[0])
    n = int((x[0] > 0).long()[1])
    return {k: x.sum() + n}[k], x[n:n + 1].shape[0], k


def asked_again(x):
    """The second subscript asks what the first has asked, in another order and as other values of the graph."""
    k = int(x[1].argmax())
    n = {0: 5}.get(k, 0)
    found = [10, 20, 30, 40][k]
    table = {0: 5}
    table[k] = n + 7
    return table, found + [1, 2, 3, 4][k], [x[0], x[1], x[2], x[3]][k]


@pytest.mark.parametrize("f", [row_of_the_largest, groups, counted, sets, dicts, remainders, made_of_positions,
                               asked_again])
def test_same_as_eager(f):
    torch.manual_seed(0)
    inputs = [torch.randn(4, 4) for _ in range(25)]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        assert equal(program(x), f(x)), (program(x), f(x))


def equal(a, b):
    if isinstance(b, torch.Tensor):
        return isinstance(a, torch.Tensor) and a.shape == b.shape and torch.allclose(a, b, atol=1e-5)
    if type(a) is not type(b):
        return False
    if isinstance(b, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in b)
    if isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b if not isinstance(b, float) else abs(a - b) < 1e-5


def test_keys_that_may_be_anything_are_compared():
    def f(x):
        found = collections.defaultdict(int)
        found[int(x[0] * 100)] += 1
        found[int(x[1] * 100)] += 2
        return x, len(found), list(found.values())

    program = dycl.compile(f, (torch.ones(3),))
    for values in ([1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [-3.0, 3.0, 0.0], [7e6, 7e6, 1.0]):
        x = torch.tensor(values)
        assert program(x)[1:] == f(x)[1:]


def test_a_float_key_may_be_anything():
    def f(x):
        found = {}
        found[x.sum().item()] = 1
        found[x[0].item()] = 2
        return x, len(found)

    program = dycl.compile(f, (torch.ones(3),))
    for values in ([1.0, 1.0, 1.0], [1.0, -1.0, 1.0]):
        x = torch.tensor(values)
        assert program(x)[1] == f(x)[1]



def test_a_missing_key_is_a_key_error():
    def f(x):
        return {0: x, 1: x + 1}[int(x.argmax())]

    program = dycl.compile(f, (torch.tensor([1.0, 0.0, 0.0]),))
    assert torch.equal(program(torch.tensor([0.0, 1.0, 0.0])), torch.tensor([1.0, 2.0, 1.0]))
    with pytest.raises(KeyError):
        program(torch.tensor([0.0, 0.0, 1.0]))
