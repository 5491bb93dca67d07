# SPDX-License-Identifier: Apache-2.0
"""Do the passes stay linear? Time per gate of generated chains at 100 and at 3,000 gates.

    .venv/bin/python bench/passes/gate_chain.py [--dycl PATH] [--sizes 100,3000]

Three kinds of chain: `skip` (run a block or skip it, own weights each), `exit` (leave early or go on), `steps`
(identical decode steps over one weight, which must end as one sub-DNN). Prints microseconds per gate of each pass and the
ratio between the sizes; exits with 1 if the total grows by more than 1.5x per gate. The best of five runs counts.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOUND = 1.5


def skip(n):
    weights = "".join(f"weight @w{i}: f32[8,8]\nweight @g{i}: f32[8,1]\n" for i in range(n))
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
    return f"{weights}func @main(%x: f32[1,8]) -> (f32[1,8]) {{\n^entry:\n  goto ^j0(%x)\n{gates}^j{n}(%y: f32[1,8]):\n  return %y\n}}\n"


def exit(n):
    weights = "".join(f"weight @w{i}: f32[8,8]\n" for i in range(n))
    gates = "".join(f"""^j{i}:
  %w{i} = weight @w{i}
  %h{i + 1} = MatMul %h{i}, %w{i} : f32[1,8]
  %m{i} = ReduceMax %h{i + 1} {{keepdims=0}} : f32[]
  %p{i} = item %m{i} : float
  %t{i} = const 0.9
  %c{i} = float.ge %p{i}, %t{i}
  %k{i} = const {i}
  branch %c{i}, ^end(%h{i + 1}, %k{i}), ^j{i + 1}
""" for i in range(n))
    return (f"{weights}func @main(%h0: f32[1,8]) -> (f32[1,8], int) {{\n^entry:\n  goto ^j0\n{gates}^j{n}:\n"
            f"  %last = const {n}\n  goto ^end(%h{n}, %last)\n^end(%y: f32[1,8], %k: int):\n  return %y, %k\n}}\n")


def steps(n):
    gates = "".join(f"""^j{i}(%h{i}: f32[1,8]):
  %w{i} = weight @w
  %m{i} = MatMul %h{i}, %w{i} : f32[1,8]
  %a{i} = ArgMax %m{i} {{axis=1}} : i64[1,1]
  %p{i} = item %a{i} : int
  %t{i} = const 7
  %c{i} = int.eq %p{i}, %t{i}
  branch %c{i}, ^end(%m{i}), ^j{i + 1}(%m{i})
""" for i in range(n))
    return (f"weight @w: f32[8,8]\nfunc @main(%x: f32[1,8]) -> (f32[1,8]) {{\n^entry:\n  goto ^j0(%x)\n{gates}"
            f"^j{n}(%last: f32[1,8]):\n  goto ^end(%last)\n^end(%y: f32[1,8]):\n  return %y\n}}\n")


def measure(dycl, text, repeats=5):
    """Seconds by pass (a pass listed twice counts once), and the sub-DNNs that remain."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.dyir"
        path.write_text(text)
        best = None
        for _ in range(repeats):
            done = subprocess.run([dycl, "opt", path, "--json"], capture_output=True, text=True, check=True)
            report = json.loads(done.stdout)
            times = {}
            for entry in report["passes"]:
                times[entry["name"]] = times.get(entry["name"], 0.0) + entry["seconds"]
            if best is None or sum(times.values()) < sum(best.values()):
                best = times
    return best, report["ir"].count("subdnn @")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dycl", default=ROOT / ".venv/bin/dycl")
    parser.add_argument("--sizes", default="100,3000")
    options = parser.parse_args()
    small, large = (int(s) for s in options.sizes.split(","))
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"{platform.machine()}, {platform.processor() or 'unknown CPU'}, commit {commit}")
    failed = False
    for make in (skip, exit, steps):
        few, _ = measure(options.dycl, make(small))
        many, kinds = measure(options.dycl, make(large))
        print(f"\n{make.__name__}: {kinds} sub-DNNs at {large} gates\n{'pass':22}{small:>10}{large:>10}  us per gate")
        for name in many:
            print(f"{name:22}{few[name] / small * 1e6:10.2f}{many[name] / large * 1e6:10.2f}")
        a, b = sum(few.values()) / small, sum(many.values()) / large
        print(f"{'all':22}{a * 1e6:10.2f}{b * 1e6:10.2f}  {b / a:.2f}x")
        failed = failed or b > BOUND * a
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
