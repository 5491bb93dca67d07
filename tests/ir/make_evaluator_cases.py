# SPDX-License-Identifier: Apache-2.0
"""Writes files/evaluator/*.dyir: tensor ops with what ONNX's reference evaluator gives.

    python tests/ir/make_evaluator_cases.py tests/ir/files/evaluator

One file a family; each op is a function of its operands with one `run:` line.
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

NAMES = {np.dtype("float32"): "f32", np.dtype("float64"): "f64", np.dtype("int64"): "i64",
         np.dtype("int32"): "i32", np.dtype("bool"): "bool"}
RNG = np.random.default_rng(7)


def f32(*shape):
    return (RNG.integers(-16, 17, shape) / 8).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def element(x):
    if isinstance(x, np.bool_):
        return "true" if x else "false"
    if isinstance(x, np.integer):
        return str(x)
    if not np.isfinite(x):
        return str(float(x))
    text = (np.format_float_scientific(x, unique=True, trim="0") if x != 0 and not 1e-3 <= abs(x) < 1e6
            else np.format_float_positional(x, unique=True, trim="0"))
    return text


def value(array):
    array = np.asarray(array)
    if 0 in array.shape:
        return f"{type_of(array)} []"
    if array.ndim == 0:
        return element(array[()])
    return "[" + ", ".join(value(row) for row in array) + "]"


def type_of(array):
    array = np.asarray(array)
    return f"{NAMES[array.dtype]}[{','.join(map(str, array.shape))}]"


def attribute(v):
    if isinstance(v, str):
        return f'"{v}"'
    if isinstance(v, float):
        return repr(v)
    if isinstance(v, np.ndarray):
        return f"{type_of(v)} [{','.join(element(x) for x in v.reshape(-1))}]"
    return str(v).replace(" ", "")


def evaluate(op, operands, attrs, results):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(operands)]
    onnx_attrs = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attrs.items()}
    node = helper.make_node(op, names, [f"y{i}" for i in range(results)], **onnx_attrs)
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
              for n, x in zip(names, operands) if x is not None]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.UNDEFINED, None) for i in range(results)]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    return ReferenceEvaluator(model).run(None, {n: x for n, x in zip(names, operands) if x is not None})


def write(folder, family, cases):
    runs, functions = [], []
    for number, (op, operands, attrs, results) in enumerate(cases):
        operands = [None if x is None else np.asarray(x) for x in operands]
        out = [np.asarray(y) for y in evaluate(op, operands, attrs, results)]
        name = f"@{op.lower()}_{number}"
        present = [(i, x) for i, x in enumerate(operands) if x is not None]
        params = ", ".join(f"%x{i}: {type_of(x)}" for i, x in present)
        shown = ", ".join(f"%x{i}" if x is not None else "_" for i, x in enumerate(operands))
        braces = " {" + ", ".join(f"{k}={attribute(v)}" for k, v in sorted(attrs.items())) + "}" if attrs else ""
        ys = ", ".join(f"%y{i}" for i in range(results))
        types = ", ".join(map(type_of, out))
        runs.append(f"// run: {name}({', '.join(value(x) for _, x in present)}) == {', '.join(value(y) for y in out)}")
        functions.append(
            f"func {name}({params}) -> ({types}) "
            f"{{\n^entry:\n  {ys} = {op}{' ' + shown if shown else ''}{braces} : {types}\n  return {ys}\n}}\n"
        )
    head = "// test: run\n// Against ONNX's reference evaluator; written by tests/ir/make_evaluator_cases.py.\n"
    (folder / f"{family}.dyir").write_text(head + "\n".join(runs) + "\n\n" + "\n".join(functions))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    x, y = np.array([[-1.5, 0.25, 2], [0, -0.125, 1]],
                    np.float32), np.array([[0.5, -2, 2], [1, -0.125, -1]], np.float32)
    v, column = np.array([-1, 0.5, 2], np.float32), np.array([[0.25], [-3]], np.float32)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5], np.float32)
    ints, others = i64(7, -7, 9, -2), i64(2, 2, -4, -3)
    flags = np.array([True, False, True]), np.array([True, True, False])
    both = [(op, [a, b], {}, 1) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min")
            for a, b in ((x, v), (column, v), (ints, others)) if op != "Div" or b is not v]
    both += [("Div", [x, np.float32(0.25)], {}, 1), ("Add", [x.astype(np.float64), v.astype(np.float64)], {}, 1),
             ("Mul", [ints.astype(np.int32), others.astype(np.int32)], {}, 1), ("Mod", [ints, others], {}, 1),
             ("Mod", [ints, others], {"fmod": 1}, 1), ("Mod", [x, np.float32(0.75)], {"fmod": 1}, 1),
             ("Pow", [np.abs(x), y], {}, 1), ("Max", [x, y, v], {}, 1), ("Where", [flags[0], x, y], {}, 1),
             ("Where", [column > 0, v, x], {}, 1)]
    both += [(op, [a, b], {}, 1) for op in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
             for a, b in ((x, v), (ints, others))]
    both += [(op, [*flags], {}, 1) for op in ("And", "Or", "Xor", "Equal")]
    write(folder, "binary", both)
    one = [(op, [x], {}, 1) for op in ("Neg Abs Sign Relu LeakyRelu Sigmoid Tanh Exp Erf Sin Cos Floor Ceil Round "
                                       "Softplus Gelu Identity").split()]
    one += [(op, [np.abs(x) + np.float32(0.5)], {}, 1) for op in ("Log", "Sqrt", "Reciprocal")]
    one += [(op, [ints], {}, 1) for op in ("Neg", "Abs", "Sign", "Relu")]
    one += [("Clip", [x, np.float32(-0.5), np.float32(1)], {}, 1), ("Clip", [x, None, np.float32(0.25)], {}, 1),
            ("Not", [flags[0]], {}, 1), ("IsNaN", [odd], {}, 1), ("IsInf", [odd], {}, 1)]
    one += ([("Cast", [x], {"to": t}, 1) for t in (6, 7, 9, 11)] + [("Cast", [flags[0]], {"to": t}, 1) for t in (1, 7)]
            + [("Cast", [ints], {"to": t}, 1) for t in (1, 6, 9)])
    one += [("CastLike", [x, ints], {}, 1), ("LeakyRelu", [x], {"alpha": 0.5}, 1)]
    write(folder, "unary", one)
    cube = f32(2, 3, 2)
    layout = [("Transpose", [cube], {"perm": [2, 0, 1]}, 1), ("Transpose", [x], {}, 1),
              ("Reshape", [x, i64(3, -1)], {}, 1), ("Reshape", [cube, i64(0, -1)], {}, 1),
              ("Flatten", [cube], {}, 1), ("Flatten", [cube], {"axis": 2}, 1),
              ("Squeeze", [f32(1, 3, 1), i64(0)], {}, 1), ("Squeeze", [f32(1, 3, 1)], {}, 1),
              ("Unsqueeze", [v, i64(0, -1)], {}, 1), ("Shape", [cube], {}, 1), ("Shape", [cube], {"start": 1}, 1),
              ("Shape", [cube], {"start": -2, "end": -1}, 1), ("Size", [cube], {}, 1),
              ("Expand", [column, i64(2, 2, 3)], {}, 1), ("Expand", [v, i64(1)], {}, 1),
              ("Tile", [x, i64(2, 1)], {}, 1), ("Tile", [x, i64(1, 2)], {}, 1), ("Concat", [x, column], {"axis": 1}, 1),
              ("Concat", [x, y], {"axis": -2}, 1), ("Slice", [x, i64(1), i64(3), i64(1)], {}, 1),
              ("Slice", [x, i64(0, -1), i64(2, -4), i64(0, 1), i64(1, -1)], {}, 1),
              ("Slice", [v, i64(-9), i64(99), i64(0), i64(2)], {}, 1), ("Slice", [v, i64(2), i64(1)], {}, 1),
              ("Split", [cube, i64(1, 2)], {"axis": 1}, 2), ("Split", [v], {"num_outputs": 2}, 2),
              ("Gather", [x, i64(1, 0, -1)], {}, 1), ("Gather", [x, np.int64(2)], {"axis": 1}, 1),
              ("Gather", [cube, i64(0, 1, 1).reshape(3, 1)], {"axis": 1}, 1), ("Constant", [], {"value": f32(2, 2)}, 1),
              ("Constant", [], {"value_int": 3}, 1), ("ConstantOfShape", [i64(2, 2)], {"value": i64(5)}, 1),
              ("ConstantOfShape", [i64(0, 3)], {}, 1), ("Range", [np.int64(1), np.int64(8), np.int64(3)], {}, 1),
              ("Range", [np.float32(2), np.float32(0), np.float32(-0.5)], {}, 1),
              ("Slice", [flags[0], i64(1), i64(3)], {}, 1)]
    write(folder, "layout", layout)
    sums = [(op, [cube, i64(*axes)], {"keepdims": keep}, 1)
            for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
            for axes, keep in (((1,), 0), ((0, -1), 1))]
    sums += ([(op, [x], {"keepdims": 0}, 1) for op in ("ReduceSum", "ReduceMax", "ReduceL2", "ReduceSumSquare")]
             + [("ReduceSum", [ints], {}, 1), ("ReduceMax", [ints], {"keepdims": 0}, 1)])
    sums += [(op, [cube], {"axis": a, "keepdims": k}, 1) for op in ("ArgMax", "ArgMin")
             for a, k in ((0, 1), (1, 0), (-1, 0))]
    sums += [("ArgMax", [np.array([1, 3, 3], np.float32)], {"select_last_index": 1}, 1),
             ("ArgMax", [np.array([1, 3, 3], np.float32)], {}, 1)]
    sums += [(op, [cube], {"axis": a}, 1) for op in ("Softmax", "LogSoftmax") for a in (-1, 1)]
    sums += [("MatMul", [x, f32(3, 2)], {}, 1), ("MatMul", [v, f32(3, 2)], {}, 1), ("MatMul", [x, v], {}, 1),
             ("MatMul", [v, v], {}, 1), ("MatMul", [f32(2, 1, 2, 3), f32(3, 3, 2)], {}, 1),
             ("MatMul", [ints.reshape(2, 2), others.reshape(2, 2)], {}, 1), ("Gemm", [x, f32(3, 2), f32(2)], {}, 1),
             ("Gemm", [f32(3, 2), f32(2, 3)], {"transA": 1, "transB": 1}, 1),
             ("Gemm", [x, f32(2, 3), column], {"transB": 1, "alpha": 0.5, "beta": 2.0}, 1)]
    write(folder, "reduction", sums)


main()
