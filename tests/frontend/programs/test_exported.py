# SPDX-License-Identifier: Apache-2.0
"""What torch.export.export gives, compiled as it is, beside eager; and torch's scan in a forward. 15 seconds."""

from __future__ import annotations

import pytest
import torch
from functorch.experimental import control_flow
from torch._higher_order_ops import scan, while_loop

import dycl

ROWS = torch.export.Dim("ROWS", min=2, max=64)


class Cond(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.layer(x), lambda x: x - 1, (x,))


class While(torch.nn.Module):
    def forward(self, x, n):
        return while_loop(lambda k, y: k < n, lambda k, y: (k + 1, y * 2), (torch.tensor(0), x))


class Scan(torch.nn.Module):
    def __init__(self, reverse=False, dim=0):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.given = {"reverse": reverse, "dim": dim}

    def forward(self, state, xs):
        def step(state, x):
            after = torch.tanh(self.layer(state) + x)
            return after, {"twice": after * 2, "sum": after.sum()}
        return scan(step, state, xs, **self.given)


class Map(torch.nn.Module):
    def forward(self, xs, y):
        return control_flow.map(lambda x, y: torch.cond(x.sum() > 0, lambda x: x * y, lambda x: x - y, (x,)), xs, y)


class Nested(torch.nn.Module):
    """Arguments in containers and by name."""

    def forward(self, x, held, *, scale):
        return {"sum": x + held["a"] + held["b"][0], "rows": x.shape[0] * scale}


def rows(n, seed):
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))


CASES = {
    "cond": (Cond, lambda n, seed: ((rows(n, seed),), {}), ({0: ROWS},)),
    "while": (While, lambda n, seed: ((rows(n, seed), torch.tensor(seed)), {}), ({0: ROWS}, None)),
    "scan": (Scan, lambda n, seed: ((torch.zeros(4), rows(n, seed)), {}), (None, {0: ROWS})),
    "map": (Map, lambda n, seed: ((rows(n, seed), torch.ones(4)), {}), ({0: ROWS}, None)),
    "nested": (Nested, lambda n, seed: ((rows(n, seed), {"a": rows(n, seed + 1), "b": [rows(n, seed + 2)]}),
                                        {"scale": rows(n, seed + 3)}),
               {"x": {0: ROWS}, "held": {"a": {0: ROWS}, "b": [{0: ROWS}]}, "scale": {0: ROWS}}),
}


@pytest.mark.parametrize("name", CASES)
def test_an_exported_program_is_compiled_with_its_dynamic_extents(name):
    make, inputs, dims = CASES[name]
    torch.manual_seed(0)
    model = make().eval()
    args, kwargs = inputs(3, 1)
    program = dycl.compile(torch.export.export(model, args, kwargs, dynamic_shapes=dims))
    for n, seed in ((2, 2), (7, 3), (64, 0)):
        args, kwargs = inputs(n, seed)
        torch.testing.assert_close(program(*args, **kwargs), model(*args, **kwargs))
    for n in (1, 65):  # beyond the range that was exported
        with pytest.raises((dycl.InputError, RuntimeError, AssertionError)):
            args, kwargs = inputs(n, 1)
            program(*args, **kwargs)


def test_the_control_flow_is_kept():
    model = Cond().eval()
    program = dycl.compile(torch.export.export(model, (rows(3, 1),)))
    assert [len(program.trace(x)) for x in (torch.ones(3, 4), -torch.ones(3, 4))] == [1, 1]
    assert program.trace(torch.ones(3, 4)) != program.trace(-torch.ones(3, 4))


def test_a_saved_program_is_loaded_by_torch(tmp_path):
    model = Cond().eval()
    torch.export.save(torch.export.export(model, (rows(3, 1),)), tmp_path / "m.pt2")
    with pytest.raises(dycl.CompileError, match="torch.export.load"):
        dycl.compile(tmp_path / "m.pt2")
    program = dycl.compile(torch.export.load(tmp_path / "m.pt2"))
    for x in (torch.ones(3, 4), -torch.ones(3, 4)):
        assert torch.allclose(program(x), model(x), atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_scan_in_a_forward(reverse, dim):
    torch.manual_seed(0)
    model = Scan(reverse, dim).eval()
    xs = rows(5, 1) if dim == 0 else rows(4, 1)
    program = dycl.compile(model, (torch.zeros(4), xs), dynamic_dims={"xs": {dim: "N"}}, ranges={"N": (1, 99)},
                           verify=False)
    for n in (1, 2, 6):
        xs = torch.randn((n, 4) if dim == 0 else (4, n))
        torch.testing.assert_close(program(torch.zeros(4), xs), model(torch.zeros(4), xs))


def test_what_is_fixed_by_the_export_is_not_declared_again():
    x = rows(4, 1)
    exported = torch.export.export(Cond(), (x,), dynamic_shapes=({0: ROWS},))
    with pytest.raises(dycl.InputError, match="dynamic_dims says nothing of an exported program"):
        dycl.compile(exported, (x,), dynamic_dims={"x": {0: "N"}})
    with pytest.raises(dycl.InputError, match="ranges says nothing"):
        dycl.compile(exported, (x,), ranges={"N": (1, 2)})


def test_extents_computed_from_others_are_refused():
    class Half(torch.nn.Module):
        def forward(self, x, y):
            return x[::2] + y

    half = torch.export.Dim("HALF", min=2, max=32)
    exported = torch.export.export(Half(), (rows(6, 1), rows(3, 1)), dynamic_shapes=({0: 2 * half}, {0: half}))
    with pytest.raises(dycl.CompileError, match="extent 0 of x was exported as 2\\*s.*computed from others"):
        dycl.compile(exported)
