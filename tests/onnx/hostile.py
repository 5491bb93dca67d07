# SPDX-License-Identifier: Apache-2.0
"""Models that are wrong: malformed uses of every operator, well-formed models that make no sense, damaged bytes. None
may crash, hang, or end in an error of DyCL's own; nor may a run of what compiles.

    python -m tests.onnx.hostile --count 5000 --seed 1     # so many of each kind; `--only NAME` repeats one
"""

import argparse
import collections
import random
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests.onnx.suite import cases, judged

INTS = (0, 1, -1, 2, 3, 7, -2, 64, 100000, 2**31, -2**31, 2**63 - 1, -2**63)
SHAPES = ((), (1,), (0,), (2, 3), (1, 3, 4), (2, 0, 3), (1, 3, 5, 5), (2, 3, 4, 5, 6), None)
DTYPES = (1, 1, 1, 2, 3, 5, 6, 7, 7, 9, 10, 11, 14, 16)


def _attribute(r, name):
    kind = r.randrange(8)
    value = (r.choice(INTS), r.choice((0.0, -1.0, 1e30, float("nan"))), r.choice(("", "x", "SAME_UPPER", "linear")),
             [r.choice(INTS) for _ in range(r.randrange(5))], [0.5] * r.randrange(4), ["a", ""],
             numpy_helper.from_array(np.zeros(r.choice((0, 1, 3)), np.float32)),
             helper.make_graph([], "g", [], []))[kind]
    if isinstance(value, list) and not value:
        made = AttributeProto(name=name, type=AttributeProto.INTS)
        return made
    return helper.make_attribute(name, value)


def malformed(r, schema):
    """A model of one node, whatever its schema says."""
    count = r.choice((0, 1, 2, 3, len(schema.inputs), len(schema.inputs), len(schema.inputs) + 1, 12))
    inputs, ports, constants = [], [], []
    for i in range(count):
        name = f"x{i}"
        inputs.append("" if r.random() < 0.1 else name)
        shape, dtype = r.choice(SHAPES), r.choice(DTYPES)
        if r.random() < 0.3:
            data = np.array([r.choice(INTS[:10]) for _ in range(int(np.prod(shape or ())))], np.int64)
            constants.append(numpy_helper.from_array(data.reshape(shape or ()), name))
        else:
            ports.append(helper.make_tensor_value_info(name, dtype, shape))
    outputs = [f"y{i}" for i in range(r.choice((0, 1, 1, 1, 2, len(schema.outputs), 5)))]
    node = helper.make_node(schema.name, inputs, outputs, domain=schema.domain)
    for name in schema.attributes:
        if r.random() < 0.6:
            wanted = schema.attributes[name].type
            made = _attribute(r, name)
            for _ in range(20 if r.random() < 0.8 else 0):  # mostly of the right kind
                if made.type == int(getattr(wanted, "value", wanted)):
                    break
                made = _attribute(r, name)
            node.attribute.append(made)
    if r.random() < 0.1:
        node.attribute.append(_attribute(r, "more"))
    results = [helper.make_tensor_value_info(y, r.choice(DTYPES), r.choice(SHAPES)) if r.random() < 0.5
               else onnx.ValueInfoProto(name=y) for y in outputs[:2]]
    graph = helper.make_graph([node], "g", ports, results, constants)
    opsets = [helper.make_opsetid("", r.choice((9, 13, 17, 21, 23, 26)))]
    if schema.domain:
        opsets.append(helper.make_opsetid(schema.domain, schema.since_version))
    return helper.make_model(graph, opset_imports=opsets)


def wrong(r, model):
    """A model of the suite with something else in it: still well-formed."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    for _ in range(r.randrange(1, 4)):
        node = r.choice(graph.node) if graph.node else None
        what = r.randrange(7)
        if what == 0 and node is not None and node.attribute:
            a = r.choice(node.attribute)
            if a.type == AttributeProto.INT:
                a.i = r.choice(INTS)
            elif a.type == AttributeProto.INTS:
                values = [r.choice(INTS) for _ in range(r.choice((0, 1, len(a.ints), len(a.ints), len(a.ints) + 1)))]
                del a.ints[:]
                a.ints.extend(values)
            elif a.type == AttributeProto.STRING:
                a.s = r.choice((b"", b"linear", b"\xff", b"SAME_LOWER", b"reverse"))
            elif a.type == AttributeProto.FLOAT:
                a.f = r.choice((0.0, -1.0, float("nan"), 1e38))
        elif what == 1 and graph.input:
            kind = r.choice(graph.input).type.tensor_type
            kind.elem_type = r.choice(DTYPES)
        elif what == 2 and graph.input:
            tensor = r.choice(graph.input).type.tensor_type
            shape = r.choice(SHAPES)
            tensor.ClearField("shape")
            if shape is not None:
                tensor.shape.SetInParent()
                for d in shape:
                    tensor.shape.dim.add().dim_value = d
        elif what == 3 and graph.input:  # a constant of odd numbers in the place of an input
            port = r.choice(graph.input)
            shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
            if np.prod(shape, dtype=np.int64) < 1000:
                data = np.array([r.choice(INTS) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
                dtype = port.type.tensor_type.elem_type
                if dtype in (TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT8, TensorProto.BOOL):
                    data = data.astype(helper.tensor_dtype_to_np_dtype(dtype))
                graph.initializer.append(numpy_helper.from_array(data, port.name))
                graph.input.remove(port)
        elif what == 4 and node is not None and len(node.input) > 1:
            i, j = r.randrange(len(node.input)), r.randrange(len(node.input))
            node.input[i], node.input[j] = node.input[j], node.input[i]
        elif what == 5 and graph.output:
            tensor = r.choice(graph.output).type.tensor_type
            tensor.ClearField("shape")
            for _ in range(r.randrange(4)):
                tensor.shape.dim.add().dim_value = r.choice((0, 1, 9))
        elif what == 6 and node is not None and node.input:
            node.input[r.randrange(len(node.input))] = r.choice([*node.input, ""])
    return model


def damaged(r, model):
    data = bytearray(model.SerializeToString())
    for _ in range(r.randrange(1, 6)):
        if data:
            data[r.randrange(len(data))] = r.randrange(256)
    return bytes(data[:r.randrange(len(data))]) if r.random() < 0.2 else bytes(data)


def models(count, seed, each=10):
    """{name: a function that gives the bytes}"""
    made = {}
    schemas = {(s.domain, s.name): s for s in onnx.defs.get_all_schemas() if s.domain in ("", "ai.onnx.ml")}
    for (domain, name), schema in sorted(schemas.items()):
        for i in range(each):
            made[f"malformed.{domain}.{name}.{i}"] = lambda r, s=schema: malformed(r, s).SerializeToString()
    valid = [c._case.model for c in cases().values() if c._case.model is not None]
    for i in range(count):
        made[f"wrong.{i}"] = lambda r: wrong(r, r.choice(valid)).SerializeToString()
        made[f"damaged.{i}"] = lambda r: damaged(r, r.choice(valid))
    return {name: (lambda n=name, f=f: f(random.Random(f"{seed}.{n}"))) for name, f in made.items()}


def judge(give):
    from dycl import Error, runtime
    from dycl.native import native
    with tempfile.TemporaryDirectory() as folder:
        path, package = Path(folder) / "m.onnx", Path(folder) / "m.dycl"
        path.write_bytes(give())
        try:
            builder = native().read_program(str(path))
            native().compile_program(builder, str(package), use_cache=False, jobs=1)
        except Error as error:
            return {"verdict": error.kind, "why": str(error)[:200]}
        try:
            program = runtime.load(package, threads=1)
        except Exception as error:
            return {"verdict": "cannot be loaded", "why": str(error)[:400]}
        return {"verdict": run(program), "why": ""}


def run(program):
    """What comes of one run, on ones: "runs", "ends" with an error, "internal"; "not run" where ones cannot be made."""
    from dycl import Error, runtime
    arguments = [ones(kind) for _, kind in program.inputs]
    if any(x is NotImplemented for x in arguments):
        return "not run"
    try:
        with runtime.RunOptions(deadline=5.0, step_limit=10_000, memory_limit=1 << 30):
            program(*arguments)
    except Error as error:
        return "internal" if error.kind == "internal" else "ends"
    return "runs"


NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bool": np.bool_,
         **{f"{sign}{bits}": np.dtype(f"{sign}{bits // 8}") for sign in "iu" for bits in (8, 16, 32, 64)}}


def ones(kind):
    """An argument of a type as docs/ir.md writes it, open extents being 2."""
    if kind.startswith(("list<", "optional<")):
        return [] if kind.startswith("list<") else None
    found = re.fullmatch(r"(\w+)\[(.*)\]", kind)
    if found is None or found[1] not in NUMPY:
        return NotImplemented
    dims = [d for d in found[2].split(",") if d and d != "*"]
    shape = [int(d) if d.isdigit() else 2 for d in dims] if "*" not in found[2] else [2, 2]
    return np.ones(shape, NUMPY[found[1]]) if np.prod(shape, dtype=float) < 1e6 else NotImplemented


def bad(result):
    return result.get("dycl") in ("crash", "hang", "?") or result.get("verdict") in ("internal", "cannot be loaded")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path, help="write the bad ones into this folder")
    options = parser.parse_args()
    of = models(options.count, options.seed, options.each)
    names = [n for n in of if options.only in n]
    verdicts = collections.Counter()
    found = 0
    for name, result in judged(names, of, judge):
        verdicts[name.split(".")[0], result.get("verdict", result.get("dycl"))] += 1
        if bad(result):
            found += 1
            print(f"{name}: {result}", flush=True)
            if options.keep:
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{name}.onnx").write_bytes(of[name]())
    for (kind, verdict), count in sorted(verdicts.items()):
        print(f"{count:6} {kind} {verdict}")
    print(f"{len(names)} models, {found} bad")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
