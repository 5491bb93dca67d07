# SPDX-License-Identifier: Apache-2.0
"""How results are compared: objects that hold themselves, tolerances of half precision, what each user allows."""

import collections
import enum

import pytest
import torch

import dycl
from dycl.verification.compare import Policy, differences
from tests.frontend.support.compare import Eager
from zoo.compare import Worst


class Holder:
    """As libraries keep their back ends: holds itself and a module."""

    def __init__(self):
        self.itself, self.library, self.calls = self, torch, 0


def test_objects_that_hold_themselves_are_compared():
    a, b = Holder(), Holder()
    assert differences(a, b, "holder", Policy(1e-3, 1e-4)) == []
    b.calls = 1
    assert len(differences(a, b, "holder", Policy(1e-3, 1e-4))) == 1


def test_what_an_object_holds_is_compared_with_what_its_partner_holds():
    a, b, other = Holder(), Holder(), Holder()
    b.itself, other.calls = other, 1
    assert differences(a, b, "holder", Policy(1e-3, 1e-4)) == ["holder['itself']['calls']: 0 against 1"]


def red():
    class Colour(enum.Enum):
        RED = 1

    return Colour.RED


POLICIES = (Policy(1e-3, 1e-4), Eager(1e-5, 1e-6), Worst())


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("a, b", [
    (1, True), (1, 1.0), ([1], (1,)), ((1, 2), (1,)), ({"a": 1}, {"b": 1}),
    ("a", "b"), (1.0, 1.01), (torch.zeros(2), torch.zeros(2, 1)), (torch.zeros(2), torch.zeros(2).double()),
    (torch.tensor([1, 2]), torch.tensor([1, 3])), (torch.ones(3), torch.ones(3) * 1.01), (torch.zeros(1), 0.0),
    (torch.tensor([float("nan")]), torch.zeros(1)), (collections.deque([1]), collections.deque([2])), ({1}, {2}),
    ([torch.ones(1), [{"a": torch.ones(1)}]], [torch.ones(1), [{"a": torch.zeros(1)}]]),
], ids=str)
def test_differences_that_everyone_sees(policy, a, b):
    assert differences(a, b, "result", policy)


def test_each_keeps_its_own_strictness():
    near = torch.ones(3), torch.ones(3) * (1 + 1e-4)
    assert [bool(differences(*near, "result", policy)) for policy in POLICIES] == [False, True, True]
    orders = {"a": 1, "b": 1}, {"b": 1, "a": 1}
    assert [bool(differences(*orders, "result", policy)) for policy in POLICIES] == [True, True, False]
    assert [bool(differences(red(), red(), "result", policy)) for policy in POLICIES] == [True, False, True]
    modules = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    modules[1].load_state_dict(modules[0].state_dict())
    assert [bool(differences(*modules, "result", policy)) for policy in POLICIES] == [True, False, True]
    torch.nn.init.zeros_(modules[1].weight)
    assert differences(*modules, "result", POLICIES[1])[0].startswith("result['parameter weight']: eager gives")


def test_half_precision_passes_the_check_of_the_example():
    torch.manual_seed(0)
    a, b = torch.randn(5, 64).bfloat16(), torch.randn(64, 7).bfloat16()
    program = dycl.compile(lambda a, b: torch.addmm(b[:5, :7], a, b) if a.sum() > -1000 else a, (a, b))
    assert program(a, b).dtype == torch.bfloat16
