# SPDX-License-Identifier: Apache-2.0
"""Does compiling stay linear? Our time per gate of generated chains at 100 and at 3,000 gates.

    .venv/bin/python bench/compile/gate_chain.py [--sizes 100,3000] [--kinds skip,exit] [--repeats 3]

Four kinds of chain, generated: `skip` (run a block or skip it, own weights each), `exit` (leave early or go on),
`decode` (identical steps over one weight, which must end as one sub-DNN) and `conv` (skip over convolutions, which the
engine compiles). Counted is the time of `dycl compile` from reading the text to the written package without what the
engine spends in its own library; the best of the repeats counts. Then the package's results are compared with the
reference interpreter's (tensor ops by ONNX Runtime, optimisation off). Exits with 1 if a gate costs more than 1.5 times
as much in the long chain, or a result differs.
"""

import argparse
import json
import platform
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
DYCL = ROOT / ".venv" / "bin" / "dycl"
BOUND = 1.5


def skip(n):
    gates = "".join(f"""^j{i}(%h{i}: f32[1,8]):
  %gate{i} = weight @g{i}
  %s{i} = MatMul %h{i}, %gate{i} : f32[*]
  %z{i} = Sigmoid %s{i} : f32[1,1]
  %p{i} = item %z{i} : float
  %t{i} = const 0.5
  %c{i} = float.gt %p{i}, %t{i}
  branch %c{i}, ^run{i}, ^j{i + 1}(%h{i})
^run{i}:
  %w{i} = weight @w{i}
  %m{i} = MatMul %h{i}, %w{i} : f32[*]
  %r{i} = Relu %m{i} : f32[*]
  %a{i} = Add %h{i}, %r{i} : f32[1,8]
  goto ^j{i + 1}(%a{i})
""" for i in range(n))
    weights = {}
    for i in range(n):
        weights[f"w{i}"], weights[f"g{i}"] = normal((8, 8), 1e-3), normal((8, 1), 1)
    return (
        "func @main(%x: f32[1,8]) -> (f32[1,8]) "
        f"{{\n^entry:\n  goto ^j0(%x)\n{gates}^j{n}(%y: f32[1,8]):\n  return %y\n}}\n",
        weights,
    )


def exit(n):
    gates = "".join(f"""^j{i}:
  %w{i} = weight @w{i}
  %h{i + 1} = MatMul %h{i}, %w{i} : f32[1,8]
  %m{i} = ReduceMax %h{i + 1} {{keepdims=0}} : f32[]
  %p{i} = item %m{i} : float
  %t{i} = const 2.5
  %c{i} = float.ge %p{i}, %t{i}
  %k{i} = const {i}
  branch %c{i}, ^end(%h{i + 1}, %k{i}), ^j{i + 1}
""" for i in range(n))
    return (f"func @main(%h0: f32[1,8]) -> (f32[1,8], int) {{\n^entry:\n  goto ^j0\n{gates}^j{n}:\n"
            f"  %last = const {n}\n  goto ^end(%h{n}, %last)\n^end(%y: f32[1,8], %k: int):\n  return %y, %k\n}}\n",
            {f"w{i}": rotation(8) for i in range(n)})


def decode(n):
    gates = "".join(f"""^j{i}(%h{i}: f32[1,256]):
  %w{i} = weight @w
  %m{i} = MatMul %h{i}, %w{i} : f32[1,256]
  %a{i} = ArgMax %m{i} {{axis=1}} : i64[1,1]
  %p{i} = item %a{i} : int
  %t{i} = const 255
  %c{i} = int.eq %p{i}, %t{i}
  %k{i} = const {i}
  branch %c{i}, ^end(%m{i}, %k{i}), ^j{i + 1}(%m{i})
""" for i in range(n))
    return (f"func @main(%x: f32[1,256]) -> (f32[1,256], int) {{\n^entry:\n  goto ^j0(%x)\n{gates}"
            f"^j{n}(%end: f32[1,256]):\n  %last = const {n}\n  goto ^end(%end, %last)\n"
            f"^end(%y: f32[1,256], %k: int):\n  return %y, %k\n}}\n", {"w": rotation(256)})


def conv(n):
    gates = "".join(f"""^j{i}(%h{i}: f32[1,16,8,8]):
  %gate{i} = weight @g{i}
  %pooled{i} = GlobalAveragePool %h{i} : f32[1,16,1,1]
  %flat{i} = Flatten %pooled{i} : f32[1,16]
  %s{i} = MatMul %flat{i}, %gate{i} : f32[1,1]
  %p{i} = item %s{i} : float
  %t{i} = const 0.0
  %c{i} = float.gt %p{i}, %t{i}
  branch %c{i}, ^run{i}, ^j{i + 1}(%h{i})
^run{i}:
  %w{i} = weight @w{i}
  %m{i} = Conv %h{i}, %w{i} {{pads=[1,1,1,1]}} : f32[1,16,8,8]
  %r{i} = Relu %m{i} : f32[1,16,8,8]
  %a{i} = Add %h{i}, %r{i} : f32[1,16,8,8]
  goto ^j{i + 1}(%a{i})
""" for i in range(n))
    weights = {}
    for i in range(n):
        weights[f"w{i}"], weights[f"g{i}"] = normal((16, 16, 3, 3), 1e-4), normal((16, 1), 1)
    return (f"func @main(%x: f32[1,16,8,8]) -> (f32[1,16,8,8]) {{\n^entry:\n  goto ^j0(%x)\n{gates}"
            f"^j{n}(%y: f32[1,16,8,8]):\n  return %y\n}}\n", weights)


KINDS = {"skip": skip, "exit": exit, "decode": decode, "conv": conv}
random = numpy.random.default_rng(1)


def normal(shape, scale):
    return (random.standard_normal(shape) * scale).astype(numpy.float32)


def rotation(n):
    return numpy.linalg.qr(random.standard_normal((n, n)))[0].astype(numpy.float32)


def write(kind, gates, folder):
    """chain.dyir and chain.safetensors; returns the former."""
    global random
    random = numpy.random.default_rng(1)
    text, weights = KINDS[kind](gates)
    path = Path(folder) / "chain.dyir"
    shapes = {name: ",".join(map(str, w.shape)) for name, w in weights.items()}
    path.write_text("".join(f"weight @{name}: f32[{shape}]\n" for name, shape in shapes.items()) + text)
    table, end = {}, 0
    for name, w in weights.items():
        table[name] = {"dtype": "F32", "shape": list(w.shape), "data_offsets": [end, end + w.nbytes]}
        end += w.nbytes
    header = json.dumps(table).encode()
    with open(path.with_suffix(".safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for w in weights.values():
            file.write(w.tobytes())
    return path


def compile(dycl, path, repeats=1):
    """The report of the fastest of several compilations, with our own seconds: without the engine's library."""
    best = None
    for _ in range(repeats):
        done = subprocess.run([dycl, "compile", path, "-o", path.with_suffix(".dycl"), "--no-cache", "--json"],
                              capture_output=True, text=True, check=True)
        report = json.loads(done.stdout)
        report["ours"] = sum(s["seconds"] for s in report["stages"]) - report["engine_seconds"]
        if best is None or report["ours"] < best["ours"]:
            best = report
    return best


def compare(path, package, inputs):
    """Runs the package and the interpreter on random inputs; returns the set of paths taken."""
    import torch

    from dycl import _native

    run = _native.Run(_native.Program.load(package, threads=1))
    program = _native.read_program(path)
    interpreter = _native.Interpreter(program, "ort")
    [(_, kind)] = _native.Program.load(package, threads=1).inputs
    shape = [int(d) for d in kind[4:-1].split(",")]
    generator = torch.Generator().manual_seed(5)
    paths = set()
    for _ in range(inputs):
        x = torch.randn(shape, generator=generator)
        wanted, _ = interpreter.run([x])
        paths.add(tuple(arm for _, arm, _ in interpreter.decisions))
        for ours, theirs in zip(run.run([x]), wanted, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(ours), numpy.asarray(theirs), rtol=1e-3, atol=1e-5)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dycl", default=DYCL)
    parser.add_argument("--sizes", default="100,3000")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    small, large = (int(s) for s in options.sizes.split(","))
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True).stdout.strip()
    print(f"{platform.machine()}, commit {commit}; ours, in us per gate, without the engine's own")
    failed = False
    for kind in options.kinds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            few = compile(options.dycl, write(kind, small, folder), 2 * options.repeats)
            path = write(kind, large, folder)
            many = compile(options.dycl, path, options.repeats)
            paths = compare(path, path.with_suffix(".dycl"), inputs=3)
        a, b = few["ours"] / small * 1e6, many["ours"] / large * 1e6
        stages = ", ".join(f"{s['name']} {s['seconds'] / large * 1e6:.0f}" for s in many["stages"])
        print(f"{kind:8}{small:>6} gates {a:8.1f}  {large:>6} gates {b:8.1f}  {b / a:.2f}x   ({stages}, engine "
              f"{many['engine_seconds'] / large * 1e6:.0f}; {many['sub_dnns']} sub-DNNs; "
              f"3 inputs equal, {len(paths)} paths)", flush=True)
        failed = failed or b > BOUND * a
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
