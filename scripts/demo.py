# SPDX-License-Identifier: Apache-2.0
"""`make demo`: a PyTorch early-exit network with an unmodified forward, compiled, verified, run without Python."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import dycl

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples" / "01_early_exit"))
from model import EarlyExit  # noqa: E402


def main() -> int:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = EarlyExit().eval()
    inputs = [torch.randn(1, 3, 32, 32) * scale for scale in (0.25, 1.0, 1.5, 2.0, 4.0) for _ in range(8)]

    print("1. compile: examples/01_early_exit/model.py, forward as its author wrote it")
    started = time.perf_counter()
    program = dycl.compile(model, (inputs[0],), threads=1)
    report = program.report()
    print(f"   {time.perf_counter() - started:.2f} s; {report['blocks']} blocks, {report['sub_dnns']} sub-DNNs")

    print("2. its heterogeneous control-flow graph, in short")
    show(program.hcfg)

    print("3. verify against PyTorch on", len(inputs), "inputs")
    result = program.verify([(x,) for x in inputs])
    taken = {}
    for x in inputs:
        with torch.no_grad():
            exit_taken = model(x)[1]
        taken[exit_taken] = taken.get(exit_taken, 0) + 1
    print(f"   {len(result['mismatches'])} mismatches, log10 of the largest error {result['log10_error']:.2f}; "
          f"exits taken: {dict(sorted(taken.items()))}")

    print("4. run the package without Python")
    with tempfile.TemporaryDirectory() as folder:
        package, array = os.path.join(folder, "early_exit.dycl"), os.path.join(folder, "x.npy")
        program.save(package)
        np.save(array, inputs[0].numpy())
        runner = ROOT / ".venv" / "bin" / "dycl-run"
        done = subprocess.run([str(runner), package, "--input", array, "--repeat", "200", "--threads", "1", "--json"],
                              env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
        if done.returncode:
            print(done.stderr)
            return 1
        print("   dycl-run:", json.dumps(brief(json.loads(done.stdout))))

    print("5. latency, one thread, medians over the inputs, interleaved")
    eager, ours = measure(model, program, inputs)
    print(f"   PyTorch eager {eager * 1e6:.0f} us, DyCL {ours * 1e6:.0f} us: {eager / ours:.2f}x")
    return 1 if result["mismatches"] else 0


def show(text: str) -> None:
    """Blocks and exits only."""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("subdnn"):
            break
        if stripped.startswith(("func ", "^", "branch", "goto", "return", "switch", "raise")) or "= call " in stripped:
            print("   " + line[:118])


def brief(report: dict) -> dict:
    return {k: v for k, v in report.items() if not isinstance(v, (list, dict)) or len(json.dumps(v)) < 200}


def measure(model, program, inputs) -> tuple[float, float]:
    times: tuple[list, list] = ([], [])
    with torch.no_grad():
        for _ in range(10):
            for x in inputs:
                for k, call in enumerate((model, program)):
                    start = time.perf_counter()
                    call(x)
                    times[k].append(time.perf_counter() - start)
    return float(np.median(times[0])), float(np.median(times[1]))


if __name__ == "__main__":
    sys.exit(main())
