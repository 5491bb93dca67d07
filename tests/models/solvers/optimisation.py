# SPDX-License-Identifier: Apache-2.0
"""Optimisation: quadratic programs, least squares, optimal transport, projections onto the simplex."""

import torch

from tests.models.registry import model, rand


@model("qpth", "quadratic programs by an interior point method, until the residual is small or stalls")
def qpth_solve():
    from qpth.solvers.pdipm import batch

    def run(q, p, g, h):
        Q = q @ q.transpose(1, 2) + torch.eye(3, dtype=q.dtype)
        A, b = torch.empty(1, 0, dtype=q.dtype), torch.empty(1, 0, dtype=q.dtype)
        factors = batch.pre_factor_kkt(Q, g, A)
        x, y, z, s = batch.forward(Q, p, g, h, A, b, *factors, eps=1e-6, verbose=-1, notImprovedLim=3, maxIter=12)
        return x, z, s

    return run, [
        (
            rand(1, 3, 3, seed=s).double(),
            rand(1, 3, seed=s + 1).double() * 3,
            rand(1, 4, 3, seed=s + 2).double(),
            rand(1, 4, seed=s + 3).double().abs() + 0.1,
        )
        for s in range(4)
    ]


@model("mpc", "a projected Newton method with a line search until it stays")
def mpc_pnqp():
    from mpc.pnqp import pnqp

    def run(a, q):
        x, _, free, steps = pnqp(a @ a.transpose(1, 2) + torch.eye(3), q, -torch.ones(2, 3), torch.ones(2, 3))
        return x, free, steps

    return run, [(rand(2, 3, 3, seed=s), rand(2, 3, seed=s + 9, scale=k)) for s, k in enumerate([1.0, 3.0, 9.0, 0.1])]


@model("tensorly", "FISTA for nonnegative least squares until it moves little")
def tensorly_fista():
    import tensorly
    from tensorly.solvers.nnls import fista

    tensorly.set_backend("pytorch")
    return (lambda u, m: fista(u.T @ m, u.T @ u, lr=0.05, n_iter_max=30, tol=1e-2)), [
        (rand(6, 3, seed=s), rand(6, 2, seed=s + 9)) for s in range(4)]


@model("tensorly", "coordinate descent for nonnegative least squares until it moves little")
def tensorly_hals():
    import tensorly
    from tensorly.solvers.nnls import hals_nnls

    tensorly.set_backend("pytorch")
    return (lambda u, m: hals_nnls(u.T @ m, u.T @ u, V=torch.ones(3, 2), n_iter_max=20, tol=1e-3)), [
        (rand(6, 3, seed=s), rand(6, 2, seed=s + 9)) for s in range(4)]


@model("geomloss", "the number of annealing steps follows from the diameter of the data", rtol=1e-3, atol=1e-4)
def geomloss_sinkhorn():
    from geomloss import SamplesLoss

    loss = SamplesLoss("sinkhorn", p=2, blur=0.3, backend="tensorized")
    return (lambda x, y: loss(x, y)), [
        (rand(5, 2, seed=s, scale=1 + 2 * s), rand(4, 2, seed=s + 9, scale=1 + 2 * s)) for s in range(4)
    ]


@model("pot", "Sinkhorn iterations until the marginals agree", rtol=1e-3, atol=1e-4)
def pot_sinkhorn():
    import ot

    a, b = torch.full((5,), 0.2), torch.full((4,), 0.25)
    return (lambda cost: ot.sinkhorn(a, b, cost, reg=0.5, numItermax=200, stopThr=1e-4)), [
        (rand(5, 4, seed=s, scale=0.5 + s).abs(),) for s in range(5)]


@model("pot", "unbalanced transport until convergence", rtol=1e-3, atol=1e-4)
def pot_sinkhorn_unbalanced():
    import ot

    a, b = torch.full((5,), 0.2), torch.full((4,), 0.25)
    return (
        lambda cost: ot.unbalanced.sinkhorn_unbalanced(a, b, cost, reg=0.5, reg_m=1.0, numItermax=100, stopThr=1e-4)
    ), [(rand(5, 4, seed=s, scale=0.5 + s).abs(),) for s in range(5)]


@model("entmax", "partial sort with k; recursion with 2k while the support is larger")
def entmax_topk():
    from entmax import entmax15

    return (lambda x: entmax15(x, dim=-1, k=2)), [(rand(3, 12, seed=s, scale=0.1 + s),) for s in range(5)]


@model("entmax", "partial sort with k; recursion with 2k while the support is larger")
def sparsemax_topk():
    from entmax import sparsemax

    return (lambda x: sparsemax(x, dim=-1, k=2)), [(rand(3, 12, seed=s, scale=0.1 + s),) for s in range(5)]


@model("entmax", "bisection with a static number of steps")
def entmax_bisection():
    from entmax import entmax_bisect

    return (lambda x: entmax_bisect(x, alpha=1.3, dim=-1, n_iter=15)), [
        (rand(3, 6, seed=s, scale=1 + s),) for s in range(3)
    ]
