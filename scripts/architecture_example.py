# SPDX-License-Identifier: Apache-2.0
"""Writes the example of ARCHITECTURE.md: one model, and what DyCL holds of it at each stage.

    scripts/architecture_example.py            writes the parts between the markers
    scripts/architecture_example.py --check    says whether they are current

Values and blocks are numbered from 1, and what repeats is left out: the second block of the model is compiled as the
first.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
TOOL = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release")) / "bin" / "dycl"
PART = re.compile(r"(<!-- written by scripts/architecture_example.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
sys.path.insert(0, str(ROOT / "python"))


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            if x.mean() > 0:
                x = x + torch.relu(block(x))
        return x


def main() -> int:
    current = PAGE.read_text()
    text = written(current)
    if "--check" in sys.argv:
        said = "current" if text == current else "out of date: run scripts/architecture_example.py"
        print(f"ARCHITECTURE.md is {said}")
        return int(text != current)
    PAGE.write_text(text)
    return 0


def written(page: str) -> str:
    made = parts()

    def filled(found: re.Match) -> str:
        language = "python" if found[2] == "model" else ""
        return f"{found[1]}```{language}\n{made[found[2]]}```\n{found[3]}"

    return PART.sub(filled, page)


def parts() -> dict[str, str]:
    import dycl
    from dycl.frontend.graph.text import graph_to_text

    torch.manual_seed(0)
    program = dycl.compile(Gate().eval(), (torch.randn(1, 8),), portable=True, use_cache=False)
    return {
        "model": numbered(inspect.getsource(Gate.forward)),
        "graph": graph(graph_to_text(program._graph)),
        "host": host_program(program.hcfg),
        "package": package(program),
    }


def numbered(source: str) -> str:
    lines = source.splitlines()
    return "".join(f"{k}  {line[4:]}\n" for k, line in enumerate(lines, 1))


def graph(text: str) -> str:
    """The captured graph up to the first block at which states have merged."""
    blocks = re.split(r"^(?=\^)", text, flags=re.MULTILINE)
    end = next(k for k, block in enumerate(blocks) if block.startswith("^join"))
    shown = "".join(blocks[:end]) + blocks[end].partition("\n")[0] + "\n  ...\n"
    first = inspect.getsourcelines(Gate.forward)[1]
    shown = re.sub(r"# \S+:(\d+)$", lambda found: f"# line {int(found[1]) - first + 1}", shown, flags=re.MULTILINE)
    for mark in "%^":
        shown = _counted(shown, mark)
    return shown


def _counted(text: str, mark: str) -> str:
    """Values, or blocks, are numbered in the whole process; here they begin with 1."""
    seen: dict[str, int] = {}
    pattern = rf"\{mark}([A-Za-z_]*)(\d+)"
    return re.sub(pattern, lambda found: f"{mark}{found[1]}{seen.setdefault(found[2], len(seen) + 1)}", text)


def host_program(text: str) -> str:
    """What `outline` makes: the first gate of `main`, and the first of its sub-DNNs."""
    main, sub_dnn = re.findall(r"^(?:func|subdnn) .*?^}\n", text, re.MULTILINE | re.DOTALL)[:2]
    lines = main.splitlines(keepends=True)
    end = next(k for k, line in enumerate(lines) if line.startswith("^join"))
    return "".join([*lines[:end + 1], "  ...\n}\n", sub_dnn, "...\n"])


def package(program) -> str:
    """What is in the package, without sizes, which differ between machines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gate.dycl"
        program.save(path)
        said = subprocess.run([TOOL, "inspect", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    parts = [row[1].rstrip(":") for row in rows if row[0] == "sub-DNN"]
    control = next(" ".join(row[1:]) for row in rows if row[0] == "control")
    sections = " ".join(row[1] for row in rows if row[0] == "section")
    return f"control   {control}\nsub-DNNs  {' '.join(parts)}\nsections  {sections}\n"


if __name__ == "__main__":
    sys.exit(main())
