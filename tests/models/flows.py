# SPDX-License-Identifier: Apache-2.0
"""Normalising flows: splines inside and outside of their interval, inverses by bisection or a fixed point."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise


@model("zuko", "a spline flow: inside and outside of the interval, inverse by search in the bins", rtol=1e-3, atol=1e-4)
def zuko_spline_flow():
    import zuko

    m = randomise(zuko.flows.NSF(2, 1, transforms=2, bins=4, hidden_features=(8,)))
    return (lambda x, c: m(c).log_prob(x)), [
        (rand(3, 2, seed=s, scale=1 + 2 * s), rand(3, 1, seed=s + 5)) for s in range(3)
    ]


@model("zuko", "a monotonic network inverted by bisection", rtol=1e-3, atol=1e-3)
def zuko_bisection():
    from zuko.utils import bisection

    return (lambda y: bisection(lambda x: torch.tanh(x) + 0.5 * x, y, -10.0, 10.0, n=12)), [
        (rand(4, seed=s),) for s in range(2)
    ]


@model("normflows", "an autoregressive spline flow, inverted dimension by dimension", rtol=1e-3, atol=1e-4)
def normflows_spline():
    import normflows as nf

    m = randomise(nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8, num_bins=4), scale=1.0)
    return (lambda x: (*m.forward(x), *m.inverse(x))), [(rand(3, 2, seed=s, scale=1 + 2 * s),) for s in range(3)]


@model("normflows", "inverted by a fixed point until it settles")
def normflows_residual_inverse():
    from normflows.flows.residual import iResBlock

    torch.manual_seed(0)
    net = iResBlock(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3)), exact_trace=False, brute_force=True)
    randomise(net, scale=0.3)
    return net._inverse_fixed_point, [(rand(4, 3, seed=s),) for s in range(3)]


@model("nflows", "rational quadratic splines: inside and outside of the interval by masks; checks of the domain")
def nflows_spline():
    from nflows.transforms.splines.rational_quadratic import unconstrained_rational_quadratic_spline as spline

    return (lambda x, w, h, d: spline(x, w, h, d, tail_bound=1.0)), [
        (rand(5, seed=s, scale=0.5 + s), rand(5, 4, seed=s), rand(5, 4, seed=s + 1), rand(5, 3, seed=s + 2))
        for s in range(4)
    ]


@model("nflows", "a flow inverted dimension by dimension")
def nflows_autoregressive_inverse():
    from nflows.transforms.autoregressive import MaskedPiecewiseRationalQuadraticAutoregressiveTransform as Flow

    m = randomise(Flow(features=3, hidden_features=8, num_bins=4, tails="linear", tail_bound=2.0, num_blocks=1))
    return (lambda x: m.inverse(x)), [(rand(2, 3, seed=s, scale=0.5 + s),) for s in range(3)]
