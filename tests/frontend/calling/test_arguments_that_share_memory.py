# SPDX-License-Identifier: Apache-2.0
"""Arguments that share memory: one tensor passed twice, overlapping ones, and those that the model keeps."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import T


def two_arguments(q, k):
    q.add_(1)
    if q is k or q.sum() > 0:
        return q @ k.t()
    return q - k


def test_one_tensor_passed_twice(tmp_path):
    """It is one input: identity and writes are as in eager, and a call must pass one tensor twice as well."""
    x = T([1, 2], [3, 4])
    eager, compiled = x.clone(), x.clone()
    program = dycl.compile(two_arguments, (x, x))
    assert torch.allclose(two_arguments(eager, eager), program(compiled, compiled)) and torch.equal(eager, compiled)
    with pytest.raises(ValueError, match="one tensor"):
        program(x, x.clone())
    program.save(tmp_path / "p.dycl")
    loaded = dycl.load(tmp_path / "p.dycl")
    y, z = x.clone(), x.clone()
    assert torch.allclose(loaded(y, y), program(z, z)) and torch.equal(y, z)
    with pytest.raises(ValueError, match="one tensor"):
        loaded(x, x.clone())


def test_written_arguments_that_share_memory_are_refused():
    program = dycl.compile(two_arguments, (T([1, 2], [3, 4]), T([1, 2], [3, 4])))
    x = T([1, 2], [3, 4])
    with pytest.raises(ValueError, match="shares memory"):
        program(x, x)
    with pytest.raises(ValueError, match="shares memory"):
        program(x, x[:].t())


def positive(x):
    return x.sum() > 0


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None
        self.register_buffer("count", torch.ones(2))

    def forward(self, x):
        y = x if self.last is None else self.last + x
        self.last = x
        return y if positive(x) else y * 2


def test_an_argument_kept_in_an_attribute_is_kept_itself():
    eager, kept = Keeps(), Keeps()
    program = dycl.compile(kept, (T(1, 2),))
    x, y = T(1, 2), T(1, 2)
    for _ in range(3):
        assert torch.equal(eager(x), program(y)) and kept.last is y
        x.sub_(2)  # the attribute sees it
        y.sub_(2)


class WritesBuffer(Keeps):
    def forward(self, x):
        self.count.add_(1)
        return x + self.count if positive(x) else x


class WritesArgument(Keeps):
    def forward(self, x):
        x.add_(1)
        return x + self.count if positive(x) else x


@pytest.mark.parametrize("cls", [WritesBuffer, WritesArgument])
def test_arguments_that_share_memory_with_a_buffer(cls):
    model = cls()
    program = dycl.compile(model, (T(1, 2),))
    program(T(1, 2))
    for shared in (model.count, model.count[:]):
        with pytest.raises(dycl.InputError, match="shares memory"):
            program(shared)
