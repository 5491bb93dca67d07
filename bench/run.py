# SPDX-License-Identifier: Apache-2.0
"""`make bench`: the measurements that take minutes, one after the other.
`make paper` has the comparison with other systems.

Each exits with 1 if what it promises does not hold; so does this. Timings mean something on a quiet machine only.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"

MEASUREMENTS = (
    ("what a decision costs on the host, engine left out (at most 0.3 us)",
     [BUILD / "tests/runtime/decision_cost_test"]),
    ("deadlines of 100 ms outside of engine calls (99 % within 110 ms)", [sys.executable, ROOT / "bench/deadlines.py"]),
    ("compile time per gate at 100 and 3,000 gates (at most 1.5x)",
     [sys.executable, ROOT / "bench/compile/gate_chain.py"]),
    ("capture per gate at 100, 300 and 1,000 gates (at most 1.5x)",
     [sys.executable, ROOT / "bench/compile/capture_chain.py"]),
    ("54 residual blocks cut at their gates against the executed path compiled whole",
     [BUILD / "tests/backends/ort_cuts"]),
)


def main():
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "ort_cuts", "decision_cost_test",
                    "make_c_api_package", "dycl_plugin_stub"], cwd=ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    failed = []
    for what, command in MEASUREMENTS:
        print(f"== {what}", flush=True)
        if subprocess.run(command, cwd=ROOT).returncode:
            failed.append(what)
    for what in failed:
        print(f"FAILED: {what}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
