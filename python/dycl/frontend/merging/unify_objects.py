# SPDX-License-Identifier: Apache-2.0
"""Objects where states meet: those that both know are compared by contents,
those made since are taken for each other."""

from __future__ import annotations

import collections
import functools
import gc
import operator
import types
from typing import Any

import torch

from ..semantics import opaque_objects
from ..semantics.lookup import by_class
from ..state.contents import kind_of_object
from ..state.iterators import VIEWS, view_of
from ..values.equality import same_key
from ..values.list import RtList
from ..values.scalar import RtScalar
from ..values.stand_in import StandIn
from ..values.tensor import is_handle
from .reachable import may_hold

_KEY, _VALUE = operator.itemgetter(0), operator.itemgetter(1)


class ObjectUnifier:
    """The part of `Unifier` that objects and their contents are about."""

    def same_object(self, obj: Any) -> Any:
        """An object that both states know: its contents may differ."""
        self.kept.add(id(obj))
        return _SAME(type(obj))(self, obj)

    def _same_tensor(self, obj: torch.Tensor) -> Any:
        if is_handle(obj):
            self.cell(obj._dycl.cell)
        return obj

    def _same_plain(self, obj: Any) -> Any:
        """Of what cannot change the attributes may, in an instance of a subclass."""
        if id(obj) in self.diff and id(obj) not in self.touched:
            self._merge_contents(obj, *self._sides(obj, obj))
        return obj

    def _same_plain_holder(self, obj: Any) -> Any:
        return self._same_plain(obj) if id(obj) in self.diff else self._same_holder(obj)

    def _same_tuple(self, obj: tuple) -> Any:
        if id(obj) in self.diff:
            return self._same_plain(obj)
        if ("tuple", id(obj)) not in self.memo:  # tuples in tuples: more ways to them than there are of them
            items = self.each(obj, obj)
            same = all(x is y for x, y in zip(items, obj))
            self.memo["tuple", id(obj)] = obj if same else tuple.__new__(type(obj), items)
        return self.memo["tuple", id(obj)]

    def _same_method(self, obj: types.MethodType) -> Any:
        self.same_object(obj.__self__)
        return obj

    def _same_native_method(self, obj: types.BuiltinFunctionType) -> Any:
        if isinstance(obj.__self__, types.ModuleType):
            return self._same_holder(obj)
        self.behind(obj.__self__)
        return obj

    def _same_view(self, obj: Any) -> Any:
        behind = view_of(obj)
        if behind is None:
            return self._same_holder(obj)
        self.behind(behind[0])
        return obj

    def _same_partial(self, obj: functools.partial) -> Any:
        for part in (obj.func, *obj.args, *obj.keywords.values()):
            if self.same_object(part) is not part:
                self.apart("a partial with different arguments")
        return obj

    def _same_stand_in(self, obj: StandIn) -> Any:
        for part in obj.held():
            self.same_object(part)
        return self._same_holder(obj)

    def _same_list(self, obj: RtList) -> Any:
        if obj in self.replaced:
            return self._same_holder(obj)
        return self.run_time_list(obj, obj) if id(obj) in self.diff and id(obj) not in self.contents else obj

    def _same_exception(self, obj: BaseException) -> Any:
        if ("arguments", id(obj)) not in self.memo:
            self.memo[("arguments", id(obj))] = obj
            if any(self.unify(part, part) is not part for part in obj.args):
                self.apart("an exception with different arguments")
        return self._same_holder(obj)

    def _same_space(self, obj: Any) -> Any:
        """A class or Python module."""
        if id(obj) in self.diff:
            ca, cb = (contents[0] for contents in self._sides(obj, obj))
            if ca.keys() != cb.keys() or any(ca[name] is not cb[name] for name in ca):
                self.apart(f"{obj.__name__} has different attributes")
        return obj

    def _same_holder(self, obj: Any) -> Any:
        """Any other object."""
        key, heap = id(obj), self.m.heap
        if obj in self.replaced:
            if key not in self.same_lists:
                self.apart("objects shared differently")
            return self.replaced[obj]
        if key in heap.owner_of_dict:  # what it holds is its object's contents
            self.behind(heap.owner_of_dict[key])
            return obj
        if key in self.diff and self._lengths_differ(obj, obj):
            return self.run_time_list(obj, obj)
        if not heap.is_inert(obj) and (self.m.is_born(obj) or key in heap.objects or may_hold(obj)):
            self._same_contents(obj)
        return obj

    def _same_contents(self, obj: Any) -> None:
        key = id(obj)
        if opaque_objects.hides(type(obj)) and key not in self.m.heap.objects:
            for held in gc.get_referents(obj):
                self.behind(held)
            return
        if key in self.touched or ("visited", key) in self.memo:
            return
        self.memo[("visited", key)] = obj
        if isinstance(obj, types.FunctionType):
            for c in (*(obj.__closure__ or ()), *(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()):
                self.same_object(c)
            if key not in self.diff:
                return
        self._merge_contents(obj, *self._sides(obj, obj))

    def _sides(self, a: Any, b: Any) -> tuple:
        """The contents of a in the one state, of b in the other."""
        return self.m.heap.contents_in(self.a.overlay, a), self.m.heap.contents_in(self.b.overlay, b)

    def behind(self, obj: Any) -> None:
        """An object that native code holds: it must stay the one it is."""
        if (self.m.is_born(obj) or id(obj) in self.m.heap.objects) and self.same_object(obj) is not obj:
            self.apart(f"a {type(obj).__name__} that native code holds")

    def born_objects(self, a: Any, b: Any) -> Any:
        m = self.m
        if (not (m.is_born(a) and m.is_born(b)) or opaque_objects.hides(type(a))
                or {id(a), id(b)} & m.heap.owner_of_dict.keys()):
            self.apart(f"different {type(a).__name__} objects")
        if self._lengths_differ(a, b):
            return self.run_time_list(a, b)
        if self.partner_a.setdefault(id(a), id(b)) != id(b) or self.partner_b.setdefault(id(b), id(a)) != id(a):
            self.apart("objects shared differently")
        _CHECKED(type(a))(self, a, b)
        self.memo[(id(a), id(b))] = a
        if b in m.heap.fragile:
            m.heap.fragile.setdefault(a, m.heap.fragile[b])
        ca, cb = self._sides(a, b)
        if not isinstance(a, types.FunctionType) or ca[0] or cb[0]:
            self._merge_contents(a, ca, cb)
        return a

    def _check_nothing(self, a: Any, b: Any) -> None:
        pass

    def _check_deques(self, a: collections.deque, b: collections.deque) -> None:
        if a.maxlen != b.maxlen:
            self.apart("deques of different greatest lengths")

    def _check_factories(self, a: collections.defaultdict, b: collections.defaultdict) -> None:
        if self.unify(a.default_factory, b.default_factory) is not a.default_factory:
            self.apart("defaultdicts with different factories")

    def _check_functions(self, a: types.FunctionType, b: types.FunctionType) -> None:
        if a.__code__ is not b.__code__:
            self.apart("different functions")
        self.memo[(id(a), id(b))] = a  # one that refers to itself
        for x, y in zip(a.__closure__ or (), b.__closure__ or ()):
            self.unify(x, y)
        for x, y in ((a.__defaults__ or (), b.__defaults__ or ()),
                     (tuple((a.__kwdefaults__ or {}).values()), tuple((b.__kwdefaults__ or {}).values()))):
            if self.tuples(x, y) is not x:
                self.apart("functions with different defaults")

    def _merge_contents(self, obj: Any, ca: Any, cb: Any) -> None:
        merged = kind_of_object(type(obj)).merged(self, obj, ca, cb)
        if merged is not ca:
            self.contents[id(obj)] = merged
            self.touched[id(obj)] = obj

    def items(self, a: tuple, b: tuple) -> tuple:
        items = tuple(self.each(a, b))
        return a if all(x is y for x, y in zip(items, a)) else items

    def entries(self, a: tuple, b: tuple) -> tuple:
        if len(a) != len(b):
            self.apart("dicts with different keys")
        start = self._alike(tuple(map(_VALUE, a)), tuple(map(_VALUE, b)))
        if not all(map(operator.is_, map(_KEY, a[:start]), map(_KEY, b))):
            start = 0
        out, same = list(a[:start]), True
        for (ka, va), (kb, vb) in zip(a[start:], b[start:]):
            if not same_key(ka, kb):
                self.apart("dicts with different keys")
            self.path.append(f"[{ka!r}]")
            merged = self.unify(va, vb)
            self.path.pop()
            same = same and merged is va
            out.append((ka, merged))
        return a if same else tuple(out)

    def attributes(self, a: dict | None, b: dict | None) -> dict | None:
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


_U = ObjectUnifier
# What is asked of an object that both states know, by its class,
_SAME = by_class({
    torch.Tensor: _U._same_tensor, tuple: _U._same_tuple, str: _U._same_plain, int: _U._same_plain,
    float: _U._same_plain, bytes: _U._same_plain_holder, frozenset: _U._same_plain_holder,
    RtScalar: _U._same_plain, type(None): _U._same_plain, types.MethodType: _U._same_method,
    types.BuiltinFunctionType: _U._same_native_method, functools.partial: _U._same_partial,
    StandIn: _U._same_stand_in, RtList: _U._same_list,
    BaseException: _U._same_exception, type: _U._same_space, types.ModuleType: _U._same_space,
    **dict.fromkeys(VIEWS, _U._same_view)}, _U._same_holder)
# and what must agree in two objects made since, beside their contents.
_CHECKED = by_class({
    collections.deque: _U._check_deques, collections.defaultdict: _U._check_factories,
    types.FunctionType: _U._check_functions}, _U._check_nothing)
