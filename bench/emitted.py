# SPDX-License-Identifier: Apache-2.0
"""Emitted host programs beside the runtime's walker on the paper's nine models: the time of both in turns (the ratio is the
median over pairs of runs, in processor time) and the share of a run that is the host's, what is not spent in sub-DNNs.

    bench/emitted.py [--seconds 5] [MODEL ...]     prints a table; writes bench/results/emitted.json
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
from tests.emit import zoo_sweep  # noqa: E402


def measure(name: str, seconds: float) -> dict:
    entry, program = zoo_sweep.compile_model(name)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        package = folder / f"{name}.dycl"
        program.save(package)
        binary = zoo_sweep.build(package, folder, watch=False, optimize="-O2")
        files, _ = zoo_sweep.save_inputs(program, [entry.inputs(s) for s in range(5)], folder)
        done = subprocess.run([binary, package, "race", str(seconds), *files], capture_output=True, text=True, check=True,
                              env={**os.environ, "DYCL_PLUGIN_PATH": str(zoo_sweep.BUILD / "lib" / "dycl")})
        return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    import zoo

    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    print(f"{'model':22} {'emitted us':>11} {'walker us':>11} {'ratio':>7} {'host':>7} {'walker host':>12}")
    for name in options.models or [n for n, e in zoo.MODELS.items() if e.paper]:
        row = rows[name] = measure(name, options.seconds)
        print(f"{name:22} {row['emitted_us']:11.1f} {row['walker_us']:11.1f} {row['ratio']:7.4f} "
              f"{100 * row['host_emitted']:6.2f}% {100 * row['host_walker']:11.2f}%", flush=True)
        if options.models:
            continue
        (ROOT / "bench" / "results" / "emitted.json").write_text(json.dumps(rows, indent=1) + "\n")  # what there is


if __name__ == "__main__":
    main()
