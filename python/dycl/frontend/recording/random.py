# SPDX-License-Identifier: Apache-2.0
"""Random ops: draws from the run's generator, never folded and never repeated.

Every distribution is made of `rand.uniform`, `rand.normal` and `rand.int`. Streams differ from eager
torch's: a compiled program is random like the original, not equal to it.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

from ..diagnostics import CaptureRefusal
from ..graph.dtypes import dtype_name
from ..graph.program import HostNode, Value
from . import value_checks
from .schema import bind

aten = torch.ops.aten


def run(recorder, func, args: tuple, kwargs: dict) -> Any:
    """A functional random op."""
    make = _MAKERS.get(func.overloadpacket)
    if make is None:
        raise _unsupported(func)
    arguments = bind(func, args, kwargs)
    _refuse_generator(arguments)
    fake = recorder.fake(func, args, kwargs)
    if isinstance(fake, (tuple, list)):
        raise _unsupported(func)
    return recorder.adopt(fake, make(recorder, fake, arguments))


def run_inplace(recorder, func, args: tuple, kwargs: dict) -> Any:
    make = _MAKERS.get(func.overloadpacket)
    if make is None:
        raise _unsupported(func)
    arguments = bind(func, args, kwargs)
    _refuse_generator(arguments)
    target = args[0]
    recorder.write(target, make(recorder, target, arguments))
    return target


def _unsupported(func) -> CaptureRefusal:
    return CaptureRefusal(f"the random op {func.overloadpacket.__name__} is not supported",
                          "in training mode? call model.eval() first; else use rand, randn, randint, bernoulli, "
                          "normal or uniform", kind="random.op")


def _refuse_generator(arguments: dict) -> None:
    if arguments.get("generator") is not None:
        raise CaptureRefusal("a random op with a generator of its own", "leave generator out: a compiled program "
                             "draws from the run's generator", kind="random.generator")


def draw(recorder, op: str, like: torch.Tensor, leading: list[Value] | None = None,
         dtype: torch.dtype | None = None) -> torch.Tensor:
    """A handle of freshly drawn numbers in like's shape."""
    dtype = dtype or like.dtype
    fake = recorder.fake(torch.empty, (tuple(like.shape),), {"dtype": dtype, "device": like.device})
    value = Value(recorder.type_of(fake), recorder.block)
    extents = [recorder.numbers.int_value(s) for s in like.shape]
    recorder.append(HostNode(op, (leading or []) + extents, [value], {"dtype": dtype_name(dtype)},
                                         recorder.span))
    return recorder.adopt(fake, value)


def _float_dtype(like: torch.Tensor) -> torch.dtype:
    return like.dtype if like.dtype.is_floating_point else torch.float32


def _finish(recorder, compute: Callable[[], torch.Tensor], like: torch.Tensor) -> Value:
    """Records torch arithmetic on drawn handles and gives the result in like's dtype."""
    with recorder.calls.mode:
        result = compute()
        if result.dtype != like.dtype:
            result = result.to(like.dtype)
    return recorder.value_of(result)


def _expect(what: str, numbers: tuple, holds: Callable[..., bool]) -> None:
    """Refuses numbers, if they are known, that torch rejects."""
    if all(isinstance(n, (int, float)) for n in numbers) and not holds(*numbers):
        raise CaptureRefusal(f"torch rejects this distribution: {what}", "give it other parameters", kind="random.op")


def _uniform(recorder, like, arguments) -> Value:
    low, high = arguments.get("from", 0.0), arguments.get("to", 1.0)
    _expect("its bounds are the wrong way round", (low, high), lambda a, b: a <= b)
    drawn = draw(recorder, "rand.uniform", like, dtype=_float_dtype(like))
    if isinstance(low, float) and isinstance(high, float) and (low, high) == (0.0, 1.0):
        return recorder.value_of(drawn)
    return _finish(recorder, lambda: drawn * (high - low) + low, like)


def _standard_normal(recorder, like, arguments) -> Value:
    return recorder.value_of(draw(recorder, "rand.normal", like))


def _normal(recorder, like, arguments) -> Value:
    mean, std = arguments.get("mean", 0.0), arguments.get("std", 1.0)
    _expect("its standard deviation is negative", (std,), lambda s: s >= 0)
    value_checks.deviations(recorder, std)
    drawn = draw(recorder, "rand.normal", like, dtype=_float_dtype(like))
    return _finish(recorder, lambda: drawn * std + mean, like)


def _bernoulli(recorder, like, arguments) -> Value:
    p = arguments.get("p")
    p = arguments["self"] if p is None else p
    value_checks.probabilities(recorder, p)
    drawn = draw(recorder, "rand.uniform", like, dtype=_float_dtype(like))
    return _finish(recorder, lambda: drawn < p, like)


def _integers(recorder, like, arguments) -> Value:
    low, high = arguments.get("low", 0), arguments["high"]
    bounds = [recorder.numbers.int_value(low), recorder.numbers.int_value(high)]
    return recorder.value_of(draw(recorder, "rand.int", like, bounds))


def _exponential(recorder, like, arguments) -> Value:
    rate = arguments.get("lambd", 1.0)
    _expect("its rate is not positive", (rate,), lambda r: r > 0)
    drawn = draw(recorder, "rand.uniform", like, dtype=_float_dtype(like))
    return _finish(recorder, lambda: -torch.log1p(-drawn) / rate, like)


def _log_normal(recorder, like, arguments) -> Value:
    mean, std = arguments.get("mean", 1.0), arguments.get("std", 2.0)
    _expect("its standard deviation is not positive", (std,), lambda s: s > 0)
    drawn = draw(recorder, "rand.normal", like, dtype=_float_dtype(like))
    return _finish(recorder, lambda: torch.exp(drawn * std + mean), like)


def _permutation(recorder, like, arguments) -> Value:
    drawn = draw(recorder, "rand.uniform", like, dtype=torch.float64)
    return _finish(recorder, lambda: torch.argsort(drawn), like)


def _multinomial(recorder, like, arguments) -> Value:
    """Without replacement: the largest p / Exp(1). With: where uniform draws fall in the distribution function."""
    weights, count = arguments["self"], arguments["num_samples"]
    kind = weights.dtype if weights.dtype in (torch.float32, torch.float64) else torch.float32
    single = not isinstance(count, torch.SymInt) and count == 1
    if arguments["replacement"] and not single:
        drawn = draw(recorder, "rand.uniform", like, dtype=kind)
        return _finish(recorder, lambda: _inverse(_probabilities(weights).to(kind), drawn), like)
    drawn = draw(recorder, "rand.uniform", weights, dtype=kind)
    chosen = lambda: torch.topk(_probabilities(weights) / -torch.log1p(-drawn), count, dim=-1)[1]
    return _finish(recorder, chosen, like)


def _probabilities(weights: torch.Tensor) -> torch.Tensor:
    """The weights; the run fails with a RuntimeError, as torch does, if one is NaN, infinite or negative,
    or all are 0."""
    fine = (weights >= 0) & (weights < math.inf) & (weights.sum(-1, keepdim=True) > 0)
    places = torch.arange(weights.shape[-1]).expand(weights.shape)
    return weights.gather(-1, torch.where(fine, places, weights.shape[-1]))


def _inverse(weights: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    steps = torch.cumsum(weights, -1)
    scaled = drawn * steps[..., -1:]
    return (scaled.unsqueeze(-1) >= steps.unsqueeze(-2)).sum(-1)


_MAKERS: dict[Any, Callable] = {
    aten.rand: _uniform, aten.rand_like: _uniform, aten.uniform_: _uniform, aten.uniform: _uniform,
    aten.randn: _standard_normal, aten.randn_like: _standard_normal,
    aten.normal_: _normal, aten.normal: _normal, aten.normal_functional: _normal,
    aten.bernoulli: _bernoulli, aten.bernoulli_: _bernoulli,
    aten.randint: _integers, aten.randint_like: _integers,
    aten.exponential_: _exponential, aten.exponential: _exponential,
    aten.log_normal_: _log_normal, aten.log_normal: _log_normal,
    aten.randperm: _permutation, aten.multinomial: _multinomial,
}
