# SPDX-License-Identifier: Apache-2.0
"""sweep.py COUNT: generated programs, emitted and run. C++ beside the walker, in builds of 50 programs; ONNX in
ONNX Runtime beside the reference interpreter. `make test-emit` calls it; it goes on where it was stopped."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from done import Done

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release"))
CHUNK = 50


def cpp(first, count, folder):
    subprocess.run([BUILD / "tests/emit/generated_cpp", folder, str(first), str(count)], check=True)
    here = ROOT / "tests" / "emit"
    program = Path(folder) / "emitted_test"
    archives = ["tests/generate/libdycl_generate.a", "src/ir/libdycl_ir.a", "src/runtime/libdycl_runtime.a",
                "src/support/libdycl_support.a"]
    subprocess.run(["c++", "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off",
                    f'-DDYCL_EMITTED_FOLDER="{folder}"', f'-DDYCL_TEST_PLUGINS="{BUILD}/tests/runtime"',
                    f"-I{here}", f"-I{folder}", f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{ROOT}/tests",
                    here / "emitted_main.cpp", Path(folder) / "all.cpp", *(BUILD / a for a in archives),
                    "-lgtest", "-lgtest_main", "-lz", "-lpthread", "-ldl", "-o", program], check=True)
    shown = subprocess.run([program], capture_output=True, text=True)
    lines = [line for line in shown.stdout.splitlines() if "runs equal" in line]
    if shown.returncode:
        sys.exit(f"seeds {first} to {first + count - 1}: {shown.stdout[-4000:]}{shown.stderr[-1000:]}")
    return " ".join(lines)


def main():
    count = int(sys.argv[1])
    done = Done()
    for first in range(1, count + 1, CHUNK):
        here = min(CHUNK, count + 1 - first)
        name = f"seeds {first} to {first + here - 1}"
        if (result := done.get(name)) is None:
            with tempfile.TemporaryDirectory() as folder:
                result = cpp(first, here, folder)
            done.put(name, result)
        print(f"{name}: {result}", flush=True)
    name = f"ONNX of {count} programs"
    if done.get(name) is None:
        subprocess.run([sys.executable, ROOT / "tests/emit/test_onnx.py", "1", str(count)], check=True)
        done.put(name, "equal")
    print(f"{name}: equal", flush=True)


if __name__ == "__main__":
    main()
