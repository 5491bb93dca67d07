# SPDX-License-Identifier: Apache-2.0
"""Names and texts are the choice of who made a package: none leads out of a folder, steers a terminal, or becomes code.
Costs 15 s, most of it for compiling what was emitted."""

import dataclasses
import json
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import pytest
import torch

import dycl
from tests.cli.test_cli import BIN, ROOT
from tests.cli.test_cli import dycl as command
from tests.frontend.support.packages import with_sections

LONG = 40  # characters of names that are replaced by others of as many
NAME, SYMBOL, TARGET = "o" * LONG, "S" * LONG, "p" * LONG
TEXT = f"""
func @main(%x: f32[2]) -> (%{NAME}: f32[2], %second: f32[2]) {{
^entry:
  print {{format="{TARGET}\\n"}}
  %y = Neg %x : f32[2]
  return %x, %y
}}
"""
STEERS = "\x1b]0;title\x07\x1b[2J\nsub-DNN   forged\u202e\u009b2K"


def padded(text):
    return text.encode() + b"_" * (LONG - len(text.encode()))


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A package whose first output has this name, and which prints this text."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "m.dyir").write_text(TEXT)
    command("compile", folder / "m.dyir", "-o", folder / "m.dycl")
    numpy.save(folder / "x.npy", numpy.ones(2, "float32"))

    def make(name, printed=""):
        def change(section, held):
            return held.replace(NAME.encode(), padded(name)).replace(TARGET.encode(), padded(printed))
        with_sections(folder / "m.dycl", change, folder / "changed.dycl")
        return folder / "changed.dycl", folder / "x.npy"
    return make


@pytest.mark.parametrize("name", [
    "../outside", f"{tempfile.gettempdir()}/dycl_outside", "a/../../outside", "below/it", "a\0b", "\x1b[2J"])
def test_no_output_is_written_outside_its_folder(named, name, tmp_path):
    package, x = named(name)
    folder = tmp_path / "inner" / "out"
    result = command("run", package, x, "-o", folder, code=7)
    assert "has a name that no file in the folder can have" in result.stderr and "write a .npz" in result.stderr
    written = [str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file()]
    assert written == ["inner/out/second.npy"]
    assert not list(Path(tempfile.gettempdir()).glob("dycl_outside*"))
    command("run", package, x, "-o", tmp_path / "all.npz")
    assert len(numpy.load(tmp_path / "all.npz").files) == 2


def test_two_outputs_of_one_name_are_not_one_file(named, tmp_path):
    (tmp_path / "m.dyir").write_text(TEXT.replace("%second", "%" + "q" * LONG))
    command("compile", tmp_path / "m.dyir", "-o", tmp_path / "m.dycl")
    with_sections(tmp_path / "m.dycl", lambda _, held: held.replace(b"q" * LONG, NAME.encode()), tmp_path / "same.dycl")
    result = command("run", tmp_path / "same.dycl", named("x")[1], "-o", tmp_path / "out", code=7)
    assert f"two outputs are called '{NAME}'" in result.stderr


def steered(text):
    """Characters that no terminal shows as they are."""
    return [c for c in text if c != "\n" and not c.isprintable()]


@pytest.mark.parametrize("words", [["inspect"], ["inspect", "--json"], ["run"], ["run", "--json"],
                                   ["profile", "--random", "1"]])
def test_what_commands_print_steers_no_terminal(named, words):
    package, x = named(STEERS)
    given = [x] if words[0] == "run" else []
    result = command(words[0], package, *given, *words[1:])
    assert not steered(result.stdout) and not steered(result.stderr)
    assert "\nsub-DNN   forged" not in result.stdout
    if "inspect" in words and "--json" not in words:
        assert "\\x1b]0;title\\x07\\x1b[2J\\x0asub-DNN   forged\\u202e\\x9b2K" in result.stdout
    if words == ["inspect", "--json"]:  # the name itself is told as it is
        assert STEERS in json.loads(result.stdout)["outputs"][0]["name"]


def on_a_terminal(*words):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(list(map(str, words)), stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 4096):
            said += piece
    except OSError:  # the other end is closed
        pass
    assert process.wait() == 0
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def test_what_a_model_prints_steers_no_terminal(named):
    package, x = named("plain", STEERS)
    assert STEERS in command("run", package, x).stdout  # into a pipe as it is
    said = on_a_terminal(BIN / "dycl-run", package, x)
    assert not steered(said) and "\\x1b[2J" in said
    script = f"import numpy, dycl.runtime; dycl.runtime.load({str(package)!r})(numpy.load({str(x)!r}))"
    said = on_a_terminal(sys.executable, "-c", script)
    assert not steered(said) and "\\x1b[2J" in said


# ---- emitted code -----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Output:
    kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk: torch.Tensor
    level: float


FIELD = "k" * 80


def two_ways(x):
    if x.sum() > 0:
        return Output(x, 1.5)
    return x * 2


@pytest.mark.parametrize("evil", ["\\n};\\n#error injected\\nstruct Evil {", "\\r#error injected\\r"])
def test_no_text_of_a_package_becomes_code(tmp_path, evil):
    dycl.compile(two_ways, (torch.ones(2),)).save(tmp_path / "m.dycl")
    in_ir = evil.replace("\\", "\\\\")  # a text of JSON in a text of the IR

    def change(section, held):
        assert section != "debug" or FIELD.encode() in held
        return held.replace(FIELD.encode(), in_ir.encode().ljust(len(FIELD), b" ")) if section == "debug" else held

    with_sections(tmp_path / "m.dycl", change, tmp_path / "evil.dycl")
    command("emit", tmp_path / "evil.dycl", "-o", tmp_path / "cpp")
    header = (tmp_path / "cpp" / "evil.h").read_text()
    assert "variant 1: (" in header and "#error injected" in header
    assert not [line for line in header.splitlines() if line.strip().startswith("#error")]
    subprocess.run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", ROOT / "include", "-I",
                    ROOT / "src", tmp_path / "cpp" / "evil.cpp"], check=True)


# ---- metadata that nests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"metadata": ' + "[" * 1_000_000 + "]" * 1_000_000 + "}", "[" * 100_000,
                                  '{"metadata": {"variants": "' + "[" * 1_000_000 + '"}}'])
@pytest.mark.parametrize("words", [["inspect"], ["inspect", "--json"], ["run", "--random", "1"]])
def test_metadata_may_nest(named, words, text, tmp_path):
    package, _ = named("plain")
    with_sections(package, lambda name, held: text.encode() if name == "metadata" else held, tmp_path / "deep.dycl")
    command(words[0], tmp_path / "deep.dycl", *words[1:])


def test_an_interface_may_nest_where_it_is_emitted(tmp_path):
    dycl.compile(two_ways, (torch.ones(2),)).save(tmp_path / "m.dycl")

    def change(section, held):
        start, end = held.find(b'[\\"object\\"'), held.find(b'\\"slots\\"')
        if section != "debug" or start < 0:
            return held
        size = end - start - 2
        return held[:start] + b"[" * (size // 2) + b"]" * (size - size // 2) + held[end - 2:]

    with_sections(tmp_path / "m.dycl", change, tmp_path / "deep.dycl")
    command("emit", tmp_path / "deep.dycl", "-o", tmp_path / "cpp")
