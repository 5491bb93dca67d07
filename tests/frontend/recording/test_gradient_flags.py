# SPDX-License-Identifier: Apache-2.0
"""`requires_grad` set inside a model: nothing to compute, as long as nobody asks."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check


def flagged(x):
    y = x.clone().requires_grad_()
    if y.sum() > 0:
        y = (y * 2).requires_grad_(True)
    return y + 1


def written(x):
    y = x.detach()
    y.requires_grad = True
    return y * 2 if x[0] > 0 else y


@pytest.mark.parametrize("f", [flagged, written])
def test_same_as_eager(f):
    check(f, [T(1, 2), T(-1, -2)])


def asks_after(x):
    y = x.clone().requires_grad_()
    return y * 2 if y.requires_grad else y


def asks_before(x):
    y = x.clone()
    for _ in range(3):
        if y.requires_grad:
            return y * 2
        if y.sum() > 0:
            y = y.requires_grad_()
    return y


def graph_of(x):
    return x * 2 if (x.clone().requires_grad_() * 2).grad_fn is not None else x


@pytest.mark.parametrize("f", [asks_after, asks_before, graph_of])
def test_questions_are_refused(f):
    with pytest.raises(dycl.CompileError, match="require gradients"):
        dycl.compile(f, (T(1, 2),))


class Frozen(torch.nn.Module):
    """Frozen in one arm: the question was answered as before."""

    def __init__(self, by_name):
        super().__init__()
        self.layer, self.by_name = torch.nn.Linear(2, 2), by_name

    def forward(self, x):
        if x[0] > 0:
            for p in self.layer.parameters():
                if self.by_name:
                    p.requires_grad = False
                else:
                    p.requires_grad_(False)
        return self.layer(x), self.layer.weight.requires_grad


@pytest.mark.parametrize("by_name", [True, False])
def test_questions_about_frozen_parameters_are_refused(by_name):
    with pytest.raises(dycl.CompileError, match="require gradients"):
        dycl.compile(Frozen(by_name), (T(1, 2),))


def wrong_dtype(x):
    try:
        return (x > 0).requires_grad_()
    except RuntimeError:
        return x if x[0] > 0 else -x


def test_integers_raise():
    check(wrong_dtype, [T(1, 2), T(-1, -2)])


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = torch.nn.Buffer(torch.zeros(4, 3))

    def forward(self, x):
        self.cache[1:3] = x
        return x + self.cache[:2]


@torch.inference_mode()
def steps(m, x):
    for _ in range(3):
        x = m(x)
        yield x
        if x.sum() > 9:
            return


@torch.inference_mode()
def last_of(m, x):
    return list(steps(m, x))[-1]


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.enable_grad, torch.no_grad])
def test_a_context_made_outside_is_not_entered_while_capturing(mode):
    grad, m = torch.is_grad_enabled(), Keeps()
    decorated = mode()(lambda x: last_of(m, x))
    program = dycl.compile(decorated, (torch.ones(2, 3),))
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled() == grad
    for x in (torch.ones(2, 3), -torch.ones(2, 3), torch.full((2, 3), 0.1)):
        torch.testing.assert_close(program(x), decorated(x))


def asked_by_torch(x):
    x = x.clone().requires_grad_()
    y = torch.nn.init.eye_(torch.empty(2, 2))
    return y * x if x.sum() > 0 else y - x


def test_torchs_own_questions():
    check(asked_by_torch, [torch.ones(2, 2), -torch.ones(2, 2)])
