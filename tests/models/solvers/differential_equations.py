# SPDX-License-Identifier: Apache-2.0
"""Differential equations: steps accepted or rejected by an error estimate, until the time or an event is reached."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise


class Field(nn.Module):
    """A small vector field; stiffness grows with the state, so the number of steps depends on where it starts."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, t, y):
        return self.net(y) * (1 + y.pow(2).sum(-1, keepdim=True)) - 0.5 * y


def starts(n=5):
    return [(rand(2, 3, seed=s, scale=0.2 + 0.5 * s),) for s in range(n)]


def ode(method, **options):
    from torchdiffeq import odeint

    f = randomise(Field())
    times = torch.linspace(0, 1, 3)
    return (lambda y: odeint(f, y, times, method=method, rtol=1e-3, atol=1e-3, options=options or None)), starts()


@model("torchdiffeq", "step size by error estimate, steps accepted or rejected", rtol=1e-3, atol=1e-4)
def odeint_dopri5():
    return ode("dopri5")


@model("torchdiffeq", "third-order pair, another tableau", rtol=1e-3, atol=1e-4)
def odeint_bosh3():
    return ode("bosh3")


@model("torchdiffeq", "second-order pair", rtol=1e-3, atol=1e-4)
def odeint_adaptive_heun():
    return ode("adaptive_heun")


@model("torchdiffeq", "fixed steps: a static loop", rtol=1e-3, atol=1e-4)
def odeint_rk4():
    return ode("rk4", step_size=0.25)


@model("torchdiffeq", "fixed-point iteration in every step, until it converges", rtol=1e-3, atol=1e-4)
def odeint_implicit_adams():
    return ode("implicit_adams", step_size=0.25)


@model("torchdiffeq", "integration until an event, found by bisection", rtol=1e-3, atol=1e-4)
def odeint_event():
    from torchdiffeq import odeint_event

    f = randomise(Field())
    return (
        lambda y: odeint_event(
            f,
            y,
            torch.tensor(0.0),
            event_fn=lambda t, s: 2.0 - t - s.sum() * 0.01,
            method="dopri5",
            rtol=1e-3,
            atol=1e-3,
        )
    ), [(rand(3, seed=s, scale=0.3 + 0.2 * s),) for s in range(4)]


@model("torchdiffeq", "solver under the adjoint's autograd function", rtol=1e-3, atol=1e-4)
def odeint_adjoint_forward():
    from torchdiffeq import odeint_adjoint

    f = randomise(Field())
    times = torch.linspace(0, 1, 3)
    return (lambda y: odeint_adjoint(f, y, times, method="dopri5", rtol=1e-3, atol=1e-3)), starts(4)


@model("torchdiffeq", "a module that wraps the solver, as neural ODE classifiers do", rtol=1e-3, atol=1e-4)
def neural_ode_classifier():
    from torchdiffeq import odeint

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.field, self.head = nn.Linear(5, 3), Field(), nn.Linear(3, 4)
            self.register_buffer("times", torch.tensor([0.0, 1.0]))

        def forward(self, x):
            y = odeint(self.field, self.encode(x), self.times, method="dopri5", rtol=1e-2, atol=1e-2)[-1]
            return self.head(y).softmax(-1)

    return randomise(Classifier()), [(rand(2, 5, seed=s, scale=0.3 + 0.5 * s),) for s in range(5)]


@model("torchode", "per-sample step sizes; runs until every sample has finished", rtol=1e-3, atol=1e-4)
def torchode_dopri5():
    import torchode as to

    f = randomise(Field())
    term = to.ODETerm(lambda t, y: f(t, y))
    step = to.Dopri5(term=term)
    solver = to.AutoDiffAdjoint(step, to.IntegralController(atol=1e-3, rtol=1e-3, term=term))
    times = torch.linspace(0, 1, 3).repeat(2, 1)
    return (lambda y: solver.solve(to.InitialValueProblem(y0=y, t_eval=times)).ys), starts()


@model("torchcde", "a controlled equation, adaptive", rtol=1e-3, atol=1e-4)
def torchcde_cdeint():
    import torchcde

    class Control(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 6)

        def forward(self, t, z):
            return torch.tanh(self.lin(z)).view(*z.shape[:-1], 3, 2)

    f = randomise(Control())

    def run(x, z0):
        path = torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(x))
        return torchcde.cdeint(
            X=path, func=f, z0=z0, t=path.interval, adjoint=False, method="dopri5", rtol=1e-3, atol=1e-3
        )

    return run, [(rand(2, 4, 2, seed=s, scale=1 + s), rand(2, 3, seed=s)) for s in range(4)]


@model("torchdyn", "fixed steps", rtol=1e-3, atol=1e-4)
def torchdyn_rk4():
    from torchdyn.numerics import odeint

    f = randomise(Field())
    times = torch.linspace(0, 1, 5)
    return (lambda y: odeint(lambda t, x: f(t, x), y, times, solver="rk4")[1]), starts(3)


def double(make, scale=1.0):
    """In double precision, where rounding moves no step: what differs then is a defect."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        target, inputs = make()
        return target, [tuple(x * scale for x in given) for given in inputs]
    finally:
        torch.set_default_dtype(before)


@model("torchdiffeq", "steps accepted or rejected, in double precision", rtol=1e-8, atol=1e-9)
def odeint_dopri5_double():
    return double(odeint_dopri5, scale=0.5)


@model("torchode", "per-sample steps, in double precision", rtol=1e-8, atol=1e-9)
def torchode_dopri5_double():
    return double(torchode_dopri5, scale=0.5)  # at full scale the last start leaves the range of numbers


@model("torchcde", "a controlled equation, in double precision", rtol=1e-8, atol=1e-9)
def torchcde_cdeint_double():
    return double(torchcde_cdeint)
