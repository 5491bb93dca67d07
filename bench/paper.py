# SPDX-License-Identifier: Apache-2.0
"""The paper's four research questions on the zoo, on this machine: `make paper`.

    .venv/bin/python bench/paper.py [--quick] [--models a,b] [--parts compile,race1,...] [--fresh]

Each model is measured in parts, in a process of its own:

    compile   capture, passes, engine; how long, and how long the engine alone takes             RQ2
    race1     our package, the same without the paper's graph optimisation, and the oracle       RQ3, RQ4
    race2     the same with two threads                                                          RQ3
    eager     eager, our program and, where it exists, the ONNX file with If and Loop, in Python RQ3
    inductor  torch.compile with its defaults, eager and our program                             RQ3
    correct   decisions and values against eager; a traced model beside                          RQ1

Results go to bench/results/paper.json after every part, so a run that was stopped continues where it was; `--fresh` starts
anew. docs/paper.md and its plots are written from them at the end. --quick measures a little of everything within five
minutes and writes bench/results/quick.json and quick.md instead.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import workload

ROOT = workload.ROOT
RESULTS = ROOT / "bench" / "results"
WORK = ROOT / "build" / "paper-work"
PARTS = ["compile", "race1", "eager", "correct", "race2", "inductor"]
GRAPH_OPTIMISATION = ["identity_outputs", "constant_outputs"]  # the paper's own two
ALL_REWRITES = GRAPH_OPTIMISATION + ["fold_tensor_constants", "fold_identities", "fold_params", "fold_branches", "forward_gotos",
                                     "merge_blocks", "cse", "sink", "fold_predicates", "copy_tails", "share_subdnns"]

FULL = {"inputs": 1000, "drives": 2000, "race_inputs": 8, "race_seconds": 5.0, "eager_seconds": 5.0, "inductor_limit": 600.0}
QUICK = {"inputs": 3, "drives": 12, "race_inputs": 1, "race_seconds": 0.5, "eager_seconds": 0.3, "inductor_limit": 60.0}
GUESS = {"compile": 12, "race1": 60, "correct": 600, "eager": 50, "race2": 60, "inductor": 200}
QUICK_GUESS = {"compile": 8, "race1": 4, "correct": 4, "eager": 4, "race2": 4, "inductor": 60}
QUICK_SECONDS = 280


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--models", default="", help="names of the zoo, with commas; default: all")
    p.add_argument("--parts", default="", help=f"of {','.join(PARTS)}")
    p.add_argument("--inputs", type=int, help="inputs of the correctness check")
    p.add_argument("--race-inputs", type=int, help="inputs that are timed")
    p.add_argument("--seconds", type=float, help="processor time per timed input")
    p.add_argument("--fresh", action="store_true", help="forget earlier results")
    p.add_argument("--report", action="store_true", help="only write the tables again")
    p.add_argument("--part", help=argparse.SUPPRESS)
    args = p.parse_args()
    settings = dict(QUICK if args.quick else FULL)
    for key, given in (("inputs", args.inputs), ("race_inputs", args.race_inputs), ("race_seconds", args.seconds),
                       ("eager_seconds", args.seconds)):
        if given:
            settings[key] = given
    if args.part:
        return run_parts(args.part.split(","), args.models, settings)
    import zoo

    names = [n for n in args.models.split(",") if n] or sorted(zoo.MODELS, key=lambda n: not zoo.MODELS[n].paper)
    unknown = [n for n in names if n not in zoo.MODELS]
    if unknown:
        p.error(f"not in the zoo: {', '.join(unknown)}")
    parts = [x for x in args.parts.split(",") if x] or [x for x in PARTS if not (args.quick and x == "inductor")]
    file = RESULTS / ("quick.json" if args.quick else "paper.json")
    results = json.loads(file.read_text()) if file.exists() and not args.fresh else {"models": {}}
    results["machine"] = machine()
    if not args.report:
        workload.tool("dycl-race")
        measure(results, file, names, parts, args)
    import report

    if args.quick:
        (RESULTS / "quick.md").write_text(report.page(results, RESULTS / "plots"))
        print(f"wrote {file.relative_to(ROOT)} and bench/results/quick.md")
    else:
        (ROOT / "docs" / "paper.md").write_text(report.page(results, ROOT / "docs" / "plots"))
        print(f"wrote {file.relative_to(ROOT)} and docs/paper.md")
    failed = [f"{m}.{q}" for m in names for q in parts if "failed" in results["models"].get(m, {}).get(q, {})]
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


def measure(results: dict, file: Path, names: list[str], parts: list[str], args: argparse.Namespace) -> None:
    """Model by model; the parts of one share a process, so that it is captured once."""
    missing = lambda name: [q for q in parts if "failed" in results["models"].get(name, {}).get(q, {"failed": 1})]
    todo = [(name, group) for alone in (False, True) for name in names
            if (group := [q for q in missing(name) if (q == "inductor") == alone])]
    guess = dict(QUICK_GUESS if args.quick else GUESS)
    started, count, finished = time.time(), sum(len(g) for _, g in todo), 0
    for number, (name, group) in enumerate(todo):
        limit = QUICK_SECONDS - (time.time() - started) if args.quick else 6 * 3600
        if limit < 5:
            print(f"the time is up; {count - finished} of {count} parts are not measured; the same command goes on with them")
            break
        begin = [time.time()]

        def left(group=group, number=number) -> float:
            ahead = sum(guess[q] for _, g in todo[number + 1:] for q in g) + sum(guess[q] for q in group)
            return max(0.0, ahead - (time.time() - begin[0]))

        def tell(text: str, name=name) -> None:
            show(f"[{finished}/{count}] {name} {text}", left())

        def store(part: str, row: dict, name=name) -> None:
            nonlocal finished
            row["part_seconds"] = round(time.time() - begin[0], 1)
            guess[part] = 0.5 * guess[part] + 0.5 * row["part_seconds"]
            begin[0] = time.time()
            finished += 1
            results["models"].setdefault(name, {})[part] = row
            write(file, results)
            print(f"\r{name:24} {part:9} {row['part_seconds']:7.1f} s  {brief(part, row)}", flush=True)

        launch(group, name, args, limit, tell, store)


def show(text: str, left: float) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}, {int(left) // 60}:{int(left) % 60:02d} left", end="", file=sys.stderr, flush=True)


def write(file: Path, results: dict) -> None:
    RESULTS.mkdir(exist_ok=True)
    temporary = file.with_suffix(".tmp")
    temporary.write_text(json.dumps(results, indent=1, sort_keys=True))
    os.replace(temporary, file)


def launch(group: list[str], name: str, args: argparse.Namespace, limit: float, tell, store) -> None:
    """Runs parts of a model in a process of their own and stores each as it comes; what is left when it ends has failed."""
    command = [sys.executable, str(Path(__file__).resolve()), "--part", ",".join(group), "--models", name]
    command += ["--quick"] if args.quick else []
    for option in ("inputs", "race_inputs", "seconds"):
        if getattr(args, option):
            command += ["--" + option.replace("_", "-"), str(getattr(args, option))]
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", PYTHONUNBUFFERED="1")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=environment,
                               start_new_session=True)
    stopped = threading.Timer(limit, lambda: os.killpg(process.pid, signal.SIGKILL))
    stopped.start()
    pending, said = list(group), []
    tell(pending[0])
    for line in process.stdout:
        if line.startswith("TICK "):
            tell(f"{pending[0] if pending else ''} {line[5:].strip()}")
        elif line.startswith("RESULT "):
            part, _, text = line[7:].partition(" ")
            pending.remove(part)
            store(part, json.loads(text))
            said = []
        else:
            said.append(line)
    process.wait()
    timed_out = not stopped.is_alive()
    stopped.cancel()
    if pending and not timed_out:
        store(pending[0], {"failed": "".join(said)[-1500:] or f"exit code {process.returncode}"})


def brief(part: str, row: dict) -> str:
    if "failed" in row:
        return "FAILED: " + row["failed"].strip().splitlines()[-1][:160]
    if part == "compile":
        return f"{row['cpu_seconds']:.2f} s, engine alone {row['engine_cpu_seconds']:.2f} s, {row['sub_dnns']} sub-DNNs"
    if part.startswith("race"):
        o, c = row["ours"], row["control"]
        return f"ours/oracle {o['ratio']:.3f} [{o['low']:.3f}, {o['high']:.3f}], A/A {c['ratio']:.3f}"
    if part == "eager":
        return f"eager/ours {1 / row['ours']['ratio']:.2f}"
    if part == "inductor":
        return f"inductor/ours {row['ratio']['ratio']:.2f}, {row['graphs']} graphs, {row['seconds']:.0f} s" if "ratio" in row else str(row)
    return f"{row['inputs']} inputs, {len(row['mismatches'])} mismatches, {len(row['flips'])} flips, log10 error {row['log10_error']}"


def machine() -> dict:
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    import onnxruntime
    import torch

    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(terse=True), "torch": torch.__version__,
            "onnxruntime": onnxruntime.__version__, "commit": commit, "load": round(os.getloadavg()[1], 1),
            "date": time.strftime("%Y-%m-%d")}


# ---- the parts, each in its own process ------------------------------------------------------


def run_parts(parts: list[str], name: str, settings: dict) -> int:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    work = workload.find(name)
    folder = WORK / name
    for part in parts:
        row = {"compile": compile_part, "race1": lambda *a: race_part(*a, threads=1),
               "race2": lambda *a: race_part(*a, threads=2), "eager": eager_part, "inductor": inductor_part,
               "correct": correct_part}[part](work, folder, settings)
        print(f"RESULT {part} " + json.dumps(row), flush=True)
    return 0


@functools.cache
def compiled(name: str):
    """The model and its program, through the API."""
    import dycl

    work = workload.find(name)
    model = work.build()
    return model, dycl.compile(model, work.inputs(0), threads=1, verify=False, use_cache=False)


def compile_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    import dycl
    import torch
    from dycl import _native

    folder.mkdir(parents=True, exist_ok=True)
    dycl.compile(torch.nn.Linear(2, 2).eval(), (torch.zeros(1, 2),))  # libraries are loaded now
    building = time.process_time()
    work.build()
    building = time.process_time() - building
    start, cpu_start = time.perf_counter(), time.process_time()
    model, program = compiled(work.name)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start - building
    parameters = sum(p.numel() * p.element_size() for p in [*model.parameters(), *model.buffers()])
    report = program.report()
    builder = program._engine.builder
    _native.write_program(builder, folder / "program.dyir")
    program.save(folder / "ours.dycl")
    _native.compile_program(builder, folder / "plain.dycl", skip_passes=GRAPH_OPTIMISATION)
    _native.compile_program(builder, folder / "bare.dycl", skip_passes=ALL_REWRITES)
    for seed in range(settings["race_inputs"]):
        workload.save_inputs(program, work.inputs(seed), folder / f"x{seed}.npz")
    line = subprocess.run([str(workload.BUILD / "bin" / "dycl-race"), "--program", str(folder / "program.dyir")],
                          capture_output=True, text=True, check=True).stdout
    engine = json.loads(line)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "engine_seconds": engine["engine_seconds"],
            "engine_cpu_seconds": engine["engine_cpu_seconds"], "times": report["times"],
            "stages": report["stages"], "sub_dnns": report["sub_dnns"], "calls": report["calls"],
            "blocks": report["blocks"], "package_bytes": report["package_bytes"], "parameter_bytes": parameters,
            "decisions": len(program._engine.program.decisions)}


def race_part(work: workload.Workload, folder: Path, settings: dict, threads: int) -> dict:
    import oracle

    packages = [folder / "ours.dycl"] + ([folder / "plain.dycl", folder / "bare.dycl"] if threads == 1 else [])
    inputs = [folder / f"x{seed}.npz" for seed in range(settings["race_inputs"])]
    lines = oracle.race(folder, packages, inputs, threads, settings["race_seconds"], limit=3600)
    clock = "cpu" if threads == 1 else "wall"
    row = oracle.compare(lines, str(packages[0]), clock)
    row["load_ms"] = lines[0]["load_ms"][str(packages[0])]
    row["oracle_load_ms"] = max(line["load_ms"]["oracle:ort"] for line in lines[1:])
    row["largest_error"] = max(max(line["errors"].values()) for line in lines[1:])
    row["paths"] = len({line["decisions"] for line in lines[1:]})
    for label, package in (("plain", "plain.dycl"), ("bare", "bare.dycl")):
        if threads == 1:
            row[label] = oracle.against(lines, str(folder / package), str(packages[0]), clock)
    return row


def eager_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    import torch

    import peers
    import stats

    model, program = compiled(work.name)
    run_eager = torch.no_grad()(lambda args: model(*args))
    racers = {"eager": run_eager, "ours": lambda args: program(*args), "eager again": run_eager}
    inputs = [work.inputs(seed) for seed in range(settings["race_inputs"])]
    times = peers.rounds(racers, inputs, settings["eager_seconds"], "cpu")
    of = lambda a, b: stats.summary([stats.ratios(t[a], t[b]) for t in times])
    return {"ours": of("ours", "eager"), "control": of("eager again", "eager"),
            "eager_micros": [peers.median(t["eager"]) for t in times], "ours_micros": [peers.median(t["ours"]) for t in times]}


def inductor_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    import torch

    import peers
    import stats

    model, program = compiled(work.name)
    inputs = [work.inputs(seed) for seed in range(settings["race_inputs"])]
    compiled_by_torch, facts = peers.inductor(work.build(), inputs, settings["inductor_limit"])
    if compiled_by_torch is None:
        return facts
    raced = inputs[: max(1, facts["warmed_inputs"])]
    racers = {"inductor": compiled_by_torch, "ours": lambda args: program(*args), "eager": torch.no_grad()(lambda args: model(*args))}
    times = peers.rounds(racers, raced, settings["eager_seconds"], "cpu")
    of = lambda a, b: stats.summary([stats.ratios(t[a], t[b]) for t in times])
    return {**facts, "ratio": of("inductor", "ours"), "over_eager": of("inductor", "eager")}


def correct_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    import correctness
    import peers

    model, program = compiled(work.name)
    example = work.inputs(0)
    count = settings["inputs"]
    return correctness.check(model, program, work.inputs, range(1, count + 1), peers.traced(model, example),
                             lambda n: print(f"TICK {n}/{count}", flush=True), settings["drives"])


if __name__ == "__main__":
    sys.exit(main())
