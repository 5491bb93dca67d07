# SPDX-License-Identifier: Apache-2.0
"""Back ends against each other on the zoo, and `auto` against the best of them: `make bench-backends`.

    .venv/bin/python bench/backends.py [--models a,b] [--inputs N] [--seconds S] [--budget S] [--tune S] [--minutes M]
        [--fresh] [--report]

Each model is compiled by ort, openvino, tvm and auto (one thread; auto first, with an empty cache, so that its seconds
are those of a first compilation). The packages then take turns on the same inputs in one process (bench/race), a copy
of ort's among them: the A/A control. Ratios are paired within rounds, in processor time, with 95 % bounds over inputs
and rounds. auto must not be slower than the best single back end by more than the control shows: the lower bound of
auto/best must be below the upper bound of the control (at least 1.02).
It is better where its upper bound is below all that the control shows.

Nothing that was measured is lost: packages and inputs are kept in build/backends-work as soon as they are done, results
in bench/results/backends.json and backends.md. The same command goes on where the last one was stopped; `--fresh`
begins anew, all that is to be measured at once. After `--minutes` no further model is begun: the command names what is
left and fails. Largest errors are those against ort's package; bench/backends_correct.py compares with eager.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import oracle
import stats
import workload
from paper import Partial, Store, commit

ROOT, RESULTS = workload.ROOT, workload.ROOT / "bench" / "results"
WORK = ROOT / "build" / "backends-work"
BACKENDS = ["auto", "ort", "openvino", "tvm"]
AGAIN, TUNED = "ort again", "tuned"
LEAST_BOUND = 1.02


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", default="", help="names of the zoo, with commas; default: all")
    p.add_argument("--inputs", type=int, default=4)
    p.add_argument("--seconds", type=float, default=5.0, help="per input, for all packages together")
    p.add_argument("--budget", type=float, default=40.0, help="of auto")
    p.add_argument("--minutes", type=float, default=22.0, help="after which no further model is begun; 0: never")
    p.add_argument("--tune", type=float, default=0.0, help="seconds; then a package that TVM tuned races as well")
    p.add_argument("--limit", type=float, default=120.0,
                   help="seconds that one compilation may take; longer: not compiled")
    p.add_argument("--fresh", action="store_true", help="forget earlier results")
    p.add_argument("--report", action="store_true", help="only write the table again")
    p.add_argument("--one", help=argparse.SUPPRESS)
    args = p.parse_args()
    import zoo

    if args.one:
        print("RESULT " + json.dumps(measured(args.one, args)), flush=True)
        return 0
    names = [n for n in args.models.split(",") if n] or list(zoo.MODELS)
    if unknown := [n for n in names if n not in zoo.MODELS]:
        p.error(f"not in the zoo: {', '.join(unknown)}")
    store = Store(RESULTS / "backends.json")
    if not args.report:
        workload.tool("dycl")
        workload.tool("dycl-race")
        if args.fresh:
            for name in names:
                shutil.rmtree(WORK / name, ignore_errors=True)
                store.change(lambda results, name=name: results["models"].pop(name, None))
        begun = time.time()
        for number, name in enumerate(names):
            if args.minutes and time.time() - begun > 60 * args.minutes:
                print(f"[{number + 1}/{len(names)}] {name}: not begun, {args.minutes:g} minutes are over; "
                      "the same command without --fresh goes on")
                continue
            run_one(store, name, f"[{number + 1}/{len(names)}]", args)
    (RESULTS / "backends.md").write_text(page(store.read()))
    known = store.read()["models"]
    failed = [n for n in names if "failed" in known.get(n, {"failed": "not measured"})]
    print("wrote bench/results/backends.json and backends.md"
          + (f"; failed or not measured: {', '.join(failed)}" if failed else ""))
    print(judgement(known))
    return 1 if failed else 0


def run_one(store: Store, name: str, place: str, args: argparse.Namespace) -> None:
    """A process per model: what one leaves in memory does not slow the next."""
    known = store.read()["models"].get(name, {})
    if "failed" not in known and (not args.tune or "tuned" in known) and known.get("measured_inputs", 0) >= args.inputs:
        return
    begun = time.time()
    command = [sys.executable, str(Path(__file__).resolve()), "--one", name]
    for option in ("inputs", "seconds", "budget", "tune", "limit"):
        command += ["--" + option, str(getattr(args, option))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
                          env=dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore")) as process:
        lines = []
        for line in process.stdout:  # what it says on the way is shown, its end is kept
            lines.append(line.rstrip())
            if line.startswith("  "):
                print(line.rstrip(), flush=True)
    row = next((json.loads(x[7:]) for x in lines if x.startswith("RESULT ")), {"failed": "\n".join(lines)[-1500:]})
    row |= {"commit": commit(), "part_seconds": round(time.time() - begun, 1)}
    row = json.loads(json.dumps(row).replace(str(ROOT) + "/", ""))
    store.change(lambda results: results["models"].__setitem__(name, row))
    (RESULTS / "backends.md").write_text(page(store.read()))
    text = f"FAILED {row['failed'][-200:]}" if "failed" in row else brief(row)
    print(f"{place} {name}: {text} ({row['part_seconds']:.0f} s)", flush=True)


def brief(row: dict) -> str:
    ratios = ", ".join(f"{b}/ort {row['ratios'][b]['ratio']:.3f}" for b in ("openvino", "tvm") if b in row["ratios"])
    auto, control = row["auto"], row["control"]
    return (f"{ratios}, auto/{row['best']} {auto['ratio']:.3f} [{auto['low']:.3f}, {auto['high']:.3f}], "
            f"A/A {control['ratio']:.3f} [{control['low']:.3f}, {control['high']:.3f}]")


# ---- one model -------------------------------------------------------------------------------


def measured(name: str, args: argparse.Namespace) -> dict:
    import torch

    torch.set_num_threads(1)
    folder = WORK / name
    seeds = range(args.inputs)
    if not all((folder / f).exists() for f in ["program.dyir", *[f"x{s}.npz" for s in seeds]]):
        workload.write(workload.find(name), folder, seeds)
    mark = [built_at(), args.budget, args.tune]
    made = compiled(folder, mark, args)
    packages = {b: folder / f"{b}.dycl" for b in made if "failed" not in made[b]}
    shutil.copyfile(packages["ort"], folder / "ort_again.dycl")
    packages[AGAIN] = folder / "ort_again.dycl"
    partial = Partial(folder, "race", [mark, args.seconds, sorted(packages)])
    for seed in seeds:
        if seed not in partial.rows:
            order = ["ort", *[b for b in packages if b != "ort"]]
            _, line = oracle.race(folder, [packages[b] for b in order], [folder / f"x{seed}.npz"], 1,
                                  args.seconds, oracle=False)
            partial.add(seed, {"cpu": {r["name"]: r["cpu"] for r in line["racers"]}, "errors": line["errors"]})
    rows = [partial.rows[seed] for seed in seeds]
    of = lambda a, b: stats.summary([stats.ratios(r["cpu"][str(packages[a])], r["cpu"][str(packages[b])])
                                     for r in rows])
    ratios = {b: of(b, "ort") for b in packages if b not in ("ort", AGAIN)}
    best = min(["ort", *[b for b in ratios if b not in ("auto", TUNED)]],
               key=lambda b: ratios[b]["ratio"] if b in ratios else 1.0)
    micros = {b: [sorted(r["cpu"][str(p)])[len(r["cpu"][str(p)]) // 2] for r in rows] for b, p in packages.items()}
    tuned = {"tuned": of(TUNED, "tvm")} if TUNED in packages and "tvm" in packages else {}
    return {**tuned, "ratios": ratios, "best": best, "auto": of("auto", best), "control": of(AGAIN, "ort"),
            "compile": made, "micros": micros,
            "largest_error": {b: max(r["errors"].get(str(p), 0) for r in rows) for b, p in packages.items()},
            "budget": args.budget, "measured_inputs": args.inputs}


def built_at() -> list:
    """Which code makes the packages."""
    tools = [workload.BUILD / "bin" / "dycl", *sorted((ROOT / "src" / "backends" / "tvm" / "compiler").glob("*.py"))]
    return [int(os.stat(t).st_mtime) for t in tools]


def compiled(folder: Path, mark: list, args: argparse.Namespace) -> dict:
    """Packages of all back ends; {back end: {"seconds", "engines", "notices"} or {"failed"}}."""
    file = folder / "compiled.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    if known.get("mark") != mark:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        known = {"mark": mark}
    order = BACKENDS + ([TUNED] if args.tune else [])
    for backend in order:  # tuned comes last: its records are in the cache then
        if backend in known:
            continue
        command = [str(workload.BUILD / "bin" / "dycl"), "compile", str(folder / "program.dyir"), "--backend",
                   "tvm" if backend == TUNED else backend, "--json", "-o", str(folder / f"{backend}.dycl"), "--threads",
                   "1", "--budget", str(args.budget)]
        command += ["--tune", str(args.tune)] if backend == TUNED else []
        begun = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit + args.tune,
                                  env=dict(os.environ, DYCL_CACHE_DIR=str(folder / "cache")))
            failed = done.stderr.strip()[-300:] if done.returncode else ""
        except subprocess.TimeoutExpired:
            failed = f"took more than {args.limit:.0f} s"
        if failed:
            known[backend] = {"failed": failed}
        else:
            report = json.loads(done.stdout)
            known[backend] = {"seconds": round(time.perf_counter() - begun, 2), "engines": report["engines"],
                              "notices": report["notices"]}
        file.write_text(json.dumps(known))
        print(f"  {backend}: {known[backend].get('seconds', 'failed')} s, "
              f"{known[backend].get('engines', known[backend].get('failed'))}", flush=True)
    if "failed" in known["ort"] or "failed" in known["auto"]:
        raise RuntimeError(json.dumps({b: known[b] for b in ("ort", "auto")}))
    return {b: known[b] for b in order}


# ---- the table -------------------------------------------------------------------------------


def verdict(row: dict) -> str:
    allowed = max(row["control"]["high"], 2 - row["control"]["low"], LEAST_BOUND)
    if row["auto"]["low"] > allowed:
        return "slower"
    control = row["control"]
    return "better" if row["auto"]["high"] < min(control["low"], 2 - control["high"], 1.0) else "equal"


def page(results: dict) -> str:
    machine = results["machine"]
    told = lambda key: ", ".join(sorted({f"{row[key]:g}" for row in results["models"].values() if key in row},
                                        key=float)) or "none"
    lines = ["# Back ends on the zoo", "",
             f"`make bench-backends` on {machine['cpu']} ({machine['cores']} cores, load {machine['load']}), "
             f"{machine['date']}. One thread,",
             "processor time, interleaved; ratios with 95 % bounds. Best: the fastest single back end. A/A: "
             "ort's package against a copy of",
             f"itself. `better` and `slower`: beyond the control. Inputs per model: {told('measured_inputs')}; "
             f"seconds that auto might spend: {told('budget')}.", "",
             "| model | openvino/ort | tvm/ort | best | auto/best | A/A | auto | auto's sub-DNNs | seconds to compile: "
             "ort, openvino, tvm, auto |",
             "|---|---|---|---|---|---|---|---|---|"]
    bounded = lambda s: f"{s['ratio']:.3f} [{s['low']:.3f}, {s['high']:.3f}]"
    for name, row in sorted(results["models"].items()):
        if "failed" in row:
            lines.append(f"| `{name}` | failed: {row['failed'].splitlines()[-1][:80]} | | | | | | | |")
            continue
        made, judged = row["compile"], verdict(row)
        cell = lambda b: bounded(row["ratios"][b]) if b in row["ratios"] else "not compiled"
        engines = ", ".join(f"{n} {b}" for b, n in sorted(made["auto"]["engines"].items()))
        seconds = ", ".join(str(made[b].get("seconds", "-")) for b in ("ort", "openvino", "tvm", "auto"))
        lines.append(f"| `{name}` | {cell('openvino')} | {cell('tvm')} | {row['best']} | {bounded(row['auto'])} | "
                     f"{bounded(row['control'])} | {judged} | {engines} | {seconds} |")
    tuned = [f"`{n}` {bounded(row['tuned'])}" for n, row in sorted(results["models"].items()) if "tuned" in row]
    if tuned:
        lines += ["", "Tuned TVM (`--tune`) against its default schedules: " + ", ".join(tuned) + "."]
    return "\n".join(lines) + "\n\n" + judgement(results["models"]) + "\n"


def judgement(models: dict) -> str:
    by_verdict: dict[str, list[str]] = {}
    for name, row in sorted(models.items()):
        if "failed" not in row:
            by_verdict.setdefault(verdict(row), []).append(name)
    told = "; ".join(f"{judged} on {len(names)}" + (f" ({', '.join(names)})" if judged != "equal" else "")
                     for judged, names in sorted(by_verdict.items()))
    return f"auto against the best single back end: {told or 'not measured'}."


if __name__ == "__main__":
    sys.exit(main())
