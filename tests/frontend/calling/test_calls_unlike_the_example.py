# SPDX-License-Identifier: Apache-2.0
"""Calls that differ from the example in what the model can see are refused;
contents that native code reads are states."""

import copy
import inspect
import json
import operator

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check, instantiate

UP, DOWN = T(1.0, 2.0, 3.0), T(-1.0, -2.0, -3.0)


def compiled(fn, *args, **kwargs):
    return dycl.compile(fn, args, kwargs)


def test_order_of_extra_keywords():
    program = compiled(lambda x, **rest: [*rest, *rest.values()], UP, a=UP, b=DOWN)
    assert program(UP, a=UP, b=DOWN)[:2] == ["a", "b"]
    with pytest.raises(dycl.InputError, match="another order"):
        program(UP, b=DOWN, a=UP)
    named = compiled(lambda x, a, b: a - b, UP, a=UP, b=DOWN)
    assert torch.equal(named(UP, b=DOWN, a=UP), UP - DOWN)


def test_one_tensor_for_two_that_the_model_tells_apart():
    program = compiled(lambda a, b: (a is b, a + b), UP.clone(), DOWN.clone())
    assert program(UP, DOWN)[0] is False
    with pytest.raises(dycl.InputError, match="passed twice"):
        program(UP, UP)
    plain = compiled(lambda a, b: a + b, UP.clone(), DOWN.clone())
    assert torch.equal(plain(UP, UP), UP + UP)


def test_one_list_for_two():
    def model(first, second, x):
        first.append(1)
        return len(second), x

    program = compiled(model, [], [], UP)
    assert program([], [], UP)[0] == 0
    shared: list = []
    with pytest.raises(dycl.InputError, match="one where they were two"):
        program(shared, shared, UP)
    together = compiled(model, shared, shared, UP)
    fresh: list = []
    assert together(fresh, fresh, UP)[0] == 1
    with pytest.raises(dycl.InputError):
        together([], [], UP)


def test_requires_grad_of_arguments():
    program = compiled(lambda x: x * 2 if x.requires_grad else x, UP.clone())
    assert torch.equal(program(UP), UP)
    with pytest.raises(dycl.InputError, match="requires_grad"):
        program(UP.clone().requires_grad_())


def test_an_example_outside_the_bounds_of_its_dim():
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(lambda x: x * 2, (torch.zeros(0, 4),), dynamic_dims={"x": {0: "n"}})
    assert caught.value.kind == "dims.example"


class Box:
    def __init__(self):
        self.k = 0


READ = {
    "text": lambda s: str([s.items]),
    "f-text": lambda s: f"{s.items}",
    "percent": lambda s: "%s" % (s.items,),
    "format": lambda s: "{}".format(s.items),
    "repr": lambda s: repr({"a": s.items}),
    "json": lambda s: json.dumps({"a": s.items}),
    "equal": lambda s: [s.items] == [[0, 1, 2]],
    "dicts equal": lambda s: {"a": s.items} == {"a": [0, 1, 2]},
    "in": lambda s: s.items in [[0, 1, 2]],
    "tensor": lambda s: torch.tensor([s.items, s.items]),
    "new_tensor": lambda s: UP.new_tensor(s.items),
    "index": lambda s: UP[s.items],
    "permute": lambda s: UP.reshape(1, 1, 3).permute(s.items[1], s.items[2], 0 if s.items[0] == 0 else 0).shape,
    "update": lambda s: (lambda d: (d.update(s.table), d)[1])({}),
    "format_map": lambda s: "{a}".format_map(s.table),
    "attrgetter": lambda s: operator.attrgetter("k")(s.box),
    "attrgetter path": lambda s: operator.attrgetter("box.k")(s),
    "methodcaller": lambda s: operator.methodcaller("__getattribute__", "k")(s.box),
    "copy": lambda s: copy.copy(s.box).k,
    "field": lambda s: "{0.k}".format(s.box),
    "state": lambda s: s.box.__getstate__()["k"],
    "members": lambda s: dict(inspect.getmembers(s.box))["k"],
}


@pytest.mark.parametrize("name", READ)
def test_contents_that_native_code_reads(name):
    """Taken as a state, or refused: never what they were when the program was compiled."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.items, self.table, self.box = [0, 1, 2], {"a": 0, "b": 1}, Box()

        def forward(self, x):
            found = READ[name](self)
            if x[0] > 0:
                self.items[0] = 1
                self.table["a"] = 1
                self.box.k = 1
            return found, x + 1

    try:
        dycl.compile(instantiate(Model), (UP,))
    except dycl.CompileError as error:
        assert error.kind != "verify" and error.kind != "internal", error
        return
    check(Model, [UP, DOWN, UP])
