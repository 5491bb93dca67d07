# SPDX-License-Identifier: Apache-2.0
"""Runs each fuzz target of tests/fuzz for some minutes under the address sanitizer (`make fuzz MINUTES=n`).

    fuzz.py [--minutes N] [--seed N] [TARGET...]

A target that finds something leaves its input in build/fuzz/crash-TARGET and fails; the next ones run nevertheless. The
seed is another one each time, unless given, and is shown.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "fuzz"


def targets():
    """{name: its corpus}, as tests/fuzz/CMakeLists.txt has them."""
    return dict(re.findall(r"^dycl_fuzz_target\((\w+) (\w+)", (SOURCES / "CMakeLists.txt").read_text(), re.MULTILINE))


def build():
    if not (ROOT / "build" / "asan" / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "asan"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "asan", "--target", "fuzz_targets"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)


def fuzz(name, corpus, minutes, seed):
    """(inputs tried, what was found)."""
    folder = ROOT / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    command = [ROOT / "build" / "asan" / "tests" / "fuzz" / f"fuzz_{name}", SOURCES / "corpus" / corpus,
               "--seconds", str(minutes * 60), "--seed", str(seed)]
    ran = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tried = re.search(r"(\d+) inputs, no finding", ran.stdout)
    return (int(tried[1]), "") if tried and not ran.returncode else (0, ran.stdout[-4000:] or f"exit {ran.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="TARGET")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 2**31)
    options = parser.parse_args()
    known = targets()
    unknown = set(options.names) - set(known)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    build()
    failed = 0
    for name in options.names or known:
        tried, found = fuzz(name, known[name], options.minutes, options.seed)
        print(f"{name}: {tried} inputs, seed {options.seed}: {found or 'no finding'}", flush=True)
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
