# SPDX-License-Identifier: Apache-2.0
"""The paper's four research questions on the zoo, on this machine: `make paper`.

    .venv/bin/python bench/paper.py [--quick] [--models a,b] [--parts compile,race1,...] [--inputs N] [--fresh]

Each model is measured in parts, in a process of its own:

    compile   capture, passes, engine; how long, and how long the engine alone takes              RQ2
    race1     our package, the same without the paper's graph optimisation, and the oracle        RQ3, RQ4
    race2     the same with two threads                                                           RQ3
    eager     eager, our program and the program as one ONNX file with If and Loop, in Python     RQ3
    backends  the package of each back end and of `auto`
    correct   decisions and values against eager; a traced model beside                           RQ1
    correct_openvino  the same with OpenVINO's package
    inductor  torch.compile with its defaults, eager and our program                              RQ3

Nothing that was measured is lost: each input of a part is kept in build/paper-work as soon as it is done, each part in
bench/results/paper.json. A run that was stopped, or asked for more inputs, goes on where it was; a part that crashes is
reported and tried again by the next run. Several runs may share the work (other models, other parts): they add to one
file. `--fresh` measures anew. docs/paper.md and its plots are written from the file at the end (`--render`: only that).
--quick measures two inputs of twelve models, at least one of each family, within five minutes (all parts of one, all
but the last engines' of the others) and writes bench/results/quick.json and quick.md instead.
"""

from __future__ import annotations

import argparse
import fcntl
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
PARTS = ["compile", "race1", "eager", "race2", "backends", "correct", "correct_openvino", "inductor"]
GRAPH_OPTIMISATION = ["identity_outputs", "constant_outputs"]  # the paper's own two
ALL_REWRITES = GRAPH_OPTIMISATION + ["fold_tensor_constants", "fold_identities", "fold_params",
                                     "fold_branches", "forward_gotos", "merge_blocks", "cse", "sink", "fold_predicates",
                                     "copy_tails", "sum_products", "share_subdnns"]

FULL = {"inputs": 1000, "drives": 2000, "race_inputs": 8, "seconds": 5.0, "inductor_limit": 300.0, "budget": 20.0}
QUICK = {"inputs": 2, "drives": 8, "race_inputs": 1, "seconds": 0.3, "inductor_limit": 60.0, "budget": 2.0}
GUESS = {"compile": 12, "race1": 60, "correct": 600, "correct_openvino": 600, "eager": 50, "race2": 60, "backends": 90,
         "inductor": 200}
QUICK_GUESS = {"compile": 6, "race1": 3, "correct": 3, "correct_openvino": 5, "eager": 3, "race2": 3, "backends": 6,
               "inductor": 60}
QUICK_SECONDS = 280
QUICK_PARTS = ["compile", "race1", "eager", "correct", "race2"]
# In a hurry: every family, of the largest its lightest (a VGG-16 at 256 x 256 alone takes a minute);
# and one with all parts.
QUICK_MODELS = ["skipnet_rnn", "skipnet_ff", "blockdrop_110", "ranet", "blockdrop_32", "tree_lstm",
                "adaptive_computation_time", "mixture_of_experts", "early_exit_decoder", "nmt",
                "sdn_mobilenet", "caption_googlenet"]
QUICK_WHOLE = "skipnet_rnn"


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--models", default="", help="names of the zoo, with commas; default: all")
    p.add_argument("--parts", default="", help=f"of {','.join(PARTS)}")
    p.add_argument("--inputs", type=int, help="inputs of the correctness check")
    p.add_argument("--race-inputs", type=int, help="inputs that are timed")
    p.add_argument("--seconds", type=float, help="processor time per timed input")
    p.add_argument("--budget", type=float, help="seconds that the back end auto may measure")
    p.add_argument("--inductor-limit", type=float, help="seconds that torch.compile may take per model")
    p.add_argument("--fresh", action="store_true", help="forget earlier results")
    p.add_argument("--render", "--report", dest="report", action="store_true",
                   help="measure nothing: write docs/paper.md and README's figures again")
    p.add_argument("--quiet", action="store_true", help="no progress; what failed is told")
    p.add_argument("--part", help=argparse.SUPPRESS)
    args = p.parse_args()
    settings = dict(QUICK if args.quick else FULL)
    settings.update({key: value for key in settings if (value := getattr(args, key, None))})
    if args.part:
        return run_parts(args.part.split(","), args.models, settings, args.quick)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the process of a part ends with this one
    import zoo

    names = [n for n in args.models.split(",") if n]
    names = names or (QUICK_MODELS if args.quick else sorted(zoo.MODELS, key=lambda n: not zoo.MODELS[n].paper))
    unknown = [n for n in names if n not in zoo.MODELS]
    if unknown:
        p.error(f"not in the zoo: {', '.join(unknown)}")
    asked = [x for x in args.parts.split(",") if x]
    if wrong := [x for x in asked if x not in PARTS]:
        p.error(f"no such part: {', '.join(wrong)}")
    plan = {name: parts_of(name, asked, args.quick) for name in names}
    store = Store(RESULTS / ("quick.json" if args.quick else "paper.json"))
    if not args.report:
        workload.tool("dycl-race")
        if args.fresh:
            forget(store, plan, args.quick)
        measure(store, plan, args, settings)
    results = store.read()
    page = RESULTS / "quick.md" if args.quick else ROOT / "docs" / "paper.md"
    render(results, page, None if args.quick else ROOT / "README.md")
    if not args.quiet:
        print(f"wrote {store.file.relative_to(ROOT)} and {page.relative_to(ROOT)}")
    failed = [f"{m}.{q}" for m in plan for q in plan[m] if "failed" in results["models"].get(m, {}).get(q, {})]
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


def render(results: dict, page: Path, readme: Path | None) -> None:
    """Writes the page, and README's block, from results that were measured before."""
    import readme_table
    import report

    page.write_text(report.page(results, page.parent / "plots", readme_table.models_text(results)))
    if readme:
        readme_table.put_into(readme, results)


def parts_of(name: str, asked: list[str], quick: bool) -> list[str]:
    """What is measured of a model, in the order of PARTS: what compile makes serves the others."""
    wanted = asked or (PARTS if not quick or name == QUICK_WHOLE else QUICK_PARTS)
    return [x for x in PARTS if x in wanted]


class Store:
    """The file of results; several runs may add to it at once."""

    def __init__(self, file: Path):
        self.file = file

    def read(self) -> dict:
        return json.loads(self.file.read_text()) if self.file.exists() else {"models": {}, "machine": machine()}

    def change(self, edit) -> None:
        self.file.parent.mkdir(exist_ok=True)
        with open(self.file.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            results = self.read()
            edit(results)
            results["machine"] = machine()
            temporary = self.file.with_suffix(".tmp")
            temporary.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            os.replace(temporary, self.file)

    def put(self, name: str, part: str, row: dict) -> None:
        row = json.loads(json.dumps(row).replace(str(ROOT) + "/", ""))  # no paths of this machine
        self.change(lambda results: results["models"].setdefault(name, {}).__setitem__(part, row))


def forget(store: Store, plan: dict[str, list[str]], quick: bool) -> None:
    for name, parts in plan.items():
        for part in parts:
            store.change(lambda results: results["models"].get(name, {}).pop(part, None))
            kept = {"correct": "correct_ort"}.get(part, part)
            Partial.file_of(work_folder(name, quick), kept).unlink(missing_ok=True)


def is_done(row: dict | None, part: str, settings: dict) -> bool:
    if not row or "failed" in row:
        return False
    wanted = settings["inputs" if part.startswith("correct") else "race_inputs"]
    return part in ("compile", "inductor") or row.get("measured_inputs", 0) >= wanted


def measure(store: Store, plan: dict[str, list[str]], args: argparse.Namespace, settings: dict) -> None:
    """Model by model; the parts of one share a process, so that it is captured once."""
    known = store.read()["models"]
    missing = lambda name: [q for q in plan[name] if not is_done(known.get(name, {}).get(q), q, settings)]
    todo = [(name, group) for alone in (False, True) for name in plan
            if (group := [q for q in missing(name) if (q == "inductor") == alone])]
    guess = dict(QUICK_GUESS if args.quick else GUESS)
    started, count, finished = time.time(), sum(len(g) for _, g in todo), 0
    for number, (name, group) in enumerate(todo):
        limit = QUICK_SECONDS - (time.time() - started) if args.quick else 6 * 3600
        if group == ["inductor"]:
            limit = min(limit, 3 * settings["inductor_limit"] + 120)
        if limit < 5:
            print(f"the time is up; {count - finished} of {count} parts are not measured; "
                  "the same command goes on with them")
            break
        begin = [time.time()]

        def left(group=group, number=number) -> float:
            ahead = sum(guess[q] for _, g in todo[number + 1:] for q in g) + sum(guess[q] for q in group)
            return max(0.0, ahead - (time.time() - begin[0]))

        def tell(text: str, name=name) -> None:
            if not args.quiet:
                show(f"[{finished}/{count}] {name} {text}", left())

        def keep(part: str, row: dict, name=name, group=group) -> None:
            nonlocal finished
            row["part_seconds"], row["commit"] = round(time.time() - begin[0], 1), commit()
            guess[part] = 0.5 * guess[part] + 0.5 * row["part_seconds"]
            begin[0] = time.time()
            finished += 1
            store.put(name, part, row)
            minutes = left(group[group.index(part) + 1:], number) / 60
            if not args.quiet:
                print(f"\r{name:24} {part:16} {row['part_seconds']:7.1f} s  {brief(part, row)}  ({finished}/{count}, "
                      f"about {minutes:.0f} min left)", flush=True)

        launch(group, name, args, settings, limit, tell, keep)


def show(text: str, left: float) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}, {int(left) // 60}:{int(left) % 60:02d} left", end="", file=sys.stderr, flush=True)


def launch(group: list[str], name: str, args: argparse.Namespace, settings: dict, limit: float, tell, keep) -> None:
    """Runs parts of a model in processes of their own and keeps each as it comes. A part that crashes has failed; a new
    process goes on with those after it."""
    pending, deadline = list(group), time.time() + limit
    while pending:
        command = [sys.executable, str(Path(__file__).resolve()), "--part", ",".join(pending), "--models", name]
        command += ["--quick"] if args.quick else []
        for option in ("inputs", "race_inputs", "seconds", "budget", "inductor_limit"):
            command += ["--" + option.replace("_", "-"), str(settings[option])]
        environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", PYTHONUNBUFFERED="1")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   cwd=ROOT, env=environment, start_new_session=True)
        stopped = threading.Timer(max(1.0, deadline - time.time()), lambda: os.killpg(process.pid, signal.SIGKILL))
        stopped.start()
        said, partial = [], None
        tell(pending[0])
        try:
            for line in process.stdout:
                if line.startswith("TICK "):
                    tell(f"{pending[0] if pending else ''} {line[5:].strip()}")
                elif line.startswith("PARTIAL "):
                    partial = json.loads(line[8:])
                elif line.startswith("RESULT "):
                    part, _, text = line[7:].partition(" ")
                    pending.remove(part)
                    keep(part, json.loads(text))
                    said, partial = [], None
                else:
                    said.append(line)
            process.wait()
        finally:
            timed_out = not stopped.is_alive()
            stopped.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        if timed_out:
            if pending and pending[0] == "inductor":
                keep("inductor", {**(partial or {}), "timed_out": round(limit)})
            return
        if pending:
            keep(pending.pop(0), {"failed": "".join(said)[-1500:] or f"exit code {process.returncode}"})


def brief(part: str, row: dict) -> str:
    if "failed" in row:
        return "FAILED: " + row["failed"].strip().splitlines()[-1][:160]
    if "timed_out" in row:
        return f"over {row['timed_out']} s"
    if part == "compile":
        return f"{row['cpu_seconds']:.2f} s, engine alone {row['engine_cpu_seconds']:.2f} s, {row['sub_dnns']} sub-DNNs"
    if part.startswith("race"):
        o, c = row["ours"], row["control"]
        return f"ours/oracle {o['ratio']:.3f} [{o['low']:.3f}, {o['high']:.3f}], A/A {c['ratio']:.3f}"
    if part == "eager":
        other = row["ifloop"]
        return (f"eager/ours {1 / row['ours']['ratio']:.2f}, If/Loop/ours "
                + (f"{other['ratio']:.2f}" if "ratio" in other else "refused"))
    if part == "backends":
        return f"auto/best {row['auto']['ratio']:.3f}, openvino/ort {row['openvino']['ratio']:.3f}"
    if part == "inductor":
        return (f"inductor/ours {row['ratio']['ratio']:.2f}, {row['graphs']} graphs, {row['seconds']:.0f} s"
                if "ratio" in row else str(row))
    return (f"{row['inputs']} inputs, {len(row['mismatches'])} mismatches, {len(row['flips'])} flips, "
            f"log10 error {row['log10_error']}")


@functools.cache
def commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                          text=True, cwd=ROOT).stdout.strip()


def machine() -> dict:
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    from importlib.metadata import version

    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(terse=True), "torch": version("torch"),
            "onnxruntime": version("onnxruntime"), "openvino": version("openvino"),
            "load": round(os.getloadavg()[1], 1), "date": time.strftime("%Y-%m-%d")}


# ---- the parts, each in its own process ------------------------------------------------------


def work_folder(name: str, quick: bool) -> Path:
    return WORK / ("quick" if quick else "full") / name


class Partial:
    """What is known of a part, input by input; forgotten when the program or the settings are others."""

    @staticmethod
    def file_of(folder: Path, part: str) -> Path:
        return folder / f"{part}.jsonl"

    def __init__(self, folder: Path, part: str, key: object):
        self.file, self.rows = self.file_of(folder, part), {}
        head = json.dumps({"key": key})
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        if not lines or lines[0] != head:
            self.file.write_text(head + "\n")
            return
        for line in lines[1:]:
            try:
                seed, row = json.loads(line)
            except ValueError:  # the end of a line that a killed process wrote
                continue
            self.rows[seed] = row
        if not self.file.read_text().endswith("\n"):
            with self.file.open("a") as out:
                out.write("\n")

    def add(self, seed: int, row: object) -> None:
        self.rows[seed] = row
        with self.file.open("a") as out:
            out.write(json.dumps([seed, row]) + "\n")


def run_parts(parts: list[str], name: str, settings: dict, quick: bool) -> int:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    work, folder = workload.find(name), work_folder(name, quick)
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        row = {"compile": compile_part, "race1": lambda *a: race_part(*a, threads=1),
               "race2": lambda *a: race_part(*a, threads=2), "eager": eager_part, "inductor": inductor_part,
               "backends": backends_part, "correct": lambda *a: correct_part(*a, backend="ort"),
               "correct_openvino": lambda *a: correct_part(*a, backend="openvino")}[part](work, folder, settings)
        if not part.startswith("correct"):
            row.setdefault("measured_inputs", settings["race_inputs"])
        print(f"RESULT {part} " + json.dumps(row), flush=True)
    return 0


@functools.cache
def built(name: str):
    return workload.find(name).build()


@functools.cache
def compiled(name: str, backend: str = "ort"):
    """The program, through the API."""
    import dycl

    work = workload.find(name)
    return dycl.compile(built(name), work.inputs(0), backend=backend, threads=1, verify=False, use_cache=False)


def prepared(work: workload.Workload, folder: Path) -> str:
    """Leaves the program and its packages in the folder; returns what tells this program from another."""
    import hashlib

    from dycl import _native

    program = compiled(work.name)
    mark = hashlib.sha256(program.ir_text.encode()).hexdigest()[:16] + " " + built_at()
    done = folder / "prepared"
    if not done.exists() or done.read_text() != mark:
        done.unlink(missing_ok=True)
        builder = program._engine.builder
        _native.write_program(builder, folder / "program.dyir")
        program.save(folder / "ours.dycl")
        _native.compile_program(builder, folder / "plain.dycl", skip_passes=GRAPH_OPTIMISATION)
        _native.compile_program(builder, folder / "bare.dycl", skip_passes=ALL_REWRITES)
        done.write_text(mark)
    return mark


def built_at() -> str:
    """When the native half was built: other code, other packages."""
    from dycl import _native

    return str(int(os.stat(_native.__file__).st_mtime))


def input_files(work: workload.Workload, folder: Path, count: int) -> dict[int, Path]:
    files = {seed: folder / f"x{seed}.npz" for seed in range(count)}
    for seed, file in files.items():
        if not file.exists():
            workload.save_inputs(compiled(work.name), work.inputs(seed), file)
    return files


def compile_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    import torch

    import dycl

    dycl.compile(torch.nn.Linear(2, 2).eval(), (torch.zeros(1, 2),))  # libraries are loaded now
    model = built(work.name)
    start, cpu_start = time.perf_counter(), time.process_time()
    program = compiled(work.name)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    cpu_start = time.process_time()
    program._verify_example(work.inputs(0), {})
    verify = time.process_time() - cpu_start
    state = sum(p.numel() * p.element_size() for p in model.state_dict().values())
    prepared(work, folder)
    line = subprocess.run([str(workload.BUILD / "bin" / "dycl-race"), "--program", str(folder / "program.dyir")],
                          capture_output=True, text=True, check=True).stdout
    engine, report = json.loads(line), program.report()
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "verify_cpu_seconds": verify,
            "engine_seconds": engine["engine_seconds"],
            "engine_cpu_seconds": engine["engine_cpu_seconds"], "times": report["times"],
            "stages": report["stages"], "sub_dnns": report["sub_dnns"], "calls": report["calls"],
            "blocks": report["blocks"], "package_bytes": report["package_bytes"], "parameter_bytes": state,
            "decisions": len(program._engine.program.decisions)}


def raced(work: workload.Workload, folder: Path, settings: dict, part: str, packages: list[Path],
          threads: int) -> list[dict]:
    """Lines of dycl-race: a header, then one per input, those of earlier runs included."""
    import oracle

    key = [prepared(work, folder), settings["seconds"], [p.name for p in packages]]
    partial, files = Partial(folder, part, key), input_files(work, folder, settings["race_inputs"])
    # A process for each input: where memory happens to lie makes a fifth of what a model costs that streams its
    # weights, so every input draws anew, for all racers.
    for seed, file in files.items():
        if seed in partial.rows:
            continue
        head, line = oracle.race(folder, packages, [file], threads, settings["seconds"])
        if -1 not in partial.rows:
            partial.add(-1, head)
        partial.add(seed, line)
        print(f"TICK {len(partial.rows) - 1}/{len(files)}", flush=True)
    return [partial.rows[-1]] + [partial.rows[seed] for seed in files]


def race_part(work: workload.Workload, folder: Path, settings: dict, threads: int) -> dict:
    import oracle

    packages = [folder / "ours.dycl"] + ([folder / "plain.dycl", folder / "bare.dycl"] if threads == 1 else [])
    lines = raced(work, folder, settings, f"race{threads}", packages, threads)
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


def backends_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    """Packages of single back ends and of auto, which chooses for each sub-DNN; against each other and the oracle."""
    import oracle
    from dycl import _native

    mark = prepared(work, folder)
    packages = {"ort": folder / "ours.dycl"}
    notes = {}
    for backend in ("openvino", "auto"):
        packages[backend] = folder / f"{backend}.dycl"
        made = folder / f"{backend}.made"
        if not made.exists() or made.read_text() != f"{mark} {settings['budget']}":
            seconds = time.perf_counter()
            report = _native.compile_program(compiled(work.name)._engine.builder, packages[backend],
                                             backend=backend, threads=1, budget=settings["budget"], use_cache=False)
            notes[backend] = {"seconds": time.perf_counter() - seconds, "notices": list(report.get("notices", []))}
            made.write_text(f"{mark} {settings['budget']}")
    lines = raced(work, folder, settings, "backends", list(packages.values()), 1)
    of = lambda a, b: oracle.against(lines, str(packages[a]), str(packages[b]), "cpu")
    openvino = of("openvino", "ort")
    best = "openvino" if openvino["ratio"] < 1 else "ort"
    facing = {name: oracle.compare(lines, str(package), "cpu") for name, package in packages.items()}
    return {"openvino": openvino, "best": best, "auto": of("auto", best), "control": facing["ort"]["control"],
            "oracle": {name: row["ours"] for name, row in facing.items()}, "notes": notes}


def eager_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    import torch

    import peers
    import stats

    mark = prepared(work, folder)
    model, program = built(work.name), compiled(work.name)
    run_eager = torch.no_grad()(lambda args: model(*args))
    racers = {"eager": run_eager, "ours": lambda args: program(*args), "eager again": run_eager}
    other, facts = peers.if_loop(program, folder / "ifloop.onnx",
                                 [work.inputs(seed) for seed in range(settings["race_inputs"])])
    if other:
        racers["ifloop"] = other
    partial = Partial(folder, "eager", [mark, settings["seconds"], sorted(racers)])
    for seed in range(settings["race_inputs"]):
        if seed not in partial.rows:
            partial.add(seed, peers.rounds(racers, [work.inputs(seed)], settings["seconds"], "cpu")[0])
            print(f"TICK {len(partial.rows)}/{settings['race_inputs']}", flush=True)
    times = [partial.rows[seed] for seed in range(settings["race_inputs"])]
    of = lambda a, b: stats.summary([stats.ratios(t[a], t[b]) for t in times])
    if other:
        facts.update(of("ifloop", "ours"))
    return {"ours": of("ours", "eager"), "control": of("eager again", "eager"), "ifloop": facts,
            "eager_micros": [peers.median(t["eager"]) for t in times],
            "ours_micros": [peers.median(t["ours"]) for t in times]}


def inductor_part(work: workload.Workload, folder: Path, settings: dict) -> dict:
    import torch

    import peers
    import stats

    model, program = built(work.name), compiled(work.name)
    inputs = [work.inputs(seed) for seed in range(settings["race_inputs"])]
    tell = lambda facts: print("PARTIAL " + json.dumps(facts), flush=True)
    compiled_by_torch, facts = peers.inductor(work.build(), inputs, settings["inductor_limit"], tell)
    if compiled_by_torch is None:
        return facts
    warmed = inputs[: max(1, facts["warmed_inputs"])]
    racers = {"inductor": compiled_by_torch, "ours": lambda args: program(*args),
              "eager": torch.no_grad()(lambda args: model(*args))}
    times = peers.rounds(racers, warmed, settings["seconds"], "cpu")
    of = lambda a, b: stats.summary([stats.ratios(t[a], t[b]) for t in times])
    return {**facts, "ratio": of("inductor", "ours"), "over_eager": of("inductor", "eager")}


def correct_part(work: workload.Workload, folder: Path, settings: dict, backend: str) -> dict:
    import correctness
    import peers

    model, program = built(work.name), compiled(work.name, backend)
    example, count = work.inputs(0), settings["inputs"]
    import hashlib

    key = [hashlib.sha256(program.ir_text.encode()).hexdigest()[:16], built_at(), backend]
    partial = Partial(folder, "correct_" + backend, key)
    traced = peers.traced(model, example) if backend == "ort" else None
    row = correctness.check(model, program, work.inputs, range(1, count + 1), traced,
                            lambda n: print(f"TICK {n}/{count}", flush=True), settings["drives"], partial)
    return {**row, "measured_inputs": count}


if __name__ == "__main__":
    sys.exit(main())
