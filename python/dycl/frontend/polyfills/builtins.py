# SPDX-License-Identifier: Apache-2.0
"""Builtins that must be able to fork, written in Python and interpreted by the machine.

When an argument is a generator, or holds values known only at run time, the machine calls these in
place of the native functions. They are ordinary code: any `if` here may split the state.
Here: containers, sorting and reductions, comparison, objects; polyfills/itertools.py, polyfills/numbers.py and
polyfills/torch.py are the rest.
"""

from __future__ import annotations

import heapq
import operator
from collections import deque

from .registry import on_request, substitutes

MISSING = object()


def call_entry(fn, args, kwargs):
    return fn(*args, **kwargs)


def call_with_choices(fn, args, kwargs, choices, combinations, complete):
    """Begins with attributes that hold one of a few known values, by numbers known only at run time. Only combinations
    that calls leave behind are told apart."""
    choose(choices, combinations, complete)
    return fn(*args, **kwargs)


def choose(choices, combinations, complete):
    """By recursion: these are no loops of the program."""
    if not combinations:
        raise ValueError("attributes of the model hold values together that no call leaves behind; compile it again")
    combination = combinations[0]
    if complete and len(combinations) == 1 or chosen(choices, combination, 0):
        for k in range(len(choices)):
            put_choice(choices[k][1], choices[k][2], choices[k][3][combination[k]])
    else:
        choose(choices, combinations[1:], complete)


def chosen(choices, combination, k):
    return k == len(choices) or choices[k][0] == combination[k] and chosen(choices, combination, k + 1)


def put_choice(owner, name, value):
    """Answered by the machine."""
    raise NotImplementedError


def close_generator(generator):
    try:
        generator.throw(GeneratorExit)
    except (GeneratorExit, StopIteration):
        return None
    raise RuntimeError("generator ignored GeneratorExit")


def close_dropped(generators):
    """What Python does with generators that nothing refers to: it says what they raise, and goes on."""
    for generator in generators:
        try:
            generator.close()
        except Exception:
            pass


# ---- operator's getters ------------------------------------------------------------------------


@substitutes(operator.itemgetter.__call__, when=on_request)
def items_got(obj, keys):
    return obj[keys[0]] if len(keys) == 1 else tuple([obj[key] for key in keys])


@substitutes(operator.attrgetter.__call__, when=on_request)
def attributes_got(obj, paths):
    return attribute_at(obj, paths[0]) if len(paths) == 1 else tuple([attribute_at(obj, path) for path in paths])


def attribute_at(obj, path):
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj


@substitutes(operator.methodcaller.__call__, when=on_request)
def method_called(obj, held, named):
    return getattr(obj, held[0])(*held[1:], **named)


# ---- containers from iterables -----------------------------------------------------------------


def announced(iterable):
    """What list and tuple go over. Answered by the machine: where a method of the program says how long it will be,
    `announced_by`."""
    raise NotImplementedError


def announced_by(iterable, length, hint):
    """As PyObject_LengthHint asks `__len__`, else `__length_hint__`, once there is an iterator."""
    iterator = iter(iterable)
    if length is not None:
        try:
            length_by(length)
            return iterator
        except TypeError:
            pass
    if hint is not None:
        check_hint(hint)
    return iterator


def check_hint(ask):
    try:
        hint = ask()
    except TypeError:
        return
    if hint is NotImplemented:
        return
    if not isinstance(hint, int):
        raise TypeError(f"__length_hint__ must be an integer, not {type(hint).__name__}")
    if hint < 0:
        raise ValueError("__length_hint__() should return >= 0")


def make_list(iterable):
    return [x for x in announced(iterable)]


def make_tuple(iterable):
    return tuple([x for x in announced(iterable)])


def tuple_subclass(new, cls, iterable):
    return new(cls, [x for x in announced(iterable)])


def unpacked(iterable, count):
    """The items of `a, b = iterable`, which takes no more than one too many."""
    found = []
    for x in iterable:
        found.append(x)
        if len(found) > count:
            break
    return tuple(found)


def spread(iterable):
    """The items of `a, *b = iterable`."""
    return tuple([x for x in iterable])


def make_set(iterable):
    found = set()
    for x in iterable:
        found.add(x)
    return found


def make_dict(iterable, extra):
    found = {}
    for key, value in iterable:
        found[key] = value
    found.update(extra)
    return found


def make_mapping(source, extra):
    found = {}
    for key in source.keys():
        found[key] = source[key]
    found.update(extra)
    return found


def update_mapping(target, source, extra):
    for key in source.keys():
        target[key] = source[key]
    for key in extra:
        target[key] = extra[key]


def extend_list(target, iterable):
    for x in announced(iterable):
        target.append(x)
    return target


def assign_slice(target, key, iterable):
    target[key] = [x for x in iterable]


def assign_run_time_slice(target, key, value):
    """`value` is a list of a length known at run time: the target becomes one."""
    start, stop, _ = key.indices(len(target))
    after = target[max(start, stop):]
    del target[start:]
    target.extend(value)
    target.extend(after)


def repeat_list(sequence, count):
    found = []
    for _ in range(count):
        for x in sequence:
            found.append(x)
    return found


def extend_set(target, iterable):
    for x in iterable:
        target.add(x)
    return target


def update_dict(target, iterable):
    for key, value in iterable:
        target[key] = value


def stepped(items, start, stop, step):
    """items[start:stop:step] of a list whose length is known at run time."""
    if step == 0:
        raise ValueError("slice step cannot be zero")
    n = len(items)
    low, high = (0, n) if step > 0 else (-1, n - 1)
    k = (low if step > 0 else high) if start is None else _clamped(start, low, high, n)
    end = (high if step > 0 else low) if stop is None else _clamped(stop, low, high, n)
    found = []
    while k < end if step > 0 else k > end:
        found.append(items[k])
        k = k + step
    return tuple(found) if isinstance(items, tuple) else found


def _clamped(bound, low, high, n):
    return max(bound + n, low) if bound < 0 else min(bound, high)


# ---- reductions and sorting --------------------------------------------------------------------


def any_(iterable):
    for x in iterable:
        if x:
            return True
    return False


def all_(iterable):
    for x in iterable:
        if not x:
            return False
    return True


def sum_(iterable, start=0):
    total = start
    for x in iterable:
        total = total + x
    return total


def sum_compensated(iterable, start=0):
    """`sum` since 3.12: what rounding lost is carried along beside a total of floats. CPython compares magnitudes to
    find it (Neumaier); the subtractions here (Knuth) give the same number without a decision."""
    total, owed = start, 0.0
    for x in iterable:
        if type(total) is float and type(x) is float:
            previous, total = total, total + x
            part = total - previous
            owed = owed - ((previous - (total - part)) + (x - part))
        elif type(total) is float and isinstance(x, int):
            total = total + x
        else:
            total = _settled(total, owed) + x
            owed = 0.0
    return _settled(total, owed)


def _settled(total, owed):
    # `owed` is infinite or no number only where `total` is, which must stay what it is:
    # a finite number does not change that.
    return total - min(_GREATEST, max(-_GREATEST, owed)) if type(total) is float else total


_GREATEST = 1.7976931348623157e308


def max_(items, key, default):
    return extreme(items, key, default, "max")


def min_(items, key, default):
    return extreme(items, key, default, "min")


def extreme(items, key, default, name):
    best = MISSING
    for x in items:
        if best is MISSING:
            best = x
            best_key = key(x) if key is not None else x
        else:
            x_key = key(x) if key is not None else x
            if (x_key > best_key) if name == "max" else (x_key < best_key):
                best = x
                best_key = x_key
    if best is MISSING:
        if default is MISSING:
            raise ValueError(f"{name}() arg is an empty sequence")
        return default
    return best


def sorted_(iterable, key=None, reverse=False):
    rest = list(iterable)
    iterable = None
    keys = rest[:] if key is None else [key(x) for x in rest]
    return inserted(rest, keys, reverse)


def sort_list(target, key=None, reverse=False):
    keys = target[:] if key is None else [key(x) for x in target]
    if not all([isinstance(k, (int, float)) for k in keys]):
        target[:] = inserted(target[:], keys, reverse)
        return
    rest = target[:]
    target[:] = []  # as Python leaves it meanwhile; numbers do not fail to compare
    target[:] = inserted(rest, keys, reverse)


@substitutes(list.sort, when=on_request)
def sort_growing(target, *, key=None, reverse=False):
    """list.sort of a list whose length is known at run time."""
    made = sorted(target, key=key, reverse=reverse)
    target.clear()
    target.extend(made)


@substitutes(list.reverse, when=on_request)
def reverse_growing(target):
    made = target[::-1]
    target.clear()
    target.extend(made)


@substitutes(heapq.nlargest)
def nlargest(n, iterable, key=None):
    """As Python documents it; what is equal in two elements is compared no further."""
    return sorted(iterable, key=key, reverse=True)[:max(n, 0)]


@substitutes(heapq.nsmallest)
def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:max(n, 0)]


def inserted(rest, waiting, reverse):
    """Makes the comparisons that list.sort makes of fewer than 64 elements, in its order: what is no number (NaN) ends
    up where Python leaves it. A run at the beginning, rising or falling, is found first; what follows is inserted into
    it by bisection. What is inserted is no longer held in its old place, so that states in which objects have other
    places than in
    others can
    meet (apart.Permuted)."""
    items = []
    keys = []
    run = "none"
    for _ in range(len(rest)):
        x = rest.pop() if reverse else rest.pop(0)
        k = waiting.pop() if reverse else waiting.pop(0)
        if run == "mixed" or run == "falling" and not k < keys[0] or run == "rising" and k < keys[len(keys) - 1]:
            run = "mixed"
            insert_by_bisection(items, keys, x, k, 0, len(keys))
        elif run == "falling" or run == "none" and len(keys) == 1 and k < keys[0]:
            run = "falling"
            items.insert(0, x)
            keys.insert(0, k)
        else:
            run = "rising" if len(keys) == 1 else run
            items.append(x)
            keys.append(k)
    if reverse:
        items.reverse()
    return items


def insert_by_bisection(items, keys, x, k, low, high):
    """By recursion: this is no loop of the program."""
    if low == high:
        items.insert(low, x)
        keys.insert(low, k)
        return
    middle = (low + high) // 2
    if k < keys[middle]:
        insert_by_bisection(items, keys, x, k, low, middle)
    else:
        insert_by_bisection(items, keys, x, k, middle + 1, high)


def inserted_from_the_end(rest, waiting, reverse):
    """As `inserted`, where any stable way to sort gives the same, and for a list whose length is known at run time:
    fewer states to keep apart."""
    items = []
    keys = []
    for _ in range(len(rest)):
        x = rest.pop(0)
        k = waiting.pop(0)
        position = len(items)
        while position > 0:
            before = keys[position - 1]
            if (before < k) if reverse else (k < before):
                position = position - 1
            else:
                break
        items.insert(position, x)
        keys.insert(position, k)
    return items


def item_at(container, place):
    """container[place] of an object that says itself which number it is."""
    return container[type(place).__index__(place)]


def length_by(ask):
    """What __len__ of a class of the user's gives, as len() and bool() take it."""
    length = operator.index(ask())
    if length < 0:
        raise ValueError("__len__() should return >= 0")
    return length


def truth_by(ask):
    """What __bool__ of a class of the user's gives."""
    truth = ask()
    if type(truth) is not bool:
        raise TypeError(f"__bool__ should return bool, returned {type(truth).__name__}")
    return truth


def int_by(ask, owner):
    """What __int__ of a class of the user's gives."""
    number = ask()
    if not isinstance(number, int):
        raise TypeError(f"__int__ returned non-int (type {type(number).__name__})")
    return int(number)


def float_by(ask, owner):
    number = ask()
    if not isinstance(number, float):
        raise TypeError(f"{owner}.__float__ returned non-float (type {type(number).__name__})")
    return number


def attribute_by(get, arguments, instead, obj, name):
    """An attribute that a property or descriptor gives, of a class with __getattr__."""
    try:
        return get(*arguments)
    except AttributeError:
        return instead(obj, name)


def range_of(*bounds):
    """range() of such objects."""
    return range(*[type(x).__index__(x) if hasattr(type(x), "__index__") else x for x in bounds])


def next_default(iterator, default):
    try:
        return next(iterator)
    except StopIteration:
        return default


# ---- membership and comparison -----------------------------------------------------------------


def is_in(container, item):
    for x in container:
        if same(x, item) or x == item:
            return True
    return False


def same(a, b):
    """Identity, as containers use it: known for tensors and objects; numbers are compared by value."""
    return a is b


def not_in(container, item):
    for x in container:
        if same(x, item) or x == item:
            return False
    return True


def contains_yes(method, container, item):
    return bool(method(container, item))


def contains_not(method, container, item):
    return not method(container, item)


@substitutes(list.index, when=on_request)
def list_index(items, item, start=0, stop=None):
    n = len(items)
    stop = n if stop is None else min(stop, n) if stop >= 0 else stop + n
    for i in range(start if start >= 0 else max(start + n, 0), stop):
        if same(items[i], item) or items[i] == item:
            return i
    raise ValueError(f"{item!r} is not in list")


@substitutes(tuple.index, when=on_request)
def tuple_index(items, item, start=0, stop=None):
    try:
        return list_index(items, item, start, stop)
    except ValueError:
        raise ValueError("tuple.index(x): x not in tuple") from None


@substitutes(deque.index, when=on_request)
def deque_index(items, item, start=0, stop=None):
    try:
        return list_index(items, item, start, stop)
    except ValueError:
        raise ValueError(f"{item!r} is not in deque") from None


@substitutes(list.count, tuple.count, deque.count, when=on_request)
def list_count(items, item):
    n = 0
    for x in items:
        if same(x, item) or x == item:
            n = n + 1
    return n


@substitutes(list.remove, when=on_request)
def list_remove(items, item):
    for i in range(len(items)):
        if same(items[i], item) or items[i] == item:
            del items[i]
            return
    raise ValueError("list.remove(x): x not in list")


@substitutes(deque.remove, when=on_request)
def deque_remove(items, item):
    for i in range(len(items)):
        if same(items[i], item) or items[i] == item:
            del items[i]
            return
    raise ValueError(f"{item!r} is not in deque")


def equal_sequences(a, b):
    if len(a) != len(b):
        return False
    for i in range(len(a)):
        if not same(a[i], b[i]) and a[i] != b[i]:
            return False
    return True


def unequal_sequences(a, b):
    return not equal_sequences(a, b)


def equal_mappings(a, b):
    if len(a) != len(b):
        return False
    for key in a:
        if key not in b or not same(a[key], b[key]) and a[key] != b[key]:
            return False
    return True


def unequal_mappings(a, b):
    return not equal_mappings(a, b)


def order_sequences(a, b, op):
    for i in range(min(len(a), len(b))):
        if not same(a[i], b[i]) and a[i] != b[i]:
            if op == "lt":
                return a[i] < b[i]
            if op == "le":
                return a[i] <= b[i]
            if op == "gt":
                return a[i] > b[i]
            return a[i] >= b[i]
    if op == "lt":
        return len(a) < len(b)
    if op == "le":
        return len(a) <= len(b)
    if op == "gt":
        return len(a) > len(b)
    return len(a) >= len(b)


def not_equal(a, b):
    return not (a == b)


def by_native_methods(a, b, of_a, of_b, sign):
    """Answered by the machine: what the methods of native classes say that the two derive from (Counter(...) ==
    {...})."""
    return NotImplemented


def compared(a, b, forward, reflected, sign):
    unasked = reflected is None
    # a derived class is asked first
    first = reflected is not None and type(b) is not type(a) and isinstance(b, type(a))
    if first:
        result = reflected(b, a)
        if result is not NotImplemented:
            return result
    if forward is not None:
        result = forward(a, b)
        if result is not NotImplemented:
            return result
    if reflected is not None and not first:
        result = reflected(b, a)
        if result is not NotImplemented:
            return result
    result = by_native_methods(a, b, forward is None, unasked, sign)
    if result is not NotImplemented:
        return result
    if sign == "eq":
        return a is b
    if sign == "ne":
        return a is not b
    raise TypeError(f"'{sign}' not supported between instances of '{type(a).__name__}' and '{type(b).__name__}'")


def reflected(a, b, forward, backward, sign="+"):
    if backward is not None and type(b) is not type(a) and isinstance(b, type(a)) and overridden(a, backward):
        result = backward(b, a)
        if result is not NotImplemented:
            return result
        backward = None
    if type(a) is type(b):
        backward = None
    if forward is not None:
        result = forward(a, b)
        if result is not NotImplemented:
            return result
    if backward is not None:
        result = backward(b, a)
        if result is not NotImplemented:
            return result
    raise TypeError(f"unsupported operand type(s) for {sign}: '{type(a).__name__}' and '{type(b).__name__}'")


def overridden(a, method):
    """Whether the class of b has another reflected operator than that of a, from which it derives."""
    return getattr(type(a), method.__name__, None) is not method


def augmented(a, b, method, op):
    result = method(a, b)
    if result is NotImplemented:
        return plain_binary(op, a, b)
    return result


def plain_binary(op, a, b):
    """Answered by the machine: the operator without its in-place form."""
    raise NotImplementedError


# ---- objects -----------------------------------------------------------------------------------


def construct(cls, new, init, args, kwargs):
    obj = new(cls, *args, **kwargs)
    if isinstance(obj, cls):
        if init is not None:
            told = init(obj, *args, **kwargs)
            if told is not None:
                raise TypeError(f"__init__() should return None, not '{type(told).__name__}'")
        elif type(obj).__init__ is not object.__init__ and not isinstance(obj, tuple):
            cls.__init__(obj, *args, **kwargs)
    return obj


def settle(made):
    """Answered by the machine: an object in an arena is made."""
    raise NotImplementedError


def construct_row(made, init, args, kwargs):
    if init is not None:
        told = init(made, *args, **kwargs)
        if told is not None:
            raise TypeError(f"__init__() should return None, not '{type(told).__name__}'")
    elif args or kwargs:
        raise TypeError(f"{type(made).__name__}() takes no arguments")
    settle(made)
    return made


def cached_property(function, obj, name):
    value = function(obj)
    obj.__dict__[name] = value
    return value


def getattr_default(obj, name, default):
    try:
        return getattr(obj, name)
    except AttributeError:
        return default


def has_attribute(obj, name):
    try:
        getattr(obj, name)
    except AttributeError:
        return False
    return True


def default_entry(table, key):
    value = table.default_factory()
    table[key] = value
    return value


def setdefault_raw(table, key, default=None):
    """dict.setdefault of a class that has its own ways to look up and to store."""
    if dict.__contains__(table, key):
        return dict.__getitem__(table, key)
    dict.__setitem__(table, key, default)
    return default


def setdefault(table, key, default=None):
    if key in table:
        return table[key]
    table[key] = default
    return default


@substitutes(format)
def formatted(value, spec="", /):
    if not isinstance(spec, str):
        raise TypeError(f"format() argument 2 must be str, not {type(spec).__name__}")
    return f"{value:{spec}}"


def join_text(separator, iterable):
    return separator.join([x for x in iterable])


class Progress:
    """What a progress bar of tqdm means to a program without a screen: what it iterates over."""

    def __init__(self, iterable=None, *args, **kwargs):
        self.iterable = iterable

    def __iter__(self):
        return iter(self.iterable)

    def __len__(self):
        return len(self.iterable)

    def __bool__(self):
        return self.iterable is None or len(self.iterable) > 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    def __getattr__(self, name):
        return progress_method(name)


def progress_method(name):
    """Answered by the machine."""
    raise NotImplementedError


def shown(*args, **kwargs):
    return None
