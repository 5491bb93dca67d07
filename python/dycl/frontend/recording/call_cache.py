# SPDX-License-Identifier: Apache-2.0
"""Native calls that come down to one op: which, and where its arguments come from.

`torch.relu(x)` goes through torch's dispatcher and the recording modes only to arrive at `aten.relu.default(x)`. Which
op a built-in function of torch dispatches depends on the forms of its arguments and on plain values alone, so the next
call of the same forms goes straight to the op. A plan is made only if the call dispatched exactly one op, that op is
pure, a view or writes, all its tensors are the call's own, and its result is the call's.
Arguments that are one tensor twice are left to torch.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, Callable

import torch

from ..torch_internals import OpOverload
from .shape_cache import PLAIN, form_of

_BUILT_IN = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, OpOverload)
_BY_CONTENT = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape, torch.Tag.inplace_view,
               torch.Tag.nondeterministic_seeded}


@dataclass(slots=True)
class Plan:
    func: Any
    kind: Callable | None  # of recording/dispatch.py
    args: list[tuple[bool, Any]]  # (from the call's tensors, place there or places) or (False, value)
    kwargs: list[tuple[str, bool, Any]]
    wrap: Callable | None  # makes the tuple that the call gives

    def arguments(self, tensors: list) -> tuple[tuple, dict]:
        return (tuple([_built(given, x, tensors) for given, x in self.args]),
                {name: _built(given, x, tensors) for name, given, x in self.kwargs})


class Plans:
    def __init__(self, recorder):
        self.recorder = recorder
        self._known: dict[Any, tuple[Any, Plan | None]] = {}  # with the function: its id stays its own

    def run(self, fn: Callable, args: tuple, kwargs: dict, natively: Callable) -> Any:
        """fn(*args, **kwargs), recorded; `natively(fn, args, kwargs)` runs it under torch's dispatcher."""
        key = self.recorder.forms.key(fn, args, kwargs) if isinstance(fn, _BUILT_IN) else None
        tensors = _tensors(args, kwargs) if key is not None else None
        if tensors is None:
            return natively(fn, args, kwargs)
        known = self._known.get(key)
        if known is None:
            return self._first(key, fn, args, kwargs, tensors, natively)
        return natively(fn, args, kwargs) if known[1] is None else self._follow(known[1], tensors)

    def _follow(self, plan: Plan, tensors: list) -> Any:
        result = plan.kind(self.recorder.calls.mode, plan.func, *plan.arguments(tensors))
        return result if plan.wrap is None else plan.wrap(result)

    def resolved(self, name: str, args: tuple, kwargs: dict, resolve: Callable) -> tuple | None:
        """What `resolve(name, args, kwargs)` says of a call: the op that it is, with that op's arguments."""
        forms, named = form_of(args), form_of(kwargs)
        tensors = _tensors(args, kwargs) if forms is not None and named is not None else None
        if tensors is None:
            return resolve(name, args, kwargs)
        key = (name, forms, named, torch.get_default_dtype())
        known = self._known.get(key)
        if known is None:
            found = resolve(name, args, kwargs)
            self._known[key] = (None, found and _plan(found[0], None, *found[1:], tensors))
            return found
        plan = known[1]
        return resolve(name, args, kwargs) if plan is None else (plan.func, *plan.arguments(tensors))

    def _first(self, key: Any, fn: Callable, args: tuple, kwargs: dict, tensors: list, natively: Callable) -> Any:
        mode = self.recorder.calls.mode
        before, mode.log = mode.log, []
        try:
            result = natively(fn, args, kwargs)
            self._known[key] = (fn, self._plan(mode.log, tensors, result))
            return result
        finally:
            mode.log = before

    def _plan(self, log: list, tensors: list, result: Any) -> Plan | None:
        if len(log) != 1 or log[0] is None:
            return None
        func, kind, args, kwargs, given = log[0]
        if kind not in self.recorder.calls.mode.PLAIN or _BY_CONTENT & set(func.tags):
            return None
        if not self.recorder.forms.knows(self.recorder.forms.key(func, args, kwargs)):
            return None
        wrap = None
        if result is not given:
            plain = type(result) in (tuple, list) or type(result).__module__ == "torch.return_types"
            same = (plain and isinstance(given, (tuple, list)) and len(result) == len(given)
                    and all(x is y for x, y in zip(result, given)))
            if not same:
                return None
            wrap = type(result)
        return _plan(func, kind, args, kwargs, tensors, wrap)


def _plan(func: Any, kind: Callable | None, args: tuple, kwargs: dict, tensors: list,
          wrap: Callable | None = None) -> Plan | None:
    places = {id(x): k for k, x in enumerate(tensors)}
    found = [_source(x, places) for x in args]
    named = [(name, _source(x, places)) for name, x in kwargs.items()]
    if any(source is None for source in found) or any(source is None for _, source in named):
        return None
    return Plan(func, kind, found, [(name, *source) for name, source in named], wrap)


def _tensors(args: tuple, kwargs: dict) -> list[torch.Tensor] | None:
    """Those among the arguments; None if one is there twice."""
    tensors: list[torch.Tensor] = []
    _collect(args, tensors)
    _collect(kwargs.values(), tensors)
    return tensors if len(set(map(id, tensors))) == len(tensors) else None


def _collect(tree: Any, tensors: list) -> None:
    for x in tree:
        if isinstance(x, torch.Tensor):
            tensors.append(x)
        elif isinstance(x, (list, tuple)):
            _collect(x, tensors)


def _source(x: Any, places: dict[int, int]) -> tuple[bool, Any] | None:
    if isinstance(x, torch.Tensor):
        return (True, places[id(x)]) if id(x) in places else None
    if type(x) is list and any(isinstance(y, torch.Tensor) for y in x):
        return (True, [places[id(y)] for y in x]) if all(id(y) in places for y in x) else None
    plain = type(x) in PLAIN or type(x) in (list, tuple) and all(type(y) in PLAIN for y in x)
    return (False, x) if plain else None


def _built(given: bool, x: Any, tensors: list) -> Any:
    if given:
        return tensors[x] if type(x) is int else [tensors[k] for k in x]
    return list(x) if type(x) is list else x
