# SPDX-License-Identifier: Apache-2.0
"""Arguments that lie in memory in another way than the example did: the values are the same, or the call is refused."""

import pytest
import torch

import dycl
from tests.frontend.support.compare import differences


def asks(x):
    return x.view(-1) if x.is_contiguous() else x.reshape(-1) + 100


def strides(x):
    return x.sum() if x.stride(0) == 1 else x * 2


def written_view(x):
    y = x.reshape(-1)
    y.add_(1) if x.sum() > 0 else y.mul_(2)
    return x.sum(), y


def derived(x):
    y = x * 2
    y.flatten()[0] = 7
    return y if x.sum() > 0 else y + 1


def offset(x):
    return x.sum() + x.storage_offset()


def indifferent(x):
    y = x.contiguous().view(-1) * 1
    y += 1
    return y.reshape(4, 3).t().reshape(-1) if x.sum() > 0 else x.t().flatten()


def _ways():
    torch.manual_seed(0)
    return [torch.randn(3, 4), torch.randn(4, 3).t(), torch.randn(3, 8)[:, ::2],
            torch.randn(4, 4)[1:], -torch.rand(4, 3).t()]


@pytest.mark.parametrize("example", [0, 1])
@pytest.mark.parametrize("function", [asks, strides, written_view, derived, offset, indifferent])
def test_the_same_or_refused(function, example, tmp_path):
    program = dycl.compile(function, (_ways()[example],))
    program.save(tmp_path / "p.dycl")
    refused = 0
    for callee in (program, dycl.load(tmp_path / "p.dycl")):
        for ours, theirs in zip(_ways(), _ways()):
            try:
                actual = callee(theirs)
            except ValueError as error:
                assert "lies in memory" in str(error)
                refused += 1
                continue
            assert differences((function(ours), ours), (actual, theirs)) == []
    assert (refused > 0) == (function is not indifferent)


def test_extents_that_vary():
    program = dycl.compile(written_view, (torch.ones(3, 4),), dynamic_dims={"x": {0: "n"}})
    for n in (1, 2, 5):
        ours, theirs = torch.ones(n, 4), torch.ones(n, 4)
        assert differences((written_view(ours), ours), (program(theirs), theirs)) == []
    with pytest.raises(ValueError, match="lies in memory"):
        program(torch.ones(4, 3).t())
