# SPDX-License-Identifier: Apache-2.0
"""Capture spares the garbage collector what was there before, and leaves it as it was."""

from __future__ import annotations

import gc

import pytest
import torch

import dycl


def _compile(model):
    return dycl.compile(model, (torch.ones(2),), backend="reference", verify=False)


def _collected(x):
    """Whether the collector looks at x; what is frozen is not among its objects."""
    return any(other is x for other in gc.get_objects())


def test_nothing_stays_frozen():
    before = gc.get_freeze_count()  # 3.12 starts with some
    _compile(lambda x: x + 1)
    assert gc.get_freeze_count() == before
    with pytest.raises(dycl.CompileError):
        _compile(lambda x: x.data_ptr())
    assert gc.get_freeze_count() == before


def test_what_the_process_froze_stays_frozen():
    """The number of what is frozen may fall: objects of before that nobody needs any more end as ever."""
    kept = ["frozen"]
    gc.freeze()
    try:
        assert not _collected(kept)
        _compile(lambda x: x + 1)
        assert not _collected(kept)
    finally:
        gc.unfreeze()
    assert _collected(kept)
