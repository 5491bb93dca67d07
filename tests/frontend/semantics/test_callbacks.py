# SPDX-License-Identifier: Apache-2.0
"""Python functions that native code calls back: those that read are recorded, those that write are refused."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check


def test_callbacks_of_native_code_that_write_are_refused():
    """What torch's own Python calls back is not interpreted: its writes would be done once, at compile time."""
    from torch.utils._pytree import tree_map

    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))
            self.calls = 0

        def counted(self, y):
            self.calls += 1
            return y * self.calls

        def summed(self, y):
            self.seen.add_(y)
            return y * 2

        def forward(self, x, how):
            return tree_map(getattr(self, how), [x])[0] + self.seen

    for how in ("counted", "summed"):
        with pytest.raises(dycl.CompileError, match="writes to objects or buffers"):
            dycl.compile(Counts(), (T(1, 2), how))


def callback_that_reads(x):
    from torch.utils._pytree import tree_map

    y = x.clone()
    y.add_(1)

    def step(z):
        if z.sum() > 0:
            return z + y
        return z - y

    return tree_map(step, [x])


def test_callbacks_of_native_code_that_only_read():
    check(callback_that_reads, [(T(1, 2),), (T(-3, 1),)])


def positive(x):
    return x.sum() > 0


def test_callbacks_that_change_what_is_not_theirs():
    from torch.utils._pytree import tree_map

    seen, rows = set(), [3, 1]

    def adds(x):
        return tree_map(lambda y: (seen.add(1), y * 2)[1], [x]) if positive(x) else x

    def sorts(x):
        return tree_map(lambda y: (rows.sort(), y * 2)[1], [x]) if positive(x) else x

    for model in (adds, sorts):
        with pytest.raises(dycl.CompileError, match="writes to"):
            dycl.compile(model, (T(-1, -2),))
    assert not seen and rows == [3, 1]
