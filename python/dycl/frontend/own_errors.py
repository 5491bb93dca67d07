# SPDX-License-Identifier: Apache-2.0
"""Exceptions that are not the model's: what our stand-ins or our own recording code caused is refused, never shown to the model."""

from __future__ import annotations

import linecache
import os
import re
import types

import torch

from .diagnostics import CaptureRefusal

_STAND_INS = re.compile(r"\b(Rt(Int|Float|Bool|Text|Array|List|Range|Scalar|Dict|Set|View)|MGenerator|SeqIter|NativeIter|FakeTensor|"
                        r"Sym(Int|Float|Bool)|TensorInfo|BoundSpecial|ListMethod|Opaque)\b")
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SHAPES_OF_TORCH = tuple(os.path.join(os.path.dirname(torch.__file__), part) for part in (
    "_refs", "_decomp", "_meta_registrations.py", "_prims", "_subclasses", os.path.join("fx", "experimental")))
_RECORDING = {f"{name}.py" for name in (
    "aliases", "building", "calls", "composed", "constants", "dispatch", "exits", "facts", "form_rules", "forms", "graph", "indexing",
    "inplace", "lifting", "likeness", "loops", "merge", "overlay_reach", "plans", "questions", "reach", "symbol_lowering", "symbol_text", "symbols", "unify", "unify_aliases",
    "unify_lists", "unify_objects", "value_equality", "views", "whole", "whole_shapes")}


def refuse_own_error(error: Exception) -> None:
    """An exception that only our stand-ins or our own code can have caused is not one of the user's program."""
    texts = [x for x in error.args if isinstance(x, str)]
    own = len(texts) == len(error.args) and not isinstance(error, AssertionError) and _STAND_INS.search(" ".join(texts)) is not None
    if isinstance(error, RecursionError):  # Python's own: calls of the user's program are no calls here
        own = " ".join(texts).startswith("maximum recursion depth exceeded")
    if not own and not isinstance(error, StopIteration):
        own = _failed_in_recording(error)
    if isinstance(error, AttributeError) and not own:
        owner = getattr(error, "obj", None)
        own = (owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__module__ or "").startswith("dycl.")
    if own:
        raise CaptureRefusal(f"a step that cannot be followed with values known only at run time "
                             f"({type(error).__name__}: {' '.join(texts)[:200]})", kind="internal") from error


def _failed_in_recording(error: Exception) -> bool:
    """Whether the innermost line is one of our recording code, or of what torch runs in place of its kernels, and no
    `raise`: a failure nobody meant."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    path = trace.tb_frame.f_code.co_filename
    folder, name = os.path.split(path)
    inner = folder + os.sep == _HERE and (name in _RECORDING or isinstance(error, NameError)) or path.startswith(_SHAPES_OF_TORCH)
    return inner and not linecache.getline(path, trace.tb_lineno).lstrip().startswith("raise")
