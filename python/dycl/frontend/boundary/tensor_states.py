# SPDX-License-Identifier: Apache-2.0
"""Tensors that attributes hold from call to call and that some call writes in place.

A state is a value: what one call leaves is what the next begins with. A tensor that is written in place is more than
that, since whoever holds it sees the write. So such a tensor must be in one place alone when a call ends: in no second
attribute, no argument, no tensor of the model. A result may be that tensor itself: then the interface must give it back
as itself and write into it in later calls (`origins`: which state's tensor an attribute holds at the end), and paths on
which it is another one stay apart.
"""

from __future__ import annotations

from typing import Any, Iterator

import torch

from ...calling.state_values import tensors_of
from ...calling.states.choice import Choice
from ..diagnostics import CaptureRefusal
from ..merging.unify_aliases import AliasGuard
from ..state.contents import Cell


class HeldTensors:
    """Looks at all ends of a program together; `ends` have their states' tensors (`tensors`)
    and other leaves (`others`)."""

    def __init__(self, machine, inputs, ends: list):
        self.m, self.inputs, self.ends = machine, inputs, ends
        self.roots = inputs.state_roots
        self.number_of = {root.cell: k for k, root in self.roots.items()}
        written = {k for k, root in self.roots.items() if any(root in end.roots for end in ends)}
        self.at_risk, self.exact = self._closure(written, backward_only=True), set()
        # states whose first tensor is written and then replaced, so that it is a result of its own
        self.replaced: set[int] = set()
        if not self.at_risk:
            return
        shared = self._shared_at_first()
        exposed = {k for end in ends for k, tensor in self._risky(end)
                   for leaf in tensors_in(end.others) if self._meet(leaf, tensor)}
        self.exact = self._closure(shared | exposed)
        for end in ends:
            machine.activate(end.state)
            for k, tensor in self._risky(end):
                self._check(end, k, tensor)
            self._give_themselves(end)
            end.origins = {k: self.number_of[tensor._dycl.cell] for k, tensor in end.tensors.items()
                           if k in self.at_risk | self.exact and self._is_whole(tensor)}
            self._note_replaced(end)

    def exact_origins(self, end: Any) -> tuple:
        """What tells ends apart beside their results."""
        return tuple(sorted((k, origin) for k, origin in end.origins.items() if k in self.exact))

    def _risky(self, end: Any) -> Iterator[tuple[int, torch.Tensor]]:
        return ((k, tensor) for k, tensor in end.tensors.items() if k in self.at_risk)

    def _closure(self, found: set, backward_only: bool = False) -> set:
        """With the states whose tensors come into these by later calls, and those that get theirs."""
        flows = {(self.number_of[cell], k) for end in self.ends for k, t in end.tensors.items()
                 for cell in cells_of(t) if cell in self.number_of}
        found, size = set(found), -1
        while len(found) != size:
            size = len(found)
            found |= {a for a, b in flows if b in found} | {b for a, b in flows if a in found and not backward_only}
        return found

    def _is_whole(self, tensor: torch.Tensor) -> bool:
        """What a state held when the call began, not a part of it."""
        k = self.number_of.get(tensor._dycl.cell)
        return k is not None and tensor._dycl is self.roots[k].info

    def _meet(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        return not cells_of(a).isdisjoint(cells_of(b))

    # ---- one end -------------------------------------------------------------------------------

    def _check(self, end: Any, k: int, tensor: torch.Tensor) -> None:
        cell = tensor._dycl.cell
        outside = self.m.recorder.real.root_cells - self.number_of.keys()
        if cell.note in ("held", "shared") or cell in outside:
            raise self._refusal(k, "an argument, or a tensor that the model holds elsewhere, too")
        if cells_of(tensor) & outside:
            cell.guard()
        if any(stride == 0 and size != 1 for stride, size in zip(tensor.stride(), tensor.shape) if type(stride) is int):
            raise self._refusal(k, "a tensor whose elements share memory (expand)")
        self._check_list_element(end, cell)
        self._check_others(end, k, tensor)

    def _check_others(self, end: Any, k: int, tensor: torch.Tensor) -> None:
        if cells_of(tensor) & end.list_cells:
            _keep_apart(tensor)
            raise self._refusal(k, "a tensor that a list holds from call to call, too")
        for j, other in end.tensors.items():
            if j != k and self._meet(tensor, other):
                _keep_apart(tensor, other)
                raise self._refusal(k, f"what {self._name(j)} holds, too")
        meeting = [other for other in end.choice_tensors if self._meet(tensor, other)]
        if len(meeting) > isinstance(self.inputs.state_of(k), Choice):  # beside itself
            _keep_apart(tensor, *meeting)
            raise self._refusal(k, "what another attribute holds, too")
        for other in tensors_in(end.others):
            if self._meet(tensor, other) and other._dycl is not tensor._dycl:
                _keep_apart(tensor, other)
                raise self._refusal(k, "a tensor of which a part, or another view, is returned")
        if k in self.exact and not self._is_whole(tensor) and cells_of(tensor) & self.number_of.keys():
            _keep_apart(tensor, tensor)
            raise self._refusal(
                k, "a part of what an attribute held before, and the whole was returned or has another name"
            )

    def _check_list_element(self, end: Any, cell: Any) -> None:
        """What came out of a list of run-time length is in that list, too;
        what a remembered function gave is remembered."""
        for guard in (cell.guard, *(part.guard for part in cell.guard.cells)):
            if not guard.cells and (not isinstance(guard, AliasGuard) or len(tensors_in(end.others)) < len(end.others)):
                guard()

    def _give_themselves(self, end: Any) -> None:
        """Results that are what an attribute holds from now on are that tensor."""
        found: dict[int, set] = {}
        risky = {id(tensor._dycl): k for k, tensor in self._risky(end)}
        for leaf in tensors_in(end.others):
            found.setdefault(self.m.recorder.value_of(leaf).id, set()).add(risky.get(id(leaf._dycl)))
        for value, states in found.items():
            if states == {None}:
                continue
            if len(states) > 1:
                raise self._refusal(next(k for k in states if k is not None),
                                    "a tensor that is returned beside an equal one")
            end.themselves[value] = ("held", states.pop())
            end.left.add(value)

    def _note_replaced(self, end: Any) -> None:
        """A tensor that is written and then replaced, while somebody else may have it."""
        kept = {self.roots[origin].cell for origin in end.origins.values()}
        self.replaced |= {k for k in self.exact & self.roots.keys()
                          if self.roots[k] in end.roots and self.roots[k].cell not in kept}

    # ---- at first ------------------------------------------------------------------------------

    def _shared_at_first(self) -> set:
        """States whose first tensor has another name in the model.
        One that the program knows under that name is refused."""
        first: dict[int, tuple] = {}  # place of the memory -> of the attribute
        slots = {k: place for _, declared in self.inputs.declared for k, place in declared.slots(self).items()}
        for k in sorted(self.roots):
            place = slots[k]
            for tensor in tensors_of(self.m.assumptions.first.get(place)):
                if first.setdefault(_memory(tensor), place) != place and k in self.at_risk:
                    raise self._refusal(k, "a tensor that another attribute holds, too, at first")
        mine = {place: k for k, place in slots.items() if k in self.at_risk}
        risky = {memory: mine[place] for memory, place in first.items() if place in mine}
        for root in self.m.recorder.real.roots:
            if root.kind != "attribute" and not root.real.is_meta and _memory(root.real) in risky:
                raise self._refusal(risky[_memory(root.real)], "a tensor that another name holds, too, at first")
        counts: dict[int, int] = {}
        for tensor in self._of_the_model():
            counts[_memory(tensor)] = counts.get(_memory(tensor), 0) + 1
        return {k for memory, k in risky.items() if counts.get(memory, 0) > 1}

    def _of_the_model(self) -> Iterator[torch.Tensor]:
        self.m.heap.activate(None)
        model = getattr(self.inputs.model, "__self__", self.inputs.model)
        for module in model.modules() if isinstance(model, torch.nn.Module) else [model]:
            own = getattr(module, "__dict__", {})
            for value in own.values():
                yield from tensors_of(value, 4)

    def _name(self, k: int) -> str:
        return self.m.graph.states[k][0]

    def _refusal(self, k: int, what: str) -> CaptureRefusal:
        owner = self.inputs.state_of(k).owner
        return CaptureRefusal(f"the attribute {self._name(k)}, whose tensor is written in place and assigned, "
                              f"is left with {what}: later writes would change both",
                              "give the attribute a clone() of its own, or do not write it in place",
                              span=self.m.heap.written_at.get(id(owner)) or self.m.left, kind="state.alias")


def tensors_in(leaves: list) -> list[torch.Tensor]:
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def cells_of(tensor: torch.Tensor) -> set[Cell]:
    """The storages that a tensor may be in, by the paths that met."""
    cell = tensor._dycl.cell
    return {cell, *cell.guard.cells, *cell.guard.roots}


def _keep_apart(*tensors: torch.Tensor) -> None:
    """Begins anew if the paths that met here made it so."""
    for tensor in tensors:
        guard = tensor._dycl.cell.guard
        if guard.cells:
            guard()


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
