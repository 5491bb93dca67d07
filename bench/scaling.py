# SPDX-License-Identifier: Apache-2.0
"""Does the cost per step stay what it is when there are many?

    .venv/bin/python bench/scaling.py [--gates 1002] [--steps 1000]

Gates: a SkipNet of that many (depth 2 * gates + 2 rounded to 6n + 2) against the 38-layer one: processor time per executed gate,
interleaved, median of rounds; at most 1.1x is wanted. Steps: an LSTM cell in a loop that the input bounds; what the runtime spends
outside the engine's calls, per step; under 1 us is wanted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import workload  # noqa: E402  (also puts the package on the path)
import torch  # noqa: E402


class Decoder(torch.nn.Module):
    """Steps until the input says so."""

    def __init__(self, extent: int = 64):
        super().__init__()
        self.cell = torch.nn.LSTMCell(extent, extent)

    def forward(self, x, steps):
        h, c, done = x, x, 0
        while done < steps.item():
            h, c = self.cell(h, (h, c))
            done += 1
        return h


def native_run(program, args):
    """The package's Run, its arguments, and a call without the Python interface around it."""
    run = program._engine.run_
    flat = workload.flat_inputs(program, args)
    return run, lambda: run.run(flat)


def per_step(steps: int) -> float:
    import dycl

    model = Decoder().eval()
    args = (torch.randn(1, 64), torch.tensor(steps))
    run, call = native_run(dycl.compile(model, args, threads=1), args)
    call()
    outside = []
    for _ in range(30):
        run.set_profile(True)
        start = time.process_time_ns()
        call()
        spent = time.process_time_ns() - start
        outside.append((spent - sum(ns for _, ns in run.profile)) / 1e3 / steps)
    run.set_profile(False)
    return statistics.median(outside)


def per_gate(gates: int) -> tuple[float, float]:
    import dycl
    import zoo

    calls, counts = [], []
    for depth in (38, 6 * round(2 * gates / 6) + 2):
        model = zoo.skipnet(depth, "rnn")
        args = zoo.MODELS["skipnet_rnn"].inputs(0)
        run, call = native_run(dycl.compile(model, args, threads=1, verify=False), args)
        run.set_trace(True)
        call()
        counts.append(len(run.trace))
        run.set_trace(False)
        calls.append(call)
    times: list[list[float]] = [[], []]
    for _ in range(40):
        for k, call in enumerate(calls):
            call()
            start = time.process_time_ns()
            call()
            times[k].append((time.process_time_ns() - start) / 1e3 / counts[k])
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gates", type=int, default=1002)
    p.add_argument("--steps", type=int, default=1000)
    args = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"decode loop of {args.steps} steps: {per_step(args.steps):.3f} us per step outside the engine's calls", flush=True)
    small, large = per_gate(args.gates)
    print(f"SkipNet: {small:.1f} us per gate with 17, {large:.1f} us with about {args.gates}: {large / small:.3f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
