# SPDX-License-Identifier: Apache-2.0
"""python -m tests.models.run [names] [--peers] [--eager] [--time] [--json out.json] [--jobs 2]

Reports per model: does it run in eager, how many paths its inputs take, is it compiled and equal on all inputs, or
refused (why), wrong, or crashed; with --peers also whether torch.export and torch.compile(fullgraph=True) take it whole
and get the same results. Each model runs in a process of its own, under a time limit.
"""

from __future__ import annotations

import argparse
import collections
import json
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(argv=None) -> int:
    p = argparse.ArgumentParser(prog="python -m tests.models.run", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    p.add_argument("--eager", action="store_true", help="eager only")
    p.add_argument("--peers", action="store_true", help="torch.export and torch.compile as well")
    p.add_argument("--json", type=Path)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--limit", type=int, default=300, help="seconds of processor time per model")
    p.add_argument(
        "--time", action="store_true", help="time of the program against eager's, interleaved, of models that are equal"
    )
    p.add_argument("--list", action="store_true")
    p.add_argument("--detail", action="store_true", help="print diagnostics and tracebacks in full")
    p.add_argument("--one", help=argparse.SUPPRESS)
    args = p.parse_args(argv)
    if args.one:
        from tests.frontend.generated.execute import Slow, time_limit

        try:
            with time_limit(args.limit):
                result = run_one(args.one, args)
        except Slow:
            result = {"name": args.one, "status": "slow", "why": f"over {args.limit} s of processor time"}
        print("\nRESULT " + json.dumps(result))
        return 0
    from tests.models.catalog import CATALOG

    unknown = [n for n in args.names if n not in CATALOG]
    if unknown:
        p.error(f"not in the catalogue: {', '.join(unknown)}")
    names = args.names or list(CATALOG)
    if args.list:
        for n in names:
            print(f"{n:34} {CATALOG[n].package:26} {CATALOG[n].dynamic}")
        return 0
    results = []
    for result in run_all(names, args):
        results.append(result)
        print(line(result), flush=True)
        if args.detail and result.get("detail"):
            print(result["detail"])
    print(summary(results, args))
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    return 1 if any(r["status"] in ("mismatch", "crash", "died", "slow", "broken") for r in results) else 0


def run_all(names, args):
    """A process per model, `jobs` at a time."""
    pending, active = list(reversed(names)), []
    while pending or active:
        while pending and len(active) < args.jobs:
            name = pending.pop()
            command = [sys.executable, "-m", "tests.models.run", "--one", name]
            command += ["--eager"] if args.eager else []
            command += ["--peers"] if args.peers else []
            command += ["--time"] if args.time else []
            command += ["--limit", str(args.limit)]
            active.append(
                (
                    name,
                    time.time(),
                    subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT),
                )
            )
        for item in list(active):
            name, since, process = item
            try:
                text, _ = process.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                if time.time() - since < args.limit * 20:  # only a process that sleeps gets here
                    continue
                process.kill()
                process.communicate()
                active.remove(item)
                yield {"name": name, "status": "slow", "why": f"over {args.limit} s"}
                continue
            active.remove(item)
            answers = [l for l in text.splitlines() if l.startswith("RESULT ")]
            yield json.loads(answers[-1][7:]) if answers else {
                "name": name, "status": "died", "why": f"exit {process.returncode}", "detail": text[-2000:]}


def run_one(name: str, args) -> dict:
    import torch

    torch.set_num_threads(1)
    from tests.frontend.support.compare import copy_value
    from tests.frontend.support.harness import as_call, outcome
    from tests.models.catalog import CATALOG

    entry = CATALOG[name]
    result = {"name": name, "package": entry.package, "dynamic": entry.dynamic}
    try:
        target, inputs = build(entry)
        calls = [as_call(i) for i in inputs]
        eager = [outcome(target, *copy_value((c.args, c.kwargs))) for c in calls]
    except Exception as error:
        return {**result, "status": "broken", "why": first(error), "detail": traceback.format_exc()[-3000:]}
    failed = [v for kind, v in eager if kind == "raised"]
    if len(failed) == len(eager):
        return {**result, "status": "broken", "why": first(failed[0]),
                "detail": "".join(traceback.format_exception(failed[0]))[-3000:]}
    result.update(inputs=len(calls), raised=len(failed), paths=count_paths(entry, calls))
    if args.peers:
        result["export"] = peer(entry, calls, torch_export)
        result["compile"] = peer(entry, calls, torch_compile)
    if args.eager:
        return {**result, "status": "eager"}
    return {**result, **compiled(entry, calls, args.time)}


def build(entry):
    from tests.frontend.generated.seeds import seed_all

    seed_all(0)
    target, inputs = entry.make()
    return target, inputs


def count_paths(entry, calls) -> int:
    """Different sets of executed lines, in all Python code but torch's own and the standard library's."""
    from tests.frontend.support.compare import copy_value
    from tests.frontend.support.harness import outcome

    target, _ = build(entry)
    paths = set()
    for call in calls:
        lines: collections.Counter = collections.Counter()

        def tracer(frame, event, _, lines=lines):
            name = frame.f_code.co_filename
            if (
                "/site-packages/torch/" in name
                or "/lib/python3" in name
                and "site-packages" not in name
                or name.startswith("<")
            ):
                return None
            if event == "line":
                lines[name, frame.f_lineno] += 1
            return tracer

        given = copy_value((call.args, call.kwargs))
        sys.settrace(tracer)
        try:
            outcome(target, *given)
        finally:
            sys.settrace(None)
        paths.add(frozenset(lines.items()))
    return len(paths)


def compiled(entry, calls, timed: bool = False) -> dict:
    import dycl
    from tests.frontend.generated.execute import crash_kind
    from tests.frontend.generated.seeds import seed_all
    from tests.frontend.support.compare import copy_value, differences, state_of
    from tests.frontend.support.harness import compare_outcomes, outcome

    eager, _ = build(entry)
    subject, _ = build(entry)
    start = time.perf_counter()
    try:
        example = copy_value((calls[0].args, calls[0].kwargs))
        program = dycl.compile(subject, example[0], example[1] or None)
    except dycl.CompileError as error:
        wrong = "verification failed" in str(error)  # a wrong program that was caught, not a refusal
        return {"status": "mismatch" if wrong else "refused", "why": first(error), "detail": str(error),
                "seconds": time.perf_counter() - start}
    except Exception as error:
        return {
            "status": "crash",
            "why": crash_kind(error) + ": " + first(error),
            "detail": traceback.format_exc()[-4000:],
        }
    seconds = time.perf_counter() - start
    for number, call in enumerate(calls):
        ours, theirs = copy_value((call.args, call.kwargs)), copy_value((call.args, call.kwargs))
        seed_all(number)
        expected = outcome(eager, *ours)
        seed_all(number)
        actual = outcome(program, *theirs)
        problems = compare_outcomes(expected, actual, f"input {number}", entry.rtol, entry.atol)
        problems += differences(ours, theirs, f"input {number}: written", entry.rtol, entry.atol)
        problems += differences(state_of(eager), state_of(subject), f"input {number}: state", entry.rtol, entry.atol)
        if problems:
            crashed = actual[0] == "raised" and expected[0] == "returned"
            return {
                "status": "crash" if crashed else "mismatch",
                "why": problems[0][:300],
                "compared": number,
                "detail": "\n".join(problems)
                + ("".join(traceback.format_exception(actual[1]))[-3000:] if crashed else ""),
                "seconds": seconds,
            }
    times = race(build(entry)[0], program, calls) if timed else {}
    return {"status": "equal", "compared": len(calls), "seconds": seconds, **times}


def race(eager, program, calls, seconds: float = 1.5) -> dict:
    """Medians per input, taken in turn; the ratio is of their sums."""
    import torch

    from tests.frontend.support.compare import copy_value
    from tests.frontend.support.harness import outcome

    theirs, ours = [], []
    for call in calls[:3]:
        taken: dict = {0: [], 1: []}
        until = time.perf_counter() + seconds
        while len(taken[1]) < 3 or time.perf_counter() < until and len(taken[1]) < 60:
            for which, target in enumerate((eager, program)):
                args, kwargs = copy_value((call.args, call.kwargs))
                with torch.no_grad():
                    start = time.perf_counter()
                    outcome(target, args, kwargs)
                    taken[which].append(time.perf_counter() - start)
        theirs.append(statistics.median(taken[0]))
        ours.append(statistics.median(taken[1]))
    return {
        "eager_ms": 1e3 * sum(theirs) / len(theirs),
        "ours_ms": 1e3 * sum(ours) / len(ours),
        "ratio": sum(ours) / sum(theirs),
    }


def peer(entry, calls, how) -> str:
    """"ok", "wrong on input k", or why it was not taken."""
    import torch

    from tests.frontend.generated.seeds import seed_all
    from tests.frontend.support.compare import copy_value
    from tests.frontend.support.harness import compare_outcomes, outcome

    eager, _ = build(entry)
    subject, _ = build(entry)
    try:
        with torch.no_grad():
            program = how(subject, calls[0])
        for number, call in enumerate(calls):
            seed_all(number)
            expected = outcome(eager, *copy_value((call.args, call.kwargs)))
            seed_all(number)
            actual = outcome(program, *copy_value((call.args, call.kwargs)))
            problems = compare_outcomes(expected, actual, "", entry.rtol, entry.atol)
            if problems:
                return f"wrong on input {number}{problems[0]}"[:200]
        return "ok"
    except Exception as error:
        return first(error)


def torch_export(target, call):
    import torch

    class Wrapper(torch.nn.Module):
        def __init__(self):
            super().__init__()
            if isinstance(target, torch.nn.Module):
                self.target = target

        def forward(self, *args, **kwargs):
            return target(*args, **kwargs)

    module = target if isinstance(target, torch.nn.Module) else Wrapper()
    return torch.export.export(module, call.args, call.kwargs or None, strict=False).module()


def torch_compile(target, call):
    import torch

    return torch.compile(target, fullgraph=True, backend="eager")


def first(error) -> str:
    lines = [l for l in str(error).strip().splitlines() if l.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:240]


def line(r: dict) -> str:
    text = f"{r['status']:9} {r['name']:34}"
    if "paths" in r:
        text += f" {r['inputs']} inputs, {r['paths']} paths"
    if "seconds" in r:
        text += f", {r['seconds']:.1f} s"
    if "ratio" in r:
        text += f", {r['ours_ms']:.2f} ms, {r['ratio']:.2f} of eager's {r['eager_ms']:.2f}"
    if "export" in r:
        text += f"  [export: {r['export'][:60]}] [compile: {r['compile'][:60]}]"
    return text + (f"  {r['why']}" if r.get("why") else "")


def summary(results, args) -> str:
    total = collections.Counter(r["status"] for r in results)
    text = f"\n{len(results)} models: " + ", ".join(f"{n} {s}" for s, n in total.most_common())
    ratios = [r["ratio"] for r in results if "ratio" in r]
    if ratios:
        text += (
            f"\ntime against eager's: geometric mean {statistics.geometric_mean(ratios):.2f}, largest {max(ratios):.2f}"
        )
    if args.peers:
        for name in ("export", "compile"):
            taken = [r for r in results if name in r]
            text += f"\ntorch.{name}: {sum(r[name] == 'ok' for r in taken)} of {len(taken)} taken whole and equal"
            text += f", {sum(r[name].startswith('wrong') for r in taken)} wrong"
    return text


if __name__ == "__main__":
    sys.exit(main())
