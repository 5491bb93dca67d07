# SPDX-License-Identifier: Apache-2.0
"""Containers changed by methods of their classes called by name, and by functions of operator and torch:
the program's own are."""

import collections
import functools
import operator
import types

from tests.frontend.support.harness import Cases, T

case = Cases()
UP, DOWN = T(1.0, 2.0), T(-1.0, -2.0)


class Table(dict):
    def __init__(self, *args, **kwargs):
        dict.__init__(self, *args, **kwargs)


class Made(dict):
    def __new__(cls, *args, **kwargs):
        return dict.__new__(cls)


class Row(list):
    pass


@case(UP, DOWN)
def tables(x):
    if x.sum() > 0:
        return Table(a=x), Made(b=x, c=1), Table({"d": x}, e=x)
    plain = collections.OrderedDict()
    collections.OrderedDict.__init__(plain, c=x)
    counted = collections.defaultdict(list)
    collections.defaultdict.__init__(counted, list, {"a": [x]})
    counted["b"].append(x)
    return plain, dict(counted)


@case(UP, DOWN)
def rows(x):
    row = Row([x])
    if x.sum() > 0:
        list.__iadd__(row, [x * 2])
        list.__imul__(row, 2)
    else:
        list.__init__(row, [x * 3, x])
    return list(row), len(row)


@case(UP, DOWN)
def namespaces(x):
    o = types.SimpleNamespace()
    if x.sum() > 0:
        types.SimpleNamespace.__init__(o, a=x, b=1)
    object.__setattr__(o, "c", x * 2)
    return o


@case(UP, DOWN)
def functions_of_operator(x):
    found, y = [x], x.clone()
    if x.sum() > 0:
        operator.iadd(found, [x * 2])
        operator.imul(y, 3)
    operator.delitem(found, 0)
    n = int(x.sum())
    return found, y, operator.iadd(n, 1), operator.contains([3, 4], n), functools.reduce(operator.iadd, [[x], [y]], [])


@case(UP, DOWN)
def identity_by_operator(x):
    y = x if x.sum() > 0 else x * 2
    z = x + 1
    return operator.is_(y, x), operator.is_not(y, x), z


@case(UP, DOWN, refuse="a list is changed in a way that cannot be followed")
def native_code_that_changes_a_list(x):
    found = [x]
    operator.iconcat(found, [x * 2])
    return (found, 1) if x.sum() > 0 else (found, 2)


@case(UP, DOWN)
def dicts_from_native_code(x):
    table = dict.fromkeys("ab", x)
    if x.sum() > 0:
        table["c"] = x * 2
    table["d"] = x
    return table


test_containers_by_name = case.test()
