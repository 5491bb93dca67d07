# SPDX-License-Identifier: Apache-2.0
"""One state for two: value by value, live ones only.

Equal static values stay static; tensors of one dtype and shape, and numbers of one kind, become block parameters;
containers and objects made during capture are compared element by element and keep their identity and aliasing
(merging/unify_objects.py, merging/unify_lists.py, merging/unify_aliases.py). Anything else keeps the states apart.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
from typing import Any

import torch

from ...objects import IdentityDict, IdentityPairs
from ..graph.program import INT, Block, ScalarType, TensorType, Value, dominates
from ..recording.memory_layout import Order, is_plain, lie_alike, order_of
from ..recording.symbolic_shapes import Extent
from ..state.contents import DEAD, LONG, Cell
from ..state.kinds import kind_of_object
from ..state.state import NULL, UNBOUND, Frame, State
from ..torch_internals import FakeTensor
from ..values import one_of, parameters
from ..values.chosen_text import is_one, unified
from ..values.equality import IMMUTABLE, LEAVES, same_number
from ..values.list_kinds import graph_lists
from ..values.scalar import BY_KIND, graph_number, is_merge_born, kind_of
from ..values.stand_in import KINDS, StandIn, as_stand_in
from ..values.tensor import is_handle
from .reachable import add_contents, add_items, reachable
from .unify_aliases import AliasUnifier, strict
from .unify_lists import ListLeaf, ListUnifier
from .unify_objects import ObjectUnifier
from .unmergeable import Apart

_ABSENT = object()


class Unifier(ObjectUnifier, ListUnifier, AliasUnifier):
    """One attempt to unify state `a` with state `b` into `block`."""

    def __init__(self, machine, a: State, b: State, block: Block, widen: bool, ints: bool = True,
                 bounds: bool = True, trial: bool = False, permuted: bool = False, kinds: bool = False):
        self.m = machine
        # objects of one state may be the partners of others that it has as well, if every name of theirs agrees
        self.permuted = permuted
        self.kept: set[int] = set()  # objects that are the same under some name in both
        self.trial = trial  # the merged state is never run
        self.bounds = bounds  # keep the least value of integers and extents
        self.kinds = kinds  # values of different kinds may become one of which the run says its kind
        self.several = kinds or bool(machine.assumptions.kinds.assumed)  # there may be such values
        self.ints = ints  # static integers that differ may become a runtime one
        self.a, self.b, self.block, self.widen = a, b, block, widen
        self.requests: list[tuple[Any, Any, Value]] = []  # (in a, in b, parameter)
        self.memo = IdentityPairs()  # (in a, in b) -> in the merged state
        self.partner_a, self.partner_b = IdentityDict(), IdentityDict()
        self.contents = IdentityDict()  # object or storage -> what the merged state has of it, if that is new
        self.visited = IdentityDict()  # objects of both states that were looked at
        self.asked = IdentityDict()  # exceptions of both states whose arguments were; tuples -> what they become
        self.merged_cells: list[tuple] = []  # (cell in a, handle in a, cell in b, handle in b, merged handle)
        self.replaced = IdentityDict()  # list -> the RtList that it became
        self.same_lists = IdentityDict()  # those of them that are one list in both states
        self.path: list[str] = []
        self.depth = 0  # the frame being compared
        self.strict = False  # a write has shown that storages must not be separated here
        self.inside_old = False  # what an object from before capture holds is compared
        self.lost = False  # how tensors lie in memory is not kept
        self.target: dict[Cell, Cell] = {}  # storage -> the one it was merged with
        self._differing()

    def _differing(self) -> None:
        heap, ca, cb = self.m.heap, self.a.overlay.contents, self.b.overlay.contents
        pristine = heap.pristine
        self.diff = _changed(ca, cb, pristine)
        common = self.block.idom
        self.old: list[int] = []  # objects from before capture that differ
        self.diff_cells: set[Cell] = set()  # storages that differ
        deep = False
        for key in self.diff:
            obj = heap.objects[key]
            if isinstance(obj, Cell):
                self.diff_cells.add(obj)
                value = pristine[key]
                if isinstance(value, Value) and common is not None and not dominates(value.block, common):
                    continue
                deep = True
            elif self.m.is_born(obj):
                deep = True
            else:
                self.old.append(key)
        self.deep = deep = deep or self.permuted
        if deep:  # through an object from outside that is the same in both, nobody might come to them
            born = self.m.born
            self.old += [key for key in ca if key not in born and key not in self.diff
                         and self._leads_to_differing(key, ca[key])]
        roots = self.m.recorder.real.root_cells
        self.root_cells = [obj for key in self.diff if isinstance(obj := heap.objects[key], Cell) and obj in roots]

    def _leads_to_differing(self, key: int, contents: Any) -> bool:
        """An object from before capture that holds tensors or objects which were made or written since."""
        if contents is DEAD or isinstance(self.m.heap.objects[key], Cell):
            return False
        held: list = []
        cells: set[Cell] = set()
        add_contents(held, cells, self.m.born, contents, self.m.heap.objects[key])
        while held and cells.isdisjoint(self.diff_cells):
            x = held.pop()
            if id(x) in self.m.born or id(x) in self.diff or isinstance(x, functools.partial):
                return True
            if isinstance(x, StandIn):
                held += x.held()
            elif is_handle(x):
                cells.add(x._dycl.cell)
            elif isinstance(x, types.MethodType):
                held.append(x.__self__)
            elif isinstance(x, (tuple, frozenset)):
                add_items(held, cells, self.m.born, x)
        return not cells.isdisjoint(self.diff_cells)

    def state(self) -> State:
        a, b = self.a, self.b
        if len(a.frames) != len(b.frames):
            raise Apart("call stack", "different depths")
        self.strict = strict(self.m, self._alias_key())
        frames = [self.frame(fa, fb, k) for k, (fa, fb) in enumerate(zip(a.frames, b.frames))]
        self.depth = len(a.frames) - 1  # what follows is not a matter of frames
        for cell in self.root_cells:
            self.path = ["a tensor of the module"]
            self.cell(cell)
        for key in self.old:
            obj = self.m.heap.objects[key]
            self.path = [f"{type(obj).__name__} object"]
            self.inside_old = True
            self.same_object(obj)
        self.inside_old = False
        for key, name in a.stored ^ b.stored:  # written in one state only: what was there before matters
            owner = self.m.heap.objects.get(key)
            if owner is not None:
                self.m.loaded.setdefault((key, name), owner)
        merged = State(frames, a.overlay.fork(), self.block)
        heap = self.m.heap
        for obj, contents in self.contents.items():
            if id(obj) not in heap.objects:
                heap.pristine[id(obj)] = heap.contents_in(a.overlay, obj)
                heap.objects[id(obj)] = obj
            merged.overlay.contents[id(obj)] = contents
        self.block.params = [p for _, _, p in self.requests]
        merged.lineage = a.lineage
        self._check_aliases(merged)
        self._check_objects()
        if self.replaced and not self.replaced.ids().isdisjoint(reachable(self.m, merged)[1]):
            raise Apart("a list of different lengths", "it is referred to from a place that cannot be followed")
        return merged

    def arguments(self, state: State, side: int) -> list[Value]:
        """The values that `state` passes to the block, one per parameter."""
        self.m.activate(state)
        self.m.recorder.span = self.m.span_of(state)
        return [self._value(request[side], request[2]) for request in self.requests]

    def _value(self, x: Any, param: Value) -> Value:
        x = one_of.passed(self.m, x)
        if isinstance(x, Value):
            return x
        if isinstance(x, ListLeaf):
            return graph_lists(self.m, x.source, x.kind)[x.index]
        if isinstance(x, torch.Tensor):
            return self.m.recorder.value_of(x)
        return self.m.scalars.value(x, param.type.kind)

    def frame(self, fa: Frame, fb: Frame, depth: int) -> Frame:
        if depth >= 0:
            self.depth = depth
        _check_positions(fa, fb)
        new = fa.copy()
        info, pc = fa.info, fa.pc
        name = info.code.co_name
        self.point = (info.code.co_filename, info.code.co_firstlineno, pc)
        for k, local in enumerate(info.local_names):
            if not info.is_live(pc, k):
                new.locals[k] = self._not_read_again(fa.locals[k], fb.locals[k])
                continue
            self.path = [f"{name}.{local}"]
            new.locals[k] = self.unify(fa.locals[k], fb.locals[k])
        for k in range(len(fa.stack)):
            self.path = [f"{name}.<operand {k}>"]
            new.stack[k] = self.unify(fa.stack[k], fb.stack[k])
        if fa.result is not None:
            self.path = [f"{name}.<new object>"]
            new.result = (self.unify(fa.result[0], fb.result[0]),)
        if len(fa.handled) != len(fb.handled):
            raise Apart(name, "different exceptions are being handled")
        new.handled = [self.unify(x, y) for x, y in zip(fa.handled, fb.handled)]
        # States of different entries into a loop: the merged one enters it anew at its next arrival.
        new.loops = {h: e for h, e in fa.loops.items()
                     if h in info.loops_of[pc] and fb.loops.get(h, (None,))[0] is e[0]}
        return new

    def _not_read_again(self, a: Any, b: Any) -> Any:
        """What a variable still refers to: it counts where a generator waits for its last reference to go."""
        if a is b and self.m.suspends_in(a):
            return a
        self.m.forgotten |= self.m.suspends_in(a) | self.m.suspends_in(b)
        return UNBOUND

    def suspended(self, fa: Frame, fb: Frame) -> Frame:
        """The frame of a generator."""
        path, point = self.path, self.point
        frame = self.frame(fa, fb, -1)
        self.path, self.point = path, point
        return frame

    def unify(self, a: Any, b: Any) -> Any:
        if a is b:
            return self.same_object(a) if self.deep else a
        if a is UNBOUND or b is UNBOUND or a is NULL or b is NULL:
            self.apart("defined in one state only")
        if self.several and self._are_one_of(a, b):
            return one_of.met(self, a, b)
        if a is None or b is None:
            self.apart("None in one state, a value in the other")
        ka, kb = kind_of(a), kind_of(b)
        if ka is not None or kb is not None:
            return self.scalars(a, b, ka, kb)
        found = self.memo.get(a, b, _ABSENT)
        if found is _ABSENT:
            found = self.memo[a, b] = self._different(a, b)
        return found

    def _are_one_of(self, a: Any, b: Any) -> bool:
        """Two values that become one of which the run says its kind: where paths are many, or if one is so already."""
        if not (one_of.may_be(a) and one_of.may_be(b)):
            return False
        known = one_of.is_one_of(a) or one_of.is_one_of(b)
        assumption = self.m.assumptions.kinds
        if assumption.refuted or self.inside_old or not (known or self.kinds and one_of.differ(self.m, a, b)):
            return False
        assumption.assumed.add(None)
        return True

    def number(self, a: Any, b: Any) -> Any:
        """An int, whatever else is given up."""
        if type(a) is type(b) and (a == b if type(a) is int else a.value is b.value):
            return a
        param = Value(INT, self.block)
        self.requests.append((a, b, param))
        return BY_KIND["int"](param, self.block.span)

    def _different(self, a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return self.tensors(a, b)
        if any(isinstance(x, StandIn) and x.merges_with_lists for x in (a, b)):
            return self.run_time_list(a, b)
        if self._are_chosen(a, b):
            return unified(self, a, b)
        if type(a) in KINDS or type(b) in KINDS:
            return self._known(a, b)
        if type(a) is not type(b):
            self.apart(f"a {type(a).__name__} in one state, a {type(b).__name__} in the other")
        if isinstance(a, (*IMMUTABLE, tuple)) and getattr(a, "__dict__", None) is not None and any(
                self.m.heap.contents_in(state.overlay, x)[0] for state, x in ((self.a, a), (self.b, b))):
            self.apart(f"{type(a).__name__} objects with attributes")
        return kind_of_object(type(a)).unified(self, a, b)

    def _are_chosen(self, a: Any, b: Any) -> bool:
        """Two texts of which a run has one."""
        texts = self.m.assumptions.chosen_texts.holds() and is_one(a) and is_one(b)
        return texts and not (type(a) is type(b) is str and a == b)

    def _known(self, a: Any, b: Any) -> Any:
        """One of them is known, of a class that has a kind: what differs becomes one of run time, as with numbers."""
        x, y = as_stand_in(a), as_stand_in(b)
        if type(x) is not type(y):
            self.apart(f"a {type(a).__name__} in one state, a {type(b).__name__} in the other")
        return a if type(a) is type(b) and a == b else x.unified(self, y)

    def apart(self, why: str, of_strings: bool = False) -> None:
        raise Apart("".join(self.path), why, of_strings)

    def scalars(self, a: Any, b: Any, ka: str | None, kb: str | None) -> Any:
        if ka != kb:
            self.apart(f"{_name(a)} in one state, {_name(b)} in the other")
        va, vb = graph_number(a), graph_number(b)
        if va is a and vb is b:
            if same_number(a, b):
                return a
            if ka == "int" and not self.ints:
                self.apart("different static integers")
        elif va is vb:
            return a
        origin = self._origin(a, b)
        param = Value(ScalarType(ka), self.block)
        if ka == "int" and self.bounds:
            low = [self.m.recorder.symbols.least(x) for x in (a, b)]
            self.m.recorder.symbols.assume_least(param, None if None in low else min(low))
        if isinstance(origin, tuple):
            self.m.scalars.merged[param.id] = origin
        self.requests.append((a, b, param))
        return BY_KIND[ka](param, origin)

    def _origin(self, a: Any, b: Any) -> Any:
        """Where the number comes from that two numbers become: of a number that only merging made, this merge."""
        if not (is_merge_born(a) and is_merge_born(b)):
            return next(x.origin for x in (a, b) if not is_merge_born(x))
        origin = ("merge", *self.point, "".join(self.path))
        if self.m.assumptions.apart.holds(origin):
            raise Apart("".join(self.path), "numbers that must stay static", origin=origin)
        return origin

    def tuples(self, a: tuple, b: tuple) -> tuple:
        if len(a) != len(b):
            if self.widen and type(a) is tuple and type(b) is tuple:
                return self.run_time_list(a, b)
            self.apart("tuples of different lengths")
        items = self.each(a, b)
        if all(x is y for x, y in zip(items, a)):
            return a
        return type(a)(items) if hasattr(type(a), "n_sequence_fields") else tuple.__new__(type(a), items)

    def each(self, a: Any, b: Any) -> list:
        start = self._alike(a, b)
        items = list(a[:start])
        for k, (x, y) in enumerate(zip(a[start:], b[start:]), start):
            self.path.append(f"[{k}]")
            items.append(self.unify(x, y))
            self.path.pop()
        return items

    def _alike(self, a: tuple, b: tuple) -> int:
        """How many of the first elements are the same in both and hold nothing that differs:
        most of a long list that grows."""
        if len(a) < LONG:
            return 0
        alike = [*map(operator.is_, a, b), False]
        same = alike.index(False)
        return same if not self.deep or _holds_none(a[:same], self.diff_cells) else 0

    def tensors(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        recorder = self.m.recorder
        ha, hb = map(recorder.real.lift, (a, b))
        if ha is hb:
            return a
        if ha.dtype != hb.dtype or ha.dim() != hb.dim() or ha.device != hb.device:
            self.apart("tensors of different dtypes or ranks")
        dims = self.dims(ha.shape, hb.shape)
        ia, ib = ha._dycl, hb._dycl
        if ia.parent is None and ib.parent is None and ia.cell is not ib.cell:
            known = self.memo.get(ia.cell, ib.cell)
            if known is not None:
                return known
        if self.strict:
            self._refuse_separation(ia.cell, ib.cell)
        merged = self._merged_tensor(ha, hb, dims)
        parameters.note_merged(merged, a, b)
        if ia.parent is None and ib.parent is None:
            self.memo[ia.cell, ib.cell] = merged
        self.merged_cells.append((ia.cell, ha, ib.cell, hb, merged))
        return merged

    def _merged_tensor(self, ha: Any, hb: Any, dims: tuple) -> torch.Tensor:
        """A parameter of the block that is one tensor or the other."""
        recorder, info = self.m.recorder, ha._dycl
        if not self.trial:
            recorder.layout.lose_beginning(ha, hb)
        type_ = TensorType(ha.dtype,
                           tuple(None if isinstance(d, Extent) else recorder.symbols.dim_type(d) for d in dims))
        param = Value(type_, self.block, info.cell.value.hint if info.parent is None else "")
        self.requests.append((ha, hb, param))
        strides = None if is_plain(ha) and is_plain(hb) else self._strides(ha, hb, dims)
        saved = recorder.block
        recorder.block = self.block
        if isinstance(strides, Order) and not self.trial:
            dims = tuple(map(recorder.size, dims))
            strides = strides.of(dims)
        merged = (recorder.stand_in(ha, param) if self.trial
                  else recorder.new_handle(ha.dtype, dims, param, ha.device, strides))
        recorder.block = saved
        return merged

    def _strides(self, a: torch.Tensor, b: torch.Tensor, dims: tuple) -> tuple | Order | None:
        """Of tensors that are not both contiguous. They count only where the program asks (recording/memory_layout.py):
        then states are kept apart."""
        if self.m.assumptions.layout.holds():
            order = order_of(a)
            if order is not None and order == order_of(b):
                return order
            if not lie_alike(a, b):
                self.apart("tensors that lie in memory differently")
            if all(type(d) is int for d in dims):
                return tuple(a.stride())
        self.lost = True
        self.m.recorder.layout.lost = self.m.recorder.layout.lost or not self.trial
        return None

    def dims(self, a, b) -> tuple:
        dims = []
        for x, y in zip(a, b):
            if type(x) is int and type(y) is int:
                if x != y and not self.widen:
                    self.apart(f"tensors of different shapes {_shape(a)} and {_shape(b)}")
                dims.append(x if x == y else self._extent(x, y))
            elif type(x) is not int and type(y) is not int and x.node.expr == y.node.expr and self._outer(x):
                dims.append(x)
            else:
                dims.append(self._extent(x, y))
        return tuple(dims)

    def _extent(self, x: Any, y: Any) -> Extent:
        least = self.m.recorder.symbols.least
        return Extent(max(0, min(least(x) or 0, least(y) or 0)) if self.bounds else 0)

    def _outer(self, size: Any) -> bool:
        """A symbolic size that means the same in both states: over declared symbols alone."""
        return self.m.recorder.symbols.dim_type(size) is not None

    def cell(self, cell: Cell) -> None:
        """A storage known to both states whose contents may differ."""
        if cell not in self.diff_cells or cell in self.contents:
            return
        va = self.m.heap.contents_in(self.a.overlay, cell)
        vb = self.m.heap.contents_in(self.b.overlay, cell)
        if va is vb:
            return
        shape = tuple(x if x == y else None for x, y in zip(va.type.shape, vb.type.shape))
        param = Value(TensorType(va.type.dtype, shape), self.block, va.hint)
        self.requests.append((va, vb, param))
        self.contents[cell] = param


def _name(x: Any) -> str:
    return "None" if x is None else f"a {kind_of(x) or type(x).__name__}"


def _shape(sizes) -> str:
    return "[" + ",".join(str(s) for s in sizes) + "]"


def _holds_none(items: tuple, cells: set[Cell]) -> bool:
    """Only numbers, texts, tensors and tuples of such, and no tensor has one of these storages.
    False too if it would take long to tell."""
    limit = 16 * len(items)  # tuples in tuples may be many more than there are objects
    while items:
        if len(items) > limit:
            return False
        kinds = set(map(type, items)) - LEAVES
        if not kinds <= {FakeTensor, tuple}:
            return False
        if cells and FakeTensor in kinds and any(is_handle(x) and x._dycl.cell in cells for x in items):
            return False
        items = tuple(itertools.chain.from_iterable(x for x in items if type(x) is tuple)) if tuple in kinds else ()
    return True


def _changed(a: dict[int, Any], b: dict[int, Any], pristine: dict[int, Any]) -> set[int]:
    """The objects, by id, whose contents differ between two states; one that says nothing of an object has it as it was
    before capture."""
    found = set()
    for key, contents in a.items():
        other = b.get(key, _ABSENT)
        if (pristine[key] if other is _ABSENT else other) is not contents:
            found.add(key)
    for key, contents in b.items():
        if key not in a and pristine[key] is not contents:
            found.add(key)
    return found


def _check_positions(a: Frame, b: Frame) -> None:
    if a.info is not b.info or a.pc != b.pc or len(a.stack) != len(b.stack):
        raise Apart("call stack", "different positions")
    if a.on_return is not b.on_return or a.generator is not b.generator:
        raise Apart("call stack", "different callers")
    if (a.result is None) != (b.result is None):
        raise Apart("call stack", "different callers")
