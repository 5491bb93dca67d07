# SPDX-License-Identifier: Apache-2.0
"""The programs `dycl` and `dycl-run` of an installed wheel: they become the binaries that the wheel carries."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def _become(name: str) -> None:
    program = Path(__file__).parent / "bin" / name
    if not program.exists():
        sys.exit(f"{name}: {program} is missing; this is not an installed wheel, use the programs of the build")
    # Models written in Python are compiled by the interpreter that the wheel is installed for.
    os.environ.setdefault("DYCL_PYTHON", sys.executable)
    os.execv(program, [name, *sys.argv[1:]])


def dycl() -> None:
    _become("dycl")


def dycl_run() -> None:
    _become("dycl-run")
