# SPDX-License-Identifier: Apache-2.0
"""Small programs for what models of public packages met."""

import pytest
import torch

import dycl


def check(f, *inputs):
    program = dycl.compile(f, inputs[0])
    for given in inputs:
        assert torch.equal(program(*given), f(*given))
    return program


def test_known_float_to_a_run_time_power_inside_try():
    """Whether 0.0 is raised to a negative power is asked there; of two known numbers of two kinds, too."""
    def f(x):
        try:
            return x * (pow(1.5, x[x > 0].shape[0]) - 1)
        except ZeroDivisionError:
            return x

    check(f, (torch.tensor([1.0, 2.0, -1.0]),), (torch.tensor([-1.0, -2.0, -1.0]),), (torch.tensor([1.0, 2.0, 3.0]),))


def test_running_out_of_stack_while_compiling_is_no_exception_of_the_model(monkeypatch):
    from dycl.frontend.scalars import Scalars

    def endless(*given):
        return endless(*given)

    monkeypatch.setattr(Scalars, "binary", endless)
    with pytest.raises(dycl.CompileError, match="RecursionError"):
        dycl.compile(lambda x: x * (x[x > 0].shape[0] + 1), (torch.randn(3),))


def test_a_recursion_error_that_the_model_raises_itself():
    def f(x):
        if x.sum() > 0:
            raise RecursionError("too deep")
        return x

    program = dycl.compile(f, (-torch.ones(2),))
    with pytest.raises(RecursionError, match="too deep"):
        program(torch.ones(2))


@pytest.mark.parametrize("function", [torch._grouped_mm, torch.nn.functional.grouped_mm])
def test_groups_of_rows_by_a_matrix_each(function):
    """Experts' products in libraries; torch's rule for shapes raises for float32, which its kernel takes."""
    weight = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(0))

    def f(x, chosen):
        chosen, order = chosen.sort(stable=True)
        offs = (chosen[:, None] == torch.arange(3)).sum(0).cumsum(0).int()
        return function(x[order], weight, offs=offs)

    x = torch.randn(6, 4)
    inputs = [(x, torch.tensor(c)) for c in ([0, 1, 2, 0, 1, 2], [2, 2, 2, 2, 2, 2], [0, 0, 2, 2, 0, 0], [1, 1, 1, 0, 1, 1])]
    program = dycl.compile(f, inputs[0])
    for given in inputs:
        torch.testing.assert_close(program(*given), f(*given))


def test_modules_moved_to_where_they_are():
    class Router(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.Linear(3, 1)
            self.register_buffer("shift", torch.ones(1))

        def forward(self, x):
            self.to(x.device)
            self.weights.to(torch.float32)
            scores = self.weights(x)[:, 0] + self.shift
            return x[scores > 0] if (scores > 0).any() else x

    model = Router()
    check(model, (torch.randn(4, 3),), (torch.full((4, 3), -9.0),), (torch.full((4, 3), 9.0),))


def test_triangular_systems_of_chunks():
    def f(A, B):
        return torch.linalg.solve_triangular(A.tril(-1) * 0.1, B, upper=False, unitriangular=True) if A.sum() > 0 else B

    program = dycl.compile(f, (torch.ones(2, 64, 64), torch.randn(2, 64, 3)))
    for A in (torch.randn(2, 64, 64).abs(), -torch.ones(2, 64, 64)):
        B = torch.randn(2, 64, 3)
        torch.testing.assert_close(program(A, B), f(A, B))


def test_named_axes_written_out():
    """einx's calls; by stand-ins with its names, as the library is not among the tests' packages."""
    from dycl.frontend import named_axes

    x, y = torch.randn(2, 3, 4), torch.randn(2, 3)
    call = lambda name, *given: named_axes.written_out(type("F", (), {"__module__": "einx.ops", "__name__": name})(), given, {})  # noqa: E731
    assert torch.equal(call("multiply", "b n d, b n", x, y)(), x * y[..., None])
    assert torch.equal(call("add", "b n, d -> d b n", y, torch.arange(4))(), torch.arange(4)[:, None, None] + y)
    assert torch.equal(call("where", "b n, b n, n", y > 0, y, torch.zeros(3))(), torch.where(y > 0, y, torch.zeros(3)))
    for pattern in ("b [n] d, b n", "b (n m) d, b n", "b ... d, b n", "b, n"):
        assert call("multiply", pattern, x, y) is None
    for a, b in ((x, y[:, :2]), (x[:, :0], y[:, :0])):
        with pytest.raises(Exception, match="the size of the axis n"):
            call("multiply", "b n d, b n", a, b)()
    assert call("sum", "b n d, b n", x, y) is None


def test_joining_an_empty_list_raises_as_torch_does():
    def f(x):
        parts = []
        if x.sum() > 0:
            parts.append(x)
        return torch.cat(parts, dim=0)

    program = check(f, (torch.ones(3),))
    for call in (f, program):
        with pytest.raises(ValueError):
            call(-torch.ones(3))
