# SPDX-License-Identifier: Apache-2.0
"""Our time against the oracle's: the executed path of each input as one static graph, compiled whole (bench/race).

    .venv/bin/python bench/oracle.py skipnet_ff [more models] [--inputs 5] [--seconds 3] [--threads 1] [--profile]

Prints the paired ratio with 95 % bounds and, beside it, the A/A control: the oracle against a second session of itself.
At one thread time is the process's processor time, which other work on the machine disturbs least;
at more it is wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import stats
import workload


def race(folder: Path, packages: list[Path], inputs: list[Path], threads: int, seconds: float, profile: bool = False,
         rounds: int = 1000, oracle: bool = True) -> list[dict]:
    """The lines of dycl-race: the header, then one per input.
    Without the oracle errors are those against the first package."""
    command = [str(workload.BUILD / "bin" / "dycl-race"), "--program", str(folder / "program.dyir")]
    for package in packages:
        command += ["--package", str(package)]
    command += ["--threads", str(threads), "--seconds", str(seconds), "--rounds", str(rounds)]
    command += (["--profile"] if profile else []) + ([] if oracle else ["--no-oracle"])
    done = subprocess.run(command + [str(x) for x in inputs], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"dycl-race: {done.stderr.strip()[-2000:] or f'exit code {done.returncode}'}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(lines: list[dict], ours: str, clock: str) -> dict:
    """Ratios of `ours` and of the control against the best oracle of each input."""
    pairs, control, micros, engines = [], [], [], []
    for line in lines[1:]:
        times = {r["name"]: r[clock] for r in line["racers"]}
        best = min((n for n in times if n.startswith("oracle:")), key=lambda n: sorted(times[n])[len(times[n]) // 2])
        pairs.append(stats.ratios(times[ours], times[best]))
        control.append(stats.ratios(times["control:ort"], times["oracle:ort"]))
        micros.append(sorted(times[best])[len(times[best]) // 2])
        engines.append(best.split(":")[1])
    return {"best_oracle": engines, "ours": stats.summary(pairs),
            "control": stats.summary(control), "oracle_micros": micros}


def against(lines: list[dict], a: str, b: str, clock: str) -> dict:
    pairs = []
    for line in lines[1:]:
        times = {r["name"]: r[clock] for r in line["racers"]}
        pairs.append(stats.ratios(times[a], times[b]))
    return stats.summary(pairs)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="+")
    p.add_argument("--inputs", type=int, default=5)
    p.add_argument("--first", type=int, default=0, help="the first seed")
    p.add_argument("--seconds", type=float, default=3, help="per input")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--profile", action="store_true")
    p.add_argument("--folder", type=Path, help="keeps the captured programs here and reuses them")
    p.add_argument("--backend", default="ort")
    p.add_argument("--skip", action="append", default=[], help="a pass to skip")
    args = p.parse_args()
    workload.tool("dycl")
    workload.tool("dycl-race")
    for name in args.models:
        base = args.folder or Path(tempfile.mkdtemp(prefix="dycl-oracle-"))
        folder = base / Path(name).name.replace(":", "_")
        seeds = range(args.first, args.first + args.inputs)
        if not all((folder / f).exists() for f in ["program.dyir", *[f"x{s}.npz" for s in seeds]]):
            workload.write(workload.find(name), folder, seeds)
        package = folder / f"{args.backend}.dycl"
        skips = [w for s in args.skip for w in ("--skip-passes", s)]
        subprocess.run([str(workload.BUILD / "bin" / "dycl"), "compile",
                        str(folder / "program.dyir"), "-o", str(package), "--backend", args.backend, "--quiet", *skips],
                       check=True)
        lines = race(folder, [package], [folder / f"x{s}.npz" for s in seeds], args.threads, args.seconds, args.profile)
        report(name, lines, str(package), "cpu" if args.threads == 1 else "wall", args.profile)
    return 0


def report(name: str, lines: list[dict], ours: str, clock: str, profile: bool) -> None:
    result = compare(lines, ours, clock)
    text = lambda s: f"{s['ratio']:.3f} [{s['low']:.3f}, {s['high']:.3f}] worst input {s['worst_input']:.3f}"
    print(f"{name}: ours/oracle {text(result['ours'])}; A/A {text(result['control'])}; "
          f"oracle {min(result['oracle_micros']):.0f} to {max(result['oracle_micros']):.0f} us", flush=True)
    for line in lines[1:]:
        times = {r["name"]: sorted(r[clock])[len(r[clock]) // 2] for r in line["racers"]}
        error = max(line["errors"].values())
        print(f"  {Path(line['input']).stem}: " + ", ".join(f"{Path(n).name} {t:.1f}" for n, t in times.items())
              + f" us; {len(line['decisions'])} decisions, {line['path_ops']} ops, largest error {error:.2g}")
        if profile:
            made = line["profiles"][ours]
            rows = sorted(made["sub_dnns"], key=lambda r: -r[2])
            inside = sum(r[2] for r in rows)
            print(f"    {made['micros']:.1f} us with the profiler, {sum(r[1] for r in rows):.0f} calls, "
                  f"host {made['micros'] - inside:.1f} us")
            for sub, calls, micros in rows[:12]:
                print(f"      {sub:20} {calls:6.1f} calls {micros:10.1f} us")


if __name__ == "__main__":
    sys.exit(main())
