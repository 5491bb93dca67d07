# SPDX-License-Identifier: Apache-2.0
"""Nodes in any order, and what nobody reads."""

import numpy as np
import onnx
import onnx.parser
import pytest

import dycl
from tests.onnx.test_files import compare

BACKWARDS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N] x, bool c) => (y) {
   a = Exp (x)
   b = Neg (a)
   d = If (c) <then_branch = t () => (u) { p = Sin (a) u = Add (p, b) },
               else_branch = e () => (v) { q = Cos (b) p = Mul (q, a) v = Sub (p, q) }>
   y = Sub (d, a)
}"""


def test_nodes_stand_in_any_order(tmp_path):
    """As in ONNX Runtime: tools that edit files append nodes. In bodies, whose reads count for the node, too."""
    model = onnx.parser.parse_model(BACKWARDS)
    for graph in (model.graph, *(a.g for n in model.graph.node for a in n.attribute)):
        backwards = list(graph.node)[::-1]
        del graph.node[:]
        graph.node.extend(backwards)
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    compare(model, [{"x": x, "c": np.array(c)} for c in (True, False)], tmp_path, 1e-6)


WRONG = {"is needed to compute itself": "b = Neg (a)  a = Exp (b)  y = Add (a, b)",
         "'a' is defined twice": "a = Neg (x)  a = Exp (x)  y = Neg (a)",
         "uses 'z', which is not defined": "y = Add (x, z)"}


@pytest.mark.parametrize("told", WRONG)
def test_nodes_that_have_no_order(told, tmp_path):
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[N] x) => (y) {' + WRONG[told] + "}"
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    with pytest.raises(dycl.CompileError, match=told) as caught:
        dycl.compile(tmp_path / "m.onnx")
    assert caught.value.kind == "invalid_model"


def test_what_nobody_reads_may_be_of_strings(tmp_path):
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[N] x) => (y) {
        s = Constant <value_strings: strings = ["a", "b"]> ()  t = Identity (s)  y = Neg (x) }"""
    compare(onnx.parser.parse_model(text), [{"x": np.ones(3, np.float32)}], tmp_path)
