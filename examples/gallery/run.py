# SPDX-License-Identifier: Apache-2.0
"""One entry of the gallery, whole: `.venv/bin/python examples/gallery/run.py NAME [--quick]`.

Installs what the entry needs into build/gallery/NAME, compiles the model, compares it with eager on ten inputs and on
every arm that can be forced, times both, draws the control flow, and does what the entry is about (`after`).
"""

import argparse
import importlib.util
import inspect
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch

import dycl
from dycl.peers.measure import rounds

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAMES = sorted(path.parent.name for path in HERE.glob("*/model.py"))


def install(entry: Path, folder: Path) -> None:
    """The entry's own packages, behind those of .venv."""
    wanted = entry / "requirements.txt"
    if not wanted.exists():
        return
    site, stamp = folder / "site", folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        subprocess.run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-qq", "--target", site,
                        "-r", wanted], check=True)
        stamp.write_text(wanted.read_text())
    sys.path.append(str(site))


def loaded(name: str):
    spec = importlib.util.spec_from_file_location("model", HERE / name / "model.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["model"] = module
    spec.loader.exec_module(module)
    return module


def installed_runtime(folder: Path) -> Path:
    subprocess.run(["cmake", "--install", ROOT / "build" / "release", "--prefix", folder / "prefix"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder / "prefix"


def compared(model, program, cases: list, keywords: dict) -> None:
    for seed, args in enumerate(cases):
        with torch.no_grad():
            answers = []
            for call in (program, model):
                torch.manual_seed(seed)  # both draw from torch's generator, if they draw
                answers.append(call(*args, **keywords))
        torch.testing.assert_close(*answers, rtol=1e-3, atol=1e-4)
    if keywords:
        print(f"  equal to eager on {len(cases)} inputs")
        return
    report = program.verify(cases, drive=True)
    if report["mismatches"]:
        raise SystemExit(f"differs from eager: {report['mismatches'][:3]}")
    arms = report["arms"]
    print(f"  equal to eager on {len(cases)} inputs; of {arms['total']} arms {arms['taken']} were taken and "
          f"{arms['driven']} forced")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="no times")
    parser.add_argument("--folder", type=Path, help="for what is made; default: build/gallery/NAME")
    options = parser.parse_args()
    folder = (options.folder or ROOT / "build" / "gallery" / options.name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    install(HERE / options.name, folder)
    entry = loaded(options.name)
    model, keywords = entry.make(), getattr(entry, "KEYWORDS", {})
    cases = [entry.inputs(seed) for seed in range(10)]
    started = time.perf_counter()
    program = dycl.compile(model, cases[0], keywords, threads=1, **getattr(entry, "OPTIONS", {}))
    program.save(folder / f"{options.name}.dycl")
    print(f"{options.name}: {program!r}\n  compiled in {time.perf_counter() - started:.1f} s")
    compared(model, program, cases, keywords)
    if not options.quick:
        def eager(args):
            with torch.no_grad():
                return model(*args, **keywords)
        times = rounds({"eager": eager, "dycl": lambda args: program(*args, **keywords)}, cases, 0.3, "cpu")
        ms = {who: statistics.mean(statistics.median(of[who]) for of in times) / 1e3 for who in ("eager", "dycl")}
        print(f"  eager {ms['eager']:.3f} ms, DyCL {ms['dycl']:.3f} ms: {ms['eager'] / ms['dycl']:.1f}x; "
              "processor time, one thread")
    wants = inspect.signature(entry.after).parameters
    more = {"prefix": installed_runtime(folder)} if "prefix" in wants else {}
    print("  " + entry.after(model, program, folder, **more))
    page = folder / f"{options.name}.html"
    subprocess.run([sys.executable, "-m", "dycl", "view", folder / f"{options.name}.dycl", "-o", page], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    print(f"  control flow: {page}")


if __name__ == "__main__":
    main()
