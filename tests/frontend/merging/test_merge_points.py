# SPDX-License-Identifier: Apache-2.0
"""Where paths merge: states that could not be merged at one place wait for each other at the next."""

import collections

import pytest
import torch
from torch.utils._pytree import tree_map

import dycl
from dycl.frontend.diagnostics import CaptureRefusal
from tests.frontend.support.harness import T, check
from tests.frontend.support.recording import new_recorder

POS, NEG, BIG, MIXED = torch.ones(3), -3 * torch.ones(3), 5 * torch.ones(3), torch.tensor([-9.0, 4.0, 1.0])
INPUTS = [(POS,), (NEG,), (BIG,), (MIXED,), (torch.tensor([-9.0, -4.0, -1.0]),), (50 * torch.ones(3),)]
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]


def test_paths_that_differed_for_a_while_meet_again():
    def f(x):
        a = None if x.sum() > 0 else x
        b = x * 2 if a is None else a + 1
        a = 0
        for k in range(5):
            b = torch.tanh(b) * k
            if b.sum() > 3:
                b = b + 1
        return b

    check(f, INPUTS)
    assert dycl.compile(f, (POS,)).report()["blocks"] < 18  # the five gates once, not once for each kind of `a`


def test_states_of_two_kinds_at_a_header_that_begins_anew():
    def f(x):
        mem, last = None, None
        while x.sum() < 20:
            if x.max() > 2:
                mem = x if mem is None else mem + x
            elif x.min() > -1:
                last = x * 2
            else:
                last = None
            x = x + 1
        return x, mem, last

    check(f, INPUTS)


def test_lists_that_torch_gives_are_changed_in_one_arm():
    def f(x):
        mems = []
        for k in range(4):
            out = tree_map(lambda t: t + 1, [x, x * 2])
            if x.sum() > k:
                out.append(x)
                out[0] = x * 3
            mems = out
            x = x + len(out)
        return x, mems

    check(f, INPUTS)


def test_lists_that_torch_gives_in_a_loop_that_carries_them():
    def f(x):
        cache = None
        while x.sum() < 30:
            new = tree_map(lambda t: t * 2, [x] if cache is None else cache)
            if x.max() > 2:
                cache = new
            x = x + 1
        return x, cache

    check(f, INPUTS)


class Bag:
    pass


def _attributes(how):
    def f(x):
        b = Bag()
        b.v = 1
        own = b.__dict__ if how == "dict" else vars(b)
        del b
        if x.sum() > 0:
            own["v"] = 2
        else:
            own["w"] = x
        y = x * 2 if x.max() > 3 else x
        return y, list(own.items())

    return f


@pytest.mark.parametrize("how", ["dict", "vars"])
def test_attributes_that_only_their_dict_still_holds(how):
    check(_attributes(how), INPUTS)


def test_attributes_written_through_their_dict_in_one_arm():
    def f(x):
        b = Bag()
        b.v = x
        own = vars(b)
        del b
        if x.sum() > 0:
            own["v"] = x + 1
        y = x * 2
        return y, own["v"] + y

    check(f, INPUTS)


def test_attributes_of_one_of_two_objects():
    def f(x):
        a, b = Bag(), Bag()
        a.v, b.v = 1, 2
        own = vars(a) if x.sum() > 0 else vars(b)
        y = x * 2
        own["v"] = own["v"] + 10
        return y, a.v, b.v, collections.OrderedDict(own)

    check(f, INPUTS)


def test_a_question_outside_of_a_call_does_not_reach_the_next():
    recorder = new_recorder()
    with pytest.raises(CaptureRefusal), recorder.unswallowed():
        raise CaptureRefusal("asked outside of a transaction", kind="test")
    assert recorder.transaction(lambda: 1) == 1


def named_results(x):
    picked = x.max(0) if x[0] > 0 else x.min(0)
    return picked, picked.values, picked.indices


def test_named_results_of_torch_meet():
    check(named_results, V)
