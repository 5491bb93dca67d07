# SPDX-License-Identifier: Apache-2.0
"""Does the cost per step stay what it is when there are many? What do load, memory and file cost?

    .venv/bin/python bench/scaling.py [--gates 1002] [--steps 1000] [--models a,b] [--inputs 5]

Gates: a SkipNet of that many (depth 2 * gates + 2 rounded to 6n + 2) against the 38-layer one: processor time per
executed gate, every other block run, interleaved, median of rounds; at most 1.1x is wanted. Steps: an LSTM cell in a
loop that the input bounds; what the runtime spends outside the engine's calls, per step (wall-clock time, median of
runs); under 1 us is wanted. Load: for each model, from the file to the first results and the peak of resident memory,
of our package and of the largest executed path as a static model in plain ONNX Runtime, each in a process of its own,
by turns, medians (at most 1.5x and 1.2x are wanted); the portable package over the state dict (1.03x). Results go to
bench/results/scaling.json model by model; a later run replaces what it measures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch  # noqa: E402

import workload  # noqa: E402  (also puts the package on the path)


class Decoder(torch.nn.Module):
    """Steps until the input says so."""

    def __init__(self, extent: int = 64):
        super().__init__()
        self.cell = torch.nn.LSTMCell(extent, extent)

    def forward(self, x, steps):
        h, c, done = x, x, 0
        while done < steps.item():
            h, c = self.cell(h, (h, c))
            done += 1
        return h


def native_run(program, args):
    """The package's Run, its arguments, and a call without the Python interface around it."""
    run = program._engine.run_
    flat = workload.flat_inputs(program, args)
    return run, lambda: run.run(flat)


def per_step(steps: int) -> float:
    import dycl

    model = Decoder().eval()
    args = (torch.randn(1, 64), torch.tensor(steps))
    run, call = native_run(dycl.compile(model, args, threads=1), args)
    call()
    outside = []
    for _ in range(30):
        run.set_profile(True)
        start = time.perf_counter_ns()
        call()
        spent = time.perf_counter_ns() - start
        outside.append((spent - sum(ns for _, ns in run.profile)) / 1e3 / steps)
    run.set_profile(False)
    return statistics.median(outside)


def half_taken(run, call):
    """The call with every other decision turned to each side: nets of any depth run the same share of their blocks."""
    position = [0]

    def decide(decision: int, arm: int) -> int:
        position[0] += 1
        return position[0] % 2

    def measured() -> None:
        position[0] = 0
        call()

    run.set_decider(decide)
    return measured


def per_gate(gates: int) -> tuple[float, float]:
    import dycl
    import zoo

    calls, counts = [], []
    for depth in (38, 6 * round(2 * gates / 6) + 2):
        model = zoo.skipnet(depth, "rnn")
        args = zoo.MODELS["skipnet_rnn"].inputs(0)
        run, call = native_run(dycl.compile(model, args, threads=1, verify=False), args)
        run.set_trace(True)
        call()
        counts.append(len(run.trace))
        run.set_trace(False)
        calls.append(half_taken(run, call))
    times: list[list[float]] = [[], []]
    for _ in range(40):
        for k, call in enumerate(calls):
            call()
            start = time.process_time_ns()
            call()
            times[k].append((time.process_time_ns() - start) / 1e3 / counts[k])
    return statistics.median(times[0]), statistics.median(times[1])


def cold(file: Path, given: Path) -> dict:
    """One process that loads a package or an ONNX model and runs it once:
    milliseconds, processor time, peak resident."""
    command = [str(workload.BUILD / "bin" / "dycl-race"), "--cold", str(file), str(given)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
    told = json.loads(text)
    return {"ms": told["first_ms"], "cpu_ms": 1e3 * (usage.ru_utime + usage.ru_stime), "kib": told["peak_kib"]}


def largest_path(folder: Path, inputs: list[Path]) -> Path:
    """The input whose path has the most ops; the oracles of all lie beside them as .onnx."""
    command = [str(workload.BUILD / "bin" / "dycl-race"), "--program", str(folder / "program.dyir"),
               "--seconds", "0", "--write", str(folder), *map(str, inputs)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    ops = [json.loads(line)["path_ops"] for line in lines[1:]]
    return inputs[ops.index(max(ops))]


def load_and_memory(name: str, count: int, rounds: int = 5) -> dict:
    import dycl
    from dycl import _native

    work = workload.find(name)
    model = work.build()
    program = dycl.compile(model, work.inputs(0), threads=1, verify=False)
    with tempfile.TemporaryDirectory(prefix="dycl-scaling-") as scratch:
        folder = Path(scratch)
        _native.write_program(program._engine.builder, folder / "program.dyir")
        program.save(folder / "ours.dycl")
        portable = folder / "portable.dycl"
        subprocess.run([str(workload.BUILD / "bin" / "dycl"), "compile",
                        str(folder / "program.dyir"), "-o", str(portable), "--portable", "--strip", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        inputs = [folder / f"x{seed}.npz" for seed in range(count)]
        for seed, file in enumerate(inputs):
            workload.save_inputs(program, work.inputs(seed), file)
        given = largest_path(folder, inputs)
        ours, oracle = [], []
        for _ in range(rounds):
            ours.append(cold(folder / "ours.dycl", given))
            oracle.append(cold(given.with_suffix(".onnx"), given))
        state = sum(p.numel() * p.element_size() for p in model.state_dict().values())
        middle = lambda rows, key: statistics.median(row[key] for row in rows)
        ratio = lambda key: statistics.median(a[key] / b[key] for a, b in zip(ours, oracle))
        return {"first_ms": middle(ours, "ms"), "oracle_first_ms": middle(oracle, "ms"), "first_ratio": ratio("cpu_ms"),
                "peak_mib": middle(ours, "kib") / 1024, "oracle_peak_mib": middle(oracle, "kib") / 1024,
                "peak_ratio": ratio("kib"), "package_bytes": (folder / "ours.dycl").stat().st_size,
                "portable_bytes": portable.stat().st_size, "state_bytes": state,
                "portable_ratio": portable.stat().st_size / state, "path": given.stem, "rounds": rounds}


def keep(key: str, row: object) -> None:
    file = workload.ROOT / "bench" / "results" / "scaling.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    known[key] = row
    file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gates", type=int, default=1002)
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--models", help="of the zoo, with commas, for load and memory; default: all")
    p.add_argument("--inputs", type=int, default=5, help="of which the one with the largest path is loaded")
    p.add_argument("--parts", default="steps,gates,load")
    args = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    parts = args.parts.split(",")
    if "steps" in parts:
        micros = per_step(args.steps)
        print(f"decode loop of {args.steps} steps: {micros:.3f} us per step outside the engine's calls", flush=True)
        keep("steps", {"steps": args.steps, "micros_per_step_outside_calls": micros})
    if "gates" in parts:
        small, large = per_gate(args.gates)
        print(f"SkipNet: {small:.1f} us per gate with 17, {large:.1f} us with about {args.gates}: {large / small:.3f}x",
              flush=True)
        keep("gates", {"gates": args.gates, "micros_per_gate_of_17": small,
                       "micros_per_gate": large, "ratio": large / small})
    if "load" in parts:
        workload.tool("dycl-race")
        import zoo

        print(f"{'model':26} first results, ms (ours, oracle, ratio of processor time)  peak MiB (ours, oracle, ratio) "
              " portable / state dict")
        for name in args.models.split(",") if args.models else list(zoo.MODELS):
            row = load_and_memory(name, args.inputs)
            keep("load." + name, row)
            print(f"{name:26} {row['first_ms']:8.0f} {row['oracle_first_ms']:8.0f} {row['first_ratio']:6.2f}   "
                  f"{row['peak_mib']:7.0f} {row['oracle_peak_mib']:7.0f} {row['peak_ratio']:6.2f}   "
                  f"{row['portable_ratio']:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
