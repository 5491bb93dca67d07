# SPDX-License-Identifier: Apache-2.0
"""Builtins that must be able to fork, written in Python and interpreted by the machine.

When an argument is a generator, or holds values known only at run time, the machine calls these in
place of the native functions. They are ordinary code: any `if` here may split the state.
"""

import math
import operator

import torch

_MISSING = object()


def call_entry(fn, args, kwargs):
    return fn(*args, **kwargs)


def call_with_choices(fn, args, kwargs, choices, combinations, complete):
    """Begins with attributes that hold one of a few known values, by numbers known only at run time. Only combinations that
    calls leave behind are told apart."""
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


# ---- containers from iterables -----------------------------------------------------------


def make_list(iterable):
    return [x for x in iterable]


def make_tuple(iterable):
    return tuple([x for x in iterable])


def tuple_subclass(new, cls, iterable):
    return new(cls, [x for x in iterable])


def make_size(iterable):
    return torch.Size([x for x in iterable])


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
    for x in iterable:
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


def drawn():
    return torch.rand((), dtype=torch.float64).item()


def drawn_between(low=0.0, high=1.0):
    return low + (high - low) * torch.rand((), dtype=torch.float64).item()


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


def reversed_copy(items):
    k = len(items) - 1
    found = []
    while k >= 0:
        found.append(items[k])
        k = k - 1
    return found


def split_by(x, sizes, dim):
    total = 0
    for n in sizes:
        total = total + n
    if total != x.shape[dim]:
        raise RuntimeError("split_with_sizes expects split_sizes to sum exactly to the extent of the dim")
    found = []
    start = 0
    for n in sizes:
        found.append(x.narrow(dim, start, n))
        start = start + n
    return tuple(found)


def resize_antialiased(x, size, cubic, align_corners):
    """The resizing that filters: rows and columns are sums with weights of their own, so two products of matrices."""
    rows = antialiased_weights(x.shape[2], size[0], cubic, align_corners, x)
    columns = antialiased_weights(x.shape[3], size[1], cubic, align_corners, x)
    return torch.matmul(torch.matmul(rows, x), columns.transpose(0, 1))


def antialiased_weights(extent, wanted, cubic, align_corners, like):
    if wanted <= 0:
        raise RuntimeError("Input and output sizes should be greater than 0")
    if align_corners:
        scale = (extent - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        scale = extent / wanted
    width = max(scale, 1.0)
    centre = (torch.arange(wanted, device=like.device).to(like.dtype) + 0.5) * scale
    place = torch.arange(extent, device=like.device).to(like.dtype) + 0.5
    t = ((place.unsqueeze(0) - centre.unsqueeze(1)) / width).abs()
    if cubic:
        near = (1.5 * t - 2.5) * t * t + 1.0
        far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
        weights = torch.where(t < 1.0, near, torch.where(t < 2.0, far, torch.zeros_like(t)))
    else:
        weights = (1.0 - t).clamp(min=0.0)
    return weights / weights.sum(1, keepdim=True)


def pad_list(items, batch_first=False, padding_value=0.0, padding_side="right"):
    longest = 0
    for x in items:
        if x.shape[0] > longest:
            longest = x.shape[0]
    rows = []
    for x in items:
        padding = torch.full((longest - x.shape[0], *x.shape[1:]), padding_value, dtype=x.dtype, device=x.device)
        rows.append(torch.cat([x, padding] if padding_side == "right" else [padding, x]))
    found = torch.stack(rows)
    return found if batch_first else found.transpose(0, 1)


# ---- reductions -----------------------------------------------------------------------------


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
    """`sum` since 3.12: what rounding lost is carried along beside a total of floats. CPython compares magnitudes to find it
    (Neumaier); the subtractions here (Knuth) give the same number without a decision."""
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
    # `owed` is infinite or no number only where `total` is, which must stay what it is: a finite number does not change that.
    return total - min(_GREATEST, max(-_GREATEST, owed)) if type(total) is float else total


_GREATEST = 1.7976931348623157e308


def max_(items, key, default):
    best = _MISSING
    for x in items:
        if best is _MISSING:
            best = x
            best_key = key(x) if key is not None else x
        else:
            x_key = key(x) if key is not None else x
            if x_key > best_key:
                best = x
                best_key = x_key
    if best is _MISSING:
        if default is _MISSING:
            raise ValueError("max() arg is an empty sequence")
        return default
    return best


def min_(items, key, default):
    best = _MISSING
    for x in items:
        if best is _MISSING:
            best = x
            best_key = key(x) if key is not None else x
        else:
            x_key = key(x) if key is not None else x
            if x_key < best_key:
                best = x
                best_key = x_key
    if best is _MISSING:
        if default is _MISSING:
            raise ValueError("min() arg is an empty sequence")
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


def sort_growing(target, *, key=None, reverse=False):
    """list.sort of a list whose length is known at run time."""
    made = sorted(target, key=key, reverse=reverse)
    target.clear()
    target.extend(made)


def reverse_growing(target):
    made = target[::-1]
    target.clear()
    target.extend(made)


def inserted(rest, waiting, reverse):
    """Stable, by binary-free insertion: few elements, each comparison may split the state. What is inserted is no longer held in its
    old place, so that states in which objects have other places than in others can meet (merge.Permuted)."""
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


def reduce_(function, iterable, initial=_MISSING):
    it = iter(iterable)
    if initial is _MISSING:
        try:
            value = next(it)
        except StopIteration:
            raise TypeError("reduce() of empty iterable with no initial value") from None
    else:
        value = initial
    for x in it:
        value = function(value, x)
    return value


# ---- lazy iterators ---------------------------------------------------------------------------


def enumerate_(iterable, start=0):
    n = start
    for x in iterable:
        yield n, x
        n = n + 1


def zip_(*iterables, strict=False):
    iterators = [iter(i) for i in iterables]
    while iterators:
        row = []
        for it in iterators:
            try:
                row.append(next(it))
            except StopIteration:
                if strict:
                    check_lengths(iterators, len(row))
                return
        yield tuple(row)


def check_lengths(iterators, first):
    """zip(strict=True), once the iterator `first` is at its end: all the others must be."""
    if first > 0:
        raise ValueError(f"zip() argument {first + 1} is shorter than argument{'s 1-' if first > 1 else ' '}{first}") from None
    for k in range(1, len(iterators)):
        try:
            next(iterators[k])
        except StopIteration:
            continue
        raise ValueError(f"zip() argument {k + 1} is longer than argument{'s 1-' if k > 1 else ' '}{k}")


def map_(function, *iterables):
    for args in zip(*iterables):
        yield function(*args)


def filter_(function, iterable):
    for x in iterable:
        if function is None:
            if x:
                yield x
        elif function(x):
            yield x


def reversed_(sequence):
    i = len(sequence) - 1
    while i >= 0:
        yield sequence[i]
        i = i - 1


def iterate_by_index(obj):
    i = 0
    while True:
        try:
            x = obj[i]
        except IndexError:
            return
        yield x
        i = i + 1


def iterate_array(array):
    for i in range(len(array)):
        yield array[i]


def chain_(*iterables):
    for it in iterables:
        for x in it:
            yield x


def chain_from_iterable(iterables):
    for it in iterables:
        for x in it:
            yield x


def takewhile_(predicate, iterable):
    for x in iterable:
        if not predicate(x):
            return
        yield x


def accumulate_(iterable, func=None, *, initial=None):
    total = initial
    first = initial is None
    if not first:
        yield total
    for x in iterable:
        if first:
            total = x
            first = False
        else:
            total = total + x if func is None else func(total, x)
        yield total


def dropwhile_(predicate, iterable):
    dropping = True
    for x in iterable:
        if dropping and predicate(x):
            continue
        dropping = False
        yield x


def filterfalse_(function, iterable):
    for x in iterable:
        if not (x if function is None else function(x)):
            yield x


class Compared:
    """What functools.cmp_to_key makes of an element."""

    def __init__(self, compare, obj):
        self.compare = compare
        self.obj = obj

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0

    def __le__(self, other):
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.compare(self.obj, other.obj) >= 0

    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0

    __hash__ = None


def cmp_to_key(mycmp):
    def key(obj):
        return Compared(mycmp, obj)

    return key


def starmap_(function, iterable):
    for args in iterable:
        yield function(*args)


def islice_(iterable, *bounds):
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    start = 0 if start is None else start
    step = 1 if step is None else step
    if stop is not None and stop <= start:
        return
    n = 0
    for x in iterable:
        if n >= start and (n - start) % step == 0:
            yield x
        n = n + 1
        if stop is not None and n >= stop:
            return


def pairwise_(iterable):
    before = _MISSING
    for x in iterable:
        if before is not _MISSING:
            yield before, x
        before = x


def batched_(iterable, n):
    if n < 1:
        raise ValueError("n must be at least one")
    return _batches(iterable, n)


def _batches(iterable, n):
    batch = ()
    for x in iterable:
        batch = (*batch, x)
        if len(batch) == n:
            yield batch
            batch = ()
    if batch:
        yield batch


def zip_longest_(*iterables, fillvalue=None):
    rows = [list(i) for i in iterables]
    for k in range(max([len(r) for r in rows], default=0)):
        yield tuple([r[k] if k < len(r) else fillvalue for r in rows])


def compress_(data, selectors):
    for x, chosen in zip(data, selectors):
        if chosen:
            yield x


def groupby_(iterable, key=None):
    """Each group is complete when it is handed out (itertools' groups share the source instead)."""
    group = []
    of = _MISSING
    for x in iterable:
        k = x if key is None else key(x)
        if of is _MISSING or k == of:
            group.append(x)
        else:
            yield of, iter(group)
            group = [x]
        of = k
    if of is not _MISSING:
        yield of, iter(group)


def item_at(container, place):
    """container[place] of an object that says itself which number it is."""
    return container[type(place).__index__(place)]


def number_at(place, kind):
    """int(place) or float(place) of such an object."""
    return kind(type(place).__index__(place))


def range_of(*bounds):
    """range() of such objects."""
    return range(*[type(x).__index__(x) if hasattr(type(x), "__index__") else x for x in bounds])


def range_by(start, stop, step):
    """range() with a step known only at run time."""
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    while (start < stop) if step > 0 else (start > stop):
        yield start
        start = start + step


def round_to(x, digits):
    """round(x, digits) of a float: decimal rounding, exact, with the error of the product taken into account."""
    if math.isnan(x) or math.isinf(x):
        return x
    scale = 10.0**digits
    product = x * scale
    if abs(product) >= 4503599627370496.0:
        raise OverflowError("round() to digits of so large a number is not supported in a compiled program")
    wide = 134217729.0 * x
    high = wide - (wide - x)
    low = x - high
    wide = 134217729.0 * scale
    scale_high = wide - (wide - scale)
    scale_low = scale - scale_high
    error = ((high * scale_high - product) + high * scale_low + low * scale_high) + low * scale_low
    whole = math.floor(product)
    rest = product - whole
    if rest > 0.5 or rest == 0.5 and (error > 0 or error == 0 and whole % 2 == 1):
        whole = whole + 1
    return math.copysign(whole / scale, x)


def is_integer(x):
    """Of a float; what is left of an infinity or a NaN is no zero."""
    return x % 1.0 == 0.0


def bit_length(x):
    rest = abs(int(x))
    count = 0
    while rest > 0:
        rest = rest >> 1
        count = count + 1
    return count


def itself(x):
    return x


NUMBER_METHODS = {("float", "is_integer"): is_integer, ("int", "bit_length"): bit_length, ("float", "conjugate"): itself}


def gcd(*numbers):
    found = 0
    for n in numbers:
        a = found
        b = abs(operator.index(n))
        while b != 0:
            a, b = b, a % b
        found = a
    return found


def lcm(*numbers):
    found = 1
    for n in numbers:
        b = abs(operator.index(n))
        if found == 0 or b == 0:
            found = 0
        else:
            found = found // gcd(found, b) * b
    return found


def prod(iterable, *, start=1):
    total = start
    for x in iterable:
        total = total * x
    return total


def logarithm(x, base):
    return math.log(x) / math.log(base)


def radians(x):
    return x * (math.pi / 180.0)


def degrees(x):
    return x * (180.0 / math.pi)


def iter_sentinel(function, sentinel):
    while True:
        x = function()
        if x == sentinel:
            return
        yield x


def next_default(iterator, default):
    try:
        return next(iterator)
    except StopIteration:
        return default


# ---- membership and comparison ------------------------------------------------------------------


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


def list_index(items, item, start=0, stop=None):
    n = len(items) if stop is None else stop
    for i in range(start, n):
        if same(items[i], item) or items[i] == item:
            return i
    raise ValueError(f"{item!r} is not in list")


def list_count(items, item):
    n = 0
    for x in items:
        if same(x, item) or x == item:
            n = n + 1
    return n


def list_remove(items, item):
    for i in range(len(items)):
        if same(items[i], item) or items[i] == item:
            del items[i]
            return
    raise ValueError("list.remove(x): x not in list")


def equal_sequences(a, b):
    if len(a) != len(b):
        return False
    for i in range(len(a)):
        if not same(a[i], b[i]) and a[i] != b[i]:
            return False
    return True


def unequal_sequences(a, b):
    return not equal_sequences(a, b)


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


def compared(a, b, forward, reflected, sign):
    first = reflected is not None and type(b) is not type(a) and isinstance(b, type(a))  # a derived class is asked first
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
    if sign == "eq":
        return a is b
    if sign == "ne":
        return a is not b
    raise TypeError(f"'{sign}' not supported between instances of '{type(a).__name__}' and '{type(b).__name__}'")


def reflected(a, b, forward, backward, sign="+"):
    if backward is not None and type(b) is not type(a) and isinstance(b, type(a)) and overridden(a, b, backward):
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


def overridden(a, b, method):
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


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(b - a)
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


# ---- torch's own control flow, written out ---------------------------------------------------------


def cond(pred, true_fn, false_fn, operands=()):
    if pred:
        return true_fn(*operands)
    return false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    state = tuple(carried_inputs)
    while cond_fn(*state):
        state = body_fn(*state)
        if not isinstance(state, tuple):
            state = (state,)
    return state


def map_over(f, xs, *args):
    return torch.stack([f(x, *args) for x in xs])


# ---- objects ------------------------------------------------------------------------------------


def construct(cls, new, init, args, kwargs):
    obj = new(cls, *args, **kwargs)
    if isinstance(obj, cls):
        if init is not None:
            init(obj, *args, **kwargs)
        elif type(obj).__init__ is not object.__init__ and not isinstance(obj, tuple):
            cls.__init__(obj, *args, **kwargs)
    return obj


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


def join_text(separator, iterable):
    return separator.join([x for x in iterable])


def autograd_apply(cls, context, args, kwargs):
    return cls.forward(context, *args, **kwargs)


class RtSize(tuple):
    """A torch.Size with extents known only at run time."""

    def numel(self):
        n = 1
        for extent in self:
            n = n * extent
        return n


def encode_padded(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
    """nn.TransformerEncoder without gradients: eager computes what is not padded alone, as nested tensors, and gives 0 where it is,
    if padding comes last in every sequence."""
    hidden = torch.nn.functional._canonical_mask(mask=src_key_padding_mask, mask_name="src_key_padding_mask", other_type=None,
                                                 other_name="mask", target_type=src.dtype)
    kept = hidden.logical_not()
    output = src
    for layer in self.layers:
        output = layer(output, src_mask=None, is_causal=False, src_key_padding_mask=hidden)
    places = torch.arange(kept.shape[1], device=kept.device)
    aligned = (kept == (places < kept.sum(1, keepdim=True))).all()
    output = output.masked_fill((aligned & kept.logical_not()).unsqueeze(2), 0.0)
    return output if self.norm is None else self.norm(output)


def renorm_rows(weight, indices, max_norm, norm_type):
    """torch.embedding_renorm_: the rows asked for that are longer than max_norm are shortened, in place."""
    asked = torch.zeros(weight.shape[0], dtype=torch.bool, device=weight.device).index_fill(0, indices.reshape(-1).long(), True)
    norms = torch.linalg.vector_norm(weight, norm_type, dim=1)
    scales = torch.where(asked & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
    weight.mul_(scales.unsqueeze(1))
    return weight


class NullContext:
    """What torch.no_grad() and its like mean to a program that never differentiates."""

    def __init__(self, value=None):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *exc):
        return False

    def __call__(self, function):
        return function

    def clone(self):
        return self


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


# ---- functools ---------------------------------------------------------------------------------


def lru_cache(maxsize=128, typed=False):
    if callable(maxsize) and isinstance(typed, bool):
        return remembering(maxsize, 128, False)
    return lambda function: remembering(function, maxsize, typed)


def call_remembered(function, args, kwargs):
    """A function under lru_cache from outside: remembered.py finds this frame."""
    return keep_remembered(function(*args, **kwargs))


def keep_remembered(result):
    """Answered by the machine."""
    raise NotImplementedError


def remembering(function, maxsize, typed):
    """A function made while the model runs that is called once for equal arguments; the one used last is forgotten last."""
    known = {}

    def call(*args, **kwargs):
        if maxsize is not None and maxsize <= 0:
            return function(*args, **kwargs)
        key = args if not kwargs else (args, "keywords", tuple(kwargs.items()))
        if typed:
            key = (key, tuple([type(a) for a in args]), tuple([type(a) for a in kwargs.values()]))
        elif len(args) == 1 and not kwargs and type(args[0]) in (int, str):
            key = args[0]
        if key in known:
            value = known.pop(key)
        else:
            value = function(*args, **kwargs)
            if maxsize is not None and len(known) >= maxsize and key not in known:
                del known[next(iter(known))]
        known[key] = value
        return value

    call.__name__, call.__qualname__, call.__doc__ = function.__name__, function.__qualname__, function.__doc__
    call.__wrapped__ = function
    call.cache_clear = known.clear
    return call
