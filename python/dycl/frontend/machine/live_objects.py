# SPDX-License-Identifier: Apache-2.0
"""Which objects a state can still reach.

The heap puts every touched object's contents in place when the machine goes to another state; objects that
the state has lost (iterators of finished loops, temporaries) need not be. The walk follows real references
of every kind (what the garbage collector follows), from the live variables of the frames and from touched
objects that were there before capture. It stops at what cannot lead to an object made during capture: classes,
Python modules, globals of functions, and modules of torch that were never touched.
"""

from __future__ import annotations

import gc
import types
from typing import Any

import torch

from ..graph.program import Block, TensorType, Value
from ..merging.loops import LoopEntry
from ..recording.call_cache import Plans
from ..recording.shape_cache import Forms
from ..source import Span
from ..state.code import CodeInfo
from ..state.contents import Cell
from ..state.state import Frame, State
from ..torch_internals import OpOverload, OpOverloadPacket
from ..values.scalar import RtScalar

_LEAVES = (type(None), bool, int, float, complex, str, bytes, type, types.ModuleType, types.CodeType,
           types.TracebackType, CodeInfo, Block, Span, TensorType, Value, RtScalar, LoopEntry, State, Forms, Plans,
           torch.dtype, torch.device, torch.Size, torch.SymInt, OpOverload, OpOverloadPacket)


def reached(m: Any, state: State) -> set[int]:
    """Ids of all objects that `state`, the active one, can reach."""
    heap = m.heap
    work: list = list(state.frames)
    if state.finished is not None:
        work.append(state.finished)
    for key in state.overlay.contents:
        obj = heap.objects[key]
        if not isinstance(obj, Cell) and (key not in m.born or key in m.guarded):
            work.append(obj)
    return walk(m, work)


def walk(m: Any, work: list, stops: Any = (), dead_too: bool = False) -> set[int]:
    """Ids of all objects that lead from these; not of what lies behind those whose ids are in `stops`.
    `dead_too`: variables that are not read any more refer to their values, as for Python."""
    heap = m.heap
    # what they keep for themselves is no state's
    seen: set[int] = {*map(id, m.recorder.real.root_cells), id(m), id(m.recorder), id(heap)}
    leaves: dict[type, bool] = {}  # by type: most of what is met are numbers, strings and classes
    while work:
        x = work.pop()
        kind = type(x)
        is_leaf = leaves.get(kind)
        if is_leaf is None:
            is_leaf = leaves[kind] = issubclass(kind, _LEAVES)
        if is_leaf or id(x) in seen or heap.is_inert(x):
            continue
        if isinstance(x, types.BuiltinFunctionType):  # a bound native method: its object counts
            x = x.__self__
            if isinstance(x, types.ModuleType) or id(x) in seen:
                continue
        seen.add(id(x))
        if id(x) in stops:
            continue
        owner = heap.owner_of_dict.get(id(x))
        if owner is not None:
            work.append(owner)
        _follow(m, x, work, dead_too)
    return seen


def _follow(m: Any, x: Any, work: list, dead_too: bool) -> None:
    if isinstance(x, Frame):
        work.extend(v for k, v in enumerate(x.locals) if dead_too or x.info.is_live(x.pc, k))
        work.extend(x.stack)
        work.extend(x.handled)
        work.extend((x.result, x.generator, x.on_return, x.extra, x.function, x.kw_names))
    elif isinstance(x, torch.Tensor):
        info = getattr(x, "_dycl", None)
        if info is not None:
            work.append(info)
    elif isinstance(x, types.FunctionType):
        work.extend((x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__))
    elif isinstance(x, torch.nn.Module) and id(x) not in m.born and id(x) not in m.heap.objects:
        return
    else:
        work.extend(gc.get_referents(x))
