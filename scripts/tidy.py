#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py [FILE ...]: clang-tidy over the C++ sources, all back ends included, as build/release compiles them.

A file that was clean stays so until it, a header of ours that it includes, or .clang-tidy changes: what was checked is
kept in build/tidy, so the command goes on where it was stopped. Exit status 1 if anything was found.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD, CHECKED = ROOT / "build" / "release", ROOT / "build" / "tidy"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def sources() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "src/*.cpp", "tools/*.cpp"], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


def read(path: Path) -> list[Path]:
    """The file and every header of ours behind it."""
    found, waiting = {}, [path]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found[file] = None
        for name in INCLUDE.findall(file.read_text()):
            places = (file.parent / name, ROOT / "src" / name, ROOT / "include" / name, ROOT / "tools" / name)
            waiting += [p.resolve() for p in places if p.is_file()][:1]
    return list(found)


def mark(path: Path, version: str) -> str:
    text = hashlib.sha256(version.encode() + (ROOT / ".clang-tidy").read_bytes())
    for file in sorted(read(path)):
        text.update(file.read_bytes())
    return text.hexdigest()


def main() -> int:
    tool = shutil.which("clang-tidy")
    if tool is None:
        sys.exit("clang-tidy is missing: sudo apt-get install clang-tidy")
    commands = BUILD / "compile_commands.json"
    if not commands.exists():
        sys.exit("build/release is missing: make setup")
    known = {Path(c["file"]).resolve() for c in json.loads(commands.read_text())}
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    files = [Path(f).resolve() for f in sys.argv[1:]] or sources()
    if left_out := [str(f.relative_to(ROOT)) for f in files if f not in known]:
        print("not built here, so not checked:", *left_out)
    CHECKED.mkdir(parents=True, exist_ok=True)
    waiting = []
    for file in (f for f in files if f in known):
        done = CHECKED / str(file.relative_to(ROOT)).replace("/", "+")
        now = mark(file, version)
        if not done.exists() or done.read_text() != now:
            waiting.append((file, done, now))
    print(f"{len(files) - len(left_out) - len(waiting)} files are as they were when they were found clean, "
          f"{len(waiting)} to check", flush=True)

    def check(job: tuple) -> bool:
        file, done, now = job
        found = subprocess.run([tool, "--quiet", "-p", BUILD, file], capture_output=True, text=True)
        clean = found.returncode == 0
        if clean:
            done.write_text(now)
        print(file.relative_to(ROOT), "clean" if clean else "\n" + found.stdout + found.stderr, flush=True)
        return clean

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return 0 if all(list(pool.map(check, waiting))) else 1


if __name__ == "__main__":
    sys.exit(main())
