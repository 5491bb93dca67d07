# SPDX-License-Identifier: Apache-2.0
"""Does capture stay linear? Time of `dycl.compile` per gate of SkipNet-like modules with 100, 300 and 1,000 gates.

    .venv/bin/python bench/compile/capture_chain.py [--sizes 100,300,1000] [--kinds plain,both] [--repeats 3]
        [--json out.json]

The kinds differ in what the arms do beside running or skipping a block: `plain` nothing, `tensors` both arms append a
tensor to a list, `records` both append a tuple of a number and a tensor, `one` only the arm that runs appends, `dict`
both put an entry into a dict under the gate's name, `object` both append to a list of an object's. Two times count, the
best of the repeats, sizes by turns: what capture takes, and all of `dycl.compile` (without the check of the example,
nothing from the cache) in processor time. Then results are compared with eager's. Exits with 1 if a gate's capture
costs more than 1.5 times as much in a longer chain as in the shortest (2 times with `dict`: a dict's contents are kept
as pairs), the longest takes more than 60 s, or a result differs.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import torch  # noqa: E402

import dycl  # noqa: E402

BOUNDS = {"dict": 2.0}
BOUND = 1.5
SECONDS = 60


class Chain(torch.nn.Module):
    def __init__(self, gates: int):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(gates))
        self.gates = torch.nn.ModuleList(torch.nn.Linear(8, 1) for _ in range(gates))
        for block, gate in zip(self.blocks, self.gates):
            block.weight.data = torch.randn(8, 8, generator=generator) * 0.01
            gate.weight.data = torch.randn(1, 8, generator=generator)


class Plain(Chain):
    def forward(self, x):
        for block, gate in zip(self.blocks, self.gates):
            if gate(x).item() > 0:
                x = x + torch.relu(block(x))
        return x


class Tensors(Chain):
    def forward(self, x):
        seen = []
        for block, gate in zip(self.blocks, self.gates):
            score = gate(x)
            if score.item() > 0:
                x = x + torch.relu(block(x))
                seen.append(score)
            else:
                seen.append(torch.zeros_like(score))
        return x, torch.cat(seen).mean()


class Records(Chain):
    def forward(self, x):
        seen = []
        for k, (block, gate) in enumerate(zip(self.blocks, self.gates)):
            score = gate(x)
            if score.item() > 0:
                x = x + torch.relu(block(x))
                seen.append((k, score))
            else:
                seen.append((-1, score * 2))
        return x, sum(score for k, score in seen)


class One(Chain):
    def forward(self, x):
        seen = []
        for block, gate in zip(self.blocks, self.gates):
            score = gate(x)
            if score.item() > 0:
                x = x + torch.relu(block(x))
                seen.append(score)
        return x, len(seen)


class Dict(Chain):
    def forward(self, x):
        seen = {}
        for k, (block, gate) in enumerate(zip(self.blocks, self.gates)):
            if gate(x).item() > 0:
                x = x + torch.relu(block(x))
                seen[f"gate{k}"] = 1.0
            else:
                seen[f"gate{k}"] = 0.0
        return x, sum(seen.values())


class Log:
    def __init__(self):
        self.used: list = []


class Object(Chain):
    def forward(self, x):
        log = Log()
        for block, gate in zip(self.blocks, self.gates):
            if gate(x).item() > 0:
                x = x + torch.relu(block(x))
                log.used.append(True)
            else:
                log.used.append(False)
        return x, sum(log.used)


KINDS = {"plain": Plain, "tensors": Tensors, "records": Records, "one": One, "dict": Dict, "object": Object}


def measured(kind: str, gates: int) -> tuple[float, float]:
    """Seconds of capture and of the whole compilation, whose results are compared with eager's."""
    model = KINDS[kind](gates).eval()
    generator = torch.Generator().manual_seed(3)
    inputs = [torch.randn(1, 8, generator=generator) for _ in range(4)]
    gc.collect()
    start = sum(os.times()[:4])
    program = dycl.compile(model, (inputs[0],), verify=False, threads=1, use_cache=False)
    spent = sum(os.times()[:4]) - start
    with torch.no_grad():
        for x in inputs:
            torch.testing.assert_close(program(x), model(x), rtol=1e-4, atol=1e-5)
    return program.report()["times"]["capture"], spent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,300,1000")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sizes = [int(s) for s in options.sizes.split(",")]
    torch.set_num_threads(1)
    measured("plain", 20)  # what is imported and made on first use
    print("ms per gate: capture, and all of dycl.compile (best of the repeats)")
    print(f"{'arms':9}" + "".join(f"{n:>10} gates" for n in sizes) + f"{'ratio of capture':>20}{'all, s':>9}")
    failed, table = False, {}
    for kind in options.kinds.split(","):
        best = {n: (float("inf"), float("inf")) for n in sizes}
        for _ in range(options.repeats):
            for n in sizes:
                best[n] = tuple(map(min, best[n], measured(kind, n)))
        each = {n: [seconds / n * 1e3 for seconds in best[n]] for n in sizes}
        ratio = max(capture for capture, _ in each.values()) / each[sizes[0]][0]
        whole = best[sizes[-1]][1]
        failed = failed or ratio > BOUNDS.get(kind, BOUND) or whole > SECONDS
        table[kind] = {"ms_per_gate": {n: {"capture": c, "all": w} for n, (c, w) in each.items()},
                       "ratio": ratio, "seconds": whole}
        print(f"{kind:9}" + "".join(f"{each[n][0]:8.2f}{each[n][1]:8.2f}" for n in sizes)
              + f"{ratio:20.2f}{whole:9.1f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
