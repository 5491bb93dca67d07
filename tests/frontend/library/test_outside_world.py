# SPDX-License-Identifier: Apache-2.0
"""What reaches out of the program is refused with its remedy, and with what may stay outside."""

import pickle

import numpy as np
import pytest
import torch

import dycl

X = torch.ones(3)
OUTSIDE = "write @dycl.host_function in the line above its `def`"


def opens(x):
    return x + len(open("/etc/hostname").read())


def asks(x):
    return x if input() else x + 1


def evaluates(x):
    return x + eval("1")


def pickles(x):
    return x + len(pickle.dumps([x]))


def saves(x):
    torch.save(x, "x.pt")
    return x


def moves(x):
    return x.cuda() + 1


def moves_to(x):
    return x.to("cuda:0") + 1


def makes(x):
    return x + torch.zeros(3, device="cuda")


def looks_inside(x):
    return x + np.random.default_rng(int(x[0])).random()


@pytest.mark.parametrize("function, said, remedy, may_stay_outside", [
    (opens, "a file is opened (open)", "read it before the model runs", True),
    (asks, "somebody is asked (input)", "pass the answer", True),
    (evaluates, "code is made from text (eval)", "write it as a function", True),
    (pickles, "is pickled", "save it after the call", True),
    (saves, "is pickled", "save it after the call", True),
    (moves, "a tensor on cuda: programs run on the CPU", "x.device", False),
    (moves_to, "a tensor on cuda:0: programs run on the CPU", "x.device", False),
    (makes, "a tensor on cuda: programs run on the CPU", "x.device", False),
    (looks_inside, "", "", True),
], ids=lambda p: getattr(p, "__name__", ""))
def test_refused_with_a_remedy(function, said, remedy, may_stay_outside):
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(function, (X,))
    text, line = str(caught.value), function.__code__.co_firstlineno + 1
    assert text.startswith(f"{__file__}:{line}:") and said in text and remedy in caught.value.help, text
    assert (OUTSIDE in text) == (OUTSIDE in caught.value.help) == may_stay_outside, text


def test_what_is_known_may_be_pickled():
    assert dycl.compile(lambda x: x + len(pickle.dumps([1, 2])), (X,))(X)[0] == 1 + len(pickle.dumps([1, 2]))


def test_the_device_of_an_argument_is_no_move():
    def program(x):
        return x.to(x.device) + torch.zeros(3, device=x.device).to("cpu")
    assert torch.equal(dycl.compile(program, (X,))(X), X)


@pytest.mark.parametrize("make, said", [
    (lambda: (torch.nn.Linear(2, 2), torch.ones(1, 2).to(torch.float8_e4m3fn)),
     "the argument input is a tensor of float8_e4m3fn\n  help: convert it before"),
    (lambda: (lambda x: x.to(torch.float8_e4m3fn), X), "tensors of float8_e4m3fn are not supported\n  help: give"),
])
def test_dtypes_that_are_not_taken(make, said):
    model, x = make()
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(model, (x,))
    assert said in str(caught.value), caught.value
