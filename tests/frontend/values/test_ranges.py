# SPDX-License-Identifier: Apache-2.0
"""Ranges and sets of numbers known only at run time: truth, length, elements, comparisons, and tensors made of them."""

import functools

import pytest
import torch

import dycl
from tests.frontend.support.harness import Cases, I, check

case = Cases()
NUMBERS = [I(k) for k in (3, 0, 1, 2, 5, -1, 17)]
TRIPLES = [I(1, 2, 1), I(3, 3, 3), I(0, -1, 0), I(2, 1, 0), I(5, 5, 2), I(9, 8, 7)]


@case(*NUMBERS, values=True)
def truth_and_length(n):
    k = int(n)
    return bool(range(k)), not range(2, k), len(range(k)), len(range(2, k)), len(range(k, -3, -2)), len(range(-k, k, 3))


@case(*NUMBERS)
def chosen_by_truth(n):
    return "some" if range(int(n)) else "none"


@case(*NUMBERS)
def backwards(n):
    k = int(n)
    return list(reversed(range(k))), [i for i in reversed(range(k, 20, 4))], [i for i in reversed(range(6, k, -2))]


@case(*NUMBERS, values=True)
def compared(n):
    r = range(int(n))
    return (r == range(3), range(0) != r, r == [0, 1, 2], range(0, int(n), 2) == range(0, 3, 2), isinstance(r, range),
            type(r) is range)


@case(*NUMBERS)
def elements(n):
    r = range(1, int(n), 2)
    try:
        return r[1], r[-1], r.start, 5 in r, 2 in r, 3.0 in r, "a" in r, r.count(3), r.index(3)
    except IndexError as error:
        return str(error)


@case(*NUMBERS, refuse="keeps an object that only exists while compiling")
def kept_for_later(n):
    return functools.partial(list, range(int(n)))


@case(*NUMBERS, refuse="a slice of a range")
def cut(n):
    return list(range(int(n))[1:])


@case(*TRIPLES, values=True)
def sets_changed_in_place(x):
    s = set(x.tolist())
    same, t = s, {1, 2}
    s -= {1, 3}
    second = t
    t ^= s
    first = sorted(same), same is s, sorted(second), second is t
    s &= {5, 2, 0}
    return *first, sorted(same), same is s


@case(*TRIPLES, values=True)
def sets_compared(x):
    s, t = set(x.tolist()), {1, 2, 9}
    return (s < t, s > {1}, s <= t, t >= s, s == frozenset({1, 2}), s != {3}, sorted(t - s), sorted(t ^ s),
            sorted(s.symmetric_difference([1, 4])))


@case(*TRIPLES, values=True)
def sets_updated(x):
    s = set(x.tolist())
    s.symmetric_difference_update({1, 2})
    found = [sorted(s)]
    s.intersection_update({1, 2, 3, 9}, [2, 3, 9])
    found.append(sorted(s))
    s.difference_update([2])
    return *found, sorted(s), sorted(s.intersection()), {int(x[0])}.pop()


@case(*TRIPLES, values=True)
def sets_and_what_is_none(x):
    s, found = set(x.tolist()), []
    for other in ([1], (1,), "a", {1: 2}.keys()):
        try:
            found.append(len(s | other))
        except TypeError:
            found.append("type")
    return found


@case((I(3, 1, 2),), (I(-3, 1, 2),), (I(0, 0, 5),), values=True)
def sets_without_order(x):
    s, few = {1, 2, 3}, set(x.tolist())
    for v in x.tolist():
        s.add(v)
    return min(s), max(s), sum(few), any(few), all(few), len(s)


test_ranges_and_sets = case.test()


USES = {
    "length": lambda n: (len(range(n)), len(range(2, n)), len(range(n, -1, -1)), len(range(0, n, 3)),
                         len(range(n, 0, -2)), len(range(n, 9, 4))),
    "tensor": lambda n: torch.tensor(range(n), dtype=torch.long) * 2,
    "tensor of the default dtype": lambda n: torch.tensor(range(n)),
    "as_tensor backwards": lambda n: torch.as_tensor(range(n, 0, -2), dtype=torch.float64),
    "bools": lambda n: torch.tensor(range(n), dtype=torch.bool),
    "old constructors": lambda n: (torch.LongTensor(range(1, n)), torch.FloatTensor(range(n)),
                                   torch.Tensor(range(0, n, 2))),
    "like another": lambda n: torch.zeros(2, dtype=torch.int32).new_tensor(range(n)),
    "chosen among": lambda n: torch.tensor(range(n), dtype=torch.long)[torch.arange(n) % 2 == 0],
}


@pytest.mark.parametrize("name", USES)
def test_ranges(name):
    use = USES[name]
    check(lambda x: use(int(x.sum())), [(torch.tensor([k, 1]),) for k in (3, -1, 0, 1, 4, -5)], by_result=True)


def stepped(n):
    total = 0
    for k in range(1, 10, int(n)):
        total += k
    return total


def test_a_range_with_a_step_of_run_time():
    check(stepped, [(I(2),), (I(3),), (I(-3),)])
    with pytest.raises(ValueError):
        dycl.compile(stepped, (I(2),))(I(0))
