# SPDX-License-Identifier: Apache-2.0
"""Are the answers eager's, on every back end? `make backends-correct`.

    .venv/bin/python bench/backends_correct.py [--models a,b] [--backends ort,openvino,tvm,auto] [--inputs 100]
        [--drives 200] [--fresh]

Every model of the zoo on every back end, as bench/correctness.py checks it: each input's decisions forced and free, and
arms that no input takes driven. Each input is kept in build/backends-work as soon as it is done, each pair of model and
back end in bench/results/backends_correct.json (and .md); the same command goes on where the last one was stopped.
`--fresh` does what is named again. Where nothing was run, the table has what bench/paper.py found in the same way with
more inputs (bench/results/paper.json).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import correctness
import workload
from paper import Partial, Store, commit

ROOT, RESULTS = workload.ROOT, workload.ROOT / "bench" / "results"
WORK = ROOT / "build" / "backends-work"
BACKENDS = ["ort", "openvino", "tvm", "auto"]


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", default="", help="names of the zoo, with commas; default: all")
    p.add_argument("--backends", default=",".join(BACKENDS))
    p.add_argument("--inputs", type=int, default=100)
    p.add_argument("--drives", type=int, default=200, help="runs through arms that no input takes")
    p.add_argument("--budget", type=float, default=60.0, help="seconds that auto may measure")
    p.add_argument("--limit", type=float, default=3600.0, help="seconds for one model on one back end")
    p.add_argument("--fresh", action="store_true", help="forget earlier results of these models and back ends")
    p.add_argument("--one", help=argparse.SUPPRESS)
    args = p.parse_args()
    import zoo

    if args.one:
        print("RESULT " + json.dumps(checked(args.one, args.backends, args)), flush=True)
        return 0
    names, backends = [n for n in args.models.split(",") if n] or list(zoo.MODELS), args.backends.split(",")
    if unknown := [n for n in names if n not in zoo.MODELS] + [b for b in backends if b not in BACKENDS]:
        p.error(f"unknown: {', '.join(unknown)}")
    store = Store(RESULTS / "backends_correct.json")
    if args.fresh:
        for name in names:
            for backend in backends:
                store.change(lambda results: results["models"].get(name, {}).pop(backend, None))
    for backend in backends:
        for name in names:
            row = store.read()["models"].get(name, {}).get(backend, {})
            if row.get("inputs", 0) >= args.inputs and "failed" not in row:
                continue
            row = run_one(name, backend, args)
            store.put(name, backend, row)
            print(f"{name} on {backend}: {brief(row)} ({row['part_seconds']:.0f} s)", flush=True)
            (RESULTS / "backends_correct.md").write_text(page(store.read()))
    (RESULTS / "backends_correct.md").write_text(page(store.read()))
    known = store.read()["models"]
    bad = [f"{n} on {b}" for n in names for b in backends if is_wrong(known.get(n, {}).get(b, {"failed": ""}))]
    print("wrote bench/results/backends_correct.json and .md" + (f"; wrong or failed: {', '.join(bad)}" if bad else ""))
    return 1 if bad else 0


def is_wrong(row: dict) -> bool:
    return "failed" in row or bool(row["mismatches"])


def run_one(name: str, backend: str, args: argparse.Namespace) -> dict:
    begun = time.time()
    command = [sys.executable, str(Path(__file__).resolve()), "--one", name, "--backends", backend,
               "--inputs", str(args.inputs), "--drives", str(args.drives), "--budget", str(args.budget)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=ROOT, timeout=args.limit,
                              env=dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore"))
        lines = done.stdout.splitlines()
        row = next((json.loads(x[7:]) for x in lines if x.startswith("RESULT ")),
                   {"failed": "\n".join(lines)[-1500:] or "no answer"})
    except subprocess.TimeoutExpired:
        row = {"failed": f"took more than {args.limit:.0f} s; the same command goes on"}
    return row | {"commit": commit(), "part_seconds": round(time.time() - begun, 1)}


def checked(name: str, backend: str, args: argparse.Namespace) -> dict:
    import torch

    import dycl

    torch.set_num_threads(1)
    torch.manual_seed(0)
    work, folder = workload.find(name), WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    model = work.build()
    program = dycl.compile(model, work.inputs(0), backend=backend, threads=1, verify=False, budget=args.budget)
    key = [hashlib.sha256(program.ir_text.encode()).hexdigest()[:16], backend, commit()]
    partial = Partial(folder, "correct_" + backend, key)
    row = correctness.check(model, program, work.inputs, range(1, args.inputs + 1), None,
                            drives=args.drives, partial=partial)
    return {**row, "engines": program.report().get("engines", {})}


def brief(row: dict) -> str:
    if "failed" in row:
        return "FAILED " + (row["failed"].strip().splitlines() or [""])[-1][:160]
    error = f"{row['log10_error']:.1f}" if row["log10_error"] is not None else "exact"
    return (f"{row['inputs']} inputs, {len(row['mismatches'])} wrong, {len(row['flips'])} flips, log10 error {error}, "
            f"{row['arms_taken'] + row['arms_driven']} of {row['arms']} arms, {row['engines']}")


PAPER = {"ort": "correct", "openvino": "correct_openvino"}  # parts of bench/paper.py


def from_paper() -> dict[tuple[str, str], dict]:
    file = RESULTS / "paper.json"
    models = json.loads(file.read_text())["models"] if file.exists() else {}
    found = {(name, backend): row.get(part, {}) for name, row in models.items() for backend, part in PAPER.items()}
    return {key: row for key, row in found.items() if "mismatches" in row}


def page(results: dict) -> str:
    machine, elsewhere = results["machine"], from_paper()
    lines = ["# Answers of all back ends against eager", "",
             f"`make backends-correct` on {machine['cpu']}, {machine['date']}. Inputs, "
             "results beyond 10^-4.7 relative (wrong), free runs that decided otherwise (flips), "
             "log10 of the largest error, and who has the sub-DNNs; paper: measured by `make paper`.", "",
             "| model | " + " | ".join(BACKENDS) + " |", "|---|" + "---|" * len(BACKENDS)]
    for name in sorted({*results["models"], *(name for name, _ in elsewhere)}):
        cells = []
        for backend in BACKENDS:
            one = results["models"].get(name, {}).get(backend) or elsewhere.get((name, backend))
            if one is None:
                cells.append("not run")
            elif "failed" in one:
                cells.append("failed: " + (one["failed"].strip().splitlines() or [""])[-1][:60].replace("|", "/"))
            else:
                error = f"{one['log10_error']:.1f}" if one["log10_error"] is not None else "exact"
                engines = " ".join(f"{b} {n}" for b, n in sorted(one.get("engines", {}).items())) or "paper"
                cells.append(f"{one['inputs']}: {len(one['mismatches'])} wrong, "
                             f"{len(one['flips'])} flips, {error} ({engines})")
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
