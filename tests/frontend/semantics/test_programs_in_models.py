# SPDX-License-Identifier: Apache-2.0
"""Models that call compiled programs and make host functions: neither is done while compiling."""

import re

import pytest
import torch

import dycl

X = torch.arange(6.0).reshape(2, 3)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self):
        self.calls += 1
        return self.calls


@pytest.fixture(scope="module")
def counter():
    model = Counter()
    return model, dycl.compile(model, ())


def refused(model, kind):
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(model, (X,), verify=False)
    assert caught.value.kind == kind


def test_a_program_that_keeps_a_state_is_not_run_while_compiling(counter):
    model, program = counter
    model.calls = 0
    refused(lambda x: x + program(), "heap")
    assert model.calls == 0


def test_nor_where_native_code_calls_it_back(counter):
    model, program = counter
    model.calls = 0
    refused(lambda x: x + len(re.sub("a", lambda found: str(program()), "banana")), "callback.writes")
    assert model.calls == 0


def test_random_numbers_of_a_program_are_not_drawn_while_compiling():
    program = dycl.compile(lambda: torch.rand(2, 3), ())
    refused(lambda x: x + program(), "heap")


def test_a_host_function_that_the_model_makes():
    """It would hold what stands in for the number while compiling, and be called with that."""
    def f(x):
        k = x.sum().item()

        @dycl.host_function(results="f32[2,3]")
        def times(y):
            return y * k
        return times(x)

    refused(f, "output")


def test_a_choice_among_objects_whose_equality_the_model_defines():
    """Capture itself puts the choice into its place, while it watches what native code calls back."""
    class Mode:
        def __init__(self, factor):
            self.factor = factor

        def __eq__(self, other):
            return isinstance(other, Mode) and self.factor == other.factor

        __hash__ = None

    slow, fast = Mode(1), Mode(2)

    class Switching(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mode = slow

        def forward(self, x):
            factor = self.mode.factor
            self.mode = fast if x.sum() > 3 else slow
            return x * factor

    program = dycl.compile(Switching(), (X,))
    assert [float(program(x).sum()) for x in (X, X, -X, X)] == [15.0 * n for n in (1, 2, -2, 1)]
