# SPDX-License-Identifier: Apache-2.0
"""Exceptions that are not the model's: what our stand-ins or our own recording code caused is refused,
never shown to the model."""

from __future__ import annotations

import linecache
import os
import re
import types

import torch

from ..diagnostics import CaptureRefusal
from ..graph import dtypes, known_values, program
from ..merging import loops, merge, reachable, signature, unify, unify_aliases, unify_lists, unify_objects
from ..polyfills.keyed_tables import RtDict, RtSet, RtView
from ..polyfills.range import RtRange
from ..recording import (
    call_cache,
    composed_functions,
    dispatch,
    functions,
    indexing,
    inplace,
    native_call,
    real_tensors,
    schema,
    shape_cache,
    shape_rules,
    symbolic_shapes,
    symbolic_text,
    symbolic_to_graph,
    tensor_construction,
    tensor_to_number,
    training,
    views,
    whole_layer_shapes,
    whole_layers,
)
from ..recording.views import TensorInfo
from ..semantics import interpretation
from ..semantics.generators import BoundSpecial
from ..state import path_facts
from ..state.iterators import MGenerator, NativeIter, SeqIter
from ..torch_internals import FakeTensor
from ..values import equality
from ..values.array import RtArray
from ..values.list import ListMethod, RtList
from ..values.scalar import RtBool, RtFloat, RtInt, RtScalar
from ..values.text import Opaque, RtText
from . import conditions, live_objects

_STAND_INS = re.compile(r"\b(" + "|".join(cls.__name__ for cls in (
    RtInt, RtFloat, RtBool, RtText, RtArray, RtList, RtRange, RtScalar, RtDict, RtSet, RtView, MGenerator,
    SeqIter, NativeIter, FakeTensor, torch.SymInt, torch.SymFloat, torch.SymBool, TensorInfo, BoundSpecial,
    ListMethod, Opaque)) + r")\b")
_SHAPES_OF_TORCH = tuple(os.path.join(os.path.dirname(torch.__file__), part) for part in (
    "_refs", "_decomp", "_meta_registrations.py", "_prims", "_subclasses", os.path.join("fx", "experimental")))
# Code of ours that runs no code of the program and no kernels:
# an exception that nobody raised there is a fault of ours.
_OURS = {os.path.realpath(module.__file__) for module in (
    tensor_construction, native_call, composed_functions, dispatch, tensor_to_number, path_facts, shape_rules,
    shape_cache, program, indexing, inplace, schema, known_values, dtypes, real_tensors, signature, loops, merge,
    reachable, call_cache, conditions, live_objects, symbolic_to_graph, symbolic_text, symbolic_shapes, unify,
    unify_aliases, unify_lists, unify_objects, equality, views, whole_layers, whole_layer_shapes, functions,
    training)}


def refuse_own_error(error: Exception) -> None:
    """An exception that only our stand-ins or our own code can have caused is not one of the user's program."""
    texts = [x for x in error.args if isinstance(x, str)]
    own = (len(texts) == len(error.args) and not isinstance(error, AssertionError)
           and _STAND_INS.search(" ".join(texts)) is not None)
    if isinstance(error, RecursionError):  # Python's own: calls of the user's program are no calls here
        own = " ".join(texts).startswith("maximum recursion depth exceeded")
    if not own and not isinstance(error, StopIteration):
        own = _failed_in_recording(error)
    if isinstance(error, AttributeError) and not own:
        owner = getattr(error, "obj", None)
        module = owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__module__ or ""
        own = module.startswith(__name__.partition(".")[0] + ".")
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
    inner = (os.path.realpath(path) in _OURS or isinstance(error, NameError) and interpretation.is_ours(path)
             or path.startswith(_SHAPES_OF_TORCH))
    return inner and not linecache.getline(path, trace.tb_lineno).lstrip().startswith("raise")
