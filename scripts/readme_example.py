# SPDX-License-Identifier: Apache-2.0
"""README's example: executed as it stands there, and drawn.

    python scripts/readme_example.py [--write]     --write: its control flow into docs/gate.svg
"""

import contextlib
import io
import json
import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

import dycl
from dycl.view.drawing import draw
from dycl.view.graph import Program

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "gate.svg"


def texts() -> tuple[str, str]:
    """(the example, what README says that it prints)"""
    code, printed = re.search(r"```python\n(.*?)```\n```\n(.*?)```\n", (ROOT / "README.md").read_text(), re.S).groups()
    return code, printed


def executed(folder: str) -> tuple[str, Path]:
    """(what it prints, the package that it saves), in this folder."""
    source = Path(folder, "gate.py")
    source.write_text(texts()[0])
    before, printed = os.getcwd(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path("gate.py")
    finally:
        os.chdir(before)
    return printed.getvalue(), Path(folder, "gate.dycl")


def picture(package: Path) -> str:
    return draw(Program(json.loads(dycl._native.package_to_json(str(package))))) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        printed, package = executed(folder)
        print(printed, end="")
        if "--write" in sys.argv[1:]:
            PICTURE.write_text(picture(package))
