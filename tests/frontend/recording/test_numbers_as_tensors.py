# SPDX-License-Identifier: Apache-2.0
"""Numbers of run time where Python or torch want something else: subscripts, the constructors of old."""

import pytest
import torch

import dycl


def check(function, *inputs):
    program = dycl.compile(function, inputs[0])
    for given in inputs:
        expected, actual = function(*given), program(*given)
        for e, a in zip(expected, actual, strict=True):
            assert a.dtype == e.dtype and torch.equal(a, e)


def test_legacy_constructors_take_tensors_and_nested_lists():
    def model(x):
        low, high = x.min(), x.max()
        return (torch.Tensor([low, high]), torch.FloatTensor([[low, high], [x.sum().item(), 1.0]]),
                torch.Tensor((low, 2)), torch.LongTensor([x.argmax(), 1]))

    check(model, (torch.tensor([1.5, -2.0, 0.25]),), (torch.tensor([-1.0, 7.5, 3.0]),))


def test_legacy_double_tensor_keeps_all_digits():
    def model(x):
        third = x.sum().item() / 3.0
        return torch.DoubleTensor([third, 1.0]), torch.DoubleTensor([[third]])

    check(model, (torch.tensor([1.0]),), (torch.tensor([2.0]),))


def test_integers_of_floats_are_refused_by_legacy_constructors():
    with pytest.raises(dycl.CompileError, match="integers made of floats"):
        dycl.compile(lambda x: torch.LongTensor([x.sum().item(), 1]), (torch.ones(2),))


def test_a_list_that_may_be_a_number_is_subscripted():
    def model(x):
        places = torch.nonzero(x > 0).squeeze().tolist()  # one place: a number, as in eager
        return [a + b for a, b in zip(places[:-1], places[1:])]

    program = dycl.compile(model, (torch.ones(3),))
    for given in (torch.ones(3), torch.tensor([1.0, -1.0, 1.0]), -torch.ones(3)):
        assert program(given) == model(given)
    with pytest.raises(TypeError, match="'int' object is not subscriptable"):
        model(torch.tensor([1.0, -1.0, -1.0]))
    with pytest.raises(TypeError, match="'int' object is not subscriptable"):
        program(torch.tensor([1.0, -1.0, -1.0]))


def test_a_tensor_is_no_stand_in():
    """As transformers asks before it looks into a mask."""

    def model(mask):
        fake = torch._subclasses.FakeTensor
        stand_in = isinstance(mask, fake) or isinstance(mask, (list, (fake,))) or isinstance(mask, fake | dict)
        stand_in = stand_in or isinstance(mask.sum(), fake) or torch._subclasses.fake_tensor.is_fake(mask)
        assert (isinstance(mask, torch.Tensor) and isinstance(mask, (fake, torch.Tensor))
                and isinstance(mask, torch.Tensor | int))
        assert isinstance(mask, torch.BoolTensor) and not isinstance(mask, (torch.FloatTensor, torch.nn.Parameter))
        if not stand_in and mask.all():
            return mask.sum(), torch.ones(())
        return mask.sum(), torch.zeros(())

    check(model, (torch.tensor([True, True]),), (torch.tensor([True, False]),))


def test_the_dtype_of_tensors_without_dims_counts():
    def model(x):
        total, wide, half, place, short = x.sum(), x.double().sum(), x.half().max(), x.argmax(), x.argmin().int()
        return (torch.tensor([wide]), torch.tensor([total, wide]), torch.tensor([[wide, total], [1, 2.0]]),
                torch.tensor([half, half]), torch.tensor([half, 2.0]), torch.tensor([half, place]),
                torch.tensor([short]), torch.tensor([short, 2]), torch.tensor([short, True]),
                torch.tensor([short, place]), torch.tensor([place, total]), torch.as_tensor([wide, place]),
                torch.tensor([total > 0, True]), torch.tensor([total > 0, short]), torch.tensor([total.item(), wide]))

    check(model, (torch.tensor([1.5, -2.1, 0.25]),), (torch.tensor([-1.0, 7.3, 3.0]),))
