# SPDX-License-Identifier: Apache-2.0
"""Cached native calls: a call that goes straight to its op records what torch's dispatcher would."""

from __future__ import annotations

import pytest
import torch

from dycl.frontend.graph.program import AtenNode
from tests.frontend.support.recording import new_recorder

T = torch.Tensor


def _texts(recorder) -> list:
    names: dict = {}
    show = lambda v: names.setdefault(v, len(names)) if hasattr(v, "type") \
        else [show(x) for x in v] if isinstance(v, (list, tuple)) \
        else {k: show(x) for k, x in v.items()} if isinstance(v, dict) else repr(v)
    return [(str(n.target), show(n.args), show(n.kwargs), [(show(o), o.type) for o in n.outputs])
            for n in recorder.block.nodes if isinstance(n, AtenNode)]


def _recorded(calls, planned: bool) -> tuple[list, list]:
    recorder = new_recorder()
    if not planned:
        recorder.calls.plans.run = lambda fn, args, kwargs, natively: natively(fn, args, kwargs)
    results = []
    for fn, args, kwargs in calls:
        given = [recorder.real.lift(a) if isinstance(a, torch.Tensor) else [recorder.real.lift(x) for x in a]
                 if isinstance(a, list) and isinstance(a[0], torch.Tensor) else a for a in args]
        result = recorder.call(fn, tuple(given), kwargs)
        results.append((type(result), [(tuple(x.shape), x.stride(), x.dtype, x.storage_offset()) for x in
                                       (result if isinstance(result, (tuple, list)) else [result])]))
    if planned:
        assert any(plan for _, plan in recorder.calls.plans._known.values())
    return _texts(recorder), results


CALLS = [
    (torch.relu, lambda x, y: (x,), {}),
    (T.add, lambda x, y: (x, y), {"alpha": 2}),
    (T.add, lambda x, y: (x, x), {}),
    (T.mul, lambda x, y: (x, -0.0), {}),
    (T.add_, lambda x, y: (x, y), {}),
    (T.clamp_, lambda x, y: (x, 0.0, 1.0), {}),
    (T.copy_, lambda x, y: (x, y), {}),
    (T.view, lambda x, y: (x, -1), {}),
    (T.transpose, lambda x, y: (x, 0, 1), {}),
    (T.max, lambda x, y: (x, 1), {}),
    (T.chunk, lambda x, y: (x, 2, 1), {}),
    (torch.cat, lambda x, y: ([x, y], 1), {}),
    (T.sum, lambda x, y: (x,), {"dim": [0], "keepdim": True}),
    (T.addmm, lambda x, y: (x, y, torch.eye(4)), {"beta": 0.5}),
    (T.to, lambda x, y: (x, torch.int64), {}),
    (torch.conv1d, lambda x, y: (x, y[:, :, None]), {}),
    (torch.nn.functional.linear, lambda x, y: (x, y), {}),
    (T.masked_fill, lambda x, y: (x, y > 0, 3.0), {}),
]


@pytest.mark.parametrize("fn, args, kwargs", CALLS, ids=lambda p: getattr(p, "__name__", None))
def test_a_planned_call_records_what_torch_dispatches(fn, args, kwargs):
    pairs = [(torch.randn(4, 4), torch.randn(4, 4)) for _ in range(3)]
    calls = [(torch.relu, (p[0],), {}) for p in pairs] + [(fn, args(*p), kwargs) for p in pairs]
    assert _recorded(calls, planned=True) == _recorded(calls, planned=False)


def test_signed_zeros_are_two_calls():
    x = torch.randn(3)
    calls = [(T.mul, (x, zero), {}) for zero in (0.0, -0.0, 0.0, -0.0)]
    planned = _recorded(calls, planned=True)
    assert planned == _recorded(calls, planned=False)
    assert [text[1][1] for text in planned[0]] == ["0.0", "-0.0", "0.0", "-0.0"]


def test_one_tensor_twice_after_two():
    x, y = torch.randn(3), torch.randn(3)
    calls = [(T.sub, pair, {}) for pair in ((x, x), (x, y), (y, x), (y, y), (x, y))]
    assert _recorded(calls, planned=True) == _recorded(calls, planned=False)
