# SPDX-License-Identifier: Apache-2.0
"""Programs written to be misunderstood: attributes that are not there yet, faults that the program catches,
exceptions that know where they came from, descriptors."""

import functools
import math

import pytest
import torch
from torch import nn

from tests.frontend.support.harness import I, T, check, refused

V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]
EDGES = [*V, (T(float("nan"), 0, 0),), (T(float("inf"), 0, 0),), (T(-0.0, 1, 1),), (T(-2.5, 3.5, 0.5),)]
INDICES = [(I(0, 1),), (I(3, 1),), (I(-3, 0),), (I(-4, 0),), (I(7, 2),), (I(-1, -1),)]


# ---- attributes that are not there at first --------------------------------------------------


class ClassCounter(nn.Module):
    count = 0

    def forward(self, x):
        if x.sum() > 0:
            self.count += 1
        return self.count


class ClassCounterAlways(nn.Module):
    count = 0

    def forward(self, x):
        self.count += 1
        return x * self.count if x[0] > 0 else x


class Cached(nn.Module):
    def forward(self, x):
        if not hasattr(self, "cache"):
            self.cache = x * 2
        return self.cache + x


class LastPositive(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            self.last = x
        if hasattr(self, "last"):
            return self.last + x
        return x


class WrittenOnly(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            self.last = x
        return x * 2


class CachedProperty(nn.Module):
    @functools.cached_property
    def scale(self):
        return 3

    def forward(self, x):
        return x * self.scale if x.sum() > 0 else x


class Counted(nn.Module):
    def forward(self, x):
        try:
            self.calls += 1
        except AttributeError:
            self.calls = 1
        return x * self.calls if x.sum() > 0 else x


@pytest.mark.parametrize("make", [ClassCounter, ClassCounterAlways, Cached, LastPositive, WrittenOnly, CachedProperty, Counted])
def test_an_attribute_that_is_not_there_at_first(make):
    check(make, V)


# ---- descriptors ------------------------------------------------------------------------------


class Doubling:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value * 2)


class Described(nn.Module):
    value = Doubling()

    def __init__(self):
        super().__init__()
        self._value = 0.5

    def forward(self, x):
        if x[0] > 0:
            self.value = x[0].item()
        elif x[0] < -2:
            self.value = self.value + 1.0
        return self.value * x


def test_a_descriptor_in_python_that_sets():
    check(Described, V)


# ---- exceptions ---------------------------------------------------------------------------------


def contexts(x):
    try:
        try:
            if x[0] > 0:
                raise KeyError("a")
            if x[0] < 0:
                raise IndexError("b")
        except KeyError as e:
            raise RuntimeError("c") from e
        except IndexError:
            raise ValueError("d")
    except RuntimeError as e:
        return "from", type(e.__cause__).__name__, type(e.__context__).__name__
    except ValueError as e:
        return "during", e.__cause__, type(e.__context__).__name__
    return "none"


def raised_again_elsewhere(x):
    def again():
        raise

    try:
        try:
            if x[0] > 0:
                raise KeyError("a")
            if x[0] < 0:
                raise IndexError("b")
        except LookupError:
            again()
    except KeyError:
        return "key"
    except IndexError:
        return "index"
    return "none"


def conversions(x):
    a = x[0].item()
    out = []
    for convert in (int, round, math.floor, math.ceil, math.trunc):
        try:
            out.append(convert(a))
        except ValueError:
            out.append("nan")
        except OverflowError:
            out.append("inf")
    for function in (math.sqrt, math.log, math.acos):
        try:
            out.append(function(a))
        except ValueError:
            out.append("domain")
    return out


def powers(x):
    a = x[0].item()
    out = []
    try:
        out.append(a ** -1)
    except ZeroDivisionError:
        out.append("zero")
    try:
        out.append(math.exp(a * 300))
    except OverflowError:
        out.append("overflow")
    try:
        out.append(1 << int(a))
    except ValueError:
        out.append("negative")
    return out


@pytest.mark.parametrize("program", [contexts, raised_again_elsewhere, powers])
def test_exceptions(program):
    check(program, V)


def test_faults_of_numbers_are_caught():
    check(conversions, EDGES)


def caught_index(i):
    x = torch.arange(6.0).view(3, 2)
    try:
        return x[i[0]]
    except IndexError:
        return "none"


def caught_in_a_caller(i):
    def pick():
        return torch.arange(6.0).index_select(0, i)

    try:
        return pick()
    except Exception:
        return "none"


def caught_empty(x):
    try:
        return x[x > 2].max()
    except RuntimeError:
        return "none"


def test_faults_of_tensors_that_would_be_caught():
    refused(caught_index, INDICES, "inside `try`")
    refused(caught_in_a_caller, INDICES, "inside `try`")
    refused(caught_empty, V, "inside `try`")


def other_handlers(i):
    x = torch.arange(6.0).view(3, 2)
    try:
        with torch.no_grad():
            y = x[i.clamp(0, 2)]
    except KeyError:
        return "none"
    finally:
        print("done")
    return y.max() if i[0] > 0 else y


def test_handlers_of_other_exceptions():
    check(other_handlers, INDICES)


# ---- containers ------------------------------------------------------------------------------------


def slice_assigned(x):
    found = []
    while x.sum() > 0:
        found.append(int(x.sum()))
        x = x - 1
    found[0:1] = [9, 9]
    return found


def test_a_slice_assigned_in_a_list_that_grew():
    check(slice_assigned, [(T(2, 2),), (T(-1, -1),), (T(3, 1),), (T(4, 3),)])


def named_results(x):
    picked = x.max(0) if x[0] > 0 else x.min(0)
    return picked, picked.values, picked.indices


def test_named_results_of_torch_meet():
    check(named_results, V)


# ---- containers that change while they are iterated, or that native objects hold ----------------------


def items_change(x):
    d = {"a": 1, "b": 2, "c": 3}
    for _, v in d.items():
        if x[0] > 0:
            d["b"] += v
            d["c"] = d["c"] * 2
    return d


def values_change(x):
    d, total = {"a": x, "b": x + 1}, 0
    for v in d.values():
        d["b"] = d["b"] * 2 if x[0] > 0 else d["b"]
        total = total + v
    return total


def dict_grows(x):
    d = {"a": 1, "b": 2}
    for _ in d:
        if x[0] > 0:
            d["z"] = 1
    return d


def set_grows(x):
    s = {1, 2}
    for _ in s:
        if x[0] > 0:
            s.add(9)
    return s


def reversed_changes(x):
    values, seen = [1, 2, 3], []
    for v in reversed(values):
        seen.append(v)
        if x[0] > 0:
            values[0] = values[0] + v
    return values, seen


def views_held(x):
    d = {"a": 1}
    keys, values, items = d.keys(), d.values(), d.items()
    if x[0] > 0:
        d["b"] = 2
    return list(keys), list(values), list(items), len(keys), "b" in keys


def methods_held(x):
    d, values = {"a": 1}, [1]
    get, append, pop = d.get, values.append, values.pop
    if x[0] > 0:
        d["b"] = 2
        append(5)
    if x[1] > 0:
        d["a"] = 9
    return get("b", 0), get("a"), pop()


def iterator_held(x):
    d = {"a": 1, "b": 2}
    it = iter(d.items())
    first = next(it)
    if x[0] > 0:
        d["b"] = 5
    return first, next(it), next(it, "end"), next(it, "end")


@pytest.mark.parametrize("program", [items_change, values_change, dict_grows, set_grows, reversed_changes, views_held,
                                     methods_held, iterator_held])
def test_containers_seen_as_they_are_now(program):
    check(program, V)


# ---- classes and properties ------------------------------------------------------------------------------


class Shared:
    count = 0

    @classmethod
    def bump(cls):
        cls.count += 1


def class_written_in_a_call(x):
    if x[2] > 0:
        Shared.bump()
    return Shared.count


def test_a_class_that_a_call_changes():
    import dycl

    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(class_written_in_a_call, V[0])
    assert caught.value.kind == "class-attribute"
    assert Shared.count == 0


def deleted_property(x):
    class Holder:
        def __init__(self):
            self.log = []

        @property
        def value(self):
            return self.log[-1]

        @value.deleter
        def value(self):
            self.log.append("deleted")

    holder = Holder()
    holder.log.append("made")
    if x[0] > 0:
        del holder.value
    return holder.value, holder.log


def test_a_property_that_is_deleted():
    check(deleted_property, V)


def through_numpy(x):
    array = x.numpy() * 2
    back = torch.from_numpy(array)
    return back * 2 if x.sum() > 0 else back


def test_a_run_time_array_becomes_a_tensor():
    check(through_numpy, V)


# ---- containers of the model that are read as wholes and changed: lists are states, others are refused ---------


def _remembering(initial, body):
    class Remembering(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = initial()

        def forward(self, x):
            result = body(self.kept, x)
            return x * 2 + result if x.sum() > 0 else x - result

    return Remembering


def _then(result, change):
    change()
    return result


READS = {
    "truth of a dict": (dict, lambda c, x: _then(0 if c else 1, lambda: c.update(k=1))),
    "sum": (lambda: [0], lambda c, x: _then(sum(c), lambda: c.append(1))),
    "concatenation": (lambda: [0], lambda c, x: _then(len(c + [1]), lambda: c.append(1))),
    "pop": (lambda: list(range(9)), lambda c, x: c.pop()),
    "insert": (list, lambda c, x: _then(1, lambda: c.insert(0, 1))),
    "an iterator": (lambda: iter([1, 2, 3, 4]), lambda c, x: next(c)),
}


@pytest.mark.parametrize("name", READS)
def test_containers_read_and_changed(name):
    import dycl

    if isinstance(READS[name][0](), list):
        check(_remembering(*READS[name]), V + V)
        return
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(_remembering(*READS[name])().eval(), V[0])
    assert caught.value.kind in ("state.type", "iterator")


def test_an_element_of_a_list_compared_and_changed():
    check(_remembering(lambda: [0], lambda c, x: _then(1 if c == [0] else 2, lambda: c.__setitem__(0, 5 if x[0] > 0 else 0))), V)


def test_containers_that_are_only_added_to():
    check(_remembering(list, lambda c, x: _then(1, lambda: c.append(x) if x[0] > 0 else c.extend([x, 1]))), V)
