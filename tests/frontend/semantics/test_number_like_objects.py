# SPDX-License-Identifier: Apache-2.0
"""Run-time numbers beside things that are nearly numbers: members of an IntEnum, objects with operators of their own,
floats as keys, integers that no float holds, NaN in lists;
and functions of the standard library that remember or dispatch."""

import enum
import functools

import numpy as np
import torch

from tests.frontend.support.harness import Cases, I, T

case = Cases()
NAN, INF = float("nan"), float("inf")
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]
NANS = [*V, (T(NAN, 0, 0),), (T(1, NAN, 2),)]
FLOATS = [(T(v),) for v in (1.0, -1.0, 0.0, 2.5, 7.0)]
INTS = [(I(v),) for v in (0, 1, 2, -1, 7)]
LARGE = [*INTS, *((I(v),) for v in (2**53 + 1, 2**62, -(2**63), 2**63 - 1))]


class Code(enum.IntEnum):
    STOP = 0
    GO = 1
    TURN = 2


@case(*INTS)
def members_of_an_enum(x):
    code, names = x.item(), {Code.STOP: "stop", Code.GO: "go", 7: "seven"}
    found = (
        names.get(code, "none"),
        code in names,
        code == Code.GO,
        Code.TURN > code,
        code + Code.TURN,
        code in (Code.STOP, Code.TURN),
    )
    match code:
        case Code.GO:
            return "go", found
    return found


class Own(int):
    def __add__(self, other):
        return "own"


@case(*INTS, paths=1)
def a_class_of_ints(x):
    n = Own(3)
    return n + x.item(), x.item() + n, n * x.item(), n == x.item(), x.item() % n


class Money:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == (other.v if isinstance(other, Money) else other)

    def __lt__(self, other):
        return self.v < (other.v if isinstance(other, Money) else other)

    def __radd__(self, other):
        return ("radd", other + self.v)

    def __mul__(self, other):
        return NotImplemented

    def __rmul__(self, other):
        return ("rmul", other * self.v)


class Fine(Money):
    def __radd__(self, other):
        return "fine"

    def __gt__(self, other):
        return "greater"


@case(*FLOATS, paths=1)
def objects_with_operators(x):
    v, money = x.item(), Money(2.5)
    return (
        v == money,
        money == v,
        v != money,
        money < v,
        v > money,
        v + money,
        v * money,
        money in [v],
        x == Money(x) if False else x + money,
    )


@case(*FLOATS, paths=1)
def derived_classes_first(x):
    a, b = Money(x.item()), Fine(1.0)
    return 1 + b, a < b, [o.v for o in sorted([a, Money(0.5)])]


@case(*FLOATS, paths=1, values=True)
def numbers_of_numpy(x):
    return x.item() + np.float64(2.0)


@case(*FLOATS, paths=1)
def operands_that_do_not_fit(x):
    try:
        return x.item() < "a"
    except TypeError as error:
        return str(error)


@case(*FLOATS, values=True)
def floats_as_keys(x):
    d = {1: "one", 2.5: "two", 0: "zero"}
    return d.get(x.item(), "none"), x.item() in d, {1.0: "a", 7.0: "b"}.get(int(x.item()))


@case(*LARGE, paths=1)
def integers_that_no_float_holds(x):
    v = x.item()
    return (v == float(2**53), v < 9007199254740993.0, v >= 2.0**63, 2.0**63 > v, v == -(2.0**63),
            0.5 < v, v != 0.5, v <= 2.5, v >= 2.5, v < 1e300, -1e300 > v, v < INF, v > NAN)


@case(*NANS, values=True)
def a_nan_in_its_list(x):
    values, a, b = x.tolist(), x[0].item(), x[0].item()
    return values[0] in values, values == values, a in [b], [a] == [b], (a,) == (a,), values.count(values[0]), a == b


@case(*V, values=True)
def identity_of_bools(x):
    a, b = x[0].item() > 0, x[1].item() > 0
    return a is b, a is True, b is not False


@case(*INTS, refuse="`is` between numbers")
def identity_of_ints(x):
    a, b = x.item(), x.item()
    return a is b


@case(*V)
def strict_zips(x):
    found = [v for v in x if v > 0]
    try:
        return list(zip([1, 2], found, strict=True)) if x[0] > 0 else list(zip(found, [1, 2], [3], strict=True))
    except ValueError as error:
        return str(error)


@case(*V)
def remembered_calls(x):
    log = []

    @functools.lru_cache(maxsize=2)
    def doubled(k, by=2):
        log.append(k)
        return x * k * by

    result = sum(doubled(k) for k in (1, 2, 1, 3, 2, 1))
    if x[0] > 0:
        doubled.cache_clear()
        result = result + doubled(1) + doubled(1, by=2)
    return result, log


@case(*V)
def dispatched_by_class(x):
    @functools.singledispatch
    def kind(v):
        return "other"

    @kind.register
    def _(v: int):
        return "int"

    @kind.register(list)
    def _(v):
        return "list"

    return kind(1 if x[0] > 0 else [x] if x[1] > 0 else "text"), torch.is_tensor(x)


@case(*V)
def a_tensor_as_a_key(x):
    key = x if x[0] > 0 else x.clone()
    return {x: "itself"}.get(key, "another"), key in {x}


test_program = case.test()
