# SPDX-License-Identifier: Apache-2.0
"""Layers that behave at random, or change their own buffers, while training: what they are called in a refusal."""

from __future__ import annotations

from typing import Any


def _argument(args: tuple, kwargs: dict, place: int, name: str, default: Any) -> Any:
    return args[place] if len(args) > place else kwargs.get(name, default)


def dropout(name: str, args: tuple, kwargs: dict) -> str | None:
    train = _argument(args, kwargs, 2, "train", False)
    return "dropout" if train and _argument(args, kwargs, 1, "p", 0.5) > 0 else None


def attention(name: str, args: tuple, kwargs: dict) -> str | None:
    return "attention dropout" if _argument(args, kwargs, 4, "dropout_p", 0.0) > 0 else None


def recurrent(name: str, args: tuple, kwargs: dict) -> str | None:
    if len(args) <= 6:
        return None
    share, train = (args[5], args[6]) if isinstance(args[3], bool) else (args[6], args[7])  # a packed one
    return "dropout between recurrent layers" if train and share > 0 else None


def running_statistics(name: str, args: tuple, kwargs: dict) -> str | None:
    given = dict(zip(("input", "weight", "bias", "running_mean", "running_var", "training"), args)) | kwargs
    train = given.get("training", given.get("use_input_stats", False))
    return f"{name}, which updates its running statistics," if train and given.get("running_mean") is not None else None


def rrelu(name: str, args: tuple, kwargs: dict) -> str | None:
    return "rrelu" if _argument(args, kwargs, 3, "training", False) else None
