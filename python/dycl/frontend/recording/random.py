# SPDX-License-Identifier: Apache-2.0
"""Random ops: draws from the run's generator, in eager's order, never folded and never repeated.

The generator is torch's, and so are the numbers: an op of torch's is a draw of one distribution (`rand.*`, see
docs/ir.md), followed by the arithmetic that torch does on it. Torch fills a tensor in the order in which it lies in
memory, so a draw has the extents in that order, and the result is a permuted view of it.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Callable, Iterator

import torch

from ... import generators
from ..diagnostics import CaptureRefusal
from ..graph.dtypes import dtype_name
from ..graph.program import HostNode, TensorType, Value
from ..polyfills.generators import RtSource
from ..values.native_entries import natively
from . import value_checks
from .memory_layout import is_plain, order_of, overlaps_itself
from .schema import bind, is_out_variant, written

aten = torch.ops.aten


def run(recorder, func, args: tuple, kwargs: dict) -> Any:
    """A functional random op."""
    if func is aten.native_dropout.default:
        with recorder.calls.mode:
            return _dropout(**bind(func, args, kwargs))
    return _from_its_generator(_made, recorder, func, args, kwargs)


def run_inplace(recorder, func, args: tuple, kwargs: dict) -> Any:
    return _from_its_generator(_written, recorder, func, args, kwargs)


def _from_its_generator(take: Callable, recorder, func, args: tuple, kwargs: dict) -> Any:
    """`take` gets what makes its value, and its arguments by name."""
    make = _MAKERS.get(func.overloadpacket)
    if make is None:
        raise _unsupported(func)
    arguments = bind(func, args, kwargs)
    generator = arguments.get("generator")
    with lent(recorder, generator):
        # overloads that take one have no default for it
        kwargs = {name: None if name == "generator" else value for name, value in kwargs.items()}
        return take(recorder, func, args, kwargs, make, arguments)


def _made(recorder, func, args: tuple, kwargs: dict, make: Callable, arguments: dict) -> Any:
    if func.overloadpacket in _BY_ELEMENT:
        first = next(iter(arguments.values()))
        fake = recorder.fake(torch.empty, (tuple(first.shape),), {"dtype": first.dtype})
        return recorder.adopt(fake, make(recorder, fake, arguments))
    fake = recorder.fake(func, args, kwargs)
    if isinstance(fake, (tuple, list)):
        raise _unsupported(func)
    if any(isinstance(a, torch.Tensor) for a in arguments.values()):
        recorder.layout.drawn_like(fake)
    return recorder.adopt(fake, make(recorder, fake, arguments))


def _written(recorder, func, args: tuple, kwargs: dict, make: Callable, arguments: dict) -> Any:
    target = arguments[written(func)[0].name]
    if is_out_variant(func):
        raise CaptureRefusal(f"out= of the random op {func.overloadpacket.__name__}", "assign its result",
                             kind="random.op")
    if overlaps_itself(target):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single "
                           "memory location. Please clone() the tensor before performing the operation.")
    recorder.layout.drawn_like(target)
    recorder.write(target, make(recorder, target, arguments))
    return target


def with_run_time_numbers(op: Any) -> Callable:
    """Of a method that draws in place: torch takes its parameters as plain numbers only."""

    def taken(recorder, *args, **kwargs) -> Any:
        symbolic = (torch.SymInt, torch.SymFloat)
        if not any(isinstance(x, symbolic) for x in (*args[1:], *kwargs.values())):
            return NotImplemented
        return run_inplace(recorder, op, args, kwargs)

    return taken


def _unsupported(func) -> CaptureRefusal:
    return CaptureRefusal(f"the random op {func.overloadpacket.__name__} is not supported",
                          "in training mode? call model.eval() first; else use rand, randn, randint, bernoulli, "
                          "normal or uniform", kind="random.op")


# ---- generators ---------------------------------------------------------------------------------


def state_tensor(recorder, generator: Any) -> torch.Tensor | None:
    """The handle of what a generator's state is; None: it is the run's own."""
    if isinstance(generator, RtSource):
        return generator.state
    if generator is None or generator is torch.default_generator:
        return None
    if isinstance(generator, torch.Generator) and generator.device.type != "cpu":
        raise CaptureRefusal(f"a generator on {generator.device}: programs run on the CPU", "make one on the CPU",
                             kind="random.generator")
    return recorder.real.lift(generators.tensor_of(generator))


def state_of_run(recorder) -> Value:
    return recorder.host("rand.state", [], TensorType(torch.uint8, (generators.STATE_BYTES,)))


def set_state_of_run(recorder, state: Value) -> None:
    recorder.append(HostNode("rand.set_state", [state], [], {}, recorder.span))


def seed_run(recorder, seed: Any) -> None:
    recorder.append(HostNode("rand.seed", [recorder.numbers.int_value(seed)], [], {}, recorder.span))


@contextlib.contextmanager
def lent(recorder, generator: Any) -> Iterator[None]:
    """What is drawn meanwhile, it draws: the run goes on from its state, and then from its own, also where it fails."""
    state = state_tensor(recorder, generator)
    if state is None:
        yield
        return
    recorder.append(HostNode("rand.lend", [recorder.value_of(state)], [], {}, recorder.span))
    try:
        yield
    except (RuntimeError, TypeError, ValueError, IndexError):  # the program may catch it
        _given_back(recorder)
        raise
    recorder.write(state, _given_back(recorder))


def _given_back(recorder) -> Value:
    return recorder.host("rand.give_back", [], TensorType(torch.uint8, (generators.STATE_BYTES,)))


# ---- numbers ------------------------------------------------------------------------------------


def draw(recorder, op: str, like: torch.Tensor, parameters: tuple = (),
         dtype: torch.dtype | None = None) -> torch.Tensor:
    """A handle of freshly drawn numbers in like's shape. `parameters`: values of the program."""
    axes = _from_outermost(like)
    if op == "rand.normal" and not is_plain(like):
        op = "rand.normal_each"
    drawn = draw_new(recorder, op, tuple(like.shape[axis] for axis in axes), dtype or like.dtype, parameters)
    if list(axes) == list(range(like.dim())):
        return drawn
    with recorder.calls.mode:
        return drawn.permute([axes.index(axis) for axis in range(like.dim())])


def draw_new(recorder, op: str, shape: tuple, dtype: torch.dtype, parameters: tuple = ()) -> torch.Tensor:
    fake = recorder.fake(torch.empty, (shape,), {"dtype": dtype})
    value = Value(recorder.type_of(fake), recorder.block)
    extents = [recorder.numbers.int_value(s) for s in shape]
    recorder.append(HostNode(op, [*parameters, *extents], [value], {"dtype": dtype_name(dtype)}, recorder.span))
    return recorder.adopt(fake, value)


def _from_outermost(like: torch.Tensor) -> list[int]:
    """The axes in the order in which the elements lie in memory."""
    if is_plain(like):
        return [*range(like.dim())]
    order = order_of(like)
    if order is not None:
        return [*reversed(order)]
    if any(isinstance(s, torch.SymInt) for s in like.stride()):
        raise CaptureRefusal("random numbers written to a part of a tensor whose extents are known only at run time",
                             "draw a tensor of its own, and copy it there", kind="random.op")
    return sorted(range(like.dim()), key=lambda axis: -like.stride(axis))


def _finish(recorder, compute: Callable[[], torch.Tensor], like: torch.Tensor) -> Value:
    """Records torch arithmetic on drawn handles and gives the result in like's dtype."""
    with recorder.calls.mode:
        result = compute()
        if result.dtype != like.dtype:
            result = result.to(like.dtype)
    return recorder.value_of(result)


def _expect(holds: bool, what: str) -> None:
    """Refuses what is known and torch rejects."""
    if not holds:
        raise CaptureRefusal(f"torch rejects this distribution: {what}", "give it other parameters", kind="random.op")


def _floats(recorder, *numbers: Any) -> tuple:
    return tuple(map(recorder.numbers.float_value, numbers))


def _check_parameters(recorder, op: str, dtype: torch.dtype, given: list) -> None:
    """Torch says at once what it does not take, of known numbers; of others the run does, for good."""
    if any(isinstance(x, (torch.SymInt, torch.SymFloat)) for x in given):
        recorder.refuse_caught(RuntimeError)
        return
    with recorder.without_modes():
        natively(getattr(torch.Tensor, op.removeprefix("rand.") + "_"), torch.empty(0, dtype=dtype), *given)


def _of(op: str, *names: tuple[str, float]) -> Callable:
    """The op that draws in like's own dtype, with these parameters (name, default)."""

    def make(recorder, like, arguments) -> Value:
        _expect(like.dtype.is_floating_point or op == "rand.geometric" and like.dtype == torch.int64,
                f"{op.removeprefix('rand.')} numbers in {like.dtype}")
        given = [arguments.get(name, default) for name, default in names]
        _check_parameters(recorder, op, like.dtype, given)
        return recorder.value_of(draw(recorder, op, like, _floats(recorder, *given)))

    return make


_uniform = _of("rand.uniform", ("from", 0.0), ("to", 1.0))
_standard_normal = _of("rand.normal", ("mean", 0.0), ("std", 1.0))


def _normal(recorder, like, arguments) -> Value:
    mean, std = arguments.get("mean", 0.0), arguments.get("std", 1.0)
    value_checks.deviations(recorder, std)
    _expect(like.dtype.is_floating_point, f"normal numbers in {like.dtype}")
    plain = 1.0 if isinstance(std, torch.Tensor) else std
    if not isinstance(mean, torch.Tensor) and not isinstance(std, torch.Tensor):
        _check_parameters(recorder, "rand.normal", like.dtype, [mean, std])
        return recorder.value_of(draw(recorder, "rand.normal", like, _floats(recorder, mean, std)))
    _check_parameters(recorder, "rand.normal", like.dtype, [0.0, plain])
    drawn = draw(recorder, "rand.normal", like, _floats(recorder, 0.0, plain))
    return _finish(recorder, lambda: (drawn * std if isinstance(std, torch.Tensor) else drawn) + mean, like)


def _bernoulli(recorder, like, arguments) -> Value:
    """A number drawn below p; of one probability for all with as many digits as a double has."""
    p = arguments.get("p")
    p = arguments["self"] if p is None else p
    value_checks.probabilities(recorder, p)
    kind = torch.float64 if not isinstance(p, torch.Tensor) or p.dtype == torch.float64 else torch.float32
    if isinstance(p, (int, float)):
        _expect(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    drawn = draw(recorder, "rand.uniform", like, _floats(recorder, 0.0, 1.0), kind)
    return _finish(recorder, lambda: drawn < (p.to(kind) if isinstance(p, torch.Tensor) else p), like)


def _largest(dtype: torch.dtype) -> int:
    """Up to which a dtype holds all integers."""
    if dtype == torch.bool:
        return 1
    return round(2 / torch.finfo(dtype).eps) if dtype.is_floating_point else torch.iinfo(dtype).max


def _integers(recorder, like, arguments) -> Value:
    low, high = arguments.get("low", arguments.get("from", 0)), arguments.get("high", arguments.get("to"))
    _expect(like.dtype not in (torch.uint16, torch.uint32, torch.uint64), f"integers in {like.dtype}")
    if high is None and not any(name in arguments for name in ("from", "to")):
        return recorder.value_of(draw(recorder, "rand.any_int", like))
    last = _largest(like.dtype)
    if high is None:
        _expect(like.dtype != torch.int64, "random_ without an end, in int64")
        high = last + 1
    if isinstance(high, torch.Tensor):
        high = recorder.numbers.symbolic_item(high)
    known = [x for x in (low, high) if isinstance(x, int)]
    if like.dtype.is_floating_point and any(abs(x) > last + 1 for x in known):
        raise CaptureRefusal(f"random integers beyond those that {like.dtype} holds", "draw them in int64",
                             kind="random.op")
    bounds = tuple(map(recorder.numbers.int_value, (low, high)))
    return recorder.value_of(draw(recorder, "rand.int", like, bounds))


def _permutation(recorder, like, arguments) -> Value:
    return recorder.value_of(draw(recorder, "rand.permutation", like))


def _dropout(input: torch.Tensor, p: float, train: bool | None) -> tuple:
    """What torch makes of dropout where extents are known only at run time; eager does it so."""
    if not train:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    noise = torch.empty_like(input).bernoulli_(1 - p)
    return input * (noise.div_(1 - p) if p < 1 else noise), noise != 0


def _multinomial(recorder, like, arguments) -> Value:
    """Without replacement: the largest p / Exp(1). With: where uniform draws fall in the distribution function."""
    weights, count = arguments["self"], arguments["num_samples"]
    if not isinstance(count, torch.SymInt) and count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    recorder.refuse_caught(RuntimeError)  # of weights that are no distribution
    single = not isinstance(count, torch.SymInt) and count == 1
    if arguments["replacement"] and not single:
        drawn = draw(recorder, "rand.uniform", like, _floats(recorder, 0.0, 1.0), torch.float64)
        return _finish(recorder, lambda: _inverse(_probabilities(weights), drawn), like)
    with recorder.calls.mode:
        aside = torch.empty_like(weights).exponential_()
    chosen = ((lambda: torch.argmax(_probabilities(weights) / aside, -1, True)) if single else
              (lambda: torch.topk(_probabilities(weights) / aside, count, dim=-1)[1]))
    return _finish(recorder, chosen, like)


def _probabilities(weights: torch.Tensor) -> torch.Tensor:
    """The weights; the run fails with a RuntimeError, as torch does, if one is NaN, infinite or negative,
    or all are 0."""
    fine = (weights >= 0) & (weights < math.inf) & (weights.sum(-1, keepdim=True) > 0)
    places = torch.arange(weights.shape[-1]).expand(weights.shape)
    return weights.gather(-1, torch.where(fine, places, weights.shape[-1]))


def _inverse(weights: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """How many steps of the distribution function lie below; it is summed in float at least, as torch does."""
    kind = torch.float64 if weights.dtype == torch.float64 else torch.float32
    steps = torch.cumsum(weights.to(kind), -1)
    steps = (steps / steps[..., -1:]).to(torch.float64)
    return (steps.unsqueeze(-2) < drawn.unsqueeze(-1)).sum(-1)


def _samples(op: str, *names: str) -> Callable:
    """One that torch samples element by element, from parameters that are tensors."""

    def make(recorder, like, arguments) -> Value:
        given = [arguments[name] for name in names]
        _expect(all(x.dtype == like.dtype and x.dtype in (torch.float32, torch.float64) for x in given),
                f"{op.removeprefix('rand.')} numbers in {like.dtype}")
        recorder.refuse_caught(RuntimeError)
        with recorder.calls.mode:
            given = [x.expand(like.shape) for x in given]
        return recorder.value_of(draw_new(recorder, op, tuple(like.shape), like.dtype,
                                          tuple(map(recorder.value_of, given))))

    return make


def _dirichlet(recorder, like, arguments) -> Value:
    """Gamma numbers in double, each by their sum, and no 0 nor 1."""
    concentration = arguments["self"]
    with recorder.calls.mode:
        drawn = aten._standard_gamma(concentration.to(torch.float64))
    limits = torch.finfo(like.dtype)
    most = 1.0 - limits.eps / 2

    def shares() -> torch.Tensor:
        return (drawn / drawn.sum(-1, keepdim=True)).to(like.dtype).clamp(limits.tiny, most)

    return _finish(recorder, shares, like)


_exponential = _of("rand.exponential", ("lambd", 1.0))
_geometric = _of("rand.geometric", ("p", 0.5))
_cauchy = _of("rand.cauchy", ("median", 0.0), ("sigma", 1.0))
_log_normal = _of("rand.log_normal", ("mean", 1.0), ("std", 2.0))

# whose result is a new tensor, filled in the order of its places however the operands lie
_BY_ELEMENT = (aten.poisson, aten.binomial, aten._standard_gamma, aten._sample_dirichlet)

_MAKERS: dict[Any, Callable] = {
    aten.rand: _uniform, aten.rand_like: _uniform, aten.uniform_: _uniform, aten.uniform: _uniform,
    aten.randn: _standard_normal, aten.randn_like: _standard_normal,
    aten.normal_: _normal, aten.normal: _normal, aten.normal_functional: _normal,
    aten.bernoulli: _bernoulli, aten.bernoulli_: _bernoulli,
    aten.randint: _integers, aten.randint_like: _integers, aten.random: _integers, aten.random_: _integers,
    aten.exponential_: _exponential, aten.exponential: _exponential,
    aten.geometric_: _geometric, aten.geometric: _geometric, aten.cauchy_: _cauchy, aten.cauchy: _cauchy,
    aten.log_normal_: _log_normal, aten.log_normal: _log_normal,
    aten.randperm: _permutation, aten.multinomial: _multinomial,
    aten.poisson: _samples("rand.poisson", "self"), aten.binomial: _samples("rand.binomial", "count", "prob"),
    aten._standard_gamma: _samples("rand.gamma", "self"), aten._sample_dirichlet: _dirichlet,
}
