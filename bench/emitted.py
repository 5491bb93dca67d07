# SPDX-License-Identifier: Apache-2.0
"""Emitted host programs beside the runtime's walker on the paper's nine models: the time of both in turns, in processor
time, and the share of a run that is the host's, what is not spent in sub-DNNs.

    bench/emitted.py [--seconds 1.5] [--processes 6] [--fresh] [MODEL ...]

Prints a table; writes bench/results/emitted.json and emitted.md. Goes on where it was stopped: rows of this commit stay
unless --fresh is given. About ten minutes on two idle cores.

The ratio is the median over pairs of runs; the control is the same ratio of a second walker to the first (A/A). Where
memory happens to lie makes some per cent, and whether the order of loading adds to that is not known: each process
draws anew and gives the emitted program another of the three places, and a row holds the median of the processes with
the least and the largest. Exit status 1 where an emitted program is slower than the walker by more than the controls
are apart, the host's share is 1 % or more, or a model failed.
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
sys.path[:0] = [str(ROOT), str(ROOT / "python"), str(ROOT / "bench")]
from paper import Store, commit  # noqa: E402
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
        del program
        for turn in range(processes):
            done = subprocess.run([binary, package, "race", f"{seconds}:{turn % 3}", *files],
                                  capture_output=True, text=True,
                                  env={**os.environ, "DYCL_PLUGIN_PATH": str(zoo_sweep.BUILD / "lib" / "dycl")})
            if done.returncode:
                raise RuntimeError(f"status {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
            rows.append(json.loads(done.stdout.splitlines()[-1]))
    row = {key: statistics.median(r[key] for r in rows) for key in rows[0]}
    row["runs"] = sum(r["runs"] for r in rows)
    for key in ("ratio", "control"):
        row[key + "_range"] = [min(r[key] for r in rows), max(r[key] for r in rows)]
    return row


def is_good(row: dict) -> bool:
    if "failed" in row:
        return False
    noise = max(abs(c - 1) for c in row["control_range"])
    return row["ratio"] <= 1 + noise and row["host_emitted"] < 0.01


HEADS = ["model", "emitted us", "walker us", "ratio", "least, largest", "A/A", "least, largest", "host", "walker's"]
WIDTHS = [20, 11, 11, 7, 15, 7, 15, 7, 8]


def cells(name: str, row: dict) -> list[str]:
    if "failed" in row:
        return [name, "failed: " + row["failed"].splitlines()[-1][:80]]
    spread = lambda key: "{:.4f} {:.4f}".format(*row[key + "_range"])  # noqa: E731
    return [name, f"{row['emitted_us']:.1f}", f"{row['walker_us']:.1f}", f"{row['ratio']:.4f}", spread("ratio"),
            f"{row['control']:.4f}", spread("control"), f"{100 * row['host_emitted']:.2f} %",
            f"{100 * row['host_walker']:.2f} %"]


def line(words: list[str]) -> str:
    return " ".join(f"{w:<{n}}" if i == 0 else f"{w:>{n}}" for i, (w, n) in enumerate(zip(words, WIDTHS)))


def page(results: dict) -> str:
    machine = results["machine"]
    rows = [cells(name, parts["emitted"]) for name, parts in results["models"].items() if "emitted" in parts]
    table = [HEADS, ["---"] + ["---:"] * (len(HEADS) - 1), *(r + [""] * (len(HEADS) - len(r)) for r in rows)]
    return ("# Emitted C++ and the walker\n\n"
            f"`bench/emitted.py` on {machine['cpu']} ({machine['cores']} cores, load {machine['load']}), "
            f"{machine['date']}. One thread; processor time of a run, medians.\nRatio: emitted to walker; A/A: "
            "a second walker to the first; host: the share of a run outside of sub-DNNs.\n\n"
            + "".join("| " + " | ".join(r) + " |\n" for r in table))


def main() -> int:
    import zoo

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.5,
                        help="of each process, for the times and again for the shares")
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--fresh", action="store_true", help="measure again what this commit has measured")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    if unknown := [n for n in options.models if n not in zoo.MODELS]:
        parser.error(f"not in the zoo: {', '.join(unknown)}")
    torch.set_num_threads(1)
    store = Store(ROOT / "bench" / "results" / "emitted.json")
    setting = {"commit": commit(), "seconds": options.seconds, "processes": options.processes}
    good = True
    print(line(HEADS), flush=True)
    for name in options.models or [n for n, e in zoo.MODELS.items() if e.paper]:
        row = store.read()["models"].get(name, {}).get("emitted", {})
        if options.fresh or "failed" in row or any(row.get(k) != v for k, v in setting.items()):
            try:
                row = measure(name, options.seconds, options.processes) | setting
            except Exception as error:  # the others are to be measured all the same
                row = {"failed": f"{type(error).__name__}: {error}"} | setting
            store.put(name, "emitted", row)
            store.file.with_suffix(".md").write_text(page(store.read()))
        good = good and is_good(row)
        print(line(cells(name, row)) + ("" if is_good(row) else "  !"), flush=True)
    print(f"wrote {store.file.relative_to(ROOT)} and {store.file.with_suffix('.md').relative_to(ROOT)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
