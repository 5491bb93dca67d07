# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the compiler are not taken for the model's own, nor the model's for the compiler's."""

import pytest
import torch

import dycl
from dycl.frontend.diagnostics import CaptureRefusal
from dycl.frontend.graph import dtypes
from dycl.frontend.machine.own_errors import refuse_own_error
from dycl.frontend.recording import schema
from dycl.frontend.semantics.numbers import Scalars


def test_running_out_of_stack_while_compiling_is_no_exception_of_the_model(monkeypatch):
    def endless(*given):
        return endless(*given)

    monkeypatch.setattr(Scalars, "binary", endless)
    with pytest.raises(dycl.CompileError, match="RecursionError"):
        dycl.compile(lambda x: x * (x[x > 0].shape[0] + 1), (torch.randn(3),))


def test_a_recursion_error_that_the_model_raises_itself():
    def f(x):
        if x.sum() > 0:
            raise RecursionError("too deep")
        return x

    program = dycl.compile(f, (-torch.ones(2),))
    with pytest.raises(RecursionError, match="too deep"):
        program(torch.ones(2))


@pytest.mark.parametrize("fault", [lambda: schema.bind(None, (), {}), lambda: dtypes.dtype_of_name("f31")])
def test_faults_of_recording_are_not_shown_to_the_model(fault):
    """`except KeyError` of the model must not catch what a table of ours lacks."""
    with pytest.raises((AttributeError, KeyError)) as caught:
        fault()
    with pytest.raises(CaptureRefusal, match=type(caught.value).__name__):
        refuse_own_error(caught.value)
