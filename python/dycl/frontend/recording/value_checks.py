# SPDX-License-Identifier: Apache-2.0
"""Values that torch rejects: the run fails on them as eager does,
where the op that stands in for torch's would answer something.

Torch looks at such values itself (a probability above 1, a quantile's place, offsets of bags), which stand-ins for
tensors don't have while recording; and it converts Python's numbers to a tensor's dtype with care, engines without.
"""

from __future__ import annotations

from typing import Any, Callable

import sympy
import torch

from ...dtypes import own_name
from ..graph.known_values import is_known

aten = torch.ops.aten

_CONVERTING = {aten.full, aten.full_like, aten.new_full, aten.fill, aten.masked_fill, aten.index_fill, aten.clamp,
               aten.clamp_min, aten.clamp_max, aten.scalar_tensor}  # ops that take a number in their tensor's dtype


def require(recorder, holds: Callable[[], torch.Tensor], message: str) -> None:
    """The run fails unless the tensor that `holds` computes is all true."""
    recorder.numbers.assert_true(recorder.numbers.truth(recorder.calls.native(lambda: holds().all(), (), {})), message)


def require_number(recorder, func, args: tuple, kwargs: dict, dtype: torch.dtype) -> None:
    """Run-time numbers among the arguments of an op that converts them must fit its dtype."""
    if (func.overloadpacket in _CONVERTING and not dtype.is_floating_point
            and not dtype.is_complex and dtype != torch.bool):
        for x in (*args, *kwargs.values()):
            if isinstance(x, (torch.SymInt, torch.SymFloat)):
                require_fitting(recorder, x, dtype)


def require_fitting(recorder, number: Any, dtype: torch.dtype) -> None:
    """`number`: a torch.SymInt or SymFloat."""
    if dtype == torch.int64 and isinstance(number, torch.SymInt):
        return
    highest = torch.iinfo(dtype).max
    lowest = torch.iinfo(dtype).min or -highest  # torch lets -1 be 255
    for condition in (sympy.Ge(number.node.expr, lowest), sympy.Le(number.node.expr, highest)):
        if condition is not sympy.true:
            recorder.check(recorder.symbols.lower(condition),
                           f"value cannot be converted to type {own_name(dtype)} without overflow",
                           "RuntimeError")


def of_truth_values(func, args: tuple) -> None:
    """Torch subtracts no bools, neither tensors nor numbers; stand-ins for them pass."""
    if func.overloadpacket in (aten.sub, aten.rsub) and any(
            x.dtype == torch.bool if isinstance(x, torch.Tensor) else isinstance(x, torch.SymBool) for x in args[:2]):
        if all(isinstance(x, torch.Tensor) and x.dtype == torch.bool for x in args[:2]):
            raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. "
                               "Use the `^` or `logical_xor()` operator instead.")
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. "
                           "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")


# ---- functions of torch that look at their arguments -----------------------------------------------


def quantile(recorder, input, q, *args, **kwargs) -> Any:
    if isinstance(q, torch.Tensor):
        require(recorder, lambda: (q >= 0) & (q <= 1), "quantile() q values must be in the range [0, 1]")
    return NotImplemented


def histc(recorder, input, bins=100, min=0, max=0, **kwargs) -> Any:
    if isinstance(input, torch.Tensor) and input.is_floating_point() and isinstance(min, (int, float)) and min == max:
        require(recorder, lambda: torch.isfinite(input), "torch.histc: the range of the elements is not finite")
    return NotImplemented


def bag_offsets(recorder, indices, offsets) -> None:
    """Of embedding_bag."""
    if (isinstance(offsets, torch.Tensor) and not is_known(recorder.value_of(offsets)) and offsets.dim() == 1
            and not recorder.is_symbolic((indices, offsets))):
        require(recorder, lambda: (offsets[:1] == 0) & (offsets[-1:] <= indices.numel()),
                "offsets of bags must begin with 0 and not go beyond the input")


def probabilities(recorder, p: Any, what: str = "Expected p_in >= 0 && p_in <= 1 to be true, but got false.") -> None:
    if isinstance(p, torch.Tensor):
        require(recorder, lambda: (p >= 0) & (p <= 1), what)


def deviations(recorder, std: Any) -> None:
    if isinstance(std, torch.Tensor):
        require(recorder, lambda: std >= 0, "normal expects all elements of std >= 0.0")


def binary_cross_entropy(recorder, input, target, *args, **kwargs) -> Any:
    probabilities(recorder, input, "all elements of input should be between 0 and 1")
    probabilities(recorder, target, "all elements of target should be between 0 and 1")
    return NotImplemented


def max_unpool(recorder, input, indices, *args, **kwargs) -> Any:
    if isinstance(indices, torch.Tensor):
        require(recorder, lambda: indices >= 0, "Found an invalid max index")
    return NotImplemented


def slice_scatter(recorder, input, src, dim=0, start=None, end=None, step=1) -> Any:
    """torch compares the sizes of the two itself, which it does not where they are symbolic."""
    if recorder.is_symbolic((input, src)):
        place = recorder.calls.native(lambda: aten.slice.Tensor(input, dim, start, end, step), (), {})
        if len(place.shape) == len(src.shape):
            for have, wanted in zip(src.shape, place.shape):
                recorder.symbols.require_equal(have, wanted)
    return NotImplemented
