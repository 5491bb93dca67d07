# SPDX-License-Identifier: Apache-2.0
"""The table of torch's functions (recording/functions.py) beside those of ops and of conversions."""

import pytest
import torch
from torch.nn.utils import rnn

import dycl
from dycl.frontend import torch_functions
from dycl.frontend.lowering import torchlib
from dycl.frontend.lowering.registry import CONVERSIONS
from dycl.frontend.recording import functions, linear_algebra
from dycl.frontend.recording.decompositions import NEEDS_DECOMPOSITION
from dycl.frontend.recording.dispatch import DispatchRecorder, kind_of
from dycl.frontend.recording.functions import FUNCTIONS
from dycl.frontend.recording.schema import is_out_variant

aten = torch.ops.aten
OWNERS = (torch, torch.Tensor, torch.nn.functional, torch._C._nn, torch._C._VariableFunctions, torch._VF, aten,
          torch.autograd.Variable._execution_engine)


def test_every_row_names_a_function_of_torch():
    wrong = [name for name in FUNCTIONS if not any(hasattr(owner, name) for owner in OWNERS)]
    assert wrong == []


def test_nothing_stands_in_two_ways():
    with pytest.raises(ValueError, match="linspace has two ways: how, take"):
        functions._row("linspace", how=functions.CHECKED, take=print)
    assert functions.FUNCTIONS["linspace"].how == functions.COMPOSED
    both = set(CONVERSIONS) & set(NEEDS_DECOMPOSITION) - set(linear_algebra.TAKEN_APART)  # what those leave is lowered
    assert both == set()
    # these give numbers or nothing, or write: no node of theirs can be lowered
    never = {getattr(DispatchRecorder, name) for name in (
        "write", "item", "equal", "allclose", "nonzero_truth", "assertion", "linalg_errors", "nothing", "metadata")}
    assert [op for op in CONVERSIONS if kind_of(op) in never] == []


def test_what_is_kept_whole_is_lowered():
    packets = [getattr(aten, name) for name, row in FUNCTIONS.items() if row.whole and name != "__matmul__"]
    ops = [getattr(p, o) for p in packets for o in p.overloads()]
    wrong = [op for op in ops if not is_out_variant(op) and op not in CONVERSIONS and op not in NEEDS_DECOMPOSITION
             and torchlib.function_for(op) is None]
    # over packed sequences they are composed
    assert {str(op) for op in wrong} == {"aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data"}


@pytest.mark.parametrize("name, said", [
    ("torch.linspace", "composed by recording/composed_functions.py:linspace"),
    ("torch.linspace", "aten.linspace.Tensor_Scalar: taken apart by recording/decompositions.py:_whole_ends"),
    ("torch.linspace", "aten.linspace.default: recorded, and lowered by lowering/conversions/shapes.py:linspace"),
    ("torch.arange", "answered by library/torch/functions.py:_numbers_between, or left to the next"),
    ("torch.lstm", "kept whole"),
    ("torch.Tensor.item", "answered by recording/tensor_to_number.py:Numbers.item"),
    ("torch.nn.functional.relu", "interpreted as it is written"),
    ("torch.Tensor.add_", "aten.add_.Tensor: recorded as `write` of recording/dispatch.py says"),
    ("torch.selu", "aten.selu.default: recorded, and lowered by onnxscript's torchlib"),
    ("torch.broadcast_tensors", "interpreted as it is written"),
    ("torch.chain_matmul", "interpreted as it is written"),
    ("torch.digamma", "aten.digamma.default: refused: it is not lowered"),
    ("torch.polar", "dispatched"),
])
def test_what_happens_to_a_function(name, said):
    assert said in [step.strip() for step in torch_functions.steps(name)]


def test_an_op_of_the_list_of_those_not_lowered_is_refused():
    assert aten.digamma.default in torch_functions.not_lowered()
    with pytest.raises(dycl.CompileError, match="digamma"):
        dycl.compile(lambda x: torch.digamma(x), (torch.ones(2),))


def test_a_row_for_packed_sequences_and_whole_layers_serves_both():
    layer = torch.nn.GRU(2, 3)

    def program(x, lengths):
        packed = layer(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False))[1]
        return layer(x)[1] + packed

    x, lengths = torch.randn(4, 2, 2), torch.tensor([4, 2])
    with torch.no_grad():
        torch.testing.assert_close(dycl.compile(program, (x, lengths))(x, lengths), program(x, lengths))
