# SPDX-License-Identifier: Apache-2.0
"""Linear systems and factors: conjugate gradients, Krylov methods, pivots, until the residual is small."""

import torch

from tests.models.registry import model, rand


@model("linear-operator", "conjugate gradients until the residual is small", rtol=1e-3, atol=1e-4)
def linear_cg():
    from linear_operator.utils.linear_cg import linear_cg as cg

    def solve(m, rhs):
        spd = m @ m.T + torch.eye(6)
        return cg(spd.matmul, rhs, tolerance=1e-2, max_iter=30)

    return solve, [(rand(6, 6, seed=s, scale=0.3 + 0.4 * s), rand(6, 1, seed=s)) for s in range(5)]


@model("linear-operator", "pivoted Cholesky until the error bound is met", rtol=1e-3, atol=1e-4)
def linear_operator_minres():
    from linear_operator.utils.minres import minres

    def solve(m, rhs):
        spd = m @ m.T + torch.eye(6)
        return minres(spd.matmul, rhs, max_iter=20)

    return solve, [(rand(6, 6, seed=s, scale=0.3 + 0.4 * s), rand(6, 1, seed=s)) for s in range(4)]


@model("linear-operator", "a Cholesky factor with pivots until the trace that is left is small")
def pivoted_cholesky():
    from linear_operator import to_linear_operator

    def run(x):
        return to_linear_operator(x @ x.T).pivoted_cholesky(rank=4, error_tol=0.3)

    return run, [(rand(4, k, seed=s),) for s, k in enumerate([3, 3, 3])] + [
        (torch.eye(4)[:, :3] * torch.tensor([3.0, 0.1, 0.1]),)
    ]


@model("linear-operator", "Lanczos's tridiagonal form until its vectors lose their angles")
def lanczos():
    from linear_operator.utils.lanczos import lanczos_tridiag

    return (
        lambda a, v: lanczos_tridiag(
            (a @ a.T + torch.eye(4)).matmul, 3, torch.float32, torch.device("cpu"), (4, 4), init_vecs=v
        )[1]
    ), [(rand(4, 4, seed=s), rand(4, 1, seed=s + 5)) for s in range(3)]


@model("pytorch-minimize", "least squares by conjugate gradients, until the residual is small", rtol=1e-3, atol=1e-4)
def torchmin_cgls():
    from torchmin.lstsq.cg import cgls

    return (lambda a, b: cgls(a, b, max_iter=20, tol=1e-3)), [(rand(6, 3, seed=s), rand(6, seed=s)) for s in range(3)]


@model("pypose", "conjugate gradients until the residual is small")
def pypose_cg():
    from pypose.optim.solver import CG

    def system(seed):
        a = rand(5, 5, seed=seed)
        return a @ a.T + torch.eye(5), rand(5, 1, seed=seed + 7)

    return CG(), [system(0), system(1), (torch.eye(5), torch.zeros(5, 1))]


@model("deepinv", "conjugate gradients until the residual is small")
def deepinv_cg():
    from deepinv.optim.linear import conjugate_gradient

    w = rand(4, 4, seed=3)
    w = w @ w.T + torch.eye(4)
    return (lambda b: conjugate_gradient(lambda x: x @ w, b, max_iter=20, tol=1e-3, parallel_dim=0)), [
        (rand(2, 4, seed=s),) for s in range(4)] + [(torch.zeros(2, 4),)]


@model("deepinv", "BiCGSTAB until the residual is small")
def deepinv_bicgstab():
    from deepinv.optim.linear import bicgstab

    w = (rand(4, 4, seed=3) * 0.3 + torch.eye(4)).double()
    return (lambda b: bicgstab(lambda x: x @ w, b, max_iter=20, tol=1e-3)), [
        (rand(2, 4, seed=s).double(),) for s in range(4)
    ]


@model("deepinv", "LSQR until one of its tests ends it")
def deepinv_lsqr():
    from deepinv.optim.linear import lsqr

    w = (rand(4, 4, seed=3) * 0.3 + torch.eye(4)).double()
    return (lambda b: lsqr(lambda x: x @ w, lambda y: y @ w.T, b, max_iter=20, tol=1e-3, parallel_dim=0)), [
        (rand(2, 4, seed=s).double(),) for s in range(4)]


@model("deepinv", "MINRES until the residual is small")
def deepinv_minres():
    from deepinv.optim.linear import minres

    w = rand(4, 4, seed=3)
    w = (w + w.T).double() + 2 * torch.eye(4).double()
    return (lambda b: minres(lambda x: x @ w, b, max_iter=20, tol=1e-3)), [
        (rand(2, 4, seed=s).double(),) for s in range(4)
    ]


@model("deepinv", "eigenvalues are dropped until mean and median agree")
def deepinv_patch_covariance():
    from deepinv.models.noise_level_estimation import PatchCovarianceNoiseEstimator

    def image(seed):
        smooth = torch.nn.functional.interpolate(rand(1, 1, 4, 4, seed=seed), size=(40, 40), mode="bilinear")
        return (smooth + rand(1, 1, 40, 40, seed=seed + 9) * (0.05 + 0.1 * seed),)

    return PatchCovarianceNoiseEstimator(), [image(s) for s in range(3)]


@model("gpytorch", "posterior mean by conjugate gradients until the residual is small", rtol=1e-3, atol=1e-4)
def gpytorch_posterior_cg():
    import gpytorch
    from linear_operator.utils.linear_cg import linear_cg

    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    kernel.eval()

    def run(x, y, new):
        matrix = kernel(x).to_dense() + 0.1 * torch.eye(6)
        weights = linear_cg(matrix.matmul, y, tolerance=1e-4, max_iter=20, n_tridiag=0)
        return kernel(new, x).to_dense() @ weights

    return run, [(rand(6, 2, seed=s, scale=1 + s), rand(6, 1, seed=s + 1), rand(3, 2, seed=s + 2)) for s in range(3)]


@model("gpytorch", "distance matrix with a check for equal inputs")
def gpytorch_rbf_kernel():
    import gpytorch

    k = gpytorch.kernels.RBFKernel()
    a = rand(4, 2)
    return (lambda x, y: k(x, y).to_dense()), [(a, a.clone()), (rand(4, 2, seed=1), rand(4, 2, seed=2))]
