# SPDX-License-Identifier: Apache-2.0
"""What a reviewer of emitted C++ would frown at: unrolled loops, variables without end,
comments over and over, names nobody gave."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import dycl

TOOL = Path(os.environ.get("DYCL_TEST_BUILD",
                           Path(__file__).resolve().parents[2] / "build" / "release")) / "bin" / "dycl"


class Decode(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x):
        decoded = []
        for _ in range(40):
            x = self.cell(x)
            word = x.argmax().item()
            if word == 2:
                break
            decoded.append(word)
        return decoded, x


class Gates(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(5))

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            if x.sum() > 0:
                x = layer(x)
            if x.max() > 3:
                return x, number, True
        return (x, x.argmax()), False


def emitted(model, folder):
    torch.manual_seed(0)
    program = dycl.compile(model.eval(), (torch.ones(1, 4),), threads=1)
    program.emit(folder, name="model")
    return (folder / "model.h").read_text(), (folder / "model.cpp").read_text()


def test_a_decode_loop(tmp_path):
    header, source = emitted(Decode(), tmp_path)
    assert "std::vector<std::int64_t> decoded;" in header
    assert len(re.findall(r"^ +for \(Loop", source, re.M)) == 1 and source.count("argmax") <= 2
    assert re.search(r"decoded = append\(std::move\(decoded\), \w+\);", source)
    body = source[source.index("::compute("):source.index("::give(")]
    assert "dycl::host::" not in body and "using dycl::host::int_add;" in source


def test_returns_of_several_kinds(tmp_path):
    header, source = emitted(Gates(), tmp_path)
    struct = re.search(r"struct Outputs \{(.*?)\n  \};", header, re.S)[1]
    assert re.search(r"// variant \d: \(\w+, \w+, True\)\n",
                     struct) and re.search(r"// variant \d: \(\(\w+, \w+\), False\)\n", struct)
    c_header = (tmp_path / "model_c.h").read_text()
    of_c = re.search(r"typedef struct model_outputs \{(.*?)\n\} model_outputs;", c_header, re.S)[1]
    assert len(re.findall(r"  /\* variant \d: \(.*\) \*/\n", of_c)) == 2, of_c
    # one temporary for the gates, not one each
    assert len(set(re.findall(r"item<bool>\((\w+)\)", source))) <= 2
    lines = source.splitlines()
    assert not any(a == b and a.strip().startswith("//")
                   for a, b in zip(lines, lines[2:])), "a comment twice for one line"


@pytest.mark.parametrize("where, said", [("taken", "cannot make the folder"), ("/proc/none", "cannot make the folder")])
def test_a_folder_that_cannot_be_written(tmp_path, where, said):
    dycl.compile(Decode().eval(), (torch.ones(1, 4),), threads=1).save(tmp_path / "m.dycl")
    (tmp_path / "taken").write_text("a file")
    done = subprocess.run([TOOL, "emit", tmp_path / "m.dycl", "-o", tmp_path / where], capture_output=True, text=True)
    assert done.returncode not in (0, 70) and said in done.stderr and "written with -o" in done.stderr, done.stderr
