# SPDX-License-Identifier: Apache-2.0
"""`dycl bench --peers file.py:factory`: one table of the ways to run a model."""

from __future__ import annotations

import argparse
import copy
import json
import logging
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from ..errors import InputError
from ..peers import rivals
from ..peers.measure import FAR, error, rounds
from .models import example_of, load_model
from .options import add_model_options
from .parser import Parser

DESCRIPTION = """Runs a model in every way that is at hand, on the same inputs and interleaved, and compares the
answers with eager's: torch.compile, torch.export with AOTInductor, one ONNX file with If and Loop in ONNX Runtime, DyCL
with ONNX Runtime, and DyCL with the engine that measures best. The model is taken as it is. Compilers take their time:
minutes, mostly torch's."""

EXAMPLES = """examples:
  dycl bench --peers model.py:make_model --input 1,3,32,32
  dycl bench --peers zoo:skipnet_rnn --count 3 --json > peers.json
"""

_COUNTS = (("skipped_frames", "functions left to Python"), ("recompile_limit", "at the recompile limit"))
NAMES = ("torch.compile", "torch.export", "onnx", "auto")


def parser() -> Parser:
    p = Parser(prog="dycl bench --peers", description=DESCRIPTION, epilog=EXAMPLES, allow_abbrev=False,
               formatter_class=argparse.RawDescriptionHelpFormatter,
               usage="dycl bench --peers file.py:name[:method] [--input ...] [options]")
    p.add_argument("--peers", action="store_true", help="this table; without it, `dycl bench` measures a package")
    add_model_options(p)
    p.add_argument("--count", type=int, default=5, help="inputs: as many are drawn, with seeds one after the other")
    p.add_argument("--seconds", type=float, default=1.0, help="of measuring, for each input")
    p.add_argument("--limit", type=float, default=300.0, help="seconds that torch.compile may spend on its warm-up")
    p.add_argument("--threads", type=int, default=1, help="of each")
    p.add_argument("--without", action="append", default=[], choices=NAMES, help="leave this one out; may be repeated")
    p.add_argument("--json", action="store_true", help="print the table, or the error, as JSON")
    return p


def run(args: argparse.Namespace) -> int:
    if args.count < 1 or args.threads < 1:
        raise InputError("--count and --threads are at least 1")
    logging.disable(logging.ERROR)  # torch's compilers tell whole graphs; the reason is in the table
    torch.set_num_threads(args.threads)
    model, own_inputs = load_model(args.model, args.eval)
    drawn = []
    for seed in range(args.seed, args.seed + args.count):
        torch.manual_seed(seed)
        drawn.append(example_of(args, model, own_inputs, seed))
    example, _, kwargs = drawn[0]
    inputs = [found for _, found, _ in drawn]
    options = {"dynamic_dims": example.dims, "ranges": example.ranges, "allow_training": args.allow_training,
               "dynamic_args": {name: type(value) for name, value in args.dynamic_arg}}
    with tempfile.TemporaryDirectory() as folder:
        case = rivals.Case(model, inputs, kwargs, args.threads, args.limit, Path(folder), options)
        rows = _measured(case, _made(case, args.without), args.seconds)
    if args.json:
        print(json.dumps({"model": args.model, "inputs": args.count, "threads": args.threads, "rows": rows}, indent=2))
    else:
        print(as_text(rows, args.count, args.threads))
    return 0


def _made(case: rivals.Case, without: list[str]) -> list[rivals.Rival]:
    def say(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\033[K  {what} ...", end="\r", file=sys.stderr, flush=True)

    made = [rivals.eager(case)]
    program = None
    for name in ("ort", "onnx", "auto", "torch.export", "torch.compile"):  # ours first: torch's compilers may take long
        if name in without:
            continue
        say(name)
        if name in ("ort", "auto"):
            rival, found = rivals.ours(case, name)
            program = found if name == "ort" else program
        elif name == "onnx":
            rival = rivals.if_loop(case, program)
        else:
            rival = rivals.exported(case) if name == "torch.export" else rivals.torch_compile(case)
        made.append(rival)
    return made


def _measured(case: rivals.Case, made: list[rivals.Rival], seconds: float) -> list[dict[str, Any]]:
    expected = [made[0].call(copy.deepcopy(args)) for args in case.inputs]
    rows, racers = [], {}
    for rival in made:
        row = {"name": rival.name, "runs": rival.call is not None, "why": rival.why, "ready_seconds": rival.seconds,
               "bytes": rival.bytes, **rival.facts}
        rows.append(row)
        if rival.call is None:
            continue
        try:
            far = [error(rival.call(copy.deepcopy(args)), theirs) for args, theirs in zip(case.inputs, expected)]
        except Exception as problem:
            row |= {"runs": False, "why": rivals.in_short(problem)}
            continue
        row["differ"] = sum(one == FAR or one > 1e-2 for one in far)  # another path, or no answer of this kind
        row["largest_error"] = max((one for one in far if one != FAR), default=None)
        racers[rival.name] = rival.call
    # What else runs on the machine does not disturb the processor's time of one thread.
    times = rounds(racers, case.inputs, seconds, "cpu" if case.threads == 1 else "wall")
    for row in rows:
        if row["name"] in racers:
            row["ms"] = statistics.mean(statistics.median(of[row["name"]]) for of in times) / 1e3
    for row in rows:
        if "ms" in row:
            row["times_eager"] = rows[0]["ms"] / row["ms"]
    return rows


def as_text(rows: list[dict[str, Any]], count: int, threads: int) -> str:
    lines = [["", "ms", "times eager", "ready in", "size", "largest error", ""]]
    for row in rows:
        size = f"{row['bytes'] / 1e6:.2f} MB" if row["bytes"] is not None else ""
        ready = f"{row['ready_seconds']:.1f} s" if row["ready_seconds"] else ""
        if not row["runs"]:
            lines.append([row["name"], "-", "", ready, "", "", row["why"]])
            continue
        notes = [f"other answers on {row['differ']} of {count} inputs"] if row["differ"] else []
        if "graphs" in row:
            notes.append(f"graphs: {row['graphs']}, breaks: {row['breaks']}")
        notes += [f"{text}: {row[key]}" for key, text in _COUNTS if row.get(key)]
        far = "" if row["largest_error"] is None else f"{row['largest_error']:.1e}"
        lines.append([row["name"], f"{row['ms']:.3f}", f"{row['times_eager']:.2f}", ready, size, far, ", ".join(notes)])
    widths = [max(len(line[k]) for line in lines) for k in range(6)]
    text = [("  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths)))
             + "  " + line[6]).rstrip() for line in lines]
    said = (f"{count} inputs, {threads} {'thread' if threads == 1 else 'threads'}; mean of the inputs' median times "
            f"({'processor' if threads == 1 else 'wall-clock'}); "
            "errors against eager, relative to the largest of a tensor")
    return "\n".join([*text, said])
