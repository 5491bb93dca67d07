# SPDX-License-Identifier: Apache-2.0
"""What reading the front end against eager brought to light: arguments, containers of subclasses, saved programs."""

from __future__ import annotations

import collections
import dataclasses
import enum
import types

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import Call, T, check, refused


class Named(dict):
    pass


class Row(list):
    pass


class Pair(tuple):
    pass


class Kind(enum.IntEnum):
    A = 1
    B = 2


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@dataclasses.dataclass(slots=True)
class Slotted:
    x: torch.Tensor
    factor: int = 2
    last: object = None


def with_attributes(made, **attributes):
    made.__dict__.update(attributes)
    return made


# ---- what a call must pass ----------------------------------------------------------------------


def positive(x):
    return x.sum() > 0


@pytest.mark.parametrize("cls", [Named, Row, Pair])
def test_attributes_of_containers_are_inputs_and_guards(cls):
    def make(x, factor, shift):
        return with_attributes(cls({"x": x} if cls is Named else [x]), factor=factor, shift=shift)

    def model(given):
        x = given["x"] if cls is Named else given[0]
        return x * given.factor + given.shift if positive(x) else given.shift

    calls = [(make(T(1, 2), 2.0, T(1, 1)),), (make(T(1, 2), 2.0, T(5, 1)),), (make(T(-1, -2), 2.0, T(5, 1)),)]
    program = dycl.compile(model, calls[0])
    for call in calls:
        assert torch.equal(program(*call), model(*call))
    with pytest.raises(dycl.InputError, match="factor"):
        program(make(T(1, 2), 3.0, T(1, 1)))


def test_an_attribute_that_was_asked_for_in_vain():
    def model(o):
        if hasattr(o, "mask"):
            return o.x * o.mask
        return o.x if positive(o.x) else -o.x

    program = dycl.compile(model, (Plain(x=T(1, 2)),))
    assert torch.equal(program(Plain(x=T(-1, -2), other=1)), T(1, 2))  # nobody asks for `other`
    with pytest.raises(dycl.InputError, match="other attributes"):
        program(Plain(x=T(1, 2), mask=2))
    with pytest.raises(dycl.InputError, match="no attribute x"):
        program(Plain())


def test_the_order_of_attributes_that_are_looked_at_together():
    def model(o):
        first = list(vars(o).values())[0]
        return first if positive(first) else -first

    program = dycl.compile(model, (Plain(x=T(1, 2), y=T(3, 4)),))
    assert torch.equal(program(Plain(x=T(-1, -2), y=T(3, 4))), T(1, 2))
    with pytest.raises(dycl.InputError, match="other attributes"):
        program(Plain(y=T(3, 4), x=T(1, 2)))


def test_objects_with_slots():
    def model(o):
        if positive(o.x):
            o.last = o.x * o.factor
            return o.last
        return -o.x

    program = dycl.compile(model, (Slotted(T(1, 2)),))
    given = Slotted(T(3, 4))
    assert torch.equal(program(given), T(6, 8)) and torch.equal(given.last, T(6, 8))
    given = Slotted(T(-3, 1))
    assert torch.equal(program(given), T(3, -1)) and given.last is None
    with pytest.raises(dycl.InputError, match="factor"):
        program(Slotted(T(1, 2), 3))


def test_deques():
    def model(steps):
        total = T(0.0, 0.0)
        for x in steps:
            total = total + x if positive(x) else total
        return total

    inputs = [collections.deque([T(*a), T(*b)], maxlen=3) for a, b in [((1, 2), (3, 4)), ((-1, -2), (3, 4)), ((-1, -2), (-3, 4.5))]]
    check(model, inputs)
    with pytest.raises(dycl.InputError, match="maxlen"):
        dycl.compile(model, (inputs[0],))(collections.deque(inputs[0], maxlen=2))


def test_an_array_changed_in_place_between_calls():
    scale = np.array([1.0, 2.0])
    program = dycl.compile(lambda a, x: x * float(a[0]) if positive(x) else x, (scale, T(1, 2)))
    assert torch.equal(program(scale, T(1, 2)), T(1, 2))
    scale[0] = 5.0
    with pytest.raises(dycl.InputError, match="another object"):
        program(scale, T(1, 2))


@pytest.mark.parametrize("value, other", [(np.float64(2.0), np.float64(3.0)), (Kind.A, Kind.B), (Kind.A, 1), (2.5, np.float64(2.5))])
def test_numbers_of_other_classes(value, other):
    program = dycl.compile(lambda v, x: x * v if positive(x) else x, (value, T(1, 2)))
    assert torch.equal(program(value, T(1, 2)), T(1, 2) * value)
    with pytest.raises(dycl.InputError):
        program(other, T(1, 2))


def test_factories_of_defaultdicts():
    def given(factory):
        return collections.defaultdict(factory, x=T(1, 2))

    program = dycl.compile(lambda d: d["x"] + d["missing"] if positive(d["x"]) else d["x"], (given(int),))
    assert torch.equal(program(given(int)), T(1, 2))
    with pytest.raises(dycl.InputError, match="default_factory"):
        program(given(lambda: 3))


def test_arguments_that_cannot_be_taken():
    with pytest.raises(dycl.CompileError, match="iterator"):
        dycl.compile(lambda it, x: x * next(it), (iter([1.0, 2.0]), T(1, 2)))
    program = dycl.compile(lambda x: x if positive(x) else -x, (T(1, 2),))
    for x in (T(1, 2).to_sparse(), T(1, 2).to("meta")):
        with pytest.raises(dycl.InputError, match="dense"):
            program(x)


def test_keys_of_another_type():
    def model(key, d):
        return d[1] if positive(d[1]) else -d[1]

    program = dycl.compile(model, (0, {1: T(1, 2)}))
    with pytest.raises(dycl.InputError, match="keys"):
        program(0, {True: T(1, 2)})


# ---- what comes back ----------------------------------------------------------------------------


def test_equal_keys_of_different_types_in_results():
    program = dycl.compile(lambda x: {1: x} if positive(x) else {True: x}, (T(1, 2),))
    assert [*program(T(1, 2))] == [1] and type([*program(T(1, 2))][0]) is int
    assert type([*program(T(-1, -2))][0]) is bool


def test_containers_among_the_arguments_are_given_back_themselves():
    def model(x, rows, o):
        o.rows = rows
        if positive(x):
            rows.append(x * 2)
            return o
        return {"rows": rows, "again": [rows, o]}

    program = dycl.compile(model, (T(1, 2), [T(0, 0)], Plain(x=T(1, 1))))
    rows, o = [T(5, 5)], Plain(x=T(1, 1))
    assert program(T(1, 2), rows, o) is o and o.rows is rows and len(rows) == 2
    rows, o = [T(5, 5)], Plain(x=T(1, 1))
    found = program(T(-1, -2), rows, o)
    assert found["rows"] is rows and found["again"][0] is rows and found["again"][1] is o and len(rows) == 1


@pytest.mark.parametrize("cls", [Named, Row, types.new_class("Group", (set,)), types.new_class("Ordered", (collections.OrderedDict,))])
def test_attributes_written_to_containers_from_outside(cls):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.held = cls()
            self.held.hits = 0

        def forward(self, x):
            if positive(x):
                self.held.hits += 1
            return x * self.held.hits

    refused(Model, [T(1, 2)], "attribute of a")


# ---- saved programs -------------------------------------------------------------------------------


def loaded(model, args, tmp_path):
    path = tmp_path / "program.dycl"
    dycl.compile(model, args).save(path)
    return dycl.load(path)


def writes_to_arguments(x, rows, table, o):
    rows.append(x * 2)
    table["last"] = x + 1
    o.last = rows
    if x.sum() < 0:
        raise ValueError("negative")
    table["again"] = rows[-1]
    return x


def test_a_loaded_program_writes_to_its_arguments(tmp_path):
    def given(*values):
        return Call(T(*values), [T(0, 0)], {"first": T(9, 9)}, Plain(x=T(1, 1)))

    program = loaded(writes_to_arguments, given(1, 2).args, tmp_path)
    for values in ((1, 2), (3, 4), (-1, -2)):
        ours, theirs = given(*values).args, given(*values).args
        for call, args in ((writes_to_arguments, ours), (program, theirs)):
            if sum(values) < 0:
                with pytest.raises(ValueError):
                    call(*args)
            else:
                call(*args)
        assert len(ours[1]) == len(theirs[1]) and torch.equal(ours[1][-1], theirs[1][-1])
        assert list(ours[2]) == list(theirs[2]) and all(map(torch.equal, ours[2].values(), theirs[2].values()))
        assert theirs[3].last is theirs[1]


def test_results_that_no_file_can_hold(tmp_path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.config = Plain(a=1)

        def forward(self, x):
            return x if positive(x) else -x, self.config

    with pytest.raises(dycl.InputError, match="gives back a Plain"):
        loaded(Model(), (T(1, 2),), tmp_path)
    with pytest.raises(dycl.InputError, match="key of type tuple"):
        loaded(lambda x: {(1, 2): x if positive(x) else -x}, (T(1, 2),), tmp_path)
    program = loaded(lambda x: (x, Kind.A) if positive(x) else (x, Kind.B), (T(1, 2),), tmp_path)
    assert program(T(1, 2))[1] is Kind.A and program(T(-1, -2))[1] is Kind.B


def test_half_precision_passes_the_check_of_the_example():
    torch.manual_seed(0)
    a, b = torch.randn(5, 64).bfloat16(), torch.randn(64, 7).bfloat16()
    program = dycl.compile(lambda a, b: torch.addmm(b[:5, :7], a, b) if a.sum() > -1000 else a, (a, b))
    assert program(a, b).dtype == torch.bfloat16


# ---- numpy's integers, and subscripts that are lists of lists ---------------------------------------


def as_bytes(x):
    return x.numpy().astype(np.uint8)


NUMPY = {
    "nested lists": lambda x, n: x.numpy()[[[0, 1], [1, 2]]],
    "beyond the dtype": lambda x, n: as_bytes(x) + 300,
    "beyond the dtype at run time": lambda x, n: as_bytes(x) + n.item(),
    "compared": lambda x, n: (as_bytes(x) < 300, as_bytes(x) == 257, as_bytes(x) > -1, n.item() > as_bytes(x), as_bytes(x) == n.item()),
    "maximum": lambda x, n: np.maximum(as_bytes(x), n.item()),
    "full": lambda x, n: np.full(3, n.item(), dtype=np.uint8),
    "array": lambda x, n: np.array([n.item(), 1], dtype=np.uint8),
    "assigned": lambda x, n: written(as_bytes(x), n.item()),
    "minus bools": lambda x, n: -(x.numpy() > 1),
}


def written(a, number):
    a[0] = number
    return a


@pytest.mark.parametrize("name", NUMPY)
def test_integers_of_numpy(name):
    def model(flag, x, n):
        return NUMPY[name](x, n) if flag > 0 else None

    x = torch.tensor([3, 1, 2])
    check(model, [(torch.tensor(flag), x, torch.tensor(n)) for flag, n in ((-1, 5), (1, 5), (1, 300), (1, -3))])


def test_callbacks_that_change_what_is_not_theirs():
    from torch.utils._pytree import tree_map

    seen, rows = set(), [3, 1]

    def adds(x):
        return tree_map(lambda y: (seen.add(1), y * 2)[1], [x]) if positive(x) else x

    def sorts(x):
        return tree_map(lambda y: (rows.sort(), y * 2)[1], [x]) if positive(x) else x

    for model in (adds, sorts):
        with pytest.raises(dycl.CompileError, match="writes to"):
            dycl.compile(model, (T(-1, -2),))
    assert not seen and rows == [3, 1]


# ---- tensors made of lists that may be empty ----------------------------------------------------------


def counted(n, number):
    found = []
    for k in range(n.item()):
        found.append(number(k))
    return found


@pytest.mark.parametrize("number", [lambda k: k * 2, lambda k: k > 1, lambda k: k * 0.5, lambda k: (k, k + 1)], ids=["int", "bool", "float", "pair"])
def test_a_tensor_of_no_numbers(number):
    check(lambda n: torch.tensor(counted(n, number)), [torch.tensor(n) for n in (3, 0, 5)])


def test_concatenations_that_torch_rejects():
    check(lambda n: torch.cat(counted(n, lambda k: torch.ones(k + 1))), [torch.tensor(n) for n in (3, 0)])
    check(lambda n: torch.stack(counted(n, lambda k: torch.ones(2))), [torch.tensor(n) for n in (3, 0)])
    check(lambda n: torch.cat(counted(n, lambda k: torch.ones(()))), [torch.tensor(n) for n in (3, 4)])


def test_nothing_between_printed_words():
    check(lambda n: print("a", n.item(), "b", sep="") if n.item() > 3 else print("a", n.item(), sep=None), [torch.tensor(3), torch.tensor(4)])


def test_powers_with_a_modulus():
    check(lambda n: pow(n.item(), 2, 7) if n.item() > 3 else pow(n.item(), 3, -7), [torch.tensor(3), torch.tensor(4)])
    refused(lambda n: pow(n.item(), -1, 7), [torch.tensor(3)], "negative")


def test_parameters_among_the_arguments():
    def model(x):
        return (x * 2 if isinstance(x, torch.nn.Parameter) else x * 3) if positive(x) else -x

    parameter = torch.nn.Parameter(T(1, 2))
    for given, other in ((T(1, 2), parameter), (parameter, T(1, 2))):
        program = dycl.compile(model, (given,))
        assert torch.equal(program(given), model(given))
        with pytest.raises(dycl.InputError, match="nn.Parameter"):
            program(other)
    unasked = dycl.compile(lambda x: x if positive(x) else -x, (T(1, 2),))
    assert torch.equal(unasked(parameter), T(1, 2))


def test_complex_tensors_are_refused_with_a_place_or_a_name():
    for model, args in [(lambda z, x: z if positive(x) else z, (torch.ones(2, dtype=torch.complex64), T(1, 2))),
                        (lambda x: torch.zeros(2, dtype=torch.complex64) if positive(x) else x, (T(1, 2),))]:
        with pytest.raises(dycl.CompileError, match="complex"):
            dycl.compile(model, args)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


class DoubledToo(Doubled):
    pass


def test_functions_of_autograd_that_inherit_their_context():
    check(lambda x: DoubledToo.apply(x) if positive(x) else x, [T(1, 2), T(-1, -2)])


# ---- memory that arguments share with what the model keeps -------------------------------------------


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None
        self.register_buffer("count", torch.ones(2))

    def forward(self, x):
        y = x if self.last is None else self.last + x
        self.last = x
        return y if positive(x) else y * 2


def test_an_argument_kept_in_an_attribute_is_kept_itself():
    eager, kept = Keeps(), Keeps()
    program = dycl.compile(kept, (T(1, 2),))
    x, y = T(1, 2), T(1, 2)
    for _ in range(3):
        assert torch.equal(eager(x), program(y)) and kept.last is y
        x.sub_(2)  # the attribute sees it
        y.sub_(2)


class WritesBuffer(Keeps):
    def forward(self, x):
        self.count.add_(1)
        return x + self.count if positive(x) else x


class WritesArgument(Keeps):
    def forward(self, x):
        x.add_(1)
        return x + self.count if positive(x) else x


@pytest.mark.parametrize("cls", [WritesBuffer, WritesArgument])
def test_arguments_that_share_memory_with_a_buffer(cls):
    model = cls()
    program = dycl.compile(model, (T(1, 2),))
    program(T(1, 2))
    for shared in (model.count, model.count[:]):
        with pytest.raises(dycl.InputError, match="shares memory"):
            program(shared)


class Adds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.steps = 0

    def forward(self, x):
        self.total.add_(x)
        self.steps += 1
        return self.total * self.steps if positive(x) else x


def test_a_buffer_that_was_replaced_between_calls():
    eager, subject = Adds(), Adds()
    program = dycl.compile(subject, (T(1, 2),))
    for new in (None, T(7, 7), None, T(5, 5)):
        for model in (eager, subject) if new is not None else ():
            model.total = new.clone()
        assert torch.equal(eager(T(1, 2)), program(T(1, 2))) and torch.equal(eager.total, subject.total)
    subject.double()
    with pytest.raises(RuntimeError, match="f64"):
        program(T(1, 2))


def test_a_counter_beyond_64_bits():
    subject = Adds()
    program = dycl.compile(subject, (T(1, 2),))
    subject.steps = 2**70
    with pytest.raises(OverflowError):
        program(T(1, 2))
