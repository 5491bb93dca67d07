# SPDX-License-Identifier: Apache-2.0
"""Ops that capture takes apart while recording, with torch's own decompositions."""

from __future__ import annotations

from typing import Any, Callable

NEEDS_DECOMPOSITION: dict[Any, Callable] = {}
