# SPDX-License-Identifier: Apache-2.0
"""The binary interface of the C headers, dycl/dycl.h and dycl/plugin.h, against the dump of the last release.

    abi.py            what changed; exit status 1 if anything did but by new functions
    abi.py --write    the dump anew: for a release, or after a change that was looked at

Debian's abigail-tools compare. A struct that grows at its end is shown, too: its struct_size tells old from new, which
no tool knows.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DUMP = ROOT / "tests" / "runtime" / "dycl.abi"
INCLUDES = '#include "dycl/dycl.h"\n#include "dycl/plugin.h"\n'


def stubs(folder, include):
    """A library with the headers' functions and types and nothing else: what a C program sees."""
    (folder / "headers.c").write_text(INCLUDES)
    gcc = ["gcc", "-std=c2x", "-I", include]
    subprocess.run([*gcc, "-fsyntax-only", "-aux-info", folder / "declared", folder / "headers.c"], check=True)
    declared = re.findall(r"extern (.*\bdycl_\w+ \(.*\));", (folder / "declared").read_text())
    if len(declared) < 20:
        sys.exit("abi.py: gcc -aux-info does not show the functions of dycl/dycl.h")
    bodies = "".join(f"{function} {{ __builtin_trap(); }}\n" for function in sorted(set(declared)))
    (folder / "stubs.c").write_text(INCLUDES + bodies)
    library = folder / "libdycl_headers.so"
    subprocess.run([*gcc, "-g", "-fPIC", "-shared", "-w", folder / "stubs.c", "-o", library], check=True)
    return library


def dumped(library):
    text = subprocess.run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", library], check=True,
                          text=True, capture_output=True).stdout
    return re.sub(r" path='[^']*'", " path='dycl.c'", text)  # a temporary folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the dump")
    parser.add_argument("--include", type=Path, default=ROOT / "include", help="the folder of the headers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        library = stubs(Path(name), options.include)
        if options.write:
            DUMP.write_text(dumped(library))
            return 0
        found = subprocess.run(["abidiff", "--no-added-syms", DUMP, library], text=True, capture_output=True)
    print(found.stdout or "no change", found.stderr)
    return int(found.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
