# SPDX-License-Identifier: Apache-2.0
"""How results are compared: objects that hold themselves, tolerances of half precision."""

import torch

import dycl
from dycl.verification.compare import differences


class Holder:
    """As libraries keep their back ends: holds itself and a module."""

    def __init__(self):
        self.itself, self.library, self.calls = self, torch, 0


def test_objects_that_hold_themselves_are_compared():
    a, b = Holder(), Holder()
    assert differences(a, b, "holder", 1e-3, 1e-4, [0.0]) == []
    b.calls = 1
    assert len(differences(a, b, "holder", 1e-3, 1e-4, [0.0])) == 1


def test_half_precision_passes_the_check_of_the_example():
    torch.manual_seed(0)
    a, b = torch.randn(5, 64).bfloat16(), torch.randn(64, 7).bfloat16()
    program = dycl.compile(lambda a, b: torch.addmm(b[:5, :7], a, b) if a.sum() > -1000 else a, (a, b))
    assert program(a, b).dtype == torch.bfloat16
