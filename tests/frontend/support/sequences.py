# SPDX-License-Identifier: Apache-2.0
"""Sequences of calls of a model with state beside eager: as it is compiled, and loaded from a file.

What earlier calls returned is compared after every call: a tensor or list that was given to the caller and is changed
later changes there, too.
"""

import copy
import itertools

import pytest
import torch

import dycl
from tests.frontend.support.compare import differences, state_of
from tests.frontend.support.harness import outcome


def sequences(classes, orders):
    """Parameters of a test of each class with each order of calls."""
    return pytest.mark.parametrize("cls, order", [*itertools.product(classes, orders)],
                                   ids=lambda p: getattr(p, "__name__", None) or "".join(map(str, p)))


def run(target, x):
    kind, value = outcome(target, (x,), {})
    return value if kind == "returned" else f"{type(value).__name__}: {value}"


def check_sequence(cls, calls, order, folder):
    torch.manual_seed(0)
    eager, subject = cls().eval(), cls().eval()
    subject.load_state_dict(eager.state_dict())
    program = dycl.compile(subject, (calls[order[0]],), allow_raise=True)
    assert differences(state_of(eager), state_of(subject), "state after compile") == []
    program.save(folder / "p.dycl")
    loaded = dycl.load(folder / "p.dycl")
    expected, actual, at_the_time, of_loaded = [], [], [], []
    for number, k in enumerate(order):
        expected.append(run(eager, calls[k].clone()))
        actual.append(run(program, calls[k].clone()))
        assert differences(expected, actual, f"results after call {number}") == []
        at_the_time.append(copy.deepcopy(expected[-1]))
        of_loaded.append(run(loaded, calls[k].clone()))
        assert differences(at_the_time, of_loaded, f"results of the loaded program after call {number}") == []
        assert differences(state_of(eager), state_of(subject), f"state after call {number}") == []
