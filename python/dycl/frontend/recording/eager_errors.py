# SPDX-License-Identifier: Apache-2.0
"""Errors of torch in the words of its kernels: the rules for shapes, which run while recording,
word some of them otherwise."""

from __future__ import annotations

from typing import Any, Callable

import torch

from ..diagnostics import CaptureRefusal
from ..graph.known_values import is_known
from ..values.native_entries import is_imitated

KINDS = (RuntimeError, TypeError, IndexError, ValueError)
_MOST_ELEMENTS = 1 << 16


class _Unlike(Exception):
    """No plain tensors can stand for these arguments."""


def retold(recorder, fn: Callable, args: tuple, kwargs: dict, error: Exception) -> Exception:
    """`error`, or the one that fn raises for plain tensors of the same shapes and dtypes, with the integers that are
    known: it must raise one if it is what stands for a kernel that has."""
    if type(error) not in (*KINDS, NotImplementedError):
        return error
    try:
        with recorder.without_modes(), torch.no_grad():
            args, kwargs = _plain(recorder, args), _plain(recorder, kwargs)
            fn(*args, **kwargs)
    except Exception as found:
        if type(found) in (*KINDS, NotImplementedError):
            return type(found)(*found.args)
        return error
    if is_imitated(error):
        raise CaptureRefusal(f"torch cannot run {getattr(fn, '__name__', fn)} symbolically: {error}",
                             kind="native.symbolic") from error
    return error


def is_retold(error: Exception) -> bool:
    """Whether it is eager's own: what stood for the kernel is its cause."""
    return isinstance(error, NotImplementedError) and isinstance(error.__cause__, RuntimeError)


def _plain(recorder, tree: Any) -> Any:
    if isinstance(tree, torch.Tensor):
        sizes = (*tree.shape, *tree.stride())
        if not all(type(n) is int for n in sizes) or tree.numel() > _MOST_ELEMENTS or tree.is_complex():
            raise _Unlike
        if tree.dtype in (torch.int64, torch.int32) and is_known(recorder.value_of(tree)):
            return recorder.numbers.static(tree).clone()
        return torch.empty_strided(tree.shape, tree.stride(), dtype=tree.dtype).fill_(1)
    if isinstance(tree, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise _Unlike
    if type(tree) in (list, tuple):
        return type(tree)(_plain(recorder, x) for x in tree)
    if type(tree) is dict:
        return {k: _plain(recorder, x) for k, x in tree.items()}
    if tree is None or isinstance(tree, (bool, int, float, str, torch.dtype, torch.Size, slice, type(...))):
        return tree
    raise _Unlike
