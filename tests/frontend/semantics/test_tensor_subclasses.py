# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no plain dense tensors (sparse, quantized, nested, meta, subclasses) are refused by name."""

import pytest
import torch

import dycl


class Own(torch.Tensor):
    pass


UNUSUAL = {
    "sparse": lambda: torch.eye(3).to_sparse(), "csr": lambda: torch.eye(3).to_sparse_csr(),
    "mkldnn": lambda: torch.eye(3).to_mkldnn(),
    "meta": lambda: torch.eye(3, device="meta"), "subclass": lambda: torch.eye(3).as_subclass(Own),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "quantized": lambda: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.quint8),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_tensors(kind):
    unusual = UNUSUAL[kind]()
    with pytest.raises(dycl.CompileError, match="argument x") as caught:
        dycl.compile(lambda x: x * 2, (unusual,))
    assert caught.value.kind == "tensor.input" and caught.value.help
    program = dycl.compile(lambda x: x * 2, (torch.eye(3),))
    with pytest.raises(dycl.InputError, match="x: "):
        program(unusual)
