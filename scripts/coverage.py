# SPDX-License-Identifier: Apache-2.0
"""Which lines of the C++ core its C++ tests run (`make coverage`).

    coverage.py [FOLDER...]        of src/; default: runtime ir passes package

Builds them in build/coverage, without engines and with the rest as the release has it, runs the tests that are not
long, and prints the share of each folder and file. The lines that no test runs are in build/coverage/uncovered.txt.
Exit status 1 if a folder is below 95 %.
"""

import gzip
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from test import SLOW

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
FOLDERS = ("runtime", "ir", "passes", "package")
ENOUGH = 0.95


def build(folders):
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", f"-DDYCL_COVERAGE={';'.join(folders)}"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD], check=True, stdout=subprocess.DEVNULL)


def run_tests():
    for old in BUILD.rglob("*.gcda"):
        old.unlink()
    return subprocess.run(["ctest", "--test-dir", BUILD, "-LE", "slow", "-E", SLOW, "-j", str(os.cpu_count())],
                          stdout=subprocess.DEVNULL).returncode


def counts(folders):
    """{file: {line: how often it ran}} of the files of these folders."""
    found = defaultdict(lambda: defaultdict(int))
    folder = BUILD / "gcov"
    folder.mkdir(exist_ok=True)
    for data in BUILD.glob("src/**/*.gcda"):
        subprocess.run(["gcov", "--json-format", "--object-directory", data.parent, data], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for written in folder.glob("*.gcov.json.gz"):
            read = json.loads(gzip.decompress(written.read_bytes()))
            for file in read["files"]:
                path = (BUILD / file["file"]).resolve()
                if not path.is_relative_to(ROOT / "src") or path.relative_to(ROOT / "src").parts[0] not in folders:
                    continue
                for line in file["lines"]:
                    found[path.relative_to(ROOT)][line["line_number"]] += line["count"]
            written.unlink()
    return found


def share(files):
    lines = [count for file in files for count in file.values()]
    return sum(count > 0 for count in lines) / max(len(lines), 1), len(lines)


def uncovered(found):
    """The lines that never ran, file by file, as text."""
    parts = []
    for path, lines in sorted(found.items()):
        text = (ROOT / path).read_text().splitlines()
        never = [n for n, count in sorted(lines.items()) if count == 0]
        if never:
            parts.append(f"{path}\n" + "".join(f"{n:5}  {text[n - 1]}\n" for n in never))
    return "\n".join(parts)


def main():
    folders = sys.argv[1:] or FOLDERS
    build(folders)
    if run_tests():
        print(f"some tests failed: ctest --test-dir {BUILD}")
    found = counts(folders)
    (BUILD / "uncovered.txt").write_text(uncovered(found))
    low = False
    for folder in folders:
        files = {path: lines for path, lines in found.items() if path.parts[1] == folder}
        covered, lines = share(files.values())
        low = low or covered < ENOUGH
        print(f"{folder}: {100 * covered:.1f} % of {lines} lines")
        for path, own in sorted(files.items(), key=lambda item: share([item[1]])[0])[:10]:
            print(f"    {100 * share([own])[0]:5.1f} %  {path.name}")
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
