# SPDX-License-Identifier: Apache-2.0
"""Runs the test suites named on the command line and ends with one line of totals.

Suites: release, asan-fast, asan, tsan, asan_ort, tsan_ort (CTest on that preset; `-fast` leaves out
the slow tests), lint (ruff and mypy: 4 seconds, 1 where little has changed) and python (pytest). A suite that fails
does not stop the others.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

# Long runs over generated programs, and measurements that a sanitizer falsifies.
SLOW = "fuzz|property|differential|cost"

ROOT = Path(__file__).resolve().parent.parent


def run(command):
    """Shows the command's output as it comes and returns (exit status, output)."""
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)
    return process.wait(), "".join(lines)


def ctest(preset, fast):
    """(passed, failed, skipped) of one preset's C++ tests; a failed build counts as one failure."""
    configured = (ROOT / "build" / preset / "build.ninja").exists()
    steps = [] if configured else [["cmake", "--preset", preset]]
    steps.append(["cmake", "--build", "--preset", preset])
    for step in steps:
        built = subprocess.run(step, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if built.returncode:
            print(built.stdout[-8000:])
            return 0, 1, 0
    command = ["ctest", "--preset", preset, "-j", str(os.cpu_count()), "--no-tests=error"]
    status, output = run(command + (["-LE", "slow", "-E", SLOW] if fast else []))
    summary = re.search(r"(\d+) tests? failed out of (\d+)", output)
    if not summary:
        return 0, 1, 0
    failed, total = int(summary[1]), int(summary[2])
    skipped = len(re.findall(r"\*\*\*Skipped", output))
    return total - failed - skipped, max(failed, int(status != 0)), skipped


def lint():
    """Ruff over all Python, mypy over the packages that pyproject.toml names: one check each."""
    failed = 0
    for command in (["ruff", "check"], ["mypy"]):
        start = time.monotonic()
        status, _ = run([sys.executable, "-m", *command])
        print(f"{' '.join(command)}: {time.monotonic() - start:.1f} s", flush=True)
        failed += status != 0
    return 2 - failed, failed, 0


def pytest():
    workers = ["-n", str(os.cpu_count()), "--dist", "worksteal"]
    status, output = run([sys.executable, "-m", "pytest", "-q", *workers, "tests"])
    last = output.strip().splitlines()[-1] if output.strip() else ""
    count = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|error|xfailed)", last)}
    failed = count.get("failed", 0) + count.get("error", 0)
    if status and not failed:
        failed = 1
    return count.get("passed", 0), failed, count.get("skipped", 0)


def suite(name):
    if name == "python":
        return pytest()
    if name == "lint":
        return lint()
    preset, _, fast = name.partition("-")
    return ctest(preset, fast == "fast")


def main(names):
    start = time.monotonic()
    totals = (0, 0, 0)
    for name in names:
        print(f"== {name}", flush=True)
        counts = suite(name)
        print("== {}: {} passed, {} failed, {} skipped".format(name, *counts), flush=True)
        totals = tuple(a + b for a, b in zip(totals, counts))
    print("{} passed, {} failed, {} skipped in {:.0f} s".format(*totals, time.monotonic() - start))
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
