# SPDX-License-Identifier: Apache-2.0
"""Eight sub-DNNs over one 64 MB weight: the weight is in memory once, from the package to the engine's kernels."""

import json
import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy

from dycl import _native

SIZE = 4096  # SIZE x SIZE of f32: 64 MiB
MEGABYTE = 1 << 20


def write(folder):
    """Eight products with the same weight, each in a block of its own with another constant."""
    steps = "".join(f"""^j{i}(%h{i}: f32[1,{SIZE}]):
  %w{i} = weight @w
  %m{i} = MatMul %h{i}, %w{i} : f32[1,{SIZE}]
  %b{i} = const f32[] [{i}.5]
  %a{i} = Add %m{i}, %b{i} : f32[1,{SIZE}]
  %x{i} = ReduceMax %a{i} {{keepdims=0}} : f32[]
  %p{i} = item %x{i} : float
  %t{i} = const 1e30
  %c{i} = float.gt %p{i}, %t{i}
  branch %c{i}, ^end(%a{i}), ^j{i + 1}(%a{i})
""" for i in range(8))
    (folder / "big.dyir").write_text(
        f"weight @w: f32[{SIZE},{SIZE}]\nfunc @main(%x: f32[1,{SIZE}]) -> (f32[1,{SIZE}]) {{\n"
        f"^entry:\n  goto ^j0(%x)\n{steps}"
        f"^j8(%last: f32[1,{SIZE}]):\n  %n = Neg %last : f32[1,{SIZE}]\n  goto ^end(%n)\n"
        f"^end(%y: f32[1,{SIZE}]):\n  return %y\n}}\n")
    weight = (numpy.random.default_rng(0).standard_normal((SIZE, SIZE)) / 64).astype(numpy.float32)
    header = json.dumps({"w": {"dtype": "F32", "shape": [SIZE, SIZE], "data_offsets": [0, weight.nbytes]}}).encode()
    with open(folder / "big.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + weight.tobytes())
    (folder / "small.dyir").write_text(
        "func @main(%x: f32[4]) -> (f32[4]) {\n^entry:\n  %y = Erf %x : f32[4]\n  return %y\n}\n"
    )
    return weight


def test_eight_sub_dnns_over_one_weight(tmp_path):
    tools = Path(os.environ.get("DYCL_BIN", Path(__file__).resolve().parents[2] / ".venv" / "bin"))
    weight = write(tmp_path)
    for name in ("big", "small"):
        subprocess.run([tools / "dycl", "compile", tmp_path / f"{name}.dyir", "-o", tmp_path / f"{name}.dycl"],
                       check=True, capture_output=True)
    assert (tmp_path / "big.dycl").stat().st_size < 1.05 * weight.nbytes
    program = _native.Program.load(tmp_path / "big.dycl", threads=1)
    assert len(program.sub_dnns) >= 8
    del program
    # A process of its own: nothing else allocates there. The engine's library is loaded before we count.
    script = textwrap.dedent(f"""
        import numpy
        from dycl import _native
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * {os.sysconf("SC_PAGESIZE")}
        def start(name):
            return _native.Run(_native.Program.load({str(tmp_path)!r} + "/" + name, threads=1))
        first = start("small.dycl")
        first.run([numpy.ones(4, numpy.float32)], framework="numpy")
        before = resident()
        run = start("big.dycl")
        x = numpy.ones((1, {SIZE}), numpy.float32)
        y = run.run([x], framework="numpy")[0]
        print(resident() - before)
        numpy.save({str(tmp_path / "y.npy")!r}, y)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown = int(done.stdout)
    assert grown < 1.3 * weight.nbytes, f"{grown / MEGABYTE:.0f} MB for a weight of {weight.nbytes / MEGABYTE:.0f} MB"
    h = numpy.ones((1, SIZE))
    for i in range(8):
        h = h @ weight.astype(numpy.float64) + i + 0.5
    got = numpy.load(tmp_path / "y.npy")
    numpy.testing.assert_allclose(got, -h, rtol=1e-3, atol=1e-4 * numpy.abs(h).max())
