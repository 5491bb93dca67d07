# SPDX-License-Identifier: Apache-2.0
"""Results keep the names of their keys and fields in packages, on the command line, in C++ and in ONNX."""

import dataclasses
import json
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

import dycl
import dycl.runtime

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release")) / "bin"
X = torch.ones(3)


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor
    steps: int


class Boxes(NamedTuple):
    boxes: torch.Tensor
    scores: torch.Tensor


def keys(x):
    return {"logits": x + 1, "class": x.sum().item(), "past": (x * 5, {"k-v": x * 2}), 3: x, "x": x * 3, "out0": x * 4}


def fields(x):
    return Answer(x * 2, int(x.sum()))


def in_a_tuple(x):
    return x * 3, Boxes(x + 1, x * 2)


def of_torch(x):
    return x.max(0)


def places(x):
    return x * 3, [x * 2, x.sum()]


def some(x):
    if x.sum() > 0:
        return {"logits": x * 4}
    if x[0] > -5:
        return {"logits": x * 2, "aux": Answer(x * 3, 7)}
    return None


@pytest.mark.parametrize("model, names", [
    (keys, ["logits", "class", "past_0", "past_1_k_v", "out4", "x_1", "out6"]),  # no two results have one name
    (fields, ["logits", "steps"]),
    (in_a_tuple, ["out0", "boxes", "scores"]),
    (of_torch, ["values", "indices"]),
    (places, ["out0", "out1", "out2"]),
    (some, ["variant", "logits", "aux_logits"]),
], ids=lambda p: getattr(p, "__name__", ""))
def test_names(model, names, tmp_path):
    program = dycl.compile(model, (X,))
    program.save(tmp_path / "m.dycl")
    assert [name for name, _ in dycl.runtime.load(tmp_path / "m.dycl").outputs] == names


def test_everywhere(tmp_path):
    import onnx

    program = dycl.compile(fields, (X,))
    program.save(tmp_path / "m.dycl")
    program.emit(tmp_path / "m")
    program.emit_onnx(tmp_path / "m.onnx")
    done = subprocess.run([BIN / "dycl-run", tmp_path / "m.dycl", "--random", "0"], capture_output=True, text=True)
    assert re.findall(r"^(\w+) = ", done.stdout, re.M) == ["logits", "steps"]
    assert [o.name for o in onnx.load(tmp_path / "m.onnx").graph.output] == ["logits", "steps"]
    header = (tmp_path / "m" / "model_c.h").read_text()
    assert "logits" in header and "steps" in header
    assert re.search(r" logits;.*\n.* steps", (tmp_path / "m" / "model.h").read_text())


def test_what_a_variant_is(tmp_path):
    program = dycl.compile(some, (X,))
    program.save(tmp_path / "m.dycl")
    shown = subprocess.run([BIN / "dycl", "inspect", tmp_path / "m.dycl"], capture_output=True, text=True).stdout
    told = dict(re.findall(r"^variant   (\d): (.*)$", shown, re.M))
    assert sorted(told.values()) == ["None", "{'logits': logits, 'aux': Answer(logits=aux_logits, steps=7)}",
                                     "{'logits': logits}"]
    ran = subprocess.run([BIN / "dycl-run", tmp_path / "m.dycl", "--random", "0"], capture_output=True, text=True)
    number, text = re.match(r"variant = (\d): (.*)", ran.stdout).groups()
    assert told[number] == text
    ran = subprocess.run([BIN / "dycl-run", tmp_path / "m.dycl", "--random", "0", "--json"], capture_output=True,
                         text=True)
    assert json.loads(ran.stdout)["variant"] == text
    loaded = dycl.runtime.load(tmp_path / "m.dycl")
    assert {str(k): told for k, told in enumerate(loaded.variants)} == told
