# SPDX-License-Identifier: Apache-2.0
"""What a call leaves in an attribute, looked at where the program ends:
the same as before, the same in every call, or computed."""

from __future__ import annotations

import types
from typing import Any

import torch

from ...calling.same_contents import same
from ...calling.state_values import parts_of, structure
from ...calling.templates import NUMBERS, Number, Static, Template
from ...objects import plain_object
from ..graph.program import Value, successors
from ..values.stand_in import stand_in_of

UNKNOWN = object()
_DEEPEST = 16  # containers in containers


class LeftValues:
    """Asks about the values of the state that the machine has active."""

    def __init__(self, machine):
        self.m = machine

    def is_kept(self, owner: Any, name: Any, before: Any, after: Any) -> bool:
        """Whether an attribute is left as it was."""
        recorder = self.m.recorder
        state = recorder.real.attribute_handles.get((id(owner), name))
        if state is not None and after is state:
            return True
        if isinstance(after, torch.Tensor) and any(after is h for h in recorder.real.attribute_handles.values()):
            # what another attribute holds: the same tensor as the example's now, another one in later calls
            return False
        return self.unchanged(before, after)

    def unchanged(self, before: Any, after: Any) -> bool:
        """The same object, or known to have the same contents in every call."""
        if before is after:
            return True
        if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
            return self._unchanged_tensor(before, after)
        if isinstance(before, types.MethodType) and isinstance(after, types.MethodType):
            return same(before, after)
        if type(before) is not type(after) or self._is_written(before):
            return False
        if isinstance(before, (list, tuple)):
            return len(before) == len(after) and all(map(self.unchanged, before, after))
        if type(before) is dict:
            return list(before) == list(after) and all(self.unchanged(before[k], after[k]) for k in before)
        if type(before) is set:
            return _with_types(before) == _with_types(after) and all(map(_is_plain, before))
        if plain_object(before):
            return self.unchanged(vars(before), vars(after))
        return isinstance(before, (bool, int, float, str, torch.dtype, torch.device)) and before == after

    def _unchanged_tensor(self, before: torch.Tensor, after: torch.Tensor) -> bool:
        recorder = self.m.recorder
        held = recorder.real.handle_of(before)
        if after is held or any(r.handle is after and r.real is before for r in recorder.real.roots):
            return True
        if held is not None and any(root.cell is held._dycl.cell for root in recorder.real.written()):
            return False  # written in place meanwhile: another tensor that equals it now
        known = [self._static(t) for t in (before, after)]
        if any(t is None for t in known):  # asked first: the shape of what a run computes may be one of run time
            return False
        if before.dtype != after.dtype or tuple(before.shape) != tuple(after.shape):
            return False
        with recorder.without_modes():
            return torch.equal(*known)

    def _is_written(self, obj: Any) -> bool:
        """Whether the present path has changed a list, dict or object from outside:
        its contents are not those it began with."""
        heap, key = self.m.heap, id(obj)
        contents = self.m.current.overlay.contents.get(key) if heap.objects.get(key) is obj else None
        return contents is not None and not self.m.is_born(obj) and contents is not heap.pristine[key]

    def alternative(self, value: Any, depth: int = 0) -> Any:
        """A template of what an attribute may have: a known value, or one for those that calls compute; or UNKNOWN."""
        known = self.known(value)
        if known is not UNKNOWN:
            return Static(known)
        own = stand_in_of(value)
        leaf = own.open_leaf() if own is not None else None
        return leaf or self._structure(value, depth)

    def _structure(self, value: Any, depth: int) -> Any:
        parts = parts_of(value) if depth < _DEEPEST and (isinstance(value, tuple) or self.m.is_born(value)) else None
        if parts is None or type(value) is dict and not all(isinstance(k, (str, int)) for k in value):
            return UNKNOWN
        items: list[Template] = [Number(NUMBERS[type(x)]) if type(x) in NUMBERS else self.alternative(x, depth + 1)
                                 for x in parts]
        return UNKNOWN if any(x is UNKNOWN for x in items) else structure(value, items)

    def known(self, value: Any, depth: int = 0) -> Any:
        """A value that is the same in every call, with real tensors; or UNKNOWN."""
        if depth > _DEEPEST:
            return UNKNOWN
        if isinstance(value, torch.Tensor):
            real = self._static(value)
            return UNKNOWN if real is None else real.detach().clone()
        if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
            return value
        if type(value) in (list, tuple):
            items = self._all_known(dict(enumerate(value)), depth)
            return UNKNOWN if items is UNKNOWN else type(value)(items.values())
        if type(value) is dict and all(isinstance(k, (str, int)) for k in value):
            return self._all_known(value, depth)
        if type(value) is set and all(map(_is_plain, value)):
            return set(value)
        if self.m.is_born(value) and plain_object(value):
            return self._known_object(value, depth)
        return UNKNOWN if self.m.is_born(value) or self.m.has_runtime(value) else value

    def _known_object(self, value: Any, depth: int) -> Any:
        known = self._all_known(vars(value), depth)
        if known is UNKNOWN:
            return UNKNOWN
        made = object.__new__(type(value))
        made.__dict__.update(known)
        return made

    def _all_known(self, values: dict, depth: int) -> Any:
        found = {k: self.known(x, depth + 1) for k, x in values.items()}
        return UNKNOWN if any(x is UNKNOWN for x in found.values()) else found

    def _static(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The contents of a tensor if they are known, be it that equal ones met at a join."""
        recorder, seen, found = self.m.recorder, set(), None
        if recorder.real.is_state_alone(tensor):
            return tensor  # not taken for a second name of what the attribute holds
        work = [recorder.value_of(tensor)]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            real = recorder.numbers.static_value(value)
            if real is None:
                if value.block is None or value not in value.block.params:
                    return None
                work += self._incoming(value)
                continue
            with recorder.without_modes():
                if found is not None and not (found.dtype == real.dtype and found.shape == real.shape
                                              and torch.equal(found, real)):
                    return None
            found = real
        return found

    def _incoming(self, param: Value) -> list[Value]:
        k = param.block.params.index(param)
        return [edge.args[k] for block in self.m.graph.reachable_blocks()
                for edge in successors(block) if edge.target is param.block]


def _is_plain(x: Any) -> bool:
    """Equal to another, it is the same."""
    return x is None or type(x) in (bool, int, str)


def _with_types(x: set) -> list:
    """1 and True are equal, and not the same; in another order it is another set to a loop."""
    return [(type(y), y) for y in x]
