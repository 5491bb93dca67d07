# SPDX-License-Identifier: Apache-2.0
"""propagate_shapes against ONNX Runtime: what it says of a result's shape must be the shape that results.

Each case is one op on random operands. It is asked three times: with known extents, with a symbol for each extent
(the answer is evaluated at the real extents), and with `?` for some. It may say less than the truth, never other.
"""

import os
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
DYCL = Path(os.environ.get("DYCL", ROOT / ".venv/bin/dycl"))
NAMES = {np.dtype(np.float32): "f32", np.dtype(np.int64): "i64", np.dtype(np.bool_): "bool"}
ROUNDS = 12


def f(*shape):
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def ints(*values):
    return np.array(values, dtype=np.int64)


def broadcastable(r):
    shape = [r.randint(1, 4) for _ in range(r.randint(0, 3))]
    other = [d if r.random() < 0.6 else 1 for d in shape][r.randint(0, len(shape)):]
    return (shape, other) if r.random() < 0.5 else (other, shape)


# Each maker gives (op, operands, constant operands by index, attributes, number of results).
def binary(r):
    a, b = broadcastable(r)
    return r.choice(["Add", "Mul", "Less", "Max"]), [f(*a), f(*b)], [], {}, 1


def where(r):
    a, b = broadcastable(r)
    return "Where", [f(*a) > 0.5, f(*b), f(*a)], [], {}, 1


def unary(r):
    return r.choice(["Relu", "Softmax", "Sigmoid", "Identity"]), [f(2, r.randint(1, 4))], [], {}, 1


def matmul(r):
    k = r.randint(1, 4)
    batch, other = broadcastable(r)
    a = [*batch, r.randint(1, 4), k] if r.random() < 0.8 else [k]
    b = [*other, k, r.randint(1, 4)] if r.random() < 0.8 else [k]
    return "MatMul", [f(*a), f(*b)], [], {}, 1


def gemm(r):
    m, k, n = (r.randint(1, 4) for _ in range(3))
    ta, tb = r.randint(0, 1), r.randint(0, 1)
    return "Gemm", [f(*((k, m) if ta else (m, k))), f(*((n, k) if tb else (k, n)))], [], {"transA": ta, "transB": tb}, 1


def windows(r, dims, kernel):
    attrs = {"strides": [r.randint(1, 3) for _ in range(dims)]}
    if r.random() < 0.4:
        attrs["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        attrs["dilations"] = [r.randint(1, 2) for _ in range(dims)]
        attrs["pads"] = [r.randint(0, k - 1) for k in kernel] + [r.randint(0, k - 1) for k in kernel]
    return attrs


def conv(r):
    dims = r.randint(1, 2)
    kernel = [r.randint(1, 3) for _ in range(dims)]
    group = r.choice([1, 2])
    x = f(r.randint(1, 2), 2, *(r.randint(6, 11) for _ in range(dims)))
    return "Conv", [x, f(4, 2 // group, *kernel)], [], {"group": group, **windows(r, dims, kernel)}, 1


def conv_transpose(r):
    kernel = [r.randint(1, 3)]
    attrs = windows(r, 1, kernel)
    if "auto_pad" in attrs:
        attrs = {"strides": attrs["strides"]}
    return "ConvTranspose", [f(1, 2, r.randint(5, 8)), f(2, 3, *kernel)], [], attrs, 1


def pool(r):
    kernel = [r.randint(2, 3), r.randint(2, 3)]
    attrs = {"kernel_shape": kernel, "ceil_mode": r.randint(0, 1), **windows(r, 2, kernel)}
    return r.choice(["MaxPool", "AveragePool"]), [f(1, 2, r.randint(6, 11), r.randint(6, 11))], [], attrs, 1


def small_pool(r):
    """Windows that may be larger than what they slide over."""
    kernel, strides = [r.randint(1, 5), r.randint(1, 5)], [r.randint(1, 4), r.randint(1, 4)]
    attrs = {"kernel_shape": kernel, "strides": strides, "ceil_mode": r.randint(0, 1)}
    return r.choice(["MaxPool", "AveragePool"]), [f(1, 2, r.randint(1, 4), r.randint(1, 4))], [], attrs, 1


def global_pool(r):
    return "GlobalAveragePool", [f(2, 3, r.randint(1, 5), r.randint(1, 5))], [], {}, 1


def reduce(r):
    rank = r.randint(1, 3)
    axes = r.sample(range(-rank, 0), r.randint(0, rank))
    attrs = {"keepdims": r.randint(0, 1), "noop_with_empty_axes": r.randint(0, 1)}
    operands = [f(*(r.randint(1, 4) for _ in range(rank)))]
    if r.random() < 0.8:
        operands.append(ints(*axes))
    return r.choice(["ReduceSum", "ReduceMax", "ReduceMean"]), operands, [1], attrs, 1


def arg_max(r):
    return "ArgMax", [f(2, 3, 4)], [], {"axis": r.randint(-3, 2), "keepdims": r.randint(0, 1)}, 1


def top_k(r):
    return "TopK", [f(3, 5), ints(r.randint(1, 3))], [1], {"axis": r.choice([0, 1, -1])}, 2


def reshape(r):
    shape = [r.choice([1, 2, 3, 4]) for _ in range(3)]
    target = r.choice([[0, -1], [-1, shape[2]], [shape[0], -1, 1], [-1], [0, 0, -1], [shape[0] * shape[1], shape[2]]])
    return "Reshape", [f(*shape), ints(*target)], [1], {}, 1


def flatten(r):
    return "Flatten", [f(2, 3, 4)], [], {"axis": r.randint(-3, 3)}, 1


def transpose(r):
    perm = r.sample(range(3), 3)
    return "Transpose", [f(2, 3, 4)], [], {"perm": perm} if r.random() < 0.8 else {}, 1


def squeeze(r):
    return "Squeeze", [f(1, 3, 1)] + ([ints(r.choice([0, 2, -1]))] if r.random() < 0.7 else []), [1], {}, 1


def unsqueeze(r):
    return "Unsqueeze", [f(2, 3), ints(*r.sample([0, 1, -1], 2))], [1], {}, 1


def expand(r):
    return "Expand", [f(2, 1), ints(*r.choice([[2, 3], [4, 1, 1], [1], [2, 1], [3, 2, 5]]))], [1], {}, 1


def tile(r):
    return "Tile", [f(2, 3), ints(r.randint(1, 3), r.randint(1, 3))], [1], {}, 1


def concat(r):
    axis = r.randint(-2, 1)
    shapes = [[2, 3] for _ in range(r.randint(1, 3))]
    for shape in shapes:
        shape[axis] = r.randint(1, 4)
    return "Concat", [f(*s) for s in shapes], [], {"axis": axis}, 1


def split(r):
    if r.random() < 0.5:
        return "Split", [f(5, 6), ints(2, 4)], [1], {"axis": 1}, 2
    count = r.randint(2, 3)
    return "Split", [f(r.randint(4, 7), 2)], [], {"axis": 0, "num_outputs": count}, count


def slice_(r):
    bounds = [-100, -3, -1, 0, 1, 2, 5, 100, 2**62, -(2**62)]
    operands = [f(4, 5), ints(r.choice(bounds)), ints(r.choice(bounds)), ints(r.choice([0, 1, -1]))]
    if r.random() < 0.6:
        operands.append(ints(r.choice([1, 2, -1, -2])))
    return "Slice", operands, [1, 2, 3, 4], {}, 1


def gather(r):
    indices = r.choice([np.array(1, dtype=np.int64), ints(0, 1), ints(0, -1, 1).reshape(3, 1)])
    return "Gather", [f(2, 3, 2), indices], [], {"axis": r.randint(-3, 2)}, 1


def gather_nd(r):
    indices = ints(0, 1, 1, 0).reshape(r.choice([(2, 2), (4, 1), (2, 1, 2)]))
    return "GatherND", [f(2, 3, 4), indices], [], {}, 1


def pad(r):
    return "Pad", [f(3, 4), ints(*(r.randint(-1, 2) for _ in range(4)))], [1], {}, 1


def shape_of(r):
    attrs = {} if r.random() < 0.5 else {"start": r.randint(-3, 1), "end": r.randint(-1, 3)}
    return r.choice(["Shape"]), [f(2, 3)], [], attrs, 1


def constant_of_shape(r):
    return "ConstantOfShape", [ints(r.randint(0, 3), 2)], [0], {}, 1


def one_hot(r):
    operands = [ints(0, 1, 2), np.array(5, dtype=np.int64), f(2)]
    return "OneHot", operands, [1], {"axis": r.choice([0, 1, -1])}, 1


def layer_norm(r):
    axis = r.choice([-1, 1])
    return "LayerNormalization", [f(2, 3, 4), f(*([4] if axis == -1 else [3, 4]))], [], {"axis": axis}, 1


def recurrence(r):
    hidden, directions = r.randint(1, 3), r.choice([1, 2])
    gates, op = r.choice([(4, "LSTM"), (3, "GRU")])
    attrs = {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward"}
    operands = [f(3, 2, 4), f(directions, gates * hidden, 4), f(directions, gates * hidden, hidden)]
    return op, operands, [], attrs, 3 if op == "LSTM" else 2


def einsum(r):
    equation, shapes = r.choice([("ij,jk->ik", ([2, 3], [3, 4])), ("bij,bjk->bik", ([2, 2, 3], [2, 3, 4])),
                                 ("ii->i", ([3, 3],)), ("ij->", ([2, 3],)), ("ij,k->kji", ([2, 3], [4]))])
    return "Einsum", [f(*s) for s in shapes], [], {"equation": equation}, 1


def depth(r):
    if r.random() < 0.5:
        return "DepthToSpace", [f(1, 8, 2, 3)], [], {"blocksize": 2}, 1
    return "SpaceToDepth", [f(1, 2, 4, 6)], [], {"blocksize": 2}, 1


def resize(r):
    operands = [f(1, 2, 4, 4), None, None, ints(1, 2, r.randint(2, 6), r.randint(2, 6))]
    return "Resize", operands, [3], {"mode": "nearest"}, 1


def non_zero(r):
    return "NonZero", [f(2, 3)], [], {}, 1


def attention(r):
    heads, query, key = r.randint(1, 2), r.randint(1, 3), r.randint(1, 4)
    return "Attention", [f(1, heads, query, 8), f(1, heads, key, 8), f(1, heads, key, 4)], [], {}, 1


MAKERS = [binary, where, unary, matmul, gemm, conv, conv_transpose, pool, small_pool, global_pool, reduce, arg_max,
          top_k, reshape, flatten, transpose, squeeze, unsqueeze, expand, tile, concat, split, slice_, gather,
          gather_nd, pad, shape_of, constant_of_shape, one_hot, layer_norm, recurrence, einsum, depth, resize, non_zero,
          attention]


def real_results(op, operands, attrs, count):
    names = [f"i{i}" if x is not None else "" for i, x in enumerate(operands)]
    code = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
            np.dtype(np.bool_): TensorProto.BOOL}
    inputs = [helper.make_tensor_value_info(n, code[x.dtype], x.shape) for n, x in zip(names, operands) if n]
    outputs = [f"o{i}" for i in range(count)]
    graph = helper.make_graph([helper.make_node(op, names, outputs, **attrs)], "g", inputs,
                              [helper.make_empty_tensor_value_info(o) for o in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {n: x for n, x in zip(names, operands) if n})


def attribute(value):
    if isinstance(value, str):
        return f'"{value}"'
    return "[" + ",".join(map(str, value)) + "]" if isinstance(value, list) else str(value)


def program(op, operands, constants, attrs, results, dims_of):
    """The .dyir text and the symbols' real values. `dims_of(i, d, extent, values)` writes an extent of operand i."""
    values, params, body, names = {}, [], [], []
    for i, x in enumerate(operands):
        if x is None:
            names.append("_")
        elif i in constants:
            elements = "[" + ",".join(map(str, x.reshape(-1))) + "]"
            body.append(f"  %k{i} = const i64[{','.join(map(str, x.shape))}] {elements}")
            names.append(f"%k{i}")
        else:
            dims = ",".join(dims_of(i, d, n, values) for d, n in enumerate(x.shape))
            params.append(f"%x{i}: {NAMES[x.dtype]}[{dims}]")
            names.append(f"%x{i}")
    types = [NAMES[r.dtype] + "[*]" for r in results]
    left = ", ".join(f"%y{i}" for i in range(len(results)))
    inside = "{" + ", ".join(f"{k}={attribute(v)}" for k, v in sorted(attrs.items())) + "}" if attrs else ""
    body.append(f"  {left} = {op} {', '.join(names)} {inside} : {', '.join(types)}")
    symbols = "".join(f"symbol {s} in [1, 64]\n" for s in values)
    text = f"{symbols}func @main({', '.join(params)}) -> ({', '.join(types)}) {{\n^entry:\n" + "\n".join(body)
    return text + f"\n  return {left}\n}}\n", values


def said(text, path):
    path.write_text(text)
    done = subprocess.run([DYCL, "opt", path, "--passes=propagate_shapes"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + text
    line = next(l for l in done.stdout.splitlines() if l.strip().startswith("%y0"))
    return re.findall(r"[a-z0-9]+\[([^\[\]]*)\]", line.split(" : ")[-1])


def agrees(dims, shape, values):
    if dims == "*":
        return True
    parts = re.split(r",(?![^(]*\))", dims) if dims else []
    return len(parts) == len(shape) and all(
        p == "?" or eval(p, {"max": max, "min": min}, dict(values)) == n for p, n in zip(parts, shape))


def symbol_for(i, d, extent, values):
    name = f"S{i}_{d}"
    values[name] = extent
    return name


@pytest.mark.parametrize("maker", MAKERS, ids=lambda m: m.__name__.strip("_"))
def test_against_onnx_runtime(maker, tmp_path):
    informed = 0
    for seed in range(ROUNDS):
        r = random.Random(seed)
        op, operands, constants, attrs, count = maker(r)
        try:
            results = real_results(op, operands, attrs, count)
        except Exception:  # the op itself refuses these operands
            continue
        kinds = [lambda i, d, n, v: str(n), symbol_for, lambda i, d, n, v: "?" if r.random() < 0.5 else str(n)]
        for kind in kinds:
            text, values = program(op, operands, constants, attrs, results, kind)
            for dims, result in zip(said(text, tmp_path / "case.dyir"), results):
                assert agrees(dims, result.shape, values), f"seed {seed}: said [{dims}], is {result.shape}\n{text}"
                informed += "*" not in dims
    assert informed > 0, "the rule never says anything"
