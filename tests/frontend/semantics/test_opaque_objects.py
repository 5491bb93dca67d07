# SPDX-License-Identifier: Apache-2.0
"""Contents that native code keeps: what one arm of a branch changes there, the other must not see."""

import collections
import decimal
import functools
import hashlib
import io
import itertools
import operator
import os
import queue
import struct
import threading
import types
import weakref

import pytest
import torch

import dycl

UP, DOWN = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([-1.0, -2.0, -3.0])


def scaled(t, k=1):
    return t * k


def flagged():
    pass


class Items(list):
    pass


class Distinct(set):
    pass


class Record(dict):
    def __init__(self, **entries):
        super().__init__(**entries)
        self.__dict__ = self


def partial_keywords(x):
    f = functools.partial(scaled) if x.sum() > 0 else functools.partial(scaled, k=3)
    y = x + 1
    return f(y)


def deque_bound(x):
    d = collections.deque([1, 2], maxlen=2) if x.sum() > 0 else collections.deque([1, 2], maxlen=3)
    y = x + 1
    d.append(3)
    return y, list(d)


def default_factory(x):
    d = collections.defaultdict(int) if x.sum() > 0 else collections.defaultdict(lambda: 5)
    y = x + 1
    return y * d["a"]


def function_attribute(x):
    def f():
        pass

    f.mode = 1 if x.sum() > 0 else 2
    if x[0] > 5:
        f.mode = 7
    y = x + 1
    return y * f.mode


def outside_function_attribute(x):
    if x.sum() > 0:
        flagged.mode = 1
    else:
        flagged.mode = 2
    y = x + 1
    return y * flagged.mode


def list_attribute(x):
    items = Items([1])
    if x.sum() > 0:
        items.tag = 3
    else:
        items.tag = 4
    y = x + 1
    return y * items.tag


def set_attribute(x):
    items = Distinct([1])
    if x.sum() > 0:
        items.tag = 3
    else:
        items.tag = 4
    y = x + 1
    return y * items.tag


def equal_elements_of_different_types(x):
    s = {1} if x.sum() > 0 else {True}
    d = {1: "a"} if x.sum() > 0 else {1.0: "a"}
    f = frozenset([1]) if x.sum() > 0 else frozenset([1.0])
    y = x + 1
    return y, list(s), list(d), list(f)


def order_of_a_set(x):
    s = {0, 8} if x.sum() > 0 else {8, 0}
    y = x + 1
    return y, list(s)


def empty_ranges(x):
    r = range(0) if x.sum() > 0 else range(2, 2)
    y = x + 1
    return y, r.start


def count_moved(x):
    numbers = itertools.count(3)
    if x.sum() > 0:
        next(numbers)
    y = x + 1
    return y * next(numbers)


def cycle_moved(x):
    numbers = itertools.cycle([1, 2, 3])
    if x.sum() > 0:
        next(numbers)
    y = x + 1
    return y * next(numbers)


def product_moved(x):
    pairs = itertools.product([1, 2], [3, 4])
    if x.sum() > 0:
        next(pairs)
    y = x + 1
    return y, list(pairs)


def getters(x):
    get = operator.itemgetter(0) if x.sum() > 0 else operator.itemgetter(1)
    call = operator.methodcaller("mul", 2) if x.sum() > 0 else operator.methodcaller("mul", 3)
    y = x + 1
    return get([y, y * 5]), call(y)


def references(x):
    r = weakref.ref(scaled)
    if x.sum() > 0:
        r = weakref.ref(flagged)
    y = x + 1
    return y, r() is flagged


def decimals(x):
    d = decimal.Decimal(1) if x.sum() > 0 else decimal.Decimal("1.0")
    y = x + 1
    return y, str(d)


def a_view_of_a_dict(x):
    d = {"a": 1}
    view = types.MappingProxyType(d)
    if x.sum() > 0:
        d["a"] = 5
    y = x + 1
    return y * view["a"]


def a_dict_that_is_its_attributes(x):
    d = Record(a=1)
    if x.sum() > 0:
        d.b = 2
    else:
        d["b"] = 3
    y = x + 1
    return y * d.b * d["b"]


def text_written_at_once(x):
    text = io.StringIO()
    text.write("abc")
    text.write("d")
    return x * len(text.getvalue()) if x.sum() > 0 else x


class Switches(torch.nn.Module):
    """training is an attribute like any other, until a module asks for it."""

    def __init__(self):
        super().__init__()
        self.drop, self.linear = torch.nn.Dropout(0.5), torch.nn.Linear(3, 3)

    def forward(self, x):
        if x.sum() > 0:
            self.eval()
        else:
            self.linear.train(True)
        return self.drop(x), self.linear.training


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


FOLLOWED = [partial_keywords, deque_bound, default_factory, function_attribute, outside_function_attribute,
            list_attribute, set_attribute, equal_elements_of_different_types, order_of_a_set, empty_ranges, count_moved,
            cycle_moved, product_moved, getters, references, decimals, a_view_of_a_dict,
            a_dict_that_is_its_attributes, text_written_at_once]


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("example", [UP, DOWN], ids=["up", "down"])
def test_each_path_has_its_own(f, example):
    program = dycl.compile(f, (example.clone(),), verify=False)
    for x in (UP, DOWN, UP):
        expected = f(x.clone())
        assert same(program(x.clone()), expected)


def test_training_that_a_path_changes():
    program = dycl.compile(Switches().eval(), (UP,), verify=False)
    eager = Switches().eval()
    for x in (UP, DOWN, UP, DOWN):
        assert same(program(x), eager(x))


def text_in_an_arm(x):
    text = io.StringIO()
    if x.sum() > 0:
        text.write("abc")
    y = x + 1
    return y, text.getvalue()


def queue_in_an_arm(x):
    waiting = queue.Queue()
    if x.sum() > 0:
        waiting.put(1)
    y = x + 1
    return y * waiting.qsize()


def digest_in_an_arm(x):
    digest = hashlib.md5(b"a")
    if x.sum() > 0:
        digest.update(b"b")
    y = x + 1
    return y, digest.hexdigest()


def cause_in_an_arm(x):
    error = ValueError("a")
    if x.sum() > 0:
        error.__cause__ = KeyError("k")
    y = x + 1
    return y, error.__cause__ is None


def note_in_an_arm(x):
    error = ValueError("a")
    if x.sum() > 0:
        error.add_note("k")
    y = x + 1
    return y, getattr(error, "__notes__", None)


def arguments_in_an_arm(x):
    error = ValueError(1)
    if x.sum() > 0:
        error.args = (2,)
    y = x + 1
    return y * error.args[0]


class Zero:
    v = 0


class One:
    v = 1


def class_in_an_arm(x):
    z = Zero()
    if x.sum() > 0:
        z.__class__ = One
    y = x + 1
    return y * z.v


def attributes_of_a_thread(x):
    local = threading.local()
    local.a = 1
    if x.sum() > 0:
        local.a = 2
    y = x + 1
    return y * local.a


class Shared:
    shared: dict = {}

    def __init__(self):
        self.__dict__ = self.shared


def shared_attributes(x):
    a, b = Shared(), Shared()
    a.v = 1 if x.sum() > 0 else 2
    y = x + 1
    return y * b.v


@pytest.mark.parametrize("f", [text_in_an_arm, queue_in_an_arm, digest_in_an_arm, cause_in_an_arm,
                               note_in_an_arm, arguments_in_an_arm, class_in_an_arm, attributes_of_a_thread,
                               shared_attributes], ids=lambda f: f.__name__)
def test_what_cannot_be_followed_is_refused(f):
    with pytest.raises(dycl.CompileError, match="followed|share"):
        dycl.compile(f, (UP,), verify=False)


KEY = Zero()
WEIGHTS, SEEN = weakref.WeakKeyDictionary({KEY: 0}), weakref.WeakSet()
BYTES, PLACES = bytearray(4), collections.deque([1, 5])


def entry_of_a_weak_dict(x):
    WEIGHTS[KEY] += 1
    return x * WEIGHTS[KEY]


def deleted_entry_of_a_weak_dict(x):
    del WEIGHTS[KEY]
    return x * len(WEIGHTS)


def element_of_a_weak_set(x):
    SEEN.add(KEY)
    return x * len(SEEN)


def variable_of_the_process(x):
    os.environ["OF_A_TEST"] = "1"
    return x


def bytes_filled_by_native_code(x):
    struct.pack_into("i", BYTES, 0, struct.unpack_from("i", BYTES)[0] + 1)
    return x * BYTES[0]


def deque_filled_by_native_code(x):
    operator.iadd(PLACES, [3])
    return x * len(PLACES)


@pytest.mark.parametrize("f", [entry_of_a_weak_dict, deleted_entry_of_a_weak_dict, element_of_a_weak_set,
                               variable_of_the_process, bytes_filled_by_native_code, deque_filled_by_native_code],
                         ids=lambda f: f.__name__)
def test_what_native_code_changes_outside_is_refused(f):
    with pytest.raises(dycl.CompileError, match="cannot be followed|from outside is changed"):
        dycl.compile(f, (UP,), verify=False)
    WEIGHTS[KEY] = 0
    os.environ.pop("OF_A_TEST", None)


def looked_up(x):
    return x * (len(os.path.join("a", "b")) + WEIGHTS[KEY] + ("HOME" in os.environ) + len(weakref.ref(KEY)().kept))


def test_what_native_code_reads_outside():
    KEY.kept = (1, 2)
    assert same(dycl.compile(looked_up, (UP,), verify=False)(DOWN), looked_up(DOWN))


class Word(str):
    pass


class Row(tuple):
    pass


def attributes_of_values(x):
    word, row = Word("a"), Row([1, 2])
    if x.sum() > 0:
        word.k, row.k = 1, 3
    else:
        word.k, row.k = 2, 4
    y = x + 1
    return y * word.k * row.k


def rows_with_attributes(x):
    row = Row([3, 4]) if x.sum() > 0 else Row([5, 6])
    row.k = 1 if x.sum() > 0 else 7
    y = x + 1
    return y * row[0] * row.k


def slices_from_iterators(x):
    items = [1, 2, 3, 4]
    items[1:2] = (v * 2 for v in (5, 6))
    items[0:0] = map(abs, [-1])
    return (x if x.sum() > 0 else -x), items


def what_iterators_have(x):
    g = (v for v in x.tolist())
    return (x, hasattr(g, "__len__"), hasattr(g, "keys"), hasattr(iter([1]), "index"), hasattr(x.numpy(), "keys"),
            next(g))


def counted(x):
    c = collections.Counter(int(v) for v in x.tolist())
    return x, c[1], c[-2]


def shape_of_an_array(x):
    a = x.numpy()
    return x * a.shape[0], a.shape


@pytest.mark.parametrize("f", [attributes_of_values, rows_with_attributes, slices_from_iterators,
                               what_iterators_have, counted, shape_of_an_array], ids=lambda f: f.__name__)
def test_values_and_iterators(f):
    program = dycl.compile(f, (UP.clone(),), verify=False)
    for x in (UP, DOWN, UP):
        assert same(program(x.clone()), f(x.clone()))


def deleted_slice(x):
    items = []
    for k in range(int((x > 0).sum())):
        items.append(k)
    del items[:1]
    return x, items


@pytest.mark.filterwarnings("ignore:.*unrolled")
def test_a_slice_of_a_list_that_the_run_fills_is_deleted():
    program = dycl.compile(deleted_slice, (UP,), verify=False)
    for x in (UP, DOWN):
        assert same(program(x), deleted_slice(x))
