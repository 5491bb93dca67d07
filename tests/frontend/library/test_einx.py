# SPDX-License-Identifier: Apache-2.0
"""Calls of einx, written out as torch operations."""

import pytest
import torch

from dycl.frontend.library import einx


def test_named_axes_written_out():
    """einx's calls; by stand-ins with its names, as the library is not among the tests' packages."""
    x, y = torch.randn(2, 3, 4), torch.randn(2, 3)

    def call(name, *given):
        function = type("F", (), {"__module__": "einx.ops", "__name__": name})()
        return einx.written_out(function, given, {})

    assert torch.equal(call("multiply", "b n d, b n", x, y)(), x * y[..., None])
    assert torch.equal(call("add", "b n, d -> d b n", y, torch.arange(4))(), torch.arange(4)[:, None, None] + y)
    assert torch.equal(call("where", "b n, b n, n", y > 0, y, torch.zeros(3))(), torch.where(y > 0, y, torch.zeros(3)))
    for pattern in ("b [n] d, b n", "b (n m) d, b n", "b ... d, b n", "b, n"):
        assert call("multiply", pattern, x, y) is None
    for a, b in ((x, y[:, :2]), (x[:, :0], y[:, :0])):
        with pytest.raises(Exception, match="the size of the axis n"):
            call("multiply", "b n d, b n", a, b)()
    assert call("sum", "b n d, b n", x, y) is None
