# SPDX-License-Identifier: Apache-2.0
"""Example inputs as the command line writes them: files, or shapes of random values whose extents may be dynamic."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import torch

from . import dtypes
from .errors import InputError, PackageError

DTYPES = {name: dtypes.BY_NAME[name] for name in ("f32", "f64", "f16", "bf16", "i64", "i32", "bool", "u8")}
_NUMBER = r"-?\d+(?:\.\d+)?"


class Example:
    """The inputs of `words`, and what they say of dynamic extents: `dims` {number of the input: {axis: symbol}},
    `ranges` {symbol: (least, greatest)}."""

    def __init__(self, words: list[str], range_words: list[str]):
        self.dims: dict[int, dict[int, str]] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        self._extents: dict[str, int] = {}  # of symbols, in the example
        for word in range_words:
            self._note_range(word)
        parsed = [self._parse(number, word) for number, word in enumerate(words)]
        self.inputs = [x if isinstance(x, torch.Tensor) else self._drawn(*x) for x in parsed]

    def _note_range(self, word: str) -> None:
        found = re.fullmatch(r"(\w+)=(\d+)(?:,|\.\.)(\d+)", word)
        if found is None:
            raise InputError(f"--range {word}: write NAME=LEAST,GREATEST, as in N=1,32")
        self._set_range(found[1], (int(found[2]), int(found[3])), f"--range {word}")

    def _set_range(self, name: str, bounds: tuple[int, int], where: str) -> None:
        if self.ranges.setdefault(name, bounds) != bounds:
            raise InputError(f"{where}: {name} has another range elsewhere")

    def _parse(self, number: int, word: str) -> Any:
        if word.endswith(".npy"):
            return _array(word)
        shape, _, rest = word.partition(":")
        kind, _, values = rest.partition("=")
        if rest and kind not in DTYPES:
            raise InputError(f"--input {word}: the dtype {kind!r} is none of {', '.join(DTYPES)}")
        bounds = re.fullmatch(rf"({_NUMBER})\.\.({_NUMBER})", values) if values else None
        if values and (bounds is None or float(bounds[1]) > float(bounds[2])):
            raise InputError(f"--input {word}: '{values}' is no range of values; write LEAST..GREATEST, as in 0..999")
        parts = [part for part in shape.split(",") if part]
        extents = [self._extent(number, axis, part, word) for axis, part in enumerate(parts)]
        return extents, DTYPES.get(kind, torch.float32), bounds and (float(bounds[1]), float(bounds[2]))

    def _extent(self, number: int, axis: int, part: str, word: str) -> Any:
        """A number, or the symbol of a dynamic extent: N, N=8 (in the example), N=1..32, 1..32."""
        if part.isdigit():
            return int(part)
        found = re.fullmatch(r"(?:([^\W\d]\w*)(?:=|$))?(?:(\d+)(?:\.\.(\d+))?)?", part)
        if found is None or not part or not found[1] and not found[3]:
            raise InputError(f"--input {word}: '{part}' is none of 8, N, N=8 (8 in the example), N=1..32, 1..32")
        name = found[1] or f"arg{number}_{axis}"
        self.dims.setdefault(number, {})[axis] = name
        if found[3]:
            self._set_range(name, (int(found[2]), int(found[3])), f"--input {word}")
        elif found[2] and self._extents.setdefault(name, int(found[2])) != int(found[2]):
            raise InputError(f"--input {word}: {name} is {self._extents[name]} elsewhere")
        return name

    def _drawn(self, extents: list, dtype: torch.dtype, bounds: tuple[float, float] | None) -> torch.Tensor:
        shape = [extent if isinstance(extent, int) else self._extents.get(extent, self._inside(extent))
                 for extent in extents]
        if dtype.is_floating_point:
            drawn = torch.randn(shape) if bounds is None else torch.empty(shape).uniform_(*bounds)
            return drawn.to(dtype)
        low, high = (0, 1) if bounds is None else (int(bounds[0]), int(bounds[1]))
        return torch.randint(low, high + 1, shape).to(dtype)

    def _inside(self, name: str) -> int:
        low, high = self.ranges.get(name, (5, 5))
        return 5 if low <= 5 <= high else (low + high) // 2


def _array(path: str) -> torch.Tensor:
    try:
        return torch.from_numpy(np.load(path, allow_pickle=False))
    except OSError as error:
        raise PackageError(f"cannot read {path}: {os.strerror(error.errno or 0)}", kind="missing") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} holds no array of numbers ({error})") from None
