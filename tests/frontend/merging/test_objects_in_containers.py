# SPDX-License-Identifier: Apache-2.0
"""Objects that a list, dict, tuple or object also holds keep that alias where paths merge."""

import collections
import functools
import operator
import types

import torch

from tests.frontend.support.harness import Cases, T, check

case = Cases()
V = [(T(1, 2, 1),), (T(3, -1, -1),), (T(-1, -1, -1),)]


@case(*V)
def dict_in_a_list(x):
    box = [{"a": x[0]}]
    if x[1] > 0:
        out = [box[0]]
    else:
        out = [{"a": x[0] + 1}]
    box[0]["a"] = x[2]
    return out[0]["a"]


@case(*V)
def dict_in_a_dict(x):
    box = {"d": {"a": x[0]}}
    if x[1] > 0:
        out = box["d"]
    else:
        out = {"a": x[0] + 1}
    box["d"]["a"] = x[2]
    return out["a"]


@case(*V)
def one_of_two_dicts(x):
    box = [{"a": x[0]}, {"a": x[2]}]
    if x[1] > 0:
        out = box[1]
    else:
        out = {"a": x[0] + 1}
    box[1]["a"] = x[1]
    return out["a"], box


@case(*V)
def dict_in_a_tuple_in_a_dict(x):
    box = {1: ({"a": x[0]}, 2)}
    if x[1] > 0:
        out = box[1][0]
    else:
        out = {"a": x[0] + 1}
    box[1][0]["b"] = x[2]
    return out, sorted(out)


@case(*V)
def dict_of_an_object(x):
    box = [types.SimpleNamespace(d={"a": x[0]})]
    if x[1] > 0:
        out = box[0].d
    else:
        out = {"a": x[0] + 1}
    box[0].d["a"] = x[2]
    return out["a"]


@case(*V)
def list_in_a_deque_in_a_dict(x):
    box = {"q": collections.deque([[x[0]]])}
    if x[1] > 0:
        out = box["q"][0]
    else:
        out = [x[0] + 1]
    box["q"][0][0] = x[2]
    return out[0]


@case(*V)
def dict_behind_a_variable_of_an_inner_function(x):
    box = [{"a": x[0]}]

    def put(v):
        box[0]["a"] = v

    if x[1] > 0:
        out = box[0]
    else:
        out = {"a": x[0] + 1}
    put(x[2])
    return out["a"]


@case(*V)
def lists_in_dicts_in_a_list_of_a_comprehension(x):
    made = []
    for k in range(3):
        counts = []
        if x[k] > 0:
            counts.append(1)
        if x[k] > 1:
            counts.append(x[k])
        counts.append(3)
        made.append({"size": [1, 2], "counts": counts})
    kept = [made[i] for i in range(2)]
    total = torch.zeros(())
    for entry in kept:
        for c in entry["counts"]:
            total = total + c
    return total


def given(x):
    return x


@case(*V)
def dict_of_a_partial(x):
    d = {"a": x[0]}
    get = functools.partial(given, d)
    if x[1] > 0:
        out = d
    else:
        out = {"a": x[0] + 1}
    get()["a"] = x[2] * 2
    return out["a"], d["a"]


@case(*V)
def dict_of_an_exception(x):
    d = {"a": x[0]}
    error = ValueError(d, [x[1]])
    if x[1] > 0:
        d["a"] = x[2] * 2
        error.args[1].append(x[0])
    return error.args[0]["a"], d["a"], len(error.args[1])


@case(*V)
def dict_of_an_exception_that_was_caught(x):
    d = {"a": x[0]}
    try:
        raise KeyError(d)
    except KeyError as error:
        kept = error
    if x[1] > 0:
        out = d
    else:
        out = {"a": x[0] + 1}
    kept.args[0]["a"] = x[2] * 2
    return out["a"], d["a"]


@case(*V)
def what_native_functions_give_back(x):
    d, e = {"a": x[0]}, {"a": x[1], "b": [x[2]]}
    first = operator.itemgetter(0)([d, e])
    second = operator.itemgetter(1, 0)((d, e))[0]
    third = operator.getitem({"k": e}, "k")["b"]
    if x[1] > 0:
        first["a"] = x[2] * 2
        second["c"] = x[0]
        third.append(x[1])
    return d, e, first is d, second is e, third is e["b"]


test_program = case.test()


def containers_in_containers(x):
    found, row, table = [], [x], {"k": x}
    for i in range(2):
        found.append({"a": x * i, "b": x})
    for k in range(2):
        found[k]["a"] = found[k]["a"] + 1
    found.insert(0, table)
    table["k"] = x * 2
    queue, ordered = collections.deque([row]), collections.OrderedDict()
    queue.append(row)
    ordered["r"] = row
    ordered.setdefault("s", row)
    row.append(x + 1)
    if x.sum() > 0:
        queue[1].append(x)
        found.append(table)
    return found, list(queue), ordered


def test_a_container_put_into_another_stays_itself():
    check(containers_in_containers, [(T(1, 2),), (T(-1, -2),)])


def list_of_two_names(x):
    first = [x + 2.5]
    second = first if x.sum() > 0 else [x]
    first.append(x)
    for k in range(9):  # states enough to make lists of different lengths meet
        if x[k % 2] > k:
            x = x + torch.ones(k + 1).sum()
            second = second + [x] if k % 3 == 0 else second
    return first, second


def test_a_list_with_two_names_in_some_paths():
    check(list_of_two_names, [(T(1, 2),), (T(-1, -2),), (T(5, -2),), (T(30, 30),)])
