# SPDX-License-Identifier: Apache-2.0
"""Whether an argument lies in memory as the example did."""

from __future__ import annotations

import torch


def fits(value: torch.Tensor, wanted: tuple) -> bool:
    strides, begins = wanted
    if begins and value.storage_offset():
        return False
    if strides is None:
        return value.is_contiguous()
    return all(size <= 1 or have == want for size, have, want in zip(value.shape, value.stride(), strides))
