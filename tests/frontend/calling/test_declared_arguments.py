# SPDX-License-Identifier: Apache-2.0
"""What is declared of arguments: dynamic dims in all the forms that may be written, numbers that are inputs, and names
that do not exist."""

import functools
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.export import Dim

import dycl
import dycl.runtime

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release")) / "bin"
X = torch.tensor([[1.0, -2.0, 3.0]])


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)
    return wrapper


class Mean(torch.nn.Module):
    @torch.no_grad()
    @logged
    def forward(self, image, mask=None):
        if image.sum() > 0:
            return image.mean(0)
        return image[0]


def ports(program):
    return program._engine.program.inputs, program._engine.program.symbols


@pytest.mark.parametrize("dims, kind, symbol", [
    ({"image": {0: "N"}}, "f32[N,3]", ("N", 1, 2**31 - 1)),
    ({"image": {0: (1, 8)}}, "f32[image_0,3]", ("image_0", 1, 8)),
    ({"image": [0]}, "f32[image_0,3]", ("image_0", 1, 2**31 - 1)),
    ({0: [0]}, "f32[arg0_0,3]", ("arg0_0", 1, 2**31 - 1)),
    ({"image": {0: Dim("B", min=1, max=16)}}, "f32[B,3]", ("B", 1, 16)),
    ({"image": (Dim("B"), None)}, "f32[B,3]", ("B", 1, 2**31 - 1)),
    ({"image": {0: Dim.AUTO, 1: 3}}, "f32[image_0,3]", ("image_0", 1, 2**31 - 1)),
])
def test_forms_of_dynamic_dims(dims, kind, symbol):
    program = dycl.compile(Mean(), (torch.ones(4, 3),), dynamic_dims=dims)
    assert ports(program) == ([("image", kind)], [symbol])
    assert torch.equal(program(torch.ones(6, 3)), torch.ones(3))


@pytest.mark.parametrize("options, said", [
    ({"dynamic_dims": {"imag": {0: "N"}}}, "dynamic_dims: there is no tensor among the arguments 'imag'; did you mean "
                                           "'image'? There is: image"),
    ({"dynamic_dims": {1: {0: "N"}}}, "no tensor among the arguments 1. There is: image"),
    ({"dynamic_dims": {"image": {2: "N"}}}, "image has no axis 2; it has 2"),
    ({"dynamic_dims": {"image": {0: "N"}}, "ranges": {"M": (1, 4)}}, "ranges: there is no dynamic dim 'M'. There"),
    ({"ranges": {"N": (1, 4)}}, "there is no dynamic dim 'N'. There are: none"),
    ({"dynamic_dims": {"image": {0: "N"}}, "ranges": {"N": 4}}, "give (least, greatest)"),
    ({"dynamic_dims": {"image": {0: Dim("N", max=4)}}, "ranges": {"N": (1, 5)}}, "N is to be 1 to 4 here and 1 to 5"),
    ({"dynamic_dims": {"image": {0: 2 * Dim("K")}}}, "not computed from another"),
    ({"dynamic_args": {"image": float}}, "there is no number among the arguments 'image'. There are: none"),
    ({"dynamic_args": {"image": str}}, "it may be int, float or bool"),
])
def test_names_that_do_not_exist(options, said):
    with pytest.raises(dycl.InputError) as caught:
        dycl.compile(Mean(), (torch.ones(4, 3),), **options)
    assert said in str(caught.value)


def test_keywords_that_do_not_exist():
    with pytest.raises(TypeError, match="no keyword 'dynamic_dim'; did you mean 'dynamic_dims'. There are: allow_"):
        dycl.compile(Mean(), (torch.ones(4, 3),), dynamic_dim={"image": {0: "N"}})
    assert dycl.compile(Mean(), (torch.ones(4, 3),), max_unroll=3)


def decode(x, threshold=0.5, max_new_tokens=3, greedy=False):
    steps = 0
    for _ in range(max_new_tokens):
        if x.mean() > threshold:
            break
        x, steps = (x * 2 if greedy else x + 1), steps + 1
    return x, steps, threshold * 2


CALLS = [(0.5, 3, False), (100.0, 7, True), (100.0, 0, False), (4.0, 50, False), (-3.0, 2, True)]
NUMBERS = {"threshold": float, "max_new_tokens": int, "greedy": bool}


def same(ours, theirs):
    return torch.equal(ours[0], theirs[0]) and ours[1:] == theirs[1:]


@pytest.fixture(scope="module")
def program():
    return dycl.compile(decode, (X,), dynamic_args=NUMBERS)


def test_numbers_as_inputs(program, tmp_path):
    program.save(tmp_path / "p.dycl")
    assert ports(program)[0] == [("x", "f32[1,3]"), *((name, kind.__name__) for name, kind in NUMBERS.items())]
    for callee in (program, dycl.load(tmp_path / "p.dycl")):
        for t, n, g in CALLS:
            expected = decode(X, t, n, g)
            assert same(callee(X, t, n, g), expected)
            assert same(callee(X, greedy=g, max_new_tokens=n, threshold=t), expected)
            assert same(callee(X, threshold=t), decode(X, threshold=t))  # the others: by default
        assert same(callee(X), decode(X))
        for wrong, said in (({"threshold": 1}, "threshold: 1, compiled for a float"),
                            ({"max_new_tokens": True}, "max_new_tokens: True, compiled for an int"),
                            ({"max_new_tokens": 2**63}, "does not fit in 64 bits"), ({"greedy": 1}, "for a bool")):
            with pytest.raises(dycl.InputError, match=said):
                callee(X, **wrong)
    assert program.verify([(X, *call) for call in CALLS], drive=True)["mismatches"] == []


def test_numbers_as_inputs_without_python(program, tmp_path):
    program.save(tmp_path / "p.dycl")
    np.save(tmp_path / "x.npy", X.numpy())
    flat = dycl.runtime.load(tmp_path / "p.dycl")
    for t, n, g in CALLS:
        x, steps, twice = decode(X, t, n, g)
        assert flat(X.numpy(), t, n, g)["out1"] == steps
        done = subprocess.run([BIN / "dycl-run", tmp_path / "p.dycl", tmp_path / "x.npy", f"threshold={t}",
                               f"max_new_tokens={n}", f"greedy={str(g).lower()}"], capture_output=True, text=True)
        assert f"out1 = {steps}\n" in done.stdout, done.stderr
    program.emit(tmp_path / "cpp")
    header, c = ((tmp_path / "cpp" / name).read_text() for name in ("model.h", "model_c.h"))
    assert "double threshold" in header and "std::int64_t max_new_tokens" in header and "bool greedy" in header
    assert "threshold" in c and "max_new_tokens" in c


class Nested(torch.nn.Module):
    def forward(self, x, config):
        return x * config["scale"] if x.sum() > config["limits"][0] else x


def test_numbers_in_containers():
    example = {"scale": 2.0, "limits": [0, 9]}
    program = dycl.compile(Nested(), (X, example), dynamic_args={"config['scale']": float, "config['limits'][0]": int})
    for scale, limit in ((3.0, 0), (5.0, 100)):
        given = {"scale": scale, "limits": [limit, 9]}
        assert torch.equal(program(X, given), Nested()(X, given))
    with pytest.raises(dycl.InputError, match=r"compiled for 9; compile again for it, or with dynamic_args="):
        program(X, {"scale": 1.0, "limits": [0, 8]})


def test_defaults_are_bound_as_python_does(tmp_path):
    def scaled(x, scale=2.0, *, shift=1, name="a"):
        return x * scale + shift if x.sum() > 0 else x

    left_out, given = dycl.compile(scaled, (X,)), dycl.compile(scaled, (X, 2.0), {"shift": 1})
    left_out.save(tmp_path / "p.dycl")
    for program in (left_out, given, dycl.load(tmp_path / "p.dycl")):
        for args, kwargs in (((X,), {}), ((X, 2.0), {}), ((X,), {"scale": 2.0, "shift": 1}), ((X,), {"name": "a"})):
            assert torch.equal(program(*args, **kwargs), scaled(X))
        with pytest.raises(dycl.InputError, match="scale: 3.0, but the program was compiled"):
            program(X, scale=3.0)
        with pytest.raises(dycl.InputError, match="the program takes"):
            program(X, other=3.0)
