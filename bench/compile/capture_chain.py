# SPDX-License-Identifier: Apache-2.0
"""Does capture stay linear? Time of `dycl.compile` per gate of SkipNet-like modules with 100, 300 and 1,000 gates.

    .venv/bin/python bench/compile/capture_chain.py [--sizes 100,300,1000] [--kinds plain,both] [--repeats 3] [--json out.json]

The kinds differ in what the arms do beside running or skipping a block: `plain` nothing, `tensors` both arms append a tensor to a
list, `records` both append a tuple of a number and a tensor, `one` only the arm that runs appends, `dict` both put an entry into a dict under
the gate's name, `object` both append to a list of an object's. Counted is processor time of this process, from the call of
`dycl.compile` (the example is not verified) to the compiled program; the best of the repeats counts, sizes by turns. Then results are compared with eager's. Exits
with 1 if a gate costs more than 1.5 times as much in a longer chain as in the shortest, 1,000 gates take more than 60 s, or a result differs.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import torch  # noqa: E402

import dycl  # noqa: E402

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


def measured(kind: str, gates: int) -> float:
    """Processor seconds of one compilation; its results are compared with eager's."""
    model = KINDS[kind](gates).eval()
    generator = torch.Generator().manual_seed(3)
    inputs = [torch.randn(1, 8, generator=generator) for _ in range(4)]
    gc.collect()
    start = time.process_time()
    program = dycl.compile(model, (inputs[0],), verify=False, threads=1, cache=False)
    spent = time.process_time() - start
    with torch.no_grad():
        for x in inputs:
            torch.testing.assert_close(program(x), model(x), rtol=1e-4, atol=1e-5)
    return spent


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
    print("dycl.compile, ms of processor time per gate (best of the repeats)")
    print(f"{'arms':9}" + "".join(f"{n:>8} gates" for n in sizes) + f"{'worst ratio':>14}{'seconds':>9}")
    failed, table = False, {}
    for kind in options.kinds.split(","):
        best = dict.fromkeys(sizes, float("inf"))
        for _ in range(options.repeats):
            for n in sizes:
                best[n] = min(best[n], measured(kind, n))
        each = {n: best[n] / n * 1e3 for n in sizes}
        ratio = max(each.values()) / each[sizes[0]]
        failed = failed or ratio > BOUND or best[sizes[-1]] > SECONDS
        table[kind] = {"ms_per_gate": each, "ratio": ratio, "seconds": best[sizes[-1]]}
        print(f"{kind:9}" + "".join(f"{each[n]:14.2f}" for n in sizes) + f"{ratio:14.2f}{best[sizes[-1]]:9.1f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
