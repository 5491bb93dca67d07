# SPDX-License-Identifier: Apache-2.0
"""Names of dtypes, as attributes of host ops carry them."""

from __future__ import annotations

import torch

from ... import dtypes
from ..diagnostics import CaptureRefusal


def dtype_name(dtype: torch.dtype) -> str:
    """The IR's name of a dtype, as host ops' attributes carry it."""
    if dtype not in dtypes.NAMES:
        raise CaptureRefusal(f"tensors of {dtype} are not supported here", kind="dtype")
    return dtypes.NAMES[dtype]


def dtype_of_name(name: str) -> torch.dtype:
    return dtypes.BY_NAME[name]
