# SPDX-License-Identifier: Apache-2.0
"""Control flow as other tools spell it, beside ONNX Runtime, each with inputs that take other arms and numbers of
rounds: TensorFlow's loops and tensor arrays, TorchScript's loops with break, masked Keras layers, captured values of
several scopes, optionals, functions, forms of old opsets. 8 seconds of a processor."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from tests.onnx.test_files import compare

random = np.random.default_rng(0)


def R(*shape):
    return random.standard_normal(shape).astype(np.float32)


# A while loop whose condition is computed before it and in its body.
WHILE = """
g (float[N,4] x) => (float[N,4] y, int32[1] n) {
  lim = Constant <value = float {10.0}> ()
  zero = Constant <value = int32[1] {0}> ()
  s0 = ReduceSum <keepdims=0> (x)  a0 = Abs (s0)
  c0 = Less (a0, lim)
  n, y = Loop (, c0, zero, x) <body = b (int64 i, bool go, int32[1] k, float[N,4] u)
      => (bool on, int32[1] k1, float[N,4] v) {
    one = Constant <value = int32[1] {1}> ()
    k1 = Add (k, one)
    f = Constant <value_float: float = 1.5> ()
    v = Mul (u, f)
    s = ReduceSum <keepdims=0> (v)  a = Abs (s)
    on = Less (a, lim)
  }>
}"""

BREAK = """
g (float[N] x, int64 n) => (y, k) {
  yes = Constant <value = bool {1}> ()
  zero = Constant <value_int: int = 0> ()
  y, k, w = Loop (n, yes, x, zero, yes) <body = b (int64 i, bool go, u, j, alive) => (bool on, v, j1, alive1) {
     v, j1, alive1 = If (alive) <then_branch = t () => (tv, tj, ta) {
         th = Constant <value_float: float = 8.0> ()
         m = ReduceMax <keepdims=0> (u)
         big = Greater (m, th)
         tv, tj = If (big) <then_branch = t2 () => (a1, a2) { a1 = Identity (u) a2 = Identity (j) },
            else_branch = e2 () => (b1, b2) {
               b1 = Add (u, u) one = Constant <value_int: int = 1> () b2 = Add (j, one) }>
         ta = Not (big)
       }, else_branch = e () => (ev, ej, ea) { ev = Identity (u) ej = Identity (j) ea = Identity (alive) }>
     on = Identity (go)
  }>
}"""

MASKED = """
g (float[B,T,3] x, bool[B,T] mask) => (y, last) {
  xt = Transpose <perm=[1,0,2]> (x)
  mt = Transpose <perm=[1,0]> (mask)
  bs = Shape <start=0, end=1> (x)
  u4 = Constant <value = int64[1] {4}> ()
  hs = Concat <axis=0> (bs, u4)
  h0 = ConstantOfShape (hs)
  last, ys = Scan <num_scan_inputs=2, body = b (float[B,4] hp, float[B,3] xi, bool[B] mi)
      => (float[B,4] hn, float[B,4] o) {
     a = MatMul (xi, W)  b1 = MatMul (hp, U)  c = Add (a, b1)  d = Tanh (c)
     ax = Constant <value = int64[1] {1}> ()
     mm = Unsqueeze (mi, ax)
     hn = Where (mm, d, hp)
     o = Identity (hn)
  }> (h0, xt, mt)
  y = Transpose <perm=[1,0,2]> (ys)
}"""

SCOPES = """
g (float[N,3] x, bool a, bool b) => (y) {
  p = Exp (x)
  y = If (a) <then_branch = t () => (u) {
       q = Add (p, x)
       u = If (b) <then_branch = tt () => (v) {
            r = Mul (q, p)
            v0, vs = Loop (n3, b, x) <body = bb (int64 i, bool g1, float[N,3] w0)
                => (bool g2, float[N,3] w1, float[N,3] ws) {
               g2 = Identity (a)  w2 = Add (w0, r)  w1 = Sub (w2, q)  ws = Identity (p) }>
            v = Add (v0, p)
         }, else_branch = ee () => (v2) { v2 = Identity (p) }>
     }, else_branch = e () => (u2) { u2 = Identity (x) }>
}"""

COLLECTED = """
g (float[3] x) => (ys, zs, k) {
  yes = Constant <value = bool {1}> ()
  most = Constant <value_int: int = 50> ()
  zero = Constant <value_float: float = 0.0> ()
  u, k, ys, zs = Loop (most, yes, x, zero) <body = b (int64 i, bool go, float[3] u0, float kk)
      => (bool on, float[3] u1, float k1, float[3] y, int64 z) {
    u1 = Add (u0, u0)  s = ReduceL2 <keepdims=0> (u1)  lim = Constant <value_float: float = 100.0> ()
    on = Less (s, lim)  k1 = Add (kk, s)  y = Identity (u1)  z = Identity (i) }>
}"""

AXES = """
g (float[2,T,3] x, float[T,5] w) => (h, ys, zs) {
  h0 = Constant <value_float: float = 0.0> ()
  h, ys, zs = Scan <num_scan_inputs=2, scan_input_axes=[-2,0], scan_input_directions=[1,0],
                    scan_output_axes=[-1,1], scan_output_directions=[0,1],
     body = b (float hp, float[2,3] a, float[5] c) => (float hn, float[2,3] y, float[5] z) {
      s = ReduceSum <keepdims=0> (a)  m = ReduceMax <keepdims=0> (c)  d = Add (s, m)  hn = Add (hp, d)
      y = Mul (a, hn)  z = Sub (c, hn) }> (h0, x, w)
}"""

FUNCTIONS = """
g (float[N,3] x) => (y, z) { y = my.twice <alpha=0.3> (x) z = my.twice (x) }
< domain: "my", opset_import: ["" : 17, "my": 1] >
act <alpha: float = 0.1> (x) => (y) { y = LeakyRelu <alpha: float = @alpha> (x) }
< domain: "my", opset_import: ["" : 13, "my": 1] >
twice <alpha: float = 0.2> (x) => (y) {
   n = Constant <value_int: int = 2> ()  yes = Constant <value = bool {1}> ()
   y = Loop (n, yes, x) <body = b (int64 i, bool g, u) => (bool g1, v) {
      g1 = Identity (g)  v0 = my.act <alpha: float = @alpha> (u)  v = Add (v0, x) }>
}"""

WITH_WEIGHTS = """
g (float[N,3] x, int64 n) => (y) {
  yes = Constant <value = bool {1}> ()
  y = Loop (n, yes, x) <body = b (int64 i, bool g, float[N,3] u) => (bool g1, float[N,3] v) {
     g1 = Identity (g)  a = MatMul (u, W)  v = Add (a, B) }>
}"""

SCAN_8 = """
g (float[B,T,3] x, float[B,3] h0) => (h, ys) {
  h, ys = Scan <num_scan_inputs=1, body = b (float[3] hp, float[3] xi) => (float[3] hn, float[3] y) {
     hn = Add (hp, xi) y = Mul (hn, xi) }> (, h0, x)
}"""

OPSET_9 = """
g (float[1,2,4,4] x) => (y, z, v, i) {
  sc = Constant <value = float[4] {1.0,1.0,2.0,2.0}> ()
  y = Upsample <mode="nearest"> (x, sc)
  z = Slice <axes=[2,3], starts=[1,0], ends=[3,9223372036854775807]> (x)
  f = Flatten (x)
  v, i = TopK <k=3, axis=1> (f)
}"""

OPSET_26 = """
g (float[2,3] x, int64 a) => (y, c) { y = BitCast <to=6> (x) c = CumProd (x, a) }"""

ARRAY = """
g (float[T,3] x) => (y) {
  n0 = Shape <start=0, end=1> (x)  sq = Constant <value = int64[1] {0}> ()  n = Squeeze (n0, sq)
  yes = Constant <value = bool {1}> ()
  ta = SplitToSequence <axis=0, keepdims=0> (x)
  s1, acc = Loop (n, yes, ta, z3) <body = b (int64 i, bool g, seq(float[3]) s, float[3] a)
      => (bool g1, seq(float[3]) t, float[3] a1) {
     g1 = Identity (g)  e = SequenceAt (s, i)  a1 = Add (e, a)
     s2 = SequenceErase (s, i)  t = SequenceInsert (s2, a1, i) }>
  y = ConcatFromSequence <axis=0, new_axis=1> (s1)
}"""

LISTS = """
g (float[N] x, bool c) => (n, y, s) {
  s = If (c) <then_branch = t () => (u) { u = SequenceConstruct (x, x) },
              else_branch = e () => (v) { v0 = SequenceEmpty ()  v = SequenceInsert (v0, x) }>
  n = SequenceLength (s)  y = ConcatFromSequence <axis=0> (s) }"""

GROWS = """
g (float[N] x, int64 n) => (y, z) {
  yes = Constant <value = bool {1}> ()
  y, z = Loop (n, yes, x, x) <body = b (int64 i, bool g, u, w) => (bool g1, v, w1) {
     g1 = Identity (g)  v = Concat <axis=0> (u, x)
     ax = Constant <value = int64[1] {0}> ()  w1 = Unsqueeze (w, ax) }> }"""

FOUND = """
g (float[N] x) => (y) {
  z = Constant <value_float: float = 0.5> ()
  m = Greater (x, z)  nz = NonZero (m)  s = Size (nz)
  zero = Constant <value_int: int = 0> ()
  c = Greater (s, zero)
  y = If (c) <then_branch = t () => (u) { tr = Transpose <perm=[1,0]> (nz) u = GatherND (x, tr) },
              else_branch = e () => (v) {
                 o = Constant <value = int64[1] {1}> ()  v = ConstantOfShape <value = float[1] {-1.0}> (o) }> }"""

SHADOWED = """
g (float[N] x, bool c) => (x, w, y) {
  a = If (c) <then_branch = t () => (r) { q = Exp (x) r = Neg (q) },
              else_branch = e () => (r) { q = Abs (x) r = Add (q, q) }>
  q2 = Mul (a, a)
  b = If (c) <then_branch = t () => (r) { q = Sin (a) r = Neg (q) },
              else_branch = e () => (r) { q = Cos (q2) r = Add (q, q) }>
  y = Add (a, b) }"""

DTYPES = """
g (double[N] x, int32 n) => (y, k, f) {
  n64 = Cast <to=7> (n)  yes = Constant <value = bool {1}> ()
  z = Constant <value = int32 {0}> ()  f0 = Constant <value = uint8 {1}> ()
  y, k, f = Loop (n64, yes, x, z, f0) <body = b (int64 i, bool g, double[N] u, int32 k0, uint8 fl)
      => (bool g1, double[N] v, int32 k1, uint8 fl1) {
    v = Exp (u)  s = ReduceSum <keepdims=0> (v)  lim = Constant <value = double {30.0}> ()  g1 = Less (s, lim)
    i32 = Cast <to=6> (i)  k1 = Add (k0, i32)
    sh = Constant <value = uint8 {1}> ()  fl1 = BitShift <direction="LEFT"> (fl, sh) }> }"""

LENGTHS = """
g (float[T,B,3] x, int32[B] lens) => (y, hn, cn) {
  y, hn, cn = LSTM <hidden_size=4, direction="bidirectional"> (x, W, Rr, B, lens) }"""

OVER_CLASSES = """
g (float[1,B,4] boxes, float[1,C,B] scores) => (sel, n) {
  k = Constant <value_int: int = 5> ()  iou = Constant <value_float: float = 0.5> ()
  th = Constant <value_float: float = 0.2> ()
  nsh = Shape <start=1, end=2> (scores)  ax0 = Constant <value = int64[1] {0}> ()
  nc = Squeeze (nsh, ax0)  yes = Constant <value = bool {1}> ()  e = Constant <value = int64[0,3] {}> ()
  sel = Loop (nc, yes, e) <body = b (int64 i, bool g, acc) => (bool g1, acc1) {
     g1 = Identity (g)
     iv = Unsqueeze (i, ax0)  sc = Gather <axis=1> (scores, iv)
     r0 = NonMaxSuppression (boxes, sc, k, iou, th)
     acc1 = Concat <axis=0> (acc, r0) }>
  n = Shape (sel)
}"""

UNTIL = """
g (float[N,3] x) => (y, fs, b) {
  most = Constant <value_int: int = 4> ()  yes = Constant <value = bool {1}> ()  no = Constant <value = bool {0}> ()
  y, b, fs = Loop (most, yes, x, no) <body = bd (int64 i, bool g, float[N,3] u, bool p)
      => (bool g1, float[N,3] v, bool p1, bool f) {
     v = Tanh (u)  s = ReduceSum <keepdims=0> (v)  z = Constant <value_float: float = 0.0> ()
     f = Greater (s, z)  p1 = Or (p, f)  g1 = Not (p) }> }"""

# name: (opset, text, weights, calls)
TEXTS = {
    "while": (13, WHILE, {}, [{"x": R(2, 4) * k} for k in (0.1, 1, 100)]),
    "a loop with break": (17, BREAK, {}, [{"x": abs(R(3)) + 0.1, "n": np.array(k)} for k in (0, 1, 3, 12)]),
    "a masked layer": (17, MASKED, {"W": R(3, 4), "U": R(4, 4)}, [
        {"x": R(b, t, 3), "mask": random.random((b, t)) > 0.4} for b, t in ((2, 5), (1, 1))]),
    "values of three scopes": (17, SCOPES, {"n3": np.array(3)}, [
        {"x": R(2, 3), "a": np.array(a), "b": np.array(b)} for a in (True, False) for b in (True, False)]),
    "as many results as the data say": (17, COLLECTED, {}, [{"x": R(3) * k} for k in (1, 0.01, 1000)]),
    "axes from the end, backwards": (17, AXES, {}, [{"x": R(2, t, 3), "w": R(t, 5)} for t in (4, 1)]),
    "functions with attributes": (17, FUNCTIONS, {}, [{"x": R(2, 3)}]),
    "weights in a body": (8, WITH_WEIGHTS, {"W": R(3, 3), "B": R(3)}, [
        {"x": R(2, 3), "n": np.array(k)} for k in (2, 0)]),
    "a scan of opset 8": (8, SCAN_8, {}, [{"x": R(2, 4, 3), "h0": R(2, 3)}]),
    "opset 9": (9, OPSET_9, {}, [{"x": R(1, 2, 4, 4)}]),
    "opset 26": (26, OPSET_26, {}, [{"x": R(2, 3), "a": np.array(1)}]),
    "an array that a loop writes": (17, ARRAY, {"z3": np.zeros(3, np.float32)}, [{"x": R(t, 3)} for t in (4, 1)]),
    "lists of arms": (17, LISTS, {}, [{"x": R(3), "c": np.array(c)} for c in (True, False)]),
    "values that grow": (17, GROWS, {}, [{"x": R(3), "n": np.array(k)} for k in (0, 1, 3)]),
    "an arm for nothing found": (17, FOUND, {}, [{"x": np.array([1, .1, .9], np.float32)},
                                                 {"x": np.zeros(3, np.float32)}]),
    "names used again": (17, SHADOWED, {"w": R(2)}, [{"x": R(3), "c": np.array(c)} for c in (True, False)]),
    "states of many dtypes": (17, DTYPES, {}, [
        {"x": np.array([.1, .2]), "n": np.array(k, np.int32)} for k in (0, 2, 9)]),
    "a layer with lengths": (17, LENGTHS, {"W": R(2, 16, 3), "Rr": R(2, 16, 4), "B": R(2, 32)}, [
        {"x": R(5, 2, 3), "lens": np.array([5, 2], np.int32)}]),
    "boxes of each class": (17, OVER_CLASSES, {}, [
        {"boxes": np.sort(random.random((1, 6, 4)).astype(np.float32), -1),
         "scores": random.random((1, 2, 6)).astype(np.float32) * np.float32(k)} for k in (1, .1)]),
    "until a flag": (17, UNTIL, {}, [{"x": x} for x in (R(2, 3), -abs(R(2, 3)), abs(R(2, 3)))])}


@pytest.mark.parametrize("name", TEXTS)
def test_beside_onnxruntime(name, tmp_path):
    opset, text, weights, feeds = TEXTS[name]
    domains = f'"" : {opset}' + (', "my" : 1' if "my." in text else "")
    ir_version = 3 if opset < 9 else 12 if opset > 23 else 8
    model = onnx.parser.parse_model(f"< ir_version: {ir_version}, opset_import: [{domains}] >{text}")
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items())
    if ir_version == 3:  # initializers are inputs, too
        model.graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, t.dims)
                                 for t in model.graph.initializer)
    compare(model, feeds, tmp_path, 1e-5)


OPTIONAL = """
< ir_version: 8, opset_import: ["" : 18] >
g (float[N] x, float[N] o) => (y) {
  has = OptionalHasElement (o)
  y = If (has) <then_branch = t () => (u) { e = OptionalGetElement (o) u = Add (x, e) },
                else_branch = f () => (v) { v = Neg (x) }> }"""


def test_an_optional_that_a_call_may_leave_empty(tmp_path):
    model = onnx.parser.parse_model(OPTIONAL)
    model.graph.input[1].type.CopyFrom(helper.make_optional_type_proto(helper.make_tensor_type_proto(1, ["N"])))
    compare(model, [{"x": R(3), "o": R(3)}, {"x": R(3), "o": None}], tmp_path, 1e-6)
