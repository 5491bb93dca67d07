# SPDX-License-Identifier: Apache-2.0
"""Emitted host programs beside the runtime's walker on the paper's nine models: the time of both in turns, in processor time,
and the share of a run that is the host's, what is not spent in sub-DNNs.

    bench/emitted.py [--seconds 2] [--processes 5] [MODEL ...]    prints a table; writes bench/results/emitted.json

The ratio is the median over pairs of runs; the control is the same ratio of a second walker to the first. Where memory happens
to lie makes some per cent, so each process draws anew, and a row holds the median of the processes with the least and
the largest. Exit status 1 where an emitted program is slower than the walker by more than the controls are apart, or the
host's share is 1 % or more.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
from tests.emit import zoo_sweep  # noqa: E402


def measure(name: str, seconds: float, processes: int) -> dict:
    entry, program = zoo_sweep.compile_model(name)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        package = folder / f"{name}.dycl"
        program.save(package)
        binary = zoo_sweep.build(package, folder, watch=False, optimize="-O2")
        files, _ = zoo_sweep.save_inputs(program, [entry.inputs(s) for s in range(5)], folder)
        for _ in range(processes):
            done = subprocess.run([binary, package, "race", str(seconds), *files], capture_output=True, text=True,
                                  check=True, env={**os.environ, "DYCL_PLUGIN_PATH": str(zoo_sweep.BUILD / "lib" / "dycl")})
            rows.append(json.loads(done.stdout.splitlines()[-1]))
    row = {key: statistics.median(r[key] for r in rows) for key in rows[0]}
    row["runs"] = sum(r["runs"] for r in rows)
    for key in ("ratio", "control"):
        row[key + "_range"] = [min(r[key] for r in rows), max(r[key] for r in rows)]
    return row


def is_good(row: dict) -> bool:
    noise = max(abs(c - 1) for c in row["control_range"])
    return row["ratio"] <= 1 + noise and row["host_emitted"] < 0.01


def main() -> int:
    import zoo

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="of each process, for the times and again for the shares")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    print(f"{'model':22} {'emitted us':>11} {'walker us':>11} {'ratio':>7} {'least, largest':>15} {'control':>8}"
          f" {'least, largest':>15} {'host':>7} {'walker':>7}")
    for name in options.models or [n for n, e in zoo.MODELS.items() if e.paper]:
        row = rows[name] = measure(name, options.seconds, options.processes)
        spread = lambda key: "{:.4f} {:.4f}".format(*row[key + "_range"])  # noqa: E731
        print(f"{name:22} {row['emitted_us']:11.1f} {row['walker_us']:11.1f} {row['ratio']:7.4f} {spread('ratio'):>15} "
              f"{row['control']:8.4f} {spread('control'):>15} {100 * row['host_emitted']:6.2f}% "
              f"{100 * row['host_walker']:6.2f}%{'' if is_good(row) else '  !'}", flush=True)
        if options.models:
            continue
        (ROOT / "bench" / "results" / "emitted.json").write_text(json.dumps(rows, indent=1) + "\n")  # what there is
    return 0 if all(map(is_good, rows.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
