# SPDX-License-Identifier: Apache-2.0
"""Models that install hooks on their modules in their first call."""

import contextvars

import pytest
import torch
from torch import nn

import dycl

_COLLECTED = contextvars.ContextVar("collected", default=None)


class Recording(nn.Module):
    """As transformers does where hidden states are asked for."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

    def install(self):
        if getattr(self, "_installed", False):
            return
        for k, layer in enumerate(self.layers):
            self.hook(layer, k)
        self._installed = True

    @staticmethod
    def hook(layer, k):
        def record(module, args, output):
            found = _COLLECTED.get()
            if found is not None:
                found.append(output * k)

        layer.register_forward_hook(record)

    def forward(self, x):
        self.install()
        found = []
        token = _COLLECTED.set(found)
        for layer in self.layers:
            x = layer(x)
            if x.sum() > 0:
                x = -x
        _COLLECTED.reset(token)
        return x, found


INPUTS = [torch.full((2, 3), v) for v in (1.0, -1.0, 3.0, -3.0, 0.1)]


@pytest.mark.parametrize("wrapped", [False, True])
def test_hooks_of_the_first_call(wrapped):
    torch.manual_seed(0)
    eager, subject = Recording().eval(), Recording().eval()
    subject.load_state_dict(eager.state_dict())
    program = dycl.compile((lambda x: subject(x)) if wrapped else subject, (INPUTS[0],))
    with torch.no_grad():
        for x in INPUTS:
            torch.testing.assert_close(program(x), eager(x))
            torch.testing.assert_close(subject(x), eager(x))
    assert len(subject.layers[0]._forward_hooks) == 1


class Keeps(Recording):
    """Its hooks hold a tensor of the first input."""

    def forward(self, x):
        if not getattr(self, "_installed", False):
            first = x.clone()
            self.layers[0].register_forward_hook(lambda module, args, output: output + first)
            self._installed = True
        return self.layers[0](x)


class Differs(Recording):
    """The first call gives something else."""

    def forward(self, x):
        fresh = not getattr(self, "_installed", False)
        self.install()
        return x * 2 if fresh else self.layers[0](x)


class Counts(Recording):
    """The first call does more than that."""

    def forward(self, x):
        self.install()
        self.seen = [*getattr(self, "seen", []), x.shape]
        return self.layers[0](x) * len(self.seen)


@pytest.mark.parametrize("cls", [Keeps, Differs, Counts])
def test_other_first_calls_are_refused(cls):
    with pytest.raises(dycl.CompileError):
        dycl.compile(cls().eval(), (INPUTS[0],))


def test_a_model_is_not_called_where_it_is_refused():
    model = Counts().eval()
    with pytest.raises(dycl.CompileError):
        dycl.compile(model, (INPUTS[0],))
    assert not model.layers[0]._forward_hooks and not hasattr(model, "seen")
