# SPDX-License-Identifier: Apache-2.0
"""ONNX as exporters write it, beside ONNX Runtime: loops of tf2onnx, arms of other ranks as Paddle's, old opsets,
sequences in loops, nothing in tensors and no rounds in loops, torch.onnx's cond, while_loop and scan. 9 seconds of a
processor."""

import numpy as np
import onnx
import onnx.parser
import pytest
import torch
from onnx import numpy_helper
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from tests.onnx import real_files
from tests.onnx.test_files import compare


def arrays(seed=0):
    generator = np.random.default_rng(seed)
    return lambda *shape: generator.standard_normal(shape).astype(np.float32)


R = arrays()

IF_RANKS = """
g (float[N,C] x) => (y) {
   zero = Constant <value_int: int = 0> ()
   one = Constant <value_int: int = 1> ()
   s = Shape (x)
   n = Gather <axis = 0> (s, zero)
   c = Equal (n, one)
   h = If (c) <then_branch = a () => (u) { k = Constant <value = int64[1] {0}> () u = Squeeze (x, k) },
               else_branch = b () => (v) { v = Identity (x) }>
   y = ReduceSum <keepdims = 0> (h)
}"""

LOOP_OF_SEQUENCES = """
g (float[N,3] x, int64 k) => (y, n) {
   yes = Constant <value = bool {1}> ()
   e = SequenceEmpty <dtype = 1> ()
   s, last = Loop (k, yes, e, x) <body = b (int64 i, bool go, seq(float[M,3]) s0, float[M,3] u) => (bool on, s1, v) {
      on = Identity (go)
      two = Constant <value_int: int = 2> ()
      v0 = Loop (two, go, u) <body = c (int64 j, bool g2, float[M,3] p) => (bool o2, q) {
         o2 = Identity (g2)
         q = Add (p, x)
      }>
      v = Tanh (v0)
      s1 = SequenceInsert (s0, v)
   }>
   n = SequenceLength (s)
   z = SequenceInsert (s, last)
   y = ConcatFromSequence <axis = 0, new_axis = 1> (z)
}"""

NO_ROUNDS = """
g (float[N,3] x, int64 k, bool c) => (y, ys, zs) {
   y, ys, zs = Loop (k, c, x) <body = b (int64 i, bool go, float[N,3] u) => (bool on, v, float[2,3] w, float t) {
      s = ReduceSum <keepdims = 0> (u)
      most = Constant <value_float: float = 50.0> ()
      on = Less (s, most)
      v = Add (u, u)
      w = Identity (v)
      t = Identity (s)
   }>
}"""

NOTHING = """
g (float[N,3] x, int64[M] i) => (a, b, c, d, e, nz) {
   a = Gather <axis = 0> (x, i)
   b = Concat <axis = 0> (a, x)
   ax = Constant <value = int64[1] {0}> ()
   c = ReduceSum <keepdims = 0> (a, ax)
   t = Transpose <perm = [1,0]> (a)
   d = MatMul (a, t)
   e = MatMul (t, a)
   z = Constant <value_float: float = 1000.0> ()
   g2 = Greater (x, z)
   nz = NonZero (g2)
}"""

OPSET_7 = """
g (float[N,3,8,8] x, float[4,3,3,3] w, float[4] s, float[4] b, float[4] m, float[4] v, float[10,64] fw, float[10] fb)
   => (float[N,10] y) {
   c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w)
   n = BatchNormalization <epsilon = 0.00001> (c, s, b, m, v)
   r = Relu (n)
   p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)
   d = Dropout <ratio = 0.5> (p)
   f = Flatten (d)
   g1 = Gemm <transB = 1> (f, fw, fb)
   y = Softmax <axis = 1> (g1)
}"""
WEIGHTS_7 = {"w": R(4, 3, 3, 3), "s": R(4), "b": R(4), "m": R(4), "v": abs(R(4)), "fw": R(10, 64), "fb": R(10)}

CALLED_TWICE = """
g (float[N,3] x) => (y) { y0 = my.act (x) y = my.act (y0) }
< domain: "my", opset_import: ["" : 17] >
act (x) => (y) {
   s = ReduceSum <keepdims = 0> (x)
   z = Constant <value_float: float = 0.0> ()
   c = Greater (s, z)
   y = If (c) <then_branch = a () => (u) { u = Neg (x) }, else_branch = b () => (v) { v = Sigmoid (x) }>
}"""

LSTM_LOOP = """
g (float[N,T,4] x, int32 len) => (ys, h_out, c_out) {
   p = Transpose <perm = [1,0,2]> (x)
   xs = Shape (p)
   one = Constant <value_int: int = 1> ()
   N0 = Gather <axis = 0> (xs, one)
   u5 = Constant <value = int64[1] {5}> ()
   ax = Constant <value = int64[1] {0}> ()
   Nv = Unsqueeze (N0, ax)
   hs = Concat <axis = 0> (Nv, u5)
   h0 = ConstantOfShape (hs)
   t32 = Constant <value = int32 {0}> ()
   go0 = Less (t32, len)
   most = Constant <value_int: int = 9223372036854775807> ()
   tN, h_out, c_out, ysT = Loop (most, go0, t32, h0, h0) <body = b (
         int64 i, bool go, int32 t, float[N,5] hp, float[N,5] cp)
         => (bool on, int32 t1, float[N,5] hn, float[N,5] cn, float[N,5] hy) {
      xt = Gather <axis = 0> (p, t)
      cat = Concat <axis = 1> (xt, hp)
      mm = MatMul (cat, W)
      gt = Add (mm, B)
      gi, gj, gf, go1 = Split <axis = 1> (gt)
      fs = Sigmoid (gf)
      is = Sigmoid (gi)
      js = Tanh (gj)
      os = Sigmoid (go1)
      a = Mul (fs, cp)
      bb = Mul (is, js)
      cn = Add (a, bb)
      ct = Tanh (cn)
      hn = Mul (os, ct)
      hy = Identity (hn)
      i1 = Constant <value = int32 {1}> ()
      t1 = Add (t, i1)
      on = Less (t1, len)
   }>
   ys = Transpose <perm = [1,0,2]> (ysT)
}"""

BACKWARDS = """
g (float[T,N,3] x, float[N,3] h0) => (h, ys, zs) {
   h, ys, zs = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1,0],
                     scan_output_axes = [1,0],
                     body = b (float[N,3] hp, float[N,3] xt) => (float[N,3] hn, float[N,3] y, float[N] z) {
      s = Add (hp, xt)
      hn = Tanh (s)
      y = Mul (hn, xt)
      k = Constant <value = int64[1] {1}> ()
      z = ReduceSum <keepdims = 0> (hn, k)
   }> (h0, x)
}"""

DECODER = """
g (int64[1] tok, int64 most) => (ids, n) {
   yes = Constant <value = bool {1}> ()
   ax0 = Constant <value = int64[1] {0}> ()
   last, all, seen = Loop (most, yes, tok, tok) <body = b (int64 i, bool go, int64[1] t, int64[L] sofar)
         => (bool on, int64[1] nt, int64[L2] more, float[1,11] logits) {
      e = Gather <axis = 0> (E, t)
      logits = MatMul (e, O)
      am = ArgMax <axis = 1, keepdims = 0> (logits)
      m = ReduceMax <keepdims = 0> (logits)
      lim = Constant <value_float: float = 1.0> ()
      c = Greater (m, lim)
      nt = If (c) <then_branch = aa () => (u) { u = Identity (am) }, else_branch = bb () => (v) {
         o = Constant <value = int64[1] {1}> ()
         v0 = Add (am, o)
         eleven = Constant <value = int64[1] {11}> ()
         v = Mod (v0, eleven)
      }>
      more = Concat <axis = 0> (sofar, nt)
      eos = Constant <value = int64[1] {3}> ()
      q = Equal (nt, eos)
      qs = Squeeze (q, ax0)
      on = Not (qs)
   }>
   ids = Unsqueeze (all, ax0)
   n = Shape (seen)
}"""

PARTS = """
g (float[N,4] x) => (y, z, w, n) {
   sz = Constant <value = int64[2] {1,3}> ()
   s = SplitToSequence <axis = 1> (x, sz)
   m1 = Constant <value_int: int = -1> ()
   y = SequenceAt (s, m1)
   s2 = SequenceErase (s, m1)
   zero = Constant <value_int: int = 0> ()
   s3 = SequenceInsert (s2, y, zero)
   z = ConcatFromSequence <axis = -1> (s3)
   s4 = SequenceMap (s3) <body = mb (float[A,B] e) => (float[A,B] q) { q = Exp (e) }>
   w = SequenceAt (s4, zero)
   n = SequenceLength (s4)
}"""

INTEGERS = """
g (int32[N] a, int32[N] b, uint8[N] c, double[N] d) => (q, m, fm, s, u, cs, rd) {
   q = Div (a, b)
   m = Mod (a, b)
   fm = Mod <fmod = 1> (a, b)
   s = BitShift <direction = "LEFT"> (c, c)
   u = Cast <to = 2> (a)
   ax = Constant <value_int: int = 0> ()
   cs = CumSum (d, ax)
   rd = Round (d)
}"""

# name: (opset, IR version, text, weights, calls)
TEXTS = {
    "arms of different ranks": (13, 8, IF_RANKS, {}, [{"x": R(1, 3)}, {"x": R(2, 3)}]),
    "a loop that grows a list": (17, 8, LOOP_OF_SEQUENCES, {}, [{"x": R(2, 3), "k": np.array(k)} for k in (3, 0)]),
    "loops of no rounds": (13, 8, NO_ROUNDS, {}, [
        {"x": abs(R(2, 3)), "k": np.array(k), "c": np.array(c)}
        for k, c in ((0, True), (3, True), (3, False), (2**62, True))]),
    "nothing in tensors": (17, 8, NOTHING, {}, [
        {"x": R(n, 3), "i": np.array(i, np.int64)} for n, i in ((2, []), (0, []), (2, [1, 0, -1]))]),
    "opset 7": (7, 3, OPSET_7, WEIGHTS_7, [{"x": R(2, 3, 8, 8)}, {"x": R(1, 3, 8, 8)}]),
    "a function with arms, twice": (17, 8, CALLED_TWICE, {}, [
        {"x": x} for x in (R(2, 3), abs(R(2, 3)), -abs(R(2, 3)))]),
    "an LSTM as a loop": (13, 8, LSTM_LOOP, {"W": R(9, 20), "B": R(20)}, [
        {"x": R(1, t, 4), "len": np.array(n, np.int32)} for t, n in ((6, 6), (3, 2), (3, 0))]),
    "a scan backwards": (16, 8, BACKWARDS, {}, [{"x": R(t, 2, 3), "h0": R(2, 3)} for t in (4, 1)]),
    "a decoder that the data end": (17, 8, DECODER, {"E": R(11, 6), "O": R(6, 11)}, [
        {"tok": np.array([t]), "most": np.array(m)} for t, m in ((0, 8), (5, 20), (3, 1), (2, 0))]),
    "sequences": (18, 8, PARTS, {}, [{"x": R(2, 4)}, {"x": R(0, 4)}]),
    "integers": (17, 8, INTEGERS, {}, [{
        "a": np.array([7, -7, 7, -7], np.int32), "b": np.array([2, 2, -2, -3], np.int32),
        "c": np.array([1, 2, 3, 4], np.uint8), "d": np.array([.5, 1.5, -2.5, 3.7])}])}


@pytest.mark.parametrize("name", TEXTS)
def test_as_exporters_write_it(name, tmp_path):
    opset, ir_version, text, weights, feeds = TEXTS[name]
    domains = f'"" : {opset}' + (', "my" : 1' if "my." in text else "")
    model = onnx.parser.parse_model(f"< ir_version: {ir_version}, opset_import: [{domains}] >{text}")
    model.graph.initializer.extend(numpy_helper.from_array(w, n) for n, w in weights.items())
    compare(model, feeds, tmp_path, 1e-5)


class EarlyExit(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        def last(x):
            return self.head(torch.tanh(self.layers[2](x)))

        def second(x):
            x = torch.relu(self.layers[1](x))
            return torch.cond(x.max() > 1.0, self.head.forward, last, (x,))

        x = torch.relu(self.layers[0](x))
        return torch.cond(x.max() > 2.0, self.head.forward, second, (x,))


class Until(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        count = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda n, x: (n < 10) & (x.norm() < 20.0),
                          lambda n, x: (n + 1, x + torch.tanh(self.layer(x)) * 2), (count, x))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(16, 8)

    def forward(self, h, xs):
        def step(h, x):
            h = torch.tanh(self.cell(torch.cat([h, x], -1)))
            return h, h * 2
        return scan(step, h, xs, dim=0)


@pytest.mark.parametrize("model, calls", [
    (EarlyExit, [(R(2, 8) * k,) for k in (0.1, 1, 2, 5, 10)]), (Until, [(R(2, 8) * k,) for k in (0.1, 1, 100)]),
    (Recurrent, [(R(2, 8), R(5, 2, 8))])])
def test_what_torch_exports(model, calls, tmp_path):
    torch.manual_seed(0)
    example = tuple(torch.from_numpy(x) for x in calls[0])
    torch.onnx.export(model().eval(), example, dynamo=True, verbose=False).save(str(tmp_path / "torch.onnx"))
    made = onnx.load(tmp_path / "torch.onnx")
    names = [port.name for port in real_files.session_of(tmp_path / "torch.onnx").get_inputs()]
    compare(made, [dict(zip(names, call)) for call in calls], tmp_path, 1e-5)
