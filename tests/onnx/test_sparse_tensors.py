# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors of a file are read as dense ones."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

import dycl
from tests.onnx.test_files import compare


def sparse(indices, dims=(3, 4), values=(1.5, -2.0, 3.0)):
    return helper.make_sparse_tensor(numpy_helper.from_array(np.array(values, np.float32), "w"),
                                     numpy_helper.from_array(np.array(indices, np.int64), "places"), dims)


@pytest.mark.parametrize("indices", [[1, 5, 8], [[0, 1], [1, 1], [2, 0]]])
@pytest.mark.parametrize("where", ["initializer", "Constant"])
def test_sparse_tensors_become_dense(where, indices, tmp_path):
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[N,3] x) => (float[N,4] y) { y = MatMul (x, w) }'
    model = onnx.parser.parse_model(text)
    if where == "initializer":
        model.graph.sparse_initializer.append(sparse(indices))
    else:
        node = helper.make_node("Constant", [], ["w"])
        node.attribute.add(name="sparse_value", type=onnx.AttributeProto.SPARSE_TENSOR).sparse_tensor.CopyFrom(
            sparse(indices))
        model.graph.node.insert(0, node)
    compare(model, [{"x": np.arange(6, dtype=np.float32).reshape(2, 3)}], tmp_path)


@pytest.mark.parametrize("made, told", [
    (sparse([1, 5, 12]), "an index outside"), (sparse([-1, 5, 8]), "an index outside"),
    (sparse([[0, 1], [1, 1], [2, 4]]), "an index outside"), (sparse([1, 5]), "other indices than values"),
    (sparse([[1, 2, 3]] * 3), "other indices than values"), (sparse([0, 1, 2], (2**20, 2**10)), "more than 256 MB")])
def test_sparse_tensors_that_are_none(made, told, tmp_path):
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[N,3] x) => (float[N,4] y) { y = MatMul (x, w) }'
    model = onnx.parser.parse_model(text)
    model.graph.sparse_initializer.append(made)
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(dycl.CompileError, match=told):
        dycl.compile(tmp_path / "m.onnx")
