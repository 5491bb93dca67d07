# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the compiler are not taken for the model's own, nor the model's for the compiler's."""

import collections

import pytest
import torch

import dycl
from dycl.frontend.graph import dtypes
from dycl.frontend.recording import dispatch, schema
from dycl.frontend.values.arithmetic import Scalars
from dycl.frontend.values.native_entries import imitates_kernels, is_of_program, natively


def test_running_out_of_stack_while_compiling_is_no_exception_of_the_model(monkeypatch):
    def endless(*given):
        return endless(*given)

    monkeypatch.setattr(Scalars, "binary", endless)
    with pytest.raises(dycl.CompileError, match="RecursionError") as caught:
        dycl.compile(lambda x: x * (x[x > 0].shape[0] + 1), (torch.randn(3),))
    assert caught.value.kind == "internal" and isinstance(caught.value.__cause__, RecursionError)


def test_a_recursion_error_that_the_model_raises_itself():
    def f(x):
        if x.sum() > 0:
            raise RecursionError("too deep")
        return x

    program = dycl.compile(f, (-torch.ones(2),))
    with pytest.raises(RecursionError, match="too deep"):
        program(torch.ones(2))


@pytest.mark.parametrize("fault", [lambda: schema.bind(None, (), {}), lambda: dtypes.dtype_of_name("f31")])
def test_faults_of_recording_are_not_shown_to_the_model(fault):
    """`except KeyError` of the model must not catch what a table of ours lacks."""
    with pytest.raises((AttributeError, KeyError)) as caught:
        fault()
    assert not is_of_program(caught.value)


def test_what_comes_out_of_a_marked_entry_is_the_models():
    with pytest.raises(KeyError) as caught:
        natively({}.__getitem__, "k")
    assert is_of_program(caught.value)


@pytest.mark.parametrize("kernel, meant", [
    (lambda: torch._refs.broadcast_shapes((2,), (3,)), True),  # says so in a `raise`
    (lambda: {}["k"], False),  # Python that met what it does not know
])
def test_of_what_stands_for_kernels_only_what_is_raised_on_purpose(kernel, meant):
    space = {"__name__": "dycl.frontend.recording.imitation"}
    exec("def run(kernel):\n    return kernel()", space)
    with pytest.raises((RuntimeError, KeyError)) as caught:
        imitates_kernels(space["run"])(kernel)
    assert is_of_program(caught.value) is meant


def size_by_super(x):
    return x * super(torch.Size, x[x > 0].shape).__len__()


def length_of_the_run(x):
    return x * len(collections.deque([1, 2, 3], maxlen=int(x.sum().item())))


@pytest.mark.parametrize("step", [size_by_super, length_of_the_run])
@pytest.mark.parametrize("caught", [False, True])
def test_what_python_raises_for_a_stand_in_only(step, caught):
    """Eager raises nothing: neither may the program, nor take the way of one that does."""
    def model(x):
        try:
            return step(x)
        except TypeError:
            return -x

    with pytest.raises(dycl.CompileError) as refusal:
        dycl.compile(model if caught else step, (torch.tensor([1.0, 2.0]),))
    assert refusal.value.kind == "internal" and "(TypeError: " in refusal.value.message


def test_what_torch_raises_for_fake_tensors_only(monkeypatch):
    """A shape function that refuses what the kernel takes."""
    def model(x):
        try:
            return torch.cumsum(x, 0)
        except RuntimeError:
            return -x

    space = {"__name__": "dycl.frontend.values.native_entries"}
    exec("def wrong(*given, **named):\n    raise RuntimeError('of a shape function')", space)
    monkeypatch.setattr(dispatch, "imitated", imitates_kernels(space["wrong"]))
    with pytest.raises(dycl.CompileError, match="cumsum symbolically"):
        dycl.compile(model, (torch.randn(3),))


def test_a_fault_that_torch_swallows(monkeypatch):
    """torch makes "unsupported operand" of any TypeError that an operator of its meets."""
    kind_of = dispatch.kind_of

    def wrong(func):
        if func is torch.ops.aten.add.Tensor:
            raise TypeError("of ours")
        return kind_of(func)

    def model(x):
        try:
            return x + 1
        except TypeError:
            return -x

    monkeypatch.setattr(dispatch, "kind_of", wrong)
    with pytest.raises(dycl.CompileError, match="TypeError: of ours") as refusal:
        dycl.compile(model, (torch.randn(3),))
    assert refusal.value.kind == "internal"


def checked_by_torch(x):
    try:
        torch._check_with(AssertionError, bool(x[0] > 0), lambda: "not positive")
    except AssertionError:
        return x * 3
    return x * 2


def asserted_by_torch(x):
    try:
        torch._assert(x[0] > 0, "not positive")
    except AssertionError as error:
        return x * 3, str(error)
    return x * 2, ""


@pytest.mark.parametrize("model", [checked_by_torch, asserted_by_torch], ids=lambda f: f.__name__)
def test_an_assertion_of_torch_is_the_programs(model):
    """Assertions of our own code are faults of ours; what torch's functions raise for the model is not."""
    program = dycl.compile(model, (torch.ones(2),))
    for x in (torch.ones(2), -torch.ones(2)):
        assert repr(program(x)) == repr(model(x))
