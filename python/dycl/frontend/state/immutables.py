# SPDX-License-Identifier: Apache-2.0
"""Kinds of objects that hold the same as long as they live: values, functions, methods, exceptions; and our own, which
say themselves what changes in them."""

from __future__ import annotations

import collections
import functools
import gc
import types
from typing import Any, Iterable

import torch

from ...calling.nodes import Each, Raising
from ...calling.templates import Template
from ...objects import closed_over
from ..values.equality import IMMUTABLE, same_key
from ..values.list import RtList
from ..values.scalar import RtScalar
from ..values.stand_in import StandIn
from ..values.tensor import is_handle
from .contents import Cell, ContextCell
from .kind import Kind, kind_for

# ---- values: nothing of them changes but attributes of instances of subclasses ---------------------------


@kind_for(int, float)
class Plain(Kind):
    leaf = True

    def same(self, union: Any, obj: Any) -> Any:
        if id(obj) in union.diff and obj not in union.contents:
            union.merge_contents(obj, *union.sides(obj, obj))
        return obj


class Constants(Kind):
    by_parts = True

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        if not same_key(a, b):
            union.apart("different " + type(a).__name__ + "s", of_strings=type(a).__name__ == "str")
        return a


kind_for(*(cls for cls in IMMUTABLE if cls not in (torch.Size, frozenset)))(Constants)


@kind_for(type(None), str)
class Texts(Constants, Plain):
    pass


@kind_for(bytes)
class Bytes(Constants):
    def same(self, union: Any, obj: Any) -> Any:
        return Plain.same(self, union, obj) if id(obj) in union.diff else union.holder(obj)  # type: ignore[arg-type]


@kind_for(frozenset)
class FrozenSets(Bytes):
    def inside(self, obj: Any) -> Iterable:
        return obj

    def reached(self, walk: Any, obj: Any) -> None:
        walk.items(obj)


@kind_for(tuple)
class Tuples(Kind):
    by_parts = True

    def inside(self, obj: Any) -> Iterable:
        return obj

    def reached(self, walk: Any, obj: Any) -> None:
        walk.items(obj)

    def same(self, union: Any, obj: Any) -> Any:
        if id(obj) in union.diff:
            return Plain.same(self, union, obj)  # type: ignore[arg-type]
        if obj not in union.asked:  # tuples in tuples: more ways to them than there are of them
            items = union.each(obj, obj)
            same = all(x is y for x, y in zip(items, obj))
            union.asked[obj] = obj if same else tuple.__new__(type(obj), items)
        return union.asked[obj]

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        return union.tuples(a, b)

    def mark_of_contents(self, likeness: Any, obj: Any, state: Any, depth: int) -> Any:
        return likeness.sequence(obj, obj, state, depth) if type(obj) is tuple else type(obj)


@kind_for(torch.Size)
class Sizes(Tuples):
    unified = Constants.unified


@kind_for(torch.Tensor)
class Tensors(Kind):
    numbered = False  # its storage counts

    def reached(self, walk: Any, obj: Any) -> None:
        walk.tensor(obj)

    def same(self, union: Any, obj: Any) -> Any:
        if is_handle(obj):
            union.cell(obj._dycl.cell)
        return obj


@kind_for(type, types.ModuleType)
class Spaces(Kind):
    """Classes and modules of Python."""

    leaf = True

    def put_attributes(self, obj: Any, values: dict) -> None:
        if not isinstance(obj, type):
            return super().put_attributes(obj, values)
        now = dict(vars(obj))  # they can only be set one by one
        for name in now:
            if name not in values:
                type.__delattr__(obj, name)
        for name, value in values.items():
            if name not in now or now[name] is not value:
                type.__setattr__(obj, name, value)

    def inside(self, obj: Any) -> Iterable:
        return ()

    def same(self, union: Any, obj: Any) -> Any:
        if id(obj) in union.diff:
            a, b = (contents[0] for contents in union.sides(obj, obj))
            if a.keys() != b.keys() or any(a[name] is not b[name] for name in a):
                union.apart(f"{obj.__name__} has different attributes")
        return obj


# ---- what refers to others for good ----------------------------------------------------------------------


class Fixed(Kind):
    """They hold the same objects as long as they live."""

    by_parts = True

    def inside(self, obj: Any) -> Iterable:
        return self.fixed(obj)

    def flattened(self, flattener: Any, obj: Any, path: str, each: Each) -> Template:
        return flattener.code(obj, path)


@kind_for(slice)
class Slices(Fixed):
    def fixed(self, obj: Any) -> Iterable:
        return obj.start, obj.stop, obj.step

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        return slice(*map(union.unify, self.fixed(a), self.fixed(b)))


@kind_for(types.FunctionType)
class Functions(Fixed):
    by_parts = False

    def fixed(self, obj: Any) -> Iterable:
        return *(obj.__closure__ or ()), *self._defaults(obj)

    def inside(self, obj: Any) -> Iterable:
        return *closed_over(obj), *self._defaults(obj)

    def _defaults(self, obj: Any) -> tuple:
        return *(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()

    def reached(self, walk: Any, obj: Any) -> None:
        walk.work.extend(self.fixed(obj))

    def same_beside(self, union: Any, obj: Any) -> bool:
        for part in self.fixed(obj):
            union.same_object(part)
        return id(obj) in union.diff

    def check_alike(self, union: Any, a: Any, b: Any) -> None:
        if a.__code__ is not b.__code__:
            union.apart("different functions")
        union.memo[a, b] = a  # one that refers to itself
        for x, y in zip(a.__closure__ or (), b.__closure__ or ()):
            union.unify(x, y)
        for x, y in ((a.__defaults__ or (), b.__defaults__ or ()),
                     (tuple((a.__kwdefaults__ or {}).values()), tuple((b.__kwdefaults__ or {}).values()))):
            if union.tuples(x, y) is not x:
                union.apart("functions with different defaults")


@kind_for(types.MethodType)
class Methods(Fixed):
    def fixed(self, obj: Any) -> Iterable:
        return (obj.__self__,)

    def reached(self, walk: Any, obj: Any) -> None:
        walk.work.append(obj.__self__)

    def same(self, union: Any, obj: Any) -> Any:
        union.same_object(obj.__self__)
        return obj

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        if a.__func__ is not b.__func__:
            union.apart("different methods")
        return types.MethodType(a.__func__, union.unify(a.__self__, b.__self__))


@kind_for(types.BuiltinFunctionType)
class NativeMethods(Methods):
    def same(self, union: Any, obj: Any) -> Any:
        if isinstance(obj.__self__, types.ModuleType):
            return union.holder(obj)
        union.behind(obj.__self__)
        return obj

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        if a.__name__ != b.__name__:
            union.apart("different methods")
        owner = union.unify(a.__self__, b.__self__)
        if type(owner) is not type(a.__self__):  # a list of run-time length
            union.apart("a method of a list of different lengths")
        return a if owner is a.__self__ else getattr(owner, a.__name__)


@kind_for(functools.partial)
class Partials(Fixed):
    def fixed(self, obj: Any) -> Iterable:
        return obj.func, *obj.args, *obj.keywords.values()

    def same(self, union: Any, obj: Any) -> Any:
        if any(union.same_object(part) is not part for part in self.fixed(obj)):
            union.apart("a partial with different arguments")
        return obj

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        if list(a.keywords) != list(b.keywords) or type(a) is not functools.partial:
            union.apart("partials with different keywords")
        return functools.partial(union.unify(a.func, b.func), *union.tuples(a.args, b.args),
                                 **{k: union.unify(v, b.keywords[k]) for k, v in a.keywords.items()})


@kind_for(BaseException)
class Exceptions(Kind):
    by_parts = True

    def fixed(self, obj: Any) -> Iterable:
        return obj.args

    def reached(self, walk: Any, obj: Any) -> None:
        walk.work.extend(obj.args)
        walk.contents(obj)

    def same(self, union: Any, obj: Any) -> Any:
        if obj not in union.asked:
            union.asked[obj] = None
            if any(union.unify(part, part) is not part for part in obj.args):
                union.apart("an exception with different arguments")
        return union.holder(obj)

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        if union.tuples(a.args, b.args) is not a.args or self._reasons_differ(union, a, b):
            union.apart("different exceptions")
        if union.m.is_born(a) and union.m.is_born(b):
            return union.born_objects(a, b)
        if vars(a) or vars(b):
            union.apart("different exceptions")
        return a

    def _reasons_differ(self, union: Any, a: BaseException, b: BaseException) -> bool:
        return a.__suppress_context__ != b.__suppress_context__ or any(
            x is not y and (x is None or y is None or union.unify(x, y) is not x)
            for x, y in ((a.__cause__, b.__cause__), (a.__context__, b.__context__)))

    def node(self, obj: Any, each: Each) -> Template:
        return Raising.of(obj, each)


VIEWS = {type({}.keys()), type({}.values()), type({}.items()), type(collections.OrderedDict().keys()),
         type(collections.OrderedDict().values()), type(collections.OrderedDict().items())}


def view_of(view: Any) -> tuple[Any, str] | None:
    """The dict behind keys(), values() or items(), and which of them; None for other objects."""
    if type(view) not in VIEWS:
        return None
    found = next((x for x in gc.get_referents(view) if isinstance(x, dict)), None)
    return None if found is None else (found, type(view).__name__.rsplit("_", 1)[-1])


@kind_for(types.MappingProxyType)
class Proxies(Kind):
    closed = True

    def flattened(self, flattener: Any, obj: Any, path: str, each: Each) -> Template:
        return flattener.code(obj, path)


@kind_for(*VIEWS)
class Views(Proxies):
    def same(self, union: Any, obj: Any) -> Any:
        behind = view_of(obj)
        if behind is None:
            return union.holder(obj)
        union.behind(behind[0])
        return obj


# ---- our own ---------------------------------------------------------------------------------------------


@kind_for(Cell, ContextCell)
class Own(Kind):
    """They say themselves what their contents are."""

    def contents(self, obj: Any) -> Any:
        return obj.dycl_contents()

    def install(self, obj: Any, contents: Any) -> None:
        obj.dycl_install(contents)

    def held(self, contents: Any) -> tuple:
        return (contents if isinstance(contents, tuple) else (contents,),)

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> Any:
        return obj.dycl_merged(union, a, b)


@kind_for(StandIn)
class StandIns(Kind):
    def reached(self, walk: Any, obj: Any) -> None:
        walk.work.extend(obj.held())
        walk.holder(obj)

    def same(self, union: Any, obj: Any) -> Any:
        for part in obj.held():
            union.same_object(part)
        return union.holder(obj)

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        found = union.tuples(a, b) if isinstance(a, tuple) else a.unified(union, b)
        return union.born_objects(a, b) if found is NotImplemented else found


class OwnStandIns(Own, StandIns):
    pass


@kind_for(RtScalar)
class Numbers(Plain):
    unified = StandIns.unified


@kind_for(RtList)
class RunTimeLists(OwnStandIns):
    def reached(self, walk: Any, obj: Any) -> None:
        walk.found.update(walk.contents_in(obj)[2])

    def same(self, union: Any, obj: Any) -> Any:
        if obj in union.replaced:
            return union.holder(obj)
        return union.run_time_list(obj, obj) if id(obj) in union.diff and obj not in union.contents else obj
