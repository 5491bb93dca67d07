# SPDX-License-Identifier: Apache-2.0
"""An object that is in a list, dict, tuple or object has that name too: where paths meet it is not taken for one of a single name."""

import collections
import types

import torch

from tests.frontend.harness import Cases, T

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


test_program = case.test()
