# SPDX-License-Identifier: Apache-2.0
"""Capture spares the garbage collector what was there before, and leaves it as it was."""

from __future__ import annotations

import gc

import pytest
import torch

import dycl


def _compile(model):
    return dycl.compile(model, (torch.ones(2),), backend="reference", verify=False)


def test_nothing_stays_frozen():
    before = gc.get_freeze_count()  # 3.12 starts with some
    _compile(lambda x: x + 1)
    assert gc.get_freeze_count() == before
    with pytest.raises(dycl.CompileError):
        _compile(lambda x: x.data_ptr())
    assert gc.get_freeze_count() == before


def test_what_the_process_froze_stays_frozen():
    gc.freeze()
    before = gc.get_freeze_count()
    try:
        _compile(lambda x: x + 1)
        assert gc.get_freeze_count() == before
    finally:
        gc.unfreeze()
