# SPDX-License-Identifier: Apache-2.0
"""Attributes that hold one of a few values: known ones, tensors, structures of tensors and numbers.

The number of the value is a state, and so is each open leaf of each value. What calls leave is looked for among the
values; one that is not there becomes another value, or makes one of them wider, and capture begins anew.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ....calling import places
from ....calling.nodes import Node
from ....calling.state_values import alike, empty, filled, joined, opened, parts_of, tensors_of
from ....calling.states import choice
from ....calling.templates import NUMBERS, Number, Static, Template, Tensor
from ....objects import is_entry_name, reached
from ...diagnostics import CaptureRefusal
from ...graph.program import INT, ScalarType, Value
from ...polyfills import builtins as polyfills
from ...values.stand_in import OF_PARTS
from ..attribute_values import UNKNOWN
from . import container
from .declared import Declared, add, note_first, note_tensor, unique_label

_MOST = 6  # values of one attribute


class Choice(Declared):
    kind = "choice"

    def __init__(self, label: str, owner: Any, key: Any, values: list[Template]):
        super().__init__(label, owner, key)
        self.values = values

    # ---- where a call begins -------------------------------------------------------------------------

    def enter(self, inputs: Any) -> None:
        number = Value(INT, None, self.label)
        names, values, handles, roots = [self.label], [number], [], {}
        for k, t in enumerate(self.values):
            made = []
            for place, leaf in enumerate(t.leaves()):
                names.append(f"{self.label}_value{k}" + (f"_{place}" if isinstance(t, Node) else ""))
                value, handle, root = _entered(inputs.m, names[-1], leaf)
                if root is not None:
                    roots[len(values)] = root
                values.append(value)
                made.append(handle)
            handles.append(filled(t, iter(made), inputs.m.new, _built))
        first = inputs.declare(choice.Choice(names, self.owner, self.key, self.values), values)
        inputs.state_roots.update((first + k, root) for k, root in roots.items())
        inputs.chosen.append((inputs.m.scalars.wrap(number), self.owner, self.key, handles))

    # ---- where it ends -------------------------------------------------------------------------------

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        m, current = ends.m, places.read(self.owner, self.key)
        if self.key == places.CONTENTS:
            m.new(current)  # a copy
        which = self._number_of(ends, current)
        end.chosen.append(which)
        end.choice_tensors += [ends.handle(t) for t in tensors_of(current)]
        values, initial = [m.scalars.value(which)], m.graph.states[number + 1:]
        for k, t in enumerate(self.values):
            leaves = [*t.leaves()]
            if k != which:
                values += [value for _, value in initial[len(values) - 1:][:len(leaves)]]
                continue
            if leaves:
                self._refuse_shared(end, current)
            for leaf, x in zip(leaves, t.taken(current)):
                note_tensor(ends, end, number + len(values), x)
                values.append(m.scalars.value(x, leaf.kind) if isinstance(leaf, Number) else ends.value(x))
        return values

    def slots(self, ends: Any) -> dict[int, Any]:
        first = ends.inputs.number_of(self)
        leaves = [leaf for t in self.values for leaf in t.leaves()]
        return {first + 1 + k: (id(self.owner), self.key) for k, leaf in enumerate(leaves) if isinstance(leaf, Tensor)}

    def _number_of(self, ends: Any, current: Any) -> int:
        """The number of the value that the attribute holds."""
        for k, value in enumerate(self.values):
            if value.fits(current, ends.left_values.unchanged):
                return k
        known = ends.left_values.alternative(current)
        if known is not UNKNOWN:
            self._widen(ends, known)
            self._widen_numbers(ends.m.assumptions, known)
        if known is UNKNOWN or len(self.values) == _MOST:
            if container.begin(ends, ends.m.assumptions.first.get((id(self.owner), self.key)), current):
                ends.m.assumptions.states.settle()
            raise CaptureRefusal(f"the attribute {self.label} is read and changed by the model: "
                                 "a state between calls that is neither a number nor a tensor",
                                 "pass it in and return it, or keep a tensor of fixed shape", kind="state.type")
        self.values.append(known)
        ends.m.assumptions.states.begin_anew(f"{self.label} has one more value")

    def _widen(self, ends: Any, new: Template) -> None:
        """A tensor that differs from an earlier alternative in extents:
        one value for both (a cache that grows with every call)."""
        for k, value in enumerate(self.values):
            wider = joined(value, new, ends.left_values.unchanged) if isinstance(new, (Tensor, Node)) else None
            if wider is not None and [*wider.leaves()] != [*value.leaves()]:
                self.values[k] = wider
                ends.m.assumptions.states.begin_anew(f"{self.label} changes its shape")

    def _widen_numbers(self, assumptions: Any, new: Template) -> None:
        """A number beside two others, or one that calls compute: any number of this kind."""
        kind = new.kind if isinstance(new, Number) else NUMBERS.get(type(getattr(new, "value", None)))
        known = [k for k, t in enumerate(self.values)
                 if isinstance(t, Static) and kind is not None and NUMBERS.get(type(t.value)) == kind]
        if not known or len(known) < 2 and not isinstance(new, Number):
            return
        self.values[:] = [Number(kind) if k == 0 and k in known else t
                          for k, t in enumerate(self.values) if k == 0 or k not in known]
        if not isinstance(self.values[0], Number):
            self.values.append(Number(kind))
        assumptions.combinations = []
        assumptions.states.begin_anew(f"{self.label} is any number")

    def _refuse_shared(self, end: Any, value: Any) -> None:
        """A list, dict or object in a state is made anew by each call: nobody else may hold it."""
        parts = parts_of(value)
        if parts is None:
            return
        if not isinstance(value, tuple):
            if id(value) in end.held_containers or id(value) in end.containers:
                raise CaptureRefusal(f"the {type(value).__name__} in the attribute {self.label} is left in two places, "
                                     "or returned: later calls change what both hold",
                                     "return or keep a copy of it", kind="state.alias")
            end.held_containers.add(id(value))
        for part in parts:
            self._refuse_shared(end, part)


def _entered(m: Any, label: str, leaf: Template) -> tuple[Value, Any, Any]:
    """(the value of the program, what stands for it, the storage of a tensor) of an open leaf."""
    if not isinstance(leaf, Tensor):
        value = Value(ScalarType(leaf.kind), None, label)
        return value, m.scalars.wrap(value), None
    handle, value = m.recorder.input_tensor(empty(leaf), label, None, open_axes=leaf.open_axes)
    root = m.recorder.real.roots[-1]
    m.recorder.real.register_attribute(None, root)
    return value, handle, root


def _built(cls: type, parts: list) -> Any:
    """A value of the class of numbers known only at run time."""
    return OF_PARTS[cls](*parts)


def enter_combinations(inputs: Any) -> None:
    """The program begins on a path for each combination of values that calls leave."""
    assumptions = inputs.m.assumptions
    if inputs.chosen:
        combinations = assumptions.combinations = assumptions.combinations or [(0,) * len(inputs.chosen)]
        complete = len(combinations) == math.prod(len(values) for *_, values in inputs.chosen)
        inputs.args = (inputs.callable, inputs.args, inputs.kwargs, inputs.chosen, list(combinations), complete)
        inputs.callable, inputs.kwargs = polyfills.call_with_choices, {}


# ---- where one begins to be one ------------------------------------------------------------------------


def begin(ends: Any, owner: Any, name: Any, initial: Any, value: Any) -> bool:
    """Begins anew with the attribute as one of a few values, if both are known or tensors."""
    if name == "*" or not isinstance(owner, list) and not is_entry_name(name):
        return False
    return _begin(ends, owner, name, initial, value)


def begin_with_contents(ends: Any, owner: Any, initial: Any, value: Any) -> bool:
    """The same for all that a dict or set of the model holds, in which entries come and go."""
    if type(owner) not in (dict, set) or not _begin(ends, owner, places.CONTENTS, initial, value):
        return False
    states = ends.m.assumptions.states
    for place in [k for k, d in states.items() if d.owner is owner and d.key != places.CONTENTS]:
        del states[place]
    return True


def _begin(ends: Any, owner: Any, name: Any, initial: Any, value: Any) -> bool:
    initial, value = (ends.m.new(x) if name == places.CONTENTS else x for x in (initial, value))
    values = [ends.left_values.alternative(initial), ends.left_values.alternative(value)]
    if any(v is UNKNOWN for v in values):
        return False
    assumptions = ends.m.assumptions
    inside = containers(initial)
    if any(id(x) == held for kind, held, _ in assumptions.states if kind == "attribute" for x in inside):
        if container.begin(ends, initial, value):
            return True
        raise _replaced_and_written(places.label(owner, name))
    assumptions.states.pop(("attribute", id(owner), name), None)
    note_first(assumptions, owner, name, initial)
    assumptions.states.due = f"{declare(assumptions, owner, name, values)} is one of a few values"
    return True


def declare(assumptions: Any, owner: Any, name: Any, values: list[Template]) -> str:
    """Its label."""
    label = unique_label(owner, name, assumptions)
    add(assumptions, Choice(label, owner, name, values))
    assumptions.combinations = []
    return label


def refuse_written(assumptions: Any, owner: Any) -> None:
    """A list, dict or object that an attribute holds in some calls and not in others is not changed in place."""
    for declared in assumptions.states.values():
        if isinstance(declared, Choice) and any(
                x is owner for t in declared.values if isinstance(t, Static) for x in containers(t.value)):
            raise _replaced_and_written(declared.label)


def open_choice(assumptions: Any, real: torch.Tensor) -> None:
    """A known tensor that an attribute may hold, and that is written in place: any tensor of this kind."""
    for declared in assumptions.states.values():
        for k, t in enumerate(declared.values) if isinstance(declared, Choice) else ():
            if isinstance(t, Static) and any(x is real for x in tensors_of(t.value)):
                wider = opened(t)
                declared.values[:] = [wider if j == k else x
                                      for j, x in enumerate(declared.values) if j == k or not alike(x, wider)]
                assumptions.combinations = []
                assumptions.states.begin_anew(f"{declared.label} is written in place")


def containers(value: Any) -> list:
    """A list, dict or plain object and those inside it."""
    return [x for x in reached([value], parts_of) if not isinstance(x, tuple)]


def _replaced_and_written(label: str) -> CaptureRefusal:
    return CaptureRefusal(f"the contents of the attribute {label} are replaced in some calls and "
                          "changed in place in others",
                          "begin with None, or always replace them", kind="state.type")
