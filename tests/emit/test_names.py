# SPDX-License-Identifier: Apache-2.0
"""Names that users give: none of them, for files or for variables, may break the emitted project."""

import subprocess
from pathlib import Path

import pytest
import torch

import dycl

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}/include", f"-I{ROOT}/src"]


def builds(folder):
    """The sources of an emitted folder, and its C header as C. With CMake's default dialect,
    which has macros of its own."""
    sources = "".join(f'#include "{source.name}"\n' for source in sorted(folder.glob("*.cpp")))
    done = subprocess.run(["c++", "-std=gnu++20", *FLAGS, f"-I{folder}", "-x", "c++", "-"], input=sources,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    for header in folder.glob("*_c.h"):
        done = subprocess.run(["cc", "-std=c11", *FLAGS, "-x", "c", header], capture_output=True, text=True)
        assert done.returncode == 0, f"{header}: {done.stderr[:3000]}"


@pytest.fixture(scope="module")
def program():
    return dycl.compile(lambda x: x * 2 if x.sum() > 0 else x - 1, (torch.ones(3),), threads=1)


@pytest.mark.parametrize("name, files", [
    ("Model", "Model"), ("ResNet50", "ResNet50"), ("my model-v2", "my_model_v2"),
    # would hide a file of the project's own, a header, a type, a keyword or a target of CMake's
    ("main", "main_model"), ("string", "string_model"), ("tensor", "tensor_model"),
    ("class", "class_model"), ("test", "test_model"), ("dycl", "dycl_model"),
    ("program", "program_model"), ("2nd", "x2nd")])
def test_of_projects(program, tmp_path, name, files):
    program.emit(tmp_path, name=name)
    assert (tmp_path / f"{files}.h").exists() and "int main(" in (tmp_path / "main.cpp").read_text()
    builds(tmp_path)


def test_of_variables(tmp_path):
    """Variables called like macros, keywords, sub-DNNs and what emitted code declares itself."""

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

        def forward(self, compute, linux: int, restrict: float):
            kLayers0 = self.layers[0](compute)
            done, done_1, rounds, list_, unix, EOF = 0, 0, 0, [], linux, restrict
            while kLayers0.sum() < 10 and rounds < 8:
                kLayers0, rounds = self.layers[1](kLayers0) + 3, rounds + 1
                for assert_ in range(linux):
                    if kLayers0[0, 0] > assert_:
                        done += 1
                        break
                    if kLayers0[0, 1] > assert_:
                        done_1 += unix
                        continue
                    list_.append(done)
                else:
                    EOF = EOF + 0.5
            return kLayers0, done, done_1, rounds, list_, EOF

    torch.manual_seed(0)
    program = dycl.compile(Odd().eval(), (torch.ones(1, 4), 3, 0.5), threads=1)
    program.emit(tmp_path, name="odd")
    builds(tmp_path)


def test_of_what_users_write(tmp_path):
    """Lines that go into comments, and texts that go into literals."""
    source = tmp_path / "wäcky.py"
    source.write_text(
        "import torch\n\n\ndef model(x):\n"
        "    if x.sum() > 3: y = x + 1  # " + "ü" * 60 + "\n"
        "    else: y = x  # \u202e??/\\\n"
        "    if y.max() > 9:\n"
        "        raise ValueError('a, b, \"c\\\\', " + ", ".join(f"'text, {i}'" for i in range(12)) + ")\n"
        "    return y\n", encoding="utf-8")
    names = {}
    exec(compile(source.read_text(encoding="utf-8"), source, "exec"), names)
    program = dycl.compile(names["model"], (torch.ones(3),), threads=1)
    program.emit(tmp_path / "out", name="wacky")
    builds(tmp_path / "out")
    for line in (tmp_path / "out" / "wacky.cpp").read_bytes().splitlines():
        line.decode("utf-8")  # whole characters
        assert not line.endswith(b"\\") and b"\xe2\x80\xae" not in line
