# SPDX-License-Identifier: Apache-2.0
"""Containers and iteration: len, range, iter, list, dict, set, sorted, min, itertools; tables of run-time keys."""

from __future__ import annotations

import collections
import itertools
import sys
import types

from ...calling import places
from ...objects import held
from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..polyfills import functools as functools_polyfills
from ..polyfills import itertools as iterator_polyfills
from ..polyfills import keyed_sets, keyed_tables, set_order
from ..polyfills.range import RtRange
from ..semantics import identity, interpretation, iteration, keys, lookup, operators, subscripts
from ..semantics.registry import handles
from ..state import iterators
from ..state.immutables import VIEWS
from ..state.signals import PUSHED
from ..values.list import RtList
from ..values.scalar import kind_of
from ..values.stand_in import deciding, index_of, is_instance, stand_in_of, type_of
from . import lru_cache

interpretation.shares(places)


@handles(len)
def _len(m, s, args, kwargs):
    (x,) = args
    own = stand_in_of(x)
    found = own.length(m) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    user = lookup.python_method(x, "__len__")
    if user is not None:
        return m.call(s, polyfills.length_by, (types.MethodType(user, x),), {})
    if isinstance(x, (list, dict, set)):
        m.note_load(x, "*")
    return len(x)


@handles(range)
def _range(m, s, args, kwargs):
    if any(map(subscripts.asks_index, args)):
        return m.call(s, polyfills.range_of, args, kwargs)
    args = tuple(index_of(m, a) for a in args)
    if all(stand_in_of(a) is None for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    if stand_in_of(step) is not None:
        return m.call(s, iterator_polyfills.range_by, (start, stop, step), {})
    return RtRange(start, stop, step)


@handles(iter)
def _iter(m, s, args, kwargs):
    if len(args) == 2:
        return m.call(s, iterator_polyfills.iter_sentinel, args, {})
    return iteration.get_iter(m, s, args[0])


@handles(next)
def _next(m, s, args, kwargs):
    if len(args) == 2:
        return m.call(s, polyfills.next_default, args, {})
    return iteration.next_of(m, s, args[0], None)


def _from_iterable(native, polyfill):
    def build(m, s, args, kwargs):
        if kwargs:
            return NotImplemented
        if not args:
            return _as_new(m, native())
        source, own = args[0], stand_in_of(args[0])
        if type(source) is native and native is tuple:
            return source
        found = own.rebuilt_as(m, s, native, kwargs) if own is not None else NotImplemented
        if found is not NotImplemented:
            return found
        items = iteration.materialise(m, source)
        if items is None or native is set and any(map(keys.at_run_time, items)):
            return m.call(s, polyfill, (source if items is None else tuple(items),), {})
        return _as_new(m, native(items if own is not None else source))  # the order of a set of a set's is another

    return build


def _as_new(m, made):
    """Of the program's own making, unless it is a tuple, which cannot change."""
    if type(made) is tuple:
        return made
    return keys.made(m, made) if type(made) is set else m.new(made)


handles(list)(_from_iterable(list, polyfills.make_list))
handles(tuple)(_from_iterable(tuple, polyfills.make_tuple))
handles(set)(_from_iterable(set, polyfills.make_set))


@handles(polyfills.announced)
def _announced(m, s, args, kwargs):
    (source,) = args
    asked = [lookup.python_method(source, name) for name in ("__len__", "__length_hint__")]
    if stand_in_of(source) is not None or asked == [None, None]:
        return source
    return m.call(s, polyfills.announced_by,
                  (source, *(None if user is None else types.MethodType(user, source) for user in asked)), {})


@handles(collections.deque)
def _deque(m, s, args, kwargs):
    given = {**dict(zip(("iterable", "maxlen"), args)), **kwargs}
    items = iteration.materialise(m, given.get("iterable", ()))
    if (items is None and not isinstance(given["iterable"], RtList) and len(args) < 3
            and given.keys() <= {"iterable", "maxlen"}):
        return m.call(s, iterator_polyfills.make_deque, (given["iterable"], given.get("maxlen")), {})
    if items is None:
        return NotImplemented
    return m.new(collections.deque(*(items if k == 0 else a for k, a in enumerate(args)), **kwargs))


def _dict(cls):
    def build(m, s, args, kwargs):
        if not args:
            return keys.made(m, cls(**kwargs))
        source = args[0]
        if isinstance(source, dict):
            m.note_load(source, "*")
            return keys.made(m, cls(source, **kwargs))
        own = stand_in_of(source)
        found = own.rebuilt_as(m, s, cls, kwargs) if own is not None else NotImplemented
        if found is not NotImplemented:
            return found
        if hasattr(type(source), "keys"):
            if cls is not dict:
                raise CaptureRefusal(f"{cls.__name__} of a {type(source).__name__}",
                                     "make a dict of it first", kind="builtin")
            return m.call(s, polyfills.make_mapping, (source, kwargs), {})
        items = iteration.materialise(m, source)
        if items is None or cls is dict and (keys.wanted(m) or any(
                keys.at_run_time(x[0]) for x in items if isinstance(x, (tuple, list)) and len(x) > 0)):
            if cls is dict:
                return m.call(s, polyfills.make_dict, (source if items is None else tuple(items), kwargs), {})
            return NotImplemented
        return keys.made(m, cls(items, **kwargs))

    return build


handles(dict)(_dict(dict))
handles(collections.OrderedDict)(_dict(collections.OrderedDict))


@handles(collections.defaultdict)
def _defaultdict(m, s, args, kwargs):
    return keys.made(m, collections.defaultdict(*args, **kwargs), args[0] if args else None)


@handles(collections.Counter)
def _counter(m, s, args, kwargs):
    if keys.wanted(m):
        table = keys.as_table(m, collections.Counter())
        return m.call(s, keyed_tables.count, (table, args[0] if args else None, m.new(dict(kwargs))), {})
    made = keys.made(m, collections.Counter())
    result = m.call(s, collections.Counter.__init__, (made, *args), kwargs)
    if result is PUSHED:
        s.frames[-1].result = (made,)
        return PUSHED
    return made


# ---- tables: dicts and sets with keys known only at run time -------------------------------------


@handles(keyed_tables.same_key)
def _same_key(m, s, args, kwargs):
    own = deciding(*args)
    found = own.match_key(m, s, *args) if own is not None else NotImplemented
    return keys.equal(m, *args) if found is NotImplemented else found


for _fn, _answer in ((keyed_tables.check_key, keys.check), (keyed_tables.new_table, keys.new_like),
                     (keyed_tables.view, keys.new_view), (keyed_tables.elements, keys.elements),
                     (keyed_sets.small_integers, keys.small_integers), (keyed_sets.order_of, keys.order_of),
                     (keyed_sets.history_of, keys.history_of), (keyed_sets.want_histories, keys.want_histories),
                     (keyed_sets.are_integers, keys.are_integers),
                     (set_order.run_time, keys.as_run_time), (set_order.growing, keys.growing),
                     (functools_polyfills.keep_remembered, lru_cache.keep)):
    handles(_fn)(lambda m, s, args, kwargs, _answer=_answer: _answer(m, *args))


@handles(keyed_tables.refuse)
def _refuse_table(m, s, args, kwargs):
    raise CaptureRefusal(args[0], "use lists, or sorted(...) of a set", kind="escape.hash")


@handles(itertools.tee)
def _tee(m, s, args, kwargs):
    """Of a sequence: iterators that know nothing of each other."""
    count = args[1] if len(args) == 2 else 2
    if not args or kwargs or type(count) is not int or count < 0:
        return NotImplemented
    if not is_instance(m, args[0], (list, tuple, range)):
        return m.call(s, iterator_polyfills.tee_, args, {})
    return tuple(iteration.get_iter(m, s, args[0]) for _ in range(count))


def _of_lists(fn, one):
    """`one`: its other arguments are numbers."""
    def call(m, s, args, kwargs):
        sources = args[:1] if one else args
        if all(isinstance(x, (list, tuple, str, range, dict, set, frozenset)) for x in sources):
            return NotImplemented
        return m.call(s, iterator_polyfills.of_lists, (fn, sources, args[len(sources):], kwargs), {})

    return call


for _fn in (itertools.product, itertools.permutations, itertools.combinations, itertools.combinations_with_replacement):
    handles(_fn)(_of_lists(_fn, _fn is not itertools.product))


@handles(reversed)
def _reversed(m, s, args, kwargs):
    x = args[0]
    user = lookup.python_method(x, "__reversed__")
    if user is not None:
        return m.call(s, user, (x,), {})
    if isinstance(x, (list, dict)):
        m.note_load(x, "*")
    if isinstance(x, list):
        return m.new(iterators.LiveIter(x, "reversed", range(list.__len__(x) - 1, -1, -1)))
    if isinstance(x, (tuple, range, str)):
        return m.new(iterators.SeqIter(list(reversed(x))))
    if isinstance(x, dict) or type(x) in VIEWS:
        return m.new(iterators.SeqIter(list(reversed(x))))
    return m.call(s, iterator_polyfills.reversed_, (x,), {})


def _in_any_order(polyfill):
    return lambda m, s, args, kwargs: m.call(s, polyfill, tuple(_unordered(m, a, None) for a in args), kwargs)


handles(any)(_in_any_order(polyfills.any_))
handles(all)(_in_any_order(polyfills.all_))


@handles(sum)
def _sum(m, s, args, kwargs):
    args = (_unordered(m, args[0], None), *args[1:])
    items = args[0]
    if (isinstance(items, (list, tuple)) and len(args) == 1 and not kwargs
            and all(type(x) in (int, float, bool) for x in held(items))):
        return sum(items)
    return m.call(s, polyfills.sum_ if sys.version_info < (3, 12) else polyfills.sum_compensated, args, kwargs)


def _extreme(native, polyfill):
    def call(m, s, args, kwargs):
        key, default = kwargs.get("key"), kwargs.get("default", polyfills.MISSING)
        items = _unordered(m, args[0], key) if len(args) == 1 else args
        if key is None and isinstance(items, (list, tuple, dict, set, range)) and not m.has_runtime(items) and all(
                type(x) in (int, float, str, bool, tuple) for x in items):
            return native(*(args if len(args) > 1 else (items,)), **kwargs)
        found = m.scalars.extreme(native.__name__, *args) if key is None and len(args) == 2 else NotImplemented
        return m.call(s, polyfill, (items, key, default), {}) if found is NotImplemented else found

    return call


handles(max)(_extreme(max, polyfills.max_))
handles(min)(_extreme(min, polyfills.min_))


def _unordered(m, source, key):
    """The elements of a set of run time, where their order does not matter: ints, or texts and tuples that differ."""
    own = stand_in_of(source)
    found = own.in_any_order(m) if own is not None and key is None else NotImplemented
    return source if found is NotImplemented else found


@handles(sorted)
def _sorted(m, s, args, kwargs):
    args = (_unordered(m, args[0], kwargs.get("key")), *args[1:])
    items = iteration.materialise(m, args[0])
    if items is not None and kwargs.get("key") is None and not m.has_runtime(items) and all(
            type(x) in (int, float, str, bool, tuple) for x in items):
        return m.new(sorted(items, **kwargs))
    return m.call(s, polyfills.sorted_, (args[0] if items is None else tuple(items), *args[1:]), kwargs)


@handles(polyfills.inserted)
def _inserted(m, s, args, kwargs):
    items, order, _ = args
    few = len(order) <= 3 and all(kind_of(k) == "float" for k in order) if type(order) is list else True
    if few or all(_is_in_order(m, k) for k in order):
        return m.call(s, polyfills.inserted_from_the_end, args, {})
    return NotImplemented


def _is_in_order(m, key):
    """Values of its class are always in order: none of them is no number, and nobody counts comparisons."""
    return all(_is_in_order(m, k) for k in key) if type(key) is tuple else type_of(m, key) in (int, bool, str)


@handles(polyfills.same)
def _same(m, s, args, kwargs):
    own = deciding(*args)
    found = own.is_element(m, *args) if own is not None else NotImplemented
    return identity.same_object(m, *args) if found is NotImplemented else found


@handles(polyfills.put_choice)
def _put_choice(m, s, args, kwargs):
    """The value that an attribute has when the program starts: neither read nor written by it."""
    owner, name, value = args
    m.heap.touch(owner)
    places.write(owner, name, value)
    return None


handles(polyfills.by_native_methods)(lambda m, s, args, kwargs: operators.by_native_methods(m, s, *args))
handles(polyfills.plain_binary)(lambda m, s, args, kwargs: operators.binary(m, s, *args, False))

_named: dict[str, type] = {}  # one class for all states that ask for it


def _is_plain(x) -> bool:
    return all(map(_is_plain, x)) if type(x) in (list, tuple) else x is None or type(x) in (str, int, float, bool)


@handles(collections.namedtuple)
def _namedtuple(m, s, args, kwargs):
    if not _is_plain((*args, *kwargs.values())):
        return NotImplemented
    given = {"module": s.frames[-1].globals.get("__name__"), **kwargs}
    key = repr((args, given))
    if key not in _named:
        _named[key] = collections.namedtuple(*args, **given)
    return _named[key]
