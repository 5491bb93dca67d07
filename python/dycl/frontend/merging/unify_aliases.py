# SPDX-License-Identifier: Apache-2.0
"""Names of one thing in states that meet: what has two names in one state must have them in the other.

A merged tensor gets a storage of its own; where that separates names, the storage gets a guard, and a write to it
starts capture anew with the states kept apart. Objects that would be two in one state and one in the other keep the
states apart at once.
"""

from __future__ import annotations

from ...objects import IdentityDict, reached
from ..diagnostics import CaptureRefusal
from ..recording.memory_layout import overlaps_itself
from ..recording.real_tensors import shares_array
from ..state.contents import Cell
from ..state.state import State
from ..values.guard import Guard
from .reachable import held_as_they_are, reachable
from .unmergeable import Apart, Permuted

_FEW_PLACES = 3  # in one function; then all its places: each would cost another attempt


class AliasUnifier:
    """The part of `Unifier` that names of one object or storage are about."""

    def _check_objects(self) -> None:
        """Two objects were merged into one. If either is also known to the other state under another
        name, identities differ between the states: they must stay apart."""
        if not self.partner_a:
            return
        why = ("an object", "it has two names in one state and one in the other")
        known: set[int] = set()
        for state, others, own in ((self.a, self.partner_b, self.partner_a), (self.b, self.partner_a, self.partner_b)):
            seen = others.ids() & reachable(self.m, state)[1]
            if not seen <= own.ids():
                raise Apart(*why)
            known |= seen
        if known and not self.permuted:
            raise Permuted(*why)
        if known and not all(known.isdisjoint(kept) for kept in (self.kept, held_as_they_are(self.m, self.a),
                                                                 held_as_they_are(self.m, self.b))):
            raise Apart(*why)

    def _check_aliases(self, merged_state: State) -> None:
        """A merged tensor got a storage of its own. If the old storage stays visible under another name, or several
        elements of the old tensor were one place of it, a later write would be lost there: such storages are marked."""
        if not self.merged_cells:
            return
        roots = self.m.recorder.real.root_cells
        live = reachable(self.m, merged_state)[0]
        targets: dict[Cell, IdentityDict] = {}
        for entry in self.merged_cells:
            for side in (0, 1):
                targets.setdefault(entry[2 * side], IdentityDict())[entry[4]] = None
        for side in (0, 1):
            for entry in self.merged_cells:
                cell, handle, merged = entry[2 * side], entry[2 * side + 1], entry[4]
                if (
                    cell in roots
                    or cell in live
                    or len(targets[cell]) > 1
                    or cell.guard
                    or shares_array(cell)
                    or overlaps_itself(handle)
                ):
                    self._guard_storage(cell, entry[2 - 2 * side], merged._dycl.cell)

    def _guard_storage(self, cell: Cell, partner: Cell, merged: Cell) -> None:
        """A write to the merged storage, or to the one it took the place of, starts capture anew."""
        key = ("merge", *self.point, "alias")
        if strict(self.m, key):
            raise Apart("a tensor written in place", "it shares memory with another one in some paths only")
        known = {cell} & self.m.recorder.real.root_cells
        known.update(cell.guard.roots, merged.guard.roots)
        before = tuple(guard for guard in (cell.guard, merged.guard) if isinstance(guard, AliasGuard))
        merged.note = AliasGuard(self.m, key, frozenset(known), (cell, partner), before)
        if cell.note is None:
            cell.note = merged.note

    def _refuse_separation(self, *cells: Cell) -> None:
        """The part of _check_aliases that can be told before anything is made:
        most pairs that must stay apart end here."""
        roots = self.m.recorder.real.root_cells
        for cell, other in (cells, cells[::-1]):
            if cell in roots or cell.guard or self.target.setdefault(cell, other) is not other:
                self.depth = len(self.a.frames) - 1  # a matter of this place, not of the frame
                raise Apart("a tensor written in place", "it shares memory with another one in some paths only")

    def _alias_key(self) -> tuple:
        frame = self.a.frames[-1]
        return ("merge", frame.info.code.co_filename, frame.info.code.co_firstlineno, frame.pc, "alias")


def strict(m, key: tuple) -> bool:
    apart = m.assumptions.apart
    return apart.holds(key) or apart.holds(key[:3])


class AliasGuard(Guard):
    """The note of a storage whose aliases a merge has separated: writing to it starts capture anew.

    `roots`: the outside storages that it is in some paths; `cells`: the storages that met.
    """

    def __init__(self, machine, key: tuple, roots: frozenset = frozenset(), met: tuple = (), before: tuple = ()):
        self.m, self.key, self.roots = machine, key, roots
        # the storages of earlier meetings are not copied: long chains would be quadratic
        self._met, self._before = met, before

    @property
    def cells(self) -> tuple:
        return tuple(dict.fromkeys(cell for guard in reached([self], lambda guard: [*guard._before])
                                   for cell in guard._met))

    def __call__(self) -> None:
        apart = self.m.assumptions.apart
        if apart.holds(self.key):
            raise CaptureRefusal("a tensor is written in place that shares memory with another one in some paths only",
                                 "write x = x + y instead of x += y here, or clone() the tensor in the branch",
                                 kind="alias")
        code = self.key[:3]
        known = sum(key[:3] == code and key[-1] == "alias" for key in apart.assumed)
        apart.assume(self.key, *([code] if known >= _FEW_PLACES else []))
