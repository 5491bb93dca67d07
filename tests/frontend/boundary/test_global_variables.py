# SPDX-License-Identifier: Apache-2.0
"""Global variables that the program writes: states between calls, which the module sees too."""

from __future__ import annotations

import pytest
import torch

from tests.frontend.support.compare import differences
from tests.frontend.support.harness import T, check

INPUTS = [T(1, 2, 3), T(-1, 2, -3), T(0, 0, 0), T(5, -7, 2), T(2, 2, 2)]

PROGRAMS = {
    "counter": """
N = 0
def program(x):
    global N
    if x[0] > 0:
        N += 1
    return x * N
""",
    "in a call": """
N = 0
def bump(k):
    global N
    N += k
    return N
def program(x):
    a = bump(1)
    return x * bump(2) if x[0] > 0 else x * a
""",
    "tensor": """
N = torch.zeros(3)
def program(x):
    global N
    if x[0] > 0:
        N = N + x
    return N * 2
""",
    "none first": """
N = None
def program(x):
    global N
    if N is None or x[0] > 4:
        N = x.clone()
    return x - N
""",
    "written only": """
N = 0
def program(x):
    global N
    if x[0] > 0:
        N = x[0].item()
    return x
""",
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=list(PROGRAMS))
def test_written(source):
    spaces = []

    def build():
        spaces.append({"torch": torch, "__name__": "a_module"})
        exec(compile(source, __file__, "exec"), spaces[-1])
        return spaces[-1]["program"]

    build.__is_factory__ = True
    check(build, INPUTS)
    assert not differences(*(space["N"] for space in spaces))
