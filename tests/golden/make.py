# SPDX-License-Identifier: Apache-2.0
"""Writes golden packages, with inputs and results, as a release makes them; run once per release, in its checkout:

    .venv/bin/python path/to/this/file.py 0.2.0

What it wrote is never written again: those packages stand for the ones that users have. Each is below 20 kB, has no
artifacts for a CPU, and comes with two calls that decide differently.
"""

import sys
from pathlib import Path

import numpy as np
import torch

import dycl


class Gate(torch.nn.Module):
    """Layers that the input skips; a weight, decisions, two results."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))
        self.gate = torch.nn.Linear(8, 1)

    def forward(self, x):
        used = 0
        for block in self.blocks:
            if self.gate(x).sigmoid() > 0.5:
                x = x + torch.relu(block(x))
                used += 1
        return x, used


class Decoder(torch.nn.Module):
    """A loop that the data end: a list that grows, states between calls, a dict of results, a text."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(4, 4)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x, limit):
        self.calls += 1
        steps = []
        h = torch.zeros(1, 4)
        while len(steps) < 12 and h.sum() < limit:
            h = self.cell(x, h) + 0.25
            steps.append(h)
        reason = "long" if len(steps) > 5 else "short"
        return {"steps": torch.cat(steps), "count": len(steps), "calls": self.calls.clone(), "reason": reason}


class Rows(torch.nn.Module):
    """An extent known only at run time, pooling, a sort, a condition on a shape."""

    def forward(self, x):
        if x.shape[0] > 3:
            x = torch.nn.functional.max_pool1d(x.unsqueeze(0), 2)[0]
        values, order = torch.sort(x, dim=1)
        return values.cumsum(1), order


def models():
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(1)
    row = torch.randn(1, 8, generator=draw)
    yield "gate", Gate(), [(row,), (-row * 3,)], {}
    x = torch.randn(1, 4, generator=draw)
    yield "decoder", Decoder(), [(x, torch.tensor(2.0)), (-x, torch.tensor(5.0))], {}
    yield "rows", Rows(), [(torch.randn(n, 6, generator=draw),) for n in (2, 5)], {"dynamic_dims": {"x": {0: "n"}}}


def flat(result):
    """Arrays by name; texts as they are."""
    items = result.items() if isinstance(result, dict) else enumerate(result)
    return {str(name): value if isinstance(value, str) else np.asarray(value) for name, value in items}


def main():
    folder = Path(__file__).resolve().parent / sys.argv[1]
    folder.mkdir(exist_ok=True)
    for name, model, calls, options in models():
        model.eval()
        path = folder / f"{name}.dycl"
        program = dycl.compile(model, calls[0], portable=True, verify=False, **options)
        program.save(path)
        arrays = {}
        fresh = dycl.load(path)
        with torch.no_grad():
            for call, inputs in enumerate(calls):
                for i, tensor in enumerate(inputs):
                    arrays[f"{call}/in/{i}"] = tensor.numpy()
                for key, value in flat(model(*inputs)).items():
                    arrays[f"{call}/out/{key}"] = value
                fresh(*inputs)
        np.savez(folder / f"{name}.npz", **arrays)
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
