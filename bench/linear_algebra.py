# SPDX-License-Identifier: Apache-2.0
"""Linear algebra against eager PyTorch, one thread each: bench/results/linear_algebra.md and .json.

    python bench/linear_algebra.py [--quick]

Models that treat 16 matrices one after the other, eager and compiled, are timed in turn, in blocks of about 20 ms; the
medians of the blocks' processor times are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

import dycl

RESULTS = Path(__file__).parent / "results"
SIZES = (4, 8, 16, 32, 64, 128, 256, 512)
BATCHES = ((64, 4), (16, 32))



def _regular(a):
    return a + a.shape[-1] * torch.eye(a.shape[-1], dtype=a.dtype)


OPS = {
    "inv": torch.linalg.inv,
    "solve": lambda a: torch.linalg.solve(a, a),
    "solve of a vector": lambda a: torch.linalg.solve(a, a[..., 0]),
    "det": torch.linalg.det,
    "slogdet": torch.linalg.slogdet,
    "lu_factor": torch.linalg.lu_factor,
    "lu": torch.linalg.lu,
    "cholesky": lambda a: torch.linalg.cholesky(_regular(a @ a.mT)),
    "solve_triangular": lambda a: torch.linalg.solve_triangular(_regular(a), a, upper=True),
    "qr": torch.linalg.qr,
    "svd": torch.linalg.svd,
    "svdvals": torch.linalg.svdvals,
    "eigh": lambda a: torch.linalg.eigh(a + a.mT),
    "eigvalsh": lambda a: torch.linalg.eigvalsh(a + a.mT),
    "eig": lambda a: [torch.view_as_real(x) for x in torch.linalg.eig(a)],
    "eigvals": lambda a: torch.view_as_real(torch.linalg.eigvals(a)),
    "lstsq": lambda a: torch.linalg.lstsq(a, a[..., :4]).solution,
    "pinv": torch.linalg.pinv,
    "matrix_exp": lambda a: torch.linalg.matrix_exp(a / a.shape[-1]),
}


def model(f):
    def each(a):
        return [f(x) for x in a.unbind(0)]

    return each


def pair(f, program, a, budget: float) -> tuple[float, float]:
    """Medians of both, in seconds of the processor."""
    def once(g, count):
        start = time.process_time()
        for _ in range(count):
            g(a)
        return (time.process_time() - start) / count

    for g in (f, program):
        once(g, 2)
    count = max(1, int(0.02 / max(once(f, 1), 1e-6)))
    found: tuple[list, list] = ([], [])
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(found[0]) < 3:
        for g, times in zip((f, program), found):
            times.append(once(g, count))
    return statistics.median(found[0]), statistics.median(found[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the time, sizes up to 128, nothing written")
    parser.add_argument("--only", help="one op")
    options = parser.parse_args()
    torch.set_num_threads(1)
    shapes = [(n, n) for n in SIZES if not options.quick or n <= 128] + [(b, n, n) for b, n in BATCHES]
    rows = []
    for name, f in OPS.items():
        if options.only and name != options.only:
            continue
        cells = []
        for shape in shapes:
            torch.manual_seed(0)
            a = torch.randn((16, *shape)) + torch.eye(shape[-1])
            program = dycl.compile(model(f), (a,), threads=1)
            eager, ours = pair(model(f), program, a, 0.1 if options.quick else 0.6)
            cells.append({"shape": shape, "eager_us": eager * 1e6, "dycl_us": ours * 1e6, "ratio": ours / eager})
        rows.append({"op": name, "cells": cells})
        print(f"{name:20}", *(f"{c['ratio']:5.2f}" for c in cells), flush=True)
    if options.quick or options.only:
        return
    found = {"torch": torch.__version__, "rows": rows}
    (RESULTS / "linear_algebra.json").write_text(json.dumps(found, indent=1) + "\n")
    head = ["op", *("x".join(map(str, s)) for s in shapes)]
    lines = ["# Linear algebra: time of a compiled call by that of eager, float32, one thread each", "",
             "Written by `python bench/linear_algebra.py`; below 1 the compiled program is faster.", "",
             f"| {' | '.join(head)} |", f"|{'---|' * len(head)}",
             *(f"| {r['op']} | " + " | ".join(f"{c['ratio']:.2f}" for c in r["cells"]) + " |" for r in rows), ""]
    (RESULTS / "linear_algebra.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
