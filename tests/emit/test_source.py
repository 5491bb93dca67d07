# SPDX-License-Identifier: Apache-2.0
"""Emitted C++ as reviewers and compilers see it: SkipNet with 110 layers and its 53 gates."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import dycl
from zoo.skipnet import image32, skipnet

ROOT = Path(__file__).resolve().parent.parent.parent
GATES = 53
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", f"-I{ROOT}/include", f"-I{ROOT}/src"]


@pytest.fixture(scope="module", params=["ff", "rnn"])
def source(request, tmp_path_factory):
    """The folder of an emitted SkipNet-110."""
    folder = tmp_path_factory.mktemp(request.param)
    torch.set_num_threads(1)
    # Weights do not show in the source: the gates stay as they were drawn.
    program = dycl.compile(skipnet(110, request.param).eval(), image32(0), threads=1)
    program.emit(folder, name="skipnet")
    return folder


def code_lines(path):
    return [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("//")]


def test_lines_per_gate(source):
    host, header = code_lines(source / "skipnet.cpp"), code_lines(source / "skipnet.h")
    gates = [line for line in host if line.lstrip().startswith("if (")]
    assert len(gates) == GATES
    assert len(host) + len(header) <= 8 * GATES, (len(host), len(header))
    assert max(map(len, host + header)) <= 120  # lines are not made long to make them few
    text = (source / "skipnet.cpp").read_text()
    assert text.count("if mask.squeeze() > 0.5:") == GATES  # the Python line beside each gate
    assert "goto" not in text and ("x = call(kGroup1Layer" in text or "into(x, " in text)
    assert re.search(r"std::array<dycl::host::View, 53> masks;", (source / "skipnet.h").read_text())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(3))
        self.head = torch.nn.Linear(64, 4)

    def forward(self, x):
        hidden = self.layers[1](self.layers[0](x).relu())
        if hidden.sum() > 0:
            hidden = self.layers[2](hidden)
        found = torch.nonzero(hidden[0] > 0.25)
        if found.size(0) == 0:
            hidden = hidden + 1
        else:
            pass
        return self.head(hidden)


def test_names_and_lines_are_the_models(tmp_path):
    """Sub-DNNs are called after modules or ops; the line beside a call is the model's, not torch's inside."""
    dycl.compile(Net().eval(), (torch.ones(1, 64),)).emit(tmp_path, name="net")
    text = (tmp_path / "net.cpp").read_text()
    for name, line in [("kLayers0To1", "hidden = self.layers[1](self.layers[0](x).relu())"),
                       ("kLayers2", "hidden = self.layers[2](hidden)"),
                       ("kGatherToNonZero", "found = torch.nonzero(hidden[0] > 0.25)")]:
        assert re.search(r"// test_source\.py:\d+  " + re.escape(line) + r"\n[^\n]*call\w*(<\d+>)?\(" + name + r"\b",
                         text), text
    assert "if (!(" not in text
    assert "#include <limits>" not in text and "#include <utility>" in text


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_compilers(source, compiler):
    found = shutil.which(compiler) or shutil.which(compiler.replace("clang++", "clang"))
    if not found:
        pytest.skip(f"{compiler} is not installed")
    for name in ("skipnet.cpp", "skipnet_c.cpp", "main.cpp"):
        done = subprocess.run([found, *FLAGS, f"-I{source}", "-fsyntax-only", source / name],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]


def test_clang_tidy(source):
    tidy = shutil.which("clang-tidy") or shutil.which("clang-tidy-14")
    if not tidy:
        pytest.skip("clang-tidy is not installed")
    files = [source / name for name in ("skipnet.cpp", "skipnet_c.cpp", "main.cpp")]
    done = subprocess.run([tidy, "--quiet", f"--config-file={ROOT}/.clang-tidy", *files, "--", *FLAGS, f"-I{source}"],
                          capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout[-3000:]


def test_pkg_config(tmp_path):
    """A C program that knows nothing but `pkg-config --cflags --libs dycl_runtime`."""
    build = ROOT / "build" / "release"
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "dycl/dycl.h"\n'
        'int main(void) { printf("%u\\n", (unsigned)dycl_abi()); return 0; }\n')
    places = {**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "dycl_runtime"], check=True, capture_output=True,
                           text=True, env=places).stdout.split()
    subprocess.run(["cc", tmp_path / "main.c", *flags, "-o", tmp_path / "main"], check=True)
    shown = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True,
                           env={**os.environ, "LD_LIBRARY_PATH": f"{prefix}/lib"}).stdout
    assert int(shown) > 0
