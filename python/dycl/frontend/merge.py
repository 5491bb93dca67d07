# SPDX-License-Identifier: Apache-2.0
"""Merging states that meet: what differs becomes a parameter of the block where they go on.

Two states at one program point are compared value by value, live ones only. Equal static values stay
static; tensors of one dtype and shape, and numbers of one kind, become block parameters; containers
and objects made during capture are compared element by element and keep their identity and aliasing.
Anything else keeps the states apart (both go on, each specialised). Cells and objects from before the
branch are compared by contents.
"""

from __future__ import annotations

import collections
import functools
import gc
import itertools
import operator
import types
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

from . import effects, keys, parameterness
from .arrays import RtArray
from .facts import hull, joined
from .graph import INT, Block, Edge, Goto, ListType, ScalarType, TensorType, Value, common_dominator, dominates
from .heap import DEAD, Cell, ContextCell, Items
from .layout import Order, is_plain, lie_alike, order_of
from .lifting import shares_array
from .likeness import Likeness
from .iterators import LiveIter, MGenerator, NativeIter, RtRange, SeqIter, view_of
from .runtime_text import RtText
from .overlay_reach import ITERATORS, add_contents, add_items, held_as_they_are, may_hold, reachable
from .rtlist import EMPTY, RtList, cells_of, graph_lists, is_stored_as, join, keep_as_is, kind_of_items, leaf_types, with_rows
from .scalars import kind_of
from .state import NULL, UNBOUND, Frame, State
from .symbols import Extent
from .values import BY_KIND, RtScalar

_IMMUTABLE = (str, bytes, type(None), torch.dtype, torch.device, torch.Size, range, frozenset, np.dtype, complex,
              torch.layout, torch.memory_format, type(Ellipsis), type(NotImplemented))
_ABSENT = object()
_FEW = 3  # states are compared in full at once
_OFTEN = 4  # times that a place is crowded: from then on states are not kept apart by integers there
_KEY, _VALUE = operator.itemgetter(0), operator.itemgetter(1)
_LONG = 8  # elements: what lists that grow have in common is looked for
_LEAVES = {int, float, bool, complex, str, bytes, type(None), torch.dtype, torch.device, *BY_KIND.values()}


class Apart(Exception):
    """The states cannot be merged; says which variable keeps them apart."""

    def __init__(self, path: str, why: str):
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class Permuted(Apart):
    """The states have the same objects in each other's places (two that one arm swapped, a list that was sorted)."""


class Merger:
    def __init__(self, machine):
        self.m = machine
        self.failures: collections.Counter = collections.Counter()
        self.apart: dict[tuple, tuple[int, int]] = {}  # pair of tags, how -> (frame, its position) that differs
        self.crowded: collections.Counter = collections.Counter()  # places -> how often too many states met there to keep their integers static
        self.doubted: set[tuple] = set()  # places where the last pair did not fit: the next is tried before anything is made for it

    def merge(self, states: list[State]) -> list[State]:
        """As few states as possible, each standing for some of `states`."""
        self.m.heap.save()
        place = (states[0].frames[-1].info, states[0].frames[-1].pc)
        groups = self._fold(states, ints=False) if self.crowded[place] < _OFTEN else states
        if len(groups) > self.m.options.max_int_variants or groups is states:
            self.crowded[place] += 1
            groups = self._fold(groups)
        if len(groups) > self.m.options.max_variants:
            groups = self._fold(groups, widen=True)
        if len(groups) > self.m.options.max_variants and self.m.with_chosen_keys:
            keys.prefer_tables(self.m)
        return groups

    def _fold(self, states: list[State], **how: bool) -> list[State]:
        groups: list[State] = []
        likeness = Likeness(self.m, how.get("widen", False)) if len(states) > _FEW else None
        for state in states:
            for k, group in enumerate(groups):
                merged = self.pair(group, state, likeness=likeness, **how)
                if merged is not None:
                    groups[k] = merged
                    break
            else:
                groups.append(state)
        return groups

    def pair(self, a: State, b: State, widen: bool = False, ints: bool = True, likeness: Likeness | None = None) -> State | None:
        key = (min(a.tag, b.tag), max(a.tag, b.tag), widen, ints)
        known = self.apart.get(key)
        if known is not None and known[0] < len(a.frames) - 1 and all(
                s.frames[known[0]].pc == known[1] for s in (a, b)):
            return None  # an outer frame keeps them apart, and it has not moved since
        unlike = likeness.differing_frame(a, b) if likeness is not None else None
        if unlike is not None:
            self.failures[likeness.blame(a, b, unlike)] += 1
            self._remember(key, unlike, a)
            return None
        if _in_different_loops(a, b):
            return None
        block = Block(common_dominator([a.block, b.block]), self.m.span_of(a), "join")
        place = (a.frames[-1].info, a.frames[-1].pc)
        try:
            for trial in (True, False) if place in self.doubted else (False,):
                union, merged = self._union(a, b, block, widen, ints, trial)
        except Apart as apart:
            union = apart.union
            self.failures[str(apart)] += 1
            self._remember(key, union.depth, a)
            self.doubted.add(place)
            return None
        self.doubted.discard(place)
        if a.tag != b.tag:
            merged.tag = merged.id
        else:
            merged.tag = a.tag
        for state, side in ((a, 0), (b, 1)):
            args = union.arguments(state, side)
            state.block.exit = Goto(Edge(block, args))
        merged.known = {k: v for k, v in a.known.items() if b.known.get(k) is v}
        merged.ranges = joined(a.ranges, b.ranges)
        for one, other, param in union.requests:
            if param.type == INT:
                merged.ranges[param.id] = hull(self.m.facts.of(one, a.ranges), self.m.facts.of(other, b.ranges))
        merged.lineage = a.lineage | b.lineage
        merged.stored = a.stored | b.stored
        return merged

    def _remember(self, key: tuple, depth: int, state: State) -> None:
        """Forks of one state share its frames, but inner calls may have written what outer frames hold: what keeps two of them apart
        says nothing of others."""
        if key[0] != key[1]:
            self.apart[key] = (depth, state.frames[depth].pc)

    def _union(self, a: State, b: State, block: Block, widen: bool, ints: bool, trial: bool) -> tuple[Unifier, State]:
        union = Unifier(self.m, a, b, block, widen, ints, trial=trial)
        try:
            try:
                return union, union.state()
            except Permuted:
                union = Unifier(self.m, a, b, block, widen, ints, trial=trial, permuted=True)
                return union, union.state()
        except Apart as apart:
            apart.union = union
            raise

    def kept_apart(self, a: State, b: State) -> bool:
        """An outer frame has kept these states apart, and has not moved since."""
        known = self.apart.get((min(a.tag, b.tag), max(a.tag, b.tag), False, False))
        if known is None:
            return False
        depth, pc = known
        return all(depth < len(s.frames) - 1 and s.frames[depth].pc == pc for s in (a, b))

    def blame(self) -> str:
        worst = self.failures.most_common(3)
        return "; ".join(f"{text} (kept {count} pairs apart)" for text, count in worst) or "unmergeable values"


def _in_different_loops(a: State, b: State) -> bool:
    """They came into a loop apart, and one of the two may still begin it anew, which forgets all that came through it."""
    for f, g in zip(a.frames, b.frames):
        for header in f.loops.keys() & g.loops.keys():
            ours, theirs = f.loops[header][0], g.loops[header][0]
            if ours is not theirs and f.pc in f.info.loop_body[header] and not ours.mode == theirs.mode == "unroll":
                return True
    return False


class Unifier:
    """One attempt to unify state `a` with state `b` into `block`."""

    def __init__(self, machine, a: State, b: State, block: Block, widen: bool, ints: bool = True,
                 bounds: bool = True, trial: bool = False, permuted: bool = False):
        self.m = machine
        self.permuted = permuted  # objects of one state may be the partners of others that it has as well, if every name of theirs agrees
        self.kept: set[int] = set()  # objects that are the same under some name in both
        self.trial = trial  # the merged state is never run
        self.bounds = bounds  # keep the least value of integers and extents
        self.ints = ints  # static integers that differ may become a runtime one
        self.a, self.b, self.block, self.widen = a, b, block, widen
        self.requests: list[tuple[Any, Any, Value]] = []  # (in a, in b, parameter)
        self.memo: dict[tuple[int, int], Any] = {}
        self.keep: list = []  # objects whose ids are in memo
        self.partner_a: dict[int, int] = {}
        self.partner_b: dict[int, int] = {}
        self.contents: dict[int, Any] = {}
        self.touched: dict[int, Any] = {}
        self.merged_cells: list[tuple] = []  # (cell in a, handle in a, cell in b, handle in b, merged handle)
        self.replaced: dict[int, Any] = {}  # lists that became RtLists, by id
        self.same_lists: set[int] = set()  # those of them that are one list in both states
        self.path: list[str] = []
        self.depth = 0  # the frame being compared
        self.strict = False  # a write has shown that storages must not be separated here
        self.lost = False  # how tensors lie in memory is not kept
        self.target: dict[int, int] = {}  # id of a storage -> id of the one it was merged with
        self._differing()

    # -- what differs --------------------------------------------------------------------

    def _differing(self) -> None:
        heap, ca, cb = self.m.heap, self.a.overlay.contents, self.b.overlay.contents
        pristine = heap.pristine
        self.diff: set[int] = set()
        for key, contents in ca.items():
            other = cb.get(key, _ABSENT)
            if (pristine[key] if other is _ABSENT else other) is not contents:
                self.diff.add(key)
        for key, contents in cb.items():
            if key not in ca and pristine[key] is not contents:
                self.diff.add(key)
        common = self.block.idom
        self.old: list[int] = []  # objects from before capture that differ
        self.diff_cells: set[int] = set()  # storages that differ
        deep = False
        for key in self.diff:
            obj = heap.objects[key]
            if isinstance(obj, Cell):
                self.diff_cells.add(key)
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
            self.old += [key for key in ca if key not in born and key not in self.diff and self._leads_to_differing(key, ca[key])]
        roots = self.m.recorder.root_cells
        self.root_cells = [roots[key] for key in self.diff if key in roots]

    def _leads_to_differing(self, key: int, contents: Any) -> bool:
        """An object from before capture that holds tensors or objects which were made or written since."""
        if contents is DEAD or isinstance(self.m.heap.objects[key], Cell):
            return False
        held: list = []
        cells: set[int] = set()
        add_contents(held, cells, self.m.born, contents, self.m.heap.objects[key])
        while held and cells.isdisjoint(self.diff):
            x = held.pop()
            if id(x) in self.m.born or id(x) in self.diff or isinstance(x, (RtArray, RtList, functools.partial)):
                return True
            if isinstance(x, torch.Tensor) and hasattr(x, "_dycl"):
                cells.add(id(x._dycl.cell))
            elif isinstance(x, types.MethodType):
                held.append(x.__self__)
            elif isinstance(x, (tuple, frozenset)):
                add_items(held, cells, self.m.born, x)
        return not cells.isdisjoint(self.diff)

    # -- the merged state -------------------------------------------------------------------

    def state(self) -> State:
        a, b = self.a, self.b
        if len(a.frames) != len(b.frames):
            raise Apart("call stack", "different depths")
        self.strict = _strict(self.m, self._alias_key())
        frames = [self.frame(fa, fb, k) for k, (fa, fb) in enumerate(zip(a.frames, b.frames))]
        self.depth = len(a.frames) - 1  # what follows is not a matter of frames
        for cell in self.root_cells:
            self.path = ["a tensor of the module"]
            self.cell(cell)
        for key in self.old:
            obj = self.m.heap.objects[key]
            self.path = [f"{type(obj).__name__} object"]
            self.same_object(obj)
        for key, name in a.stored ^ b.stored:  # written in one state only: what was there before matters
            owner = self.m.heap.objects.get(key)
            if owner is not None:
                self.m.loaded.setdefault((key, name), owner)
        merged = State(frames, a.overlay.fork(), self.block)
        heap = self.m.heap
        for key, obj in self.touched.items():
            if key not in heap.objects:
                heap.pristine[key] = heap.contents_in(a.overlay, obj)
                heap.objects[key] = obj
        merged.overlay.contents.update(self.contents)
        self.block.params = [p for _, _, p in self.requests]
        merged.lineage = a.lineage
        self._check_aliases(merged)
        self._check_objects()
        if self.replaced and not self.replaced.keys().isdisjoint(reachable(self.m, merged)[1]):
            raise Apart("a list of different lengths", "it is referred to from a place that cannot be followed")
        return merged

    def arguments(self, state: State, side: int) -> list[Value]:
        """The values that `state` passes to the block, one per parameter."""
        self.m.activate(state)
        self.m.recorder.span = self.m.span_of(state)
        return [self._value(request[side], request[2]) for request in self.requests]

    def _value(self, x: Any, param: Value) -> Value:
        if isinstance(x, Value):
            return x
        if isinstance(x, _ListLeaf):
            return graph_lists(self.m, x.source, x.kind)[x.index]
        if isinstance(x, torch.Tensor):
            return self.m.recorder.value_of(x)
        return self.m.scalars.value(x, param.type.kind)

    # -- frames -----------------------------------------------------------------------------

    def frame(self, fa: Frame, fb: Frame, depth: int) -> Frame:
        if depth >= 0:
            self.depth = depth
        if fa.info is not fb.info or fa.pc != fb.pc or len(fa.stack) != len(fb.stack):
            raise Apart("call stack", "different positions")
        if fa.on_return is not fb.on_return or fa.generator is not fb.generator:
            raise Apart("call stack", "different callers")
        if (fa.result is None) != (fb.result is None):
            raise Apart("call stack", "different callers")
        new = fa.copy()
        info, pc = fa.info, fa.pc
        name = info.code.co_name
        self.point = (info.code.co_filename, info.code.co_firstlineno, pc)
        for k, local in enumerate(info.local_names):
            if not info.is_live(pc, k):
                new.locals[k] = UNBOUND
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
        new.loops = {h: e for h, e in fa.loops.items() if h in info.loops_of[pc] and fb.loops.get(h, (None,))[0] is e[0]}
        return new

    # -- values --------------------------------------------------------------------------------

    def unify(self, a: Any, b: Any) -> Any:
        if a is b:
            return self.same_object(a) if self.deep else a
        if a is UNBOUND or b is UNBOUND or a is NULL or b is NULL:
            self.apart("defined in one state only")
        if a is None or b is None:
            self.apart("None in one state, a value in the other")
        ka, kb = kind_of(a), kind_of(b)
        if ka is not None or kb is not None:
            return self.scalars(a, b, ka, kb)
        key = (id(a), id(b))
        if key in self.memo:
            return self.memo[key]
        self.keep.append((a, b))
        result = self._different(a, b)
        self.memo[key] = result
        return result

    def _different(self, a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return self.tensors(a, b)
        if isinstance(a, RtList) or isinstance(b, RtList):
            return self.run_time_list(a, b)
        if type(a) is not type(b):
            self.apart(f"a {type(a).__name__} in one state, a {type(b).__name__} in the other")
        if isinstance(a, (*_IMMUTABLE, tuple)) and getattr(a, "__dict__", None) is not None and any(
                self.m.heap.contents_in(state.overlay, x)[0] for state, x in ((self.a, a), (self.b, b))):
            self.apart(f"{type(a).__name__} objects with attributes")
        if isinstance(a, _IMMUTABLE):
            if not _same_key(a, b):
                self.apart("different " + type(a).__name__ + "s")
            return a
        if isinstance(a, tuple):
            return self.tuples(a, b)
        if isinstance(a, RtArray):
            if a.scalar != b.scalar:
                self.apart("a numpy array in one state, a number in the other")
            if a.source is not b.source and (a.source is None or b.source is None or a.is_copy() or b.is_copy()):
                self.apart("views of arrays, with a negative step in one state")
            if a.is_copy() and a.tensor is not b.tensor:
                self.apart("views of arrays with a negative step")
            return RtArray(self.unify(a.tensor, b.tensor), a.scalar, a.source)
        if isinstance(a, RtText):
            if len(a.parts) != len(b.parts):
                self.apart("different texts")
            return RtText(tuple(self.unify(x, y) for x, y in zip(a.parts, b.parts)))
        if isinstance(a, RtRange):
            return RtRange(self.unify(a.start, b.start), self.unify(a.stop, b.stop), self.unify(a.step, b.step))
        if isinstance(a, slice):
            return slice(self.unify(a.start, b.start), self.unify(a.stop, b.stop), self.unify(a.step, b.step))
        if isinstance(a, types.MethodType):
            if a.__func__ is not b.__func__:
                self.apart("different methods")
            return types.MethodType(a.__func__, self.unify(a.__self__, b.__self__))
        if isinstance(a, BaseException):
            if self.tuples(a.args, b.args) is not a.args or self._reasons_differ(a, b):
                self.apart("different exceptions")
            if self.m.is_born(a) and self.m.is_born(b):
                return self.born_objects(a, b)
            if vars(a) or vars(b):
                self.apart("different exceptions")
            return a
        if isinstance(a, types.BuiltinMethodType):
            if a.__name__ != b.__name__:
                self.apart("different methods")
            owner = self.unify(a.__self__, b.__self__)
            if isinstance(owner, RtList):
                self.apart("a method of a list of different lengths")
            return a if owner is a.__self__ else getattr(owner, a.__name__)
        if isinstance(a, functools.partial):
            if list(a.keywords) != list(b.keywords) or type(a) is not functools.partial:
                self.apart("partials with different keywords")
            return functools.partial(self.unify(a.func, b.func), *self.tuples(a.args, b.args),
                                     **{k: self.unify(v, b.keywords[k]) for k, v in a.keywords.items()})
        return self.born_objects(a, b)

    def _reasons_differ(self, a: BaseException, b: BaseException) -> bool:
        return a.__suppress_context__ != b.__suppress_context__ or any(x is not y and (x is None or y is None or self.unify(x, y) is not x)
                   for x, y in ((a.__cause__, b.__cause__), (a.__context__, b.__context__)))

    def apart(self, why: str) -> None:
        raise Apart("".join(self.path), why)

    def scalars(self, a: Any, b: Any, ka: str | None, kb: str | None) -> Any:
        if ka != kb:
            self.apart(f"{_name(a)} in one state, {_name(b)} in the other")
        runtime = isinstance(a, RtScalar) or isinstance(b, RtScalar)
        if not runtime and _same_number(a, b):
            return a
        if not runtime and ka == "int" and not self.ints:
            self.apart("different static integers")
        if isinstance(a, RtScalar) and isinstance(b, RtScalar) and a.value is b.value:
            return a
        origin = self.m.recorder.span
        if _merge_born(a) and _merge_born(b):
            origin = ("merge", *self.point, "".join(self.path))
            if origin in self.m.decisions.forbidden_merges:
                self.apart("numbers that must stay static")
        else:
            origin = next((x.origin for x in (a, b) if isinstance(x, RtScalar) and not _merge_born(x)), None)
        param = Value(ScalarType(ka), self.block)
        if ka == "int" and self.bounds:
            low = [self.m.recorder.symbols.least(x) for x in (a, b)]
            self.m.recorder.symbols.assume_least(param, None if None in low else min(low))
        if isinstance(origin, tuple):
            self.m.scalars.merged[param.id] = origin
        self.requests.append((a, b, param))
        return BY_KIND[ka](param, origin)

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
        """How many of the first elements are the same in both and hold nothing that differs: most of a long list that grows."""
        if len(a) < _LONG:
            return 0
        alike = [*map(operator.is_, a, b), False]
        same = alike.index(False)
        return same if not self.deep or _holds_none(a[:same], self.diff_cells) else 0

    # -- tensors ---------------------------------------------------------------------------------

    def tensors(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        recorder = self.m.recorder
        ha, hb = recorder.lift(a) if not hasattr(a, "_dycl") else a, recorder.lift(b) if not hasattr(b, "_dycl") else b
        if ha is hb:
            return a
        if ha.dtype != hb.dtype or ha.dim() != hb.dim() or ha.device != hb.device:
            self.apart("tensors of different dtypes or ranks")
        dims = self.dims(ha.shape, hb.shape)
        ia, ib = ha._dycl, hb._dycl
        if ia.parent is None and ib.parent is None and ia.cell is not ib.cell:
            known = self.memo.get(("cell", id(ia.cell), id(ib.cell)))
            if known is not None:
                return known
        if self.strict:
            self._refuse_separation(ia.cell, ib.cell)
        type_ = TensorType(ha.dtype, tuple(None if isinstance(d, Extent) else recorder.symbols.dim_type(d) for d in dims))
        param = Value(type_, self.block, ia.cell.value.hint if ia.parent is None else "")
        self.requests.append((ha, hb, param))
        strides = None if is_plain(ha) and is_plain(hb) else self._strides(ha, hb, dims)
        saved = recorder.block
        recorder.block = self.block
        if isinstance(strides, Order) and not self.trial:
            dims = tuple(map(recorder.size, dims))
            strides = strides.of(dims)
        merged = recorder.stand_in(ha, param) if self.trial else recorder.new_handle(ha.dtype, dims, param, ha.device, strides)
        recorder.block = saved
        parameterness.note_merged(merged, a, b)
        if ia.parent is None and ib.parent is None:
            self.memo[("cell", id(ia.cell), id(ib.cell))] = merged
        self.merged_cells.append((ia.cell, ha, ib.cell, hb, merged))
        return merged

    def _strides(self, a: torch.Tensor, b: torch.Tensor, dims: tuple) -> tuple | Order | None:
        """Of tensors that are not both contiguous. They count only where the program asks (layout.py): then states are kept apart."""
        if self.m.decisions.keep_layout:
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

    def _refuse_separation(self, *cells: Cell) -> None:
        """The part of _check_aliases that can be told before anything is made: most pairs that must stay apart end here."""
        roots = self.m.recorder.root_cells
        for cell, other in (cells, cells[::-1]):
            if id(cell) in roots or callable(cell.note) or self.target.setdefault(id(cell), id(other)) != id(other):
                self.depth = len(self.a.frames) - 1  # a matter of this place, not of the frame
                raise Apart("a tensor written in place", "it shares memory with another one in some paths only")

    def _alias_key(self) -> tuple:
        frame = self.a.frames[-1]
        return ("merge", frame.info.code.co_filename, frame.info.code.co_firstlineno, frame.pc, "alias")

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
        key = id(cell)
        if key not in self.diff or key in self.contents:
            return
        va = self.m.heap.contents_in(self.a.overlay, cell)
        vb = self.m.heap.contents_in(self.b.overlay, cell)
        if va is vb:
            return
        shape = tuple(x if x == y else None for x, y in zip(va.type.shape, vb.type.shape))
        param = Value(TensorType(va.type.dtype, shape), self.block, va.hint)
        self.requests.append((va, vb, param))
        self.contents[key] = param
        self.touched[key] = cell

    # -- objects -----------------------------------------------------------------------------------

    def same_object(self, obj: Any) -> Any:
        """An object that both states know: its contents may differ."""
        self.kept.add(id(obj))
        if isinstance(obj, torch.Tensor):
            if hasattr(obj, "_dycl"):
                self.cell(obj._dycl.cell)
            return obj
        if id(obj) in self.diff and isinstance(obj, (tuple, str, bytes, int, float, frozenset)):
            if id(obj) not in self.touched:  # attributes of an instance of a subclass
                self._merge_contents(obj, *(self.m.heap.contents_in(state.overlay, obj) for state in (self.a, self.b)))
            return obj
        if isinstance(obj, tuple):
            if ("tuple", id(obj)) not in self.memo:  # tuples in tuples: more ways to them than there are of them
                items = self.each(obj, obj)
                self.memo["tuple", id(obj)] = obj if all(x is y for x, y in zip(items, obj)) else tuple.__new__(type(obj), items)
            return self.memo["tuple", id(obj)]
        if isinstance(obj, types.MethodType):
            self.same_object(obj.__self__)
            return obj
        if isinstance(obj, types.BuiltinFunctionType) and not isinstance(obj.__self__, types.ModuleType):
            self._behind(obj.__self__)
            return obj
        behind = view_of(obj)
        if behind is not None:
            self._behind(behind[0])
            return obj
        if isinstance(obj, functools.partial):
            for part in (obj.func, *obj.args, *obj.keywords.values()):
                if self.same_object(part) is not part:
                    self.apart("a partial with different arguments")
            return obj
        if isinstance(obj, RtArray):
            self.same_object(obj.tensor)
            return obj
        if isinstance(obj, BaseException) and ("arguments", id(obj)) not in self.memo:
            self.memo[("arguments", id(obj))] = obj
            if any(self.unify(part, part) is not part for part in obj.args):
                self.apart("an exception with different arguments")
        key = id(obj)
        if key in self.replaced:
            if key not in self.same_lists:
                self.apart("objects shared differently")
            return self.replaced[key][1]
        heap = self.m.heap
        if isinstance(obj, (type, types.ModuleType)) and key in self.diff:
            ca, cb = (heap.contents_in(state.overlay, obj)[0] for state in (self.a, self.b))
            if ca.keys() != cb.keys() or any(ca[name] is not cb[name] for name in ca):
                self.apart(f"{obj.__name__} has different attributes")
        if isinstance(obj, (type, types.ModuleType, str, int, float, RtScalar)) or obj is None:
            return obj
        if isinstance(obj, RtList):
            return self.run_time_list(obj, obj) if key in self.diff and key not in self.contents else obj
        if key in self.diff and self._lengths_differ(obj, obj):
            return self.run_time_list(obj, obj)
        if heap.is_inert(obj) or not (self.m.is_born(obj) or key in heap.objects or may_hold(obj)):
            return obj
        if effects.hides(type(obj)) and key not in heap.objects:
            for held in gc.get_referents(obj):
                self._behind(held)
            return obj
        if key in self.touched or ("visited", key) in self.memo:
            return obj
        self.memo[("visited", key)] = obj
        ca, cb = heap.contents_in(self.a.overlay, obj), heap.contents_in(self.b.overlay, obj)
        if isinstance(obj, types.FunctionType):
            for c in (*(obj.__closure__ or ()), *(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()):
                self.same_object(c)
            if key in self.diff:
                self._merge_contents(obj, ca, cb)
            return obj
        self._merge_contents(obj, ca, cb)
        return obj

    def _behind(self, obj: Any) -> None:
        """An object that native code holds: it must stay the one it is."""
        if (self.m.is_born(obj) or id(obj) in self.m.heap.objects) and self.same_object(obj) is not obj:
            self.apart(f"a {type(obj).__name__} that native code holds")

    def born_objects(self, a: Any, b: Any) -> Any:
        m = self.m
        if not (m.is_born(a) and m.is_born(b)) or effects.hides(type(a)):
            self.apart(f"different {type(a).__name__} objects")
        if self._lengths_differ(a, b):
            return self.run_time_list(a, b)
        if self.partner_a.setdefault(id(a), id(b)) != id(b) or self.partner_b.setdefault(id(b), id(a)) != id(a):
            self.apart("objects shared differently")
        if isinstance(a, collections.deque) and a.maxlen != b.maxlen:
            self.apart("deques of different greatest lengths")
        if isinstance(a, collections.defaultdict) and self.unify(a.default_factory, b.default_factory) is not a.default_factory:
            self.apart("defaultdicts with different factories")
        self.memo[(id(a), id(b))] = a
        fragile = m.heap.fragile
        if id(b) in fragile:
            fragile.setdefault(id(a), (a, fragile[id(b)][1]))
        if isinstance(a, types.FunctionType):
            if a.__code__ is not b.__code__:
                self.apart("different functions")
            for x, y in zip(a.__closure__ or (), b.__closure__ or ()):
                self.unify(x, y)
            for x, y in ((a.__defaults__ or (), b.__defaults__ or ()),
                         (tuple((a.__kwdefaults__ or {}).values()), tuple((b.__kwdefaults__ or {}).values()))):
                if self.tuples(x, y) is not x:
                    self.apart("functions with different defaults")
            ca, cb = m.heap.contents_in(self.a.overlay, a), m.heap.contents_in(self.b.overlay, b)
            if ca[0] or cb[0]:
                self._merge_contents(a, ca, cb)
            return a
        heap = m.heap
        self._merge_contents(a, heap.contents_in(self.a.overlay, a), heap.contents_in(self.b.overlay, b))
        return a

    def _lengths_differ(self, a: Any, b: Any) -> bool:
        """Two lists made during capture that may become one of a length known at run time."""
        if not (self.widen and type(a) is list and type(b) is list and self.m.is_born(a) and self.m.is_born(b)):
            return False
        heap = self.m.heap
        return len(heap.contents_in(self.a.overlay, a)) != len(heap.contents_in(self.b.overlay, b))

    def run_time_list(self, a: Any, b: Any) -> RtList:
        """Lists of different lengths, or one whose length is known at run time already."""
        key = ("merge", *self.point, "".join(self.path), "list")
        frozen = any(type(x) is tuple or isinstance(x, RtList) and x.frozen for x in (a, b))
        if key in self.m.decisions.forbidden_merges:
            self.apart("lists of different lengths")
        self._pair_lists(a, b)
        sides = [self._list_side(x, overlay, frozen) for x, overlay in ((a, self.a.overlay), (b, self.b.overlay))]
        kind = join(sides[0][1], sides[1][1])
        if kind is None or any(side[1] is None for side in sides):
            self.apart("lists of different lengths whose elements are of different kinds")
        kind = with_rows(kind) if key in self.m.decisions.rows else kind
        for x, side in ((a, sides[0]), (b, sides[1])):
            if isinstance(x, RtList) and not is_stored_as(side[1], kind):
                self._want_rows(x)
        params = []
        for k, type_ in enumerate(leaf_types(kind) if kind != EMPTY else []):
            param = Value(ListType(type_), self.block)
            self.requests.append((_ListLeaf(a, k, kind), _ListLeaf(b, k, kind), param))
            params.append(param)
        contents = (tuple(params), kind, sides[0][2] | sides[1][2])
        if a is b and isinstance(a, RtList):
            self.contents[id(a)] = contents
            self.touched[id(a)] = a
            return a
        guard = next((x.guard for x in (a, b) if isinstance(x, RtList) and x.guard is not None), None)
        merged = self.m.new(RtList(*contents, guard or _AliasGuard(self.m, key), frozen))
        for cell in contents[2]:
            if cell.note is None:
                cell.note = merged.guard
        for x, overlay in ((a, self.a.overlay), (b, self.b.overlay)):
            if not isinstance(x, RtList):
                items = self.m.heap.contents_in(overlay, x) if type(x) is list else x
                keep_as_is(self.m, tuple(items), merged.guard, lambda d, o=overlay: self.m.heap.contents_in(o, d))
        for x in (a, b):
            if id(x) in self.m.heap.fragile and not frozen:
                self.m.heap.fragile.setdefault(id(merged), (merged, self.m.heap.fragile[id(x)][1]))
            if type(x) is not tuple and self.replaced.setdefault(id(x), (x, merged))[1] is not merged:
                self.apart("lists shared differently")
        return merged

    def _want_rows(self, x: RtList) -> None:
        key = getattr(x.guard, "key", None)
        if self.trial or key is None or key in self.m.decisions.rows:
            self.apart("lists of different lengths whose elements are stored differently")
        self.m.lists.want_rows(x)

    def _pair_lists(self, a: Any, b: Any) -> None:
        """Each list has one partner, as other objects have; tuples have no identity."""
        if type(a) is tuple or type(b) is tuple:
            return
        if a is b:
            if id(a) in self.partner_a or id(a) in self.partner_b:
                self.apart("objects shared differently")
            self.same_lists.add(id(a))
            return
        if id(a) in self.same_lists or id(b) in self.same_lists or self.partner_a.setdefault(
                id(a), id(b)) != id(b) or self.partner_b.setdefault(id(b), id(a)) != id(a):
            self.apart("objects shared differently")

    def _list_side(self, x: Any, overlay: Any, frozen: bool) -> tuple:
        """(values, kind of the elements, storages of the elements) of a list in one state."""
        if isinstance(x, RtList):
            if x.frozen != frozen:
                self.apart("a list in one state, a tuple in the other")
            return self.m.heap.contents_in(overlay, x)
        if type(x) is not (tuple if frozen else list) or type(x) is list and not self.m.is_born(x):
            self.apart(f"a list in one state, a {type(x).__name__} in the other")
        items = self.m.heap.contents_in(overlay, x) if type(x) is list else x
        def look(x: Any) -> Any:
            return self.m.heap.contents_in(overlay, x)

        return (), kind_of_items(self.m, items, look), frozenset(cells_of(self.m, tuple(items), look))

    def _merge_contents(self, obj: Any, ca: Any, cb: Any) -> None:
        merged = self._contents(obj, ca, cb)
        if merged is not ca:
            self.contents[id(obj)] = merged
            self.touched[id(obj)] = obj

    def _contents(self, obj: Any, ca: Any, cb: Any) -> Any:
        if isinstance(obj, (list, collections.deque)):
            if len(ca) != len(cb):
                self.apart(f"lists of {len(ca)} and {len(cb)} elements")
            items = tuple(self.each(ca, cb))
            return self._with_attributes(ca if all(x is y for x, y in zip(items, ca)) else items, ca, cb)
        if isinstance(obj, dict):
            (da, xa), (db, xb) = ca, cb
            items = self._entries(da, db)
            extra = self._attributes(xa, xb)
            return ca if items is da and extra is xa else (items, extra)
        if isinstance(obj, set):
            if not _same_keys(ca, cb):  # in another order they are other sets to a loop
                self.apart("different sets")
            return self._with_attributes(ca, ca, cb)
        if isinstance(obj, np.ndarray):
            if ca != cb:
                self.apart("numpy arrays with different contents")
            return ca
        if isinstance(obj, (types.CellType, ContextCell)):
            if len(ca) != len(cb):
                self.apart("a variable defined in one state only")
            items = tuple(self.each(ca, cb))
            return ca if all(x is y for x, y in zip(items, ca)) else items
        if isinstance(obj, ITERATORS):
            return self._iterator(obj, ca, cb)
        if isinstance(obj, Cell):
            self.cell(obj)
            return ca
        if isinstance(ca, tuple) and len(ca) == 2 and isinstance(ca[1], dict):
            values, held = self._attributes(ca[0], cb[0]), self._attributes(ca[1], cb[1])
            return ca if values is ca[0] and held is ca[1] else (values, held)
        self.apart(f"{type(obj).__name__} objects with different contents")

    def _with_attributes(self, items: tuple, a: tuple, b: tuple) -> tuple:
        """Items of a list, deque or set, with the attributes of an instance of a subclass."""
        if type(a) is not Items:
            return items
        attributes = self._attributes(a.attributes, b.attributes)
        return a if items is a and attributes is a.attributes else Items(items, attributes)

    def _entries(self, a: tuple, b: tuple) -> tuple:
        if len(a) != len(b):
            self.apart("dicts with different keys")
        start = self._alike(tuple(map(_VALUE, a)), tuple(map(_VALUE, b)))
        if not all(map(operator.is_, map(_KEY, a[:start]), map(_KEY, b))):
            start = 0
        out, same = list(a[:start]), True
        for (ka, va), (kb, vb) in zip(a[start:], b[start:]):
            if not _same_key(ka, kb):
                self.apart("dicts with different keys")
            self.path.append(f"[{ka!r}]")
            merged = self.unify(va, vb)
            self.path.pop()
            same = same and merged is va
            out.append((ka, merged))
        return a if same else tuple(out)

    def _attributes(self, a: dict | None, b: dict | None) -> dict | None:
        if a is None or b is None or a is b and not self.deep:
            return a
        if a.keys() != b.keys():
            self.apart(f"objects with different attributes ({', '.join(sorted(map(str, a.keys() ^ b.keys())))})")
        if list(a) != list(b):
            self.apart("objects that got their attributes in another order")
        out, same = {}, True
        for name, value in a.items():
            self.path.append(f".{name}")
            out[name] = self.unify(value, b[name])
            self.path.pop()
            same = same and out[name] is value
        return a if same else out

    def _iterator(self, obj: Any, ca: Any, cb: Any) -> Any:
        if isinstance(obj, NativeIter):
            if ca != cb:
                self.apart("iterators at different places")
            return ca
        if isinstance(obj, LiveIter):
            if ca[1] != cb[1] or ca[3] != cb[3] or ca[0] != cb[0]:
                self.apart("iterators at different places")
            if ca[2] is cb[2]:
                self._behind(ca[2])
            elif self.unify(ca[2], cb[2]) is not ca[2]:
                self.apart("iterators over different containers")
            return ca
        if isinstance(obj, SeqIter):
            if ca[1] != cb[1]:
                self.apart("iterators at different places")
            sequence = self.unify(ca[0], cb[0])
            if isinstance(sequence, RtList):
                self.apart("an iterator over a list of different lengths")
            return ca if sequence is ca[0] else (sequence, ca[1])
        if isinstance(obj, MGenerator):
            (fa, da), (fb, db) = ca, cb
            if da != db or (fa is None) != (fb is None):
                self.apart("generators at different places")
            if fa is None:
                return ca
            path, point = self.path, self.point
            frame = self.frame(fa, fb, -1)
            self.path, self.point = path, point
            return (frame, da)
        items = tuple(self.each(ca, cb))
        return ca if all(x is y for x, y in zip(items, ca)) else items

    # -- aliasing -----------------------------------------------------------------------------------

    def _check_objects(self) -> None:
        """Two objects were merged into one. If either is also known to the other state under another
        name, identities differ between the states: they must stay apart."""
        if not self.partner_a:
            return
        why = ("an object", "it has two names in one state and one in the other")
        known: set[int] = set()
        for state, others, own in ((self.a, self.partner_b, self.partner_a), (self.b, self.partner_a, self.partner_b)):
            seen = others.keys() & reachable(self.m, state)[1]
            if not seen <= own.keys():
                raise Apart(*why)
            known |= seen
        if known and not self.permuted:
            raise Permuted(*why)
        if known and not all(known.isdisjoint(kept) for kept in (self.kept, held_as_they_are(self.m, self.a), held_as_they_are(self.m, self.b))):
            raise Apart(*why)

    def _check_aliases(self, merged_state: State) -> None:
        """A merged tensor got a storage of its own. If the old storage stays visible under another name,
        a later write would be lost there: such storages are marked."""
        if not self.merged_cells:
            return
        roots = self.m.recorder.root_cells
        live = reachable(self.m, merged_state)[0]
        targets: dict[int, set[int]] = {}
        for entry in self.merged_cells:
            for side in (0, 1):
                targets.setdefault(id(entry[2 * side]), set()).add(id(entry[4]))
        for side in (0, 1):
            for entry in self.merged_cells:
                cell, merged = entry[2 * side], entry[4]
                if id(cell) in roots or id(cell) in live or len(targets[id(cell)]) > 1 or callable(cell.note) or shares_array(cell):
                    key = ("merge", *self.point, "alias")
                    if _strict(self.m, key):
                        raise Apart("a tensor written in place", "it shares memory with another one in some paths only")
                    known = {id(cell)} if id(cell) in roots else set()
                    known.update(*(getattr(note, "roots", ()) for note in (cell.note, merged._dycl.cell.note)))
                    guard = _AliasGuard(self.m, key, frozenset(known))
                    merged._dycl.cell.note = guard
                    if cell.note is None:
                        cell.note = guard


class _ListLeaf:
    """Leaf number `index` of the elements of a list, as a graph list."""

    __slots__ = ("source", "index", "kind")

    def __init__(self, source: Any, index: int, kind: tuple):
        self.source, self.index, self.kind = source, index, kind


_FEW_PLACES = 3  # in one function; then all its places: each would cost another attempt


def _strict(m, key: tuple) -> bool:
    forbidden = m.decisions.forbidden_merges
    return key in forbidden or key[:3] in forbidden


class _AliasGuard:
    """The note of a storage whose aliases a merge has separated: writing to it starts capture anew.

    `roots`: ids of the cells of outside storages that it is in some paths.
    """

    def __init__(self, machine, key: tuple, roots: frozenset = frozenset()):
        self.m, self.key, self.roots = machine, key, roots

    def __call__(self) -> None:
        from .diagnostics import CaptureRefusal, Restart

        if self.key in self.m.decisions.forbidden_merges:
            raise CaptureRefusal("a tensor is written in place that shares memory with another one in some paths only",
                                 "write x = x + y instead of x += y here, or clone() the tensor in the branch",
                                 kind="alias")
        forbidden = self.m.decisions.forbidden_merges
        forbidden.add(self.key)
        code = self.key[:3]
        if sum(key[:3] == code and key[-1] == "alias" for key in forbidden) > _FEW_PLACES:
            forbidden.add(code)
        raise Restart("aliases differ between merged states")


def _merge_born(x: Any) -> bool:
    return not isinstance(x, RtScalar) or isinstance(x.origin, tuple) and x.origin[:1] == ("merge",)


def _holds_none(items: tuple, cells: set[int]) -> bool:
    """Only numbers, texts, tensors and tuples of such, and no tensor has one of these storages. False too if it would take long to tell."""
    limit = 16 * len(items)  # tuples in tuples may be many more than there are objects
    while items:
        if len(items) > limit:
            return False
        kinds = set(map(type, items)) - _LEAVES
        if not kinds <= {FakeTensor, tuple}:
            return False
        if cells and FakeTensor in kinds and any(type(x) is FakeTensor and hasattr(x, "_dycl") and id(x._dycl.cell) in cells for x in items):
            return False
        items = tuple(itertools.chain.from_iterable(x for x in items if type(x) is tuple)) if tuple in kinds else ()
    return True


def _same_keys(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(map(_same_key, a, b))


def _same_key(a: Any, b: Any) -> bool:
    """The same for a program that looks at it: 1, 1.0 and True are equal only, and so may be objects of the user's."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, frozenset)):
        return _same_keys(tuple(a), tuple(b))
    if isinstance(a, (int, float)):
        return _same_number(a, b)
    return isinstance(a, _IMMUTABLE) and a == b and (repr(a) == repr(b) or not isinstance(a, (range, complex)))


def _same_number(a: Any, b: Any) -> bool:
    return a == b and (type(a) is not float or repr(a) == repr(b))  # of two NaNs either may be the one that a list holds


def _name(x: Any) -> str:
    return "None" if x is None else f"a {x.kind if isinstance(x, RtScalar) else type(x).__name__}"


def _shape(sizes) -> str:
    return "[" + ",".join(str(s) for s in sizes) + "]"
