# SPDX-License-Identifier: Apache-2.0
"""Packages whose sections were changed with their structure in mind (tests/fuzz/mutated_package.py). Loading and
running one ends soon and takes little memory: it is refused, or it runs.

    python -m tests.fuzz.mutations --count 1000 --seed 1     # of each package; `--only gate.17` repeats one
"""

import argparse
import collections
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import dycl

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "0.1.0"

# ---- models that hold most kinds of what a package may hold ----------------------------------------------


class Keeps(torch.nn.Module):
    """States of each kind, a list that grows, texts, an exception, random numbers, a loop that the input ends."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.calls, self.history = 0, []

    def forward(self, x, table):
        self.seen += x
        self.calls += 1
        self.history.append(self.calls)
        total = x.sum().item()
        if total > 100:
            raise KeyError(self.calls)
        rows = []
        while x.sum() < 20:
            x = x + torch.rand(2) + 1
            rows.append(x)
        table["last"] = f"sum {total:8.2f} of {self.calls}"
        return {"seen": self.seen * 2, "rows": rows, "n": len(self.history)}, table


class Layers(torch.nn.Module):
    """Ops of our own beside an engine's: convolutions, pooling, a recurrent layer, sorting, linear algebra."""

    def __init__(self):
        super().__init__()
        self.conv, self.gru = torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.GRU(16, 8, batch_first=True)
        self.out = torch.nn.Linear(8, 4)

    def forward(self, x):
        h = torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        if h.mean() > 0.2:
            h = h * 2
        rows, _ = self.gru(h.flatten(2).transpose(1, 2))
        y = self.out(rows[:, -1])
        best = torch.topk(y, 2).indices
        return torch.softmax(y, -1), best, torch.linalg.inv(y.T @ y + torch.eye(4)).sort(-1).values


MODELS = {"keeps": (lambda: Keeps().eval(), lambda: (torch.tensor([1.0, 2.0]), {"n": 1})),
          "layers": (lambda: Layers().eval(), lambda: (torch.ones(1, 1, 8, 8),))}


# ---- sweeps ------------------------------------------------------------------------------------------------


def sweep(path, count, seed, first=0):
    """(counts of what became of them, what is wrong)."""
    counts, wrong = collections.Counter(), []
    while first < count:
        worker = subprocess.Popen([sys.executable, "-m", "tests.fuzz.mutated_package", path, str(seed), str(first),
                                   str(count)], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            told, errors = worker.communicate(timeout=60 + 2 * (count - first))
        except subprocess.TimeoutExpired:
            worker.kill()
            told, errors = worker.communicate()
        lines = [line.split(" ", 2) for line in told.splitlines()]
        for number, what, said in lines:
            if said != "begins":
                counts[said] += 1
                if said.startswith("WRONG"):
                    wrong.append(f"{path.stem}.{number} ({what}): {said}")
        if worker.returncode == 0:
            break
        number, what, said = lines[-1] if lines else (str(first), "none", "nothing")
        wrong.append(f"{path.stem}.{number} ({what}): {said}, then the process ended ({worker.returncode}): "
                     f"{errors[-2000:]}")
        first = int(number) + 1
    return counts, wrong


def made(folder):
    """Five packages: three of the release before, and two with states, texts, exceptions, lists and own ops."""
    found = [GOLDEN / f"{name}.dycl" for name in ("gate", "decoder", "rows")]
    torch.manual_seed(0)
    for name, (model, example) in MODELS.items():
        found.append(folder / f"{name}.dycl")
        dycl.compile(model(), example()).save(found[-1])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", help="PACKAGE.NUMBER")
    options = parser.parse_args()
    total, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for path in made(Path(folder)):
            first, count = options.first, options.count
            if options.only:
                name, _, number = options.only.partition(".")
                first, count = int(number), int(number) + 1
                if name != path.stem:
                    continue
            counts, bad = sweep(path, count, options.seed, first)
            total += counts
            wrong += bad
            print(f"{path.stem}: {dict(counts.most_common())}", *bad, sep="\n", flush=True)
    print(f"{sum(total.values())} packages, {len(wrong)} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
