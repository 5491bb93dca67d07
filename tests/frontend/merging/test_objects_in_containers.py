# SPDX-License-Identifier: Apache-2.0
"""An object that is in a list, dict, tuple or object has that name too: where paths meet it is not taken for one of a single name."""

import collections
import functools
import operator
import types

import torch

from tests.frontend.support.harness import Cases, T

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
