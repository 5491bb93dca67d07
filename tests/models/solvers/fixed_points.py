# SPDX-License-Identifier: Apache-2.0
"""Fixed points and roots: iterated until the residual is small, or told apart by case."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise


@model("torchdeq", "fixed-point iteration until the residual is small", rtol=1e-3, atol=1e-4)
def torchdeq_fixed_point():
    from torchdeq import get_deq

    deq = get_deq(f_solver="fixed_point_iter", f_max_iter=30, f_tol=1e-3)
    lin = randomise(nn.Linear(4, 4), scale=0.7)
    deq.eval()
    return (lambda x: deq(lambda z: torch.tanh(lin(z) + x), torch.zeros_like(x))[0][-1]), [
        (rand(2, 4, seed=s, scale=0.2 + s),) for s in range(4)]


@model("torchdeq", "Anderson acceleration until the residual is small", rtol=1e-3, atol=1e-3)
def torchdeq_anderson():
    from torchdeq import get_deq

    deq = get_deq(f_solver="anderson", f_max_iter=20, f_tol=1e-3)
    lin = randomise(nn.Linear(4, 4), scale=0.7)
    deq.eval()
    return (lambda x: deq(lambda z: torch.tanh(lin(z) + x), torch.zeros_like(x))[0][-1]), [
        (rand(2, 4, seed=s, scale=0.2 + s),) for s in range(3)]


@model("torchdeq", "Broyden's method until the residual is small", rtol=1e-3, atol=1e-3)
def torchdeq_broyden():
    from torchdeq import get_deq

    deq = get_deq(f_solver="broyden", f_max_iter=15, f_tol=1e-3).eval()
    lin = randomise(nn.Linear(4, 4), scale=0.7)
    return (lambda x: deq(lambda z: torch.tanh(lin(z) + x), torch.zeros_like(x))[0][-1]), [
        (rand(2, 4, seed=s, scale=0.2 + s),) for s in range(4)
    ]


@model("xitorch", "Broyden's method until the residual is small")
def xitorch_rootfinder():
    from xitorch.optimize import rootfinder

    w = rand(3, 3, seed=1, scale=0.3).double()
    return (
        lambda y: rootfinder(lambda v: v + 0.5 * torch.tanh(v @ w) - 1, y, method="broyden1", maxiter=20, f_tol=1e-6)
    ), [(rand(1, 3, seed=s).double(),) for s in range(4)]


@model("kornia", "roots of cubics by case, over masks that may be empty")
def kornia_solve_cubic():
    from kornia.geometry.solvers import solve_cubic

    coefficients = [torch.tensor([[1.0, -6, 11, -6], [0, 1, -3, 2]]), torch.tensor([[1.0, 0, 0, 0], [0, 0, 2, -4]]),
                    torch.tensor([[2.0, 1, 5, 1], [1, 2, 3, 4]])]
    return (lambda c: solve_cubic(c)), [(c,) for c in coefficients]
