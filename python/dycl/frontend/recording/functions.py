# SPDX-License-Identifier: Apache-2.0
"""What happens to a native function of torch: one table by name, which a native call asks once.

What has no row is dispatched: torch runs it, and `dispatch.kind_of` says what becomes of each op that arrives. A row's
`take` may give NotImplemented; then the function is kept whole, if its row says so, or dispatched like any other.
`python -m dycl.frontend.torch_functions torch.linspace` prints what happens to one, from handlers to conversions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Callable

import torch

from ..diagnostics import CaptureRefusal
from . import composed_functions as composed
from . import indexing, packed_sequences, random, refused_calls, value_checks
from . import tensor_construction as construction
from . import tensor_to_number as numbers
from .memory_layout import ASKS, ASKS_OFFSET, MAY_COPY
from .tensor_to_number import Numbers

BUILT = "built"  # a tensor of Python data; gets arguments as the program has them
ANSWERED = "answered"  # of a tensor: gives a number, or takes numbers of run time
COMPOSED = "composed"  # written out in other functions of torch
CHECKED = "checked"  # values that torch rejects fail the run
REFUSED = "refused"
DISPATCHED = "dispatched"


@dataclass(frozen=True, slots=True)
class Function:
    """How native calls of one name are taken."""

    how: str = DISPATCHED
    take: Callable | None = None  # (recorder, args...) -> the result
    whole: bool = False  # recorded as one op where an overload takes the arguments
    sizes: slice | None = None  # positional arguments that are sizes: there a tensor of one integer is a number
    may_fail: bool = False  # in a run, where extents of run time do not fit, or
    indices: Callable | None = None  # these of its positional arguments
    training: Callable | None = None  # (name, args, kwargs) -> what is refused because it is random then, or None
    layout: str = ""  # how it depends on how a tensor lies in memory: ASKS, ASKS_OFFSET, MAY_COPY

    def ways(self) -> list[str]:
        """In the order in which they are tried."""
        return [self.how] * (self.take is not None) + ["kept whole"] * self.whole + [
            DISPATCHED] * (self.how not in (BUILT, ANSWERED, REFUSED))


GRADIENTS = "gradients inside the compiled program", "compile the forward computation only"
UNNAMED = Function()
FUNCTIONS: dict[str, Function] = {}


def _row(names: str, **what: Any) -> None:
    for name in names.split():
        known = FUNCTIONS.get(name, UNNAMED)
        twice = [f.name for f in fields(Function) if f.name in what and getattr(known, f.name) != f.default]
        if twice:
            raise ValueError(f"{name} has two ways: {', '.join(twice)}")
        FUNCTIONS[name] = replace(known, **what)


def _refusing(text: str, remedy: str | None, kind: str) -> Callable:
    def refuse(recorder, *args, **kwargs):
        raise CaptureRefusal(text, remedy, kind=kind)

    return refuse


# ---- taken before torch sees it ---------------------------------------------------------------------

_row("tensor", how=BUILT, take=construction.tensor)
_row("as_tensor asarray", how=BUILT, take=construction.as_tensor)
_row("new_tensor", how=BUILT, take=construction.new_tensor)
_row("scalar_tensor", how=BUILT, take=construction.scalar_tensor)
_row("from_numpy", how=BUILT, take=construction.from_numpy)

_row("__getitem__", how=COMPOSED, take=indexing.get)
_row("__setitem__", how=COMPOSED, take=indexing.set)
_row("item", how=ANSWERED, take=numbers.answer(Numbers.item))
_row("tolist", how=ANSWERED, take=numbers.tolist)
_row("__bool__ is_nonzero", how=ANSWERED, take=numbers.answer(Numbers.truth))
_row("__int__ __index__", how=ANSWERED, take=numbers.number(int))
_row("__float__", how=ANSWERED, take=numbers.number(float))
_row("equal", how=ANSWERED, take=numbers.answer(Numbers.equal))
_row("allclose", how=ANSWERED, take=numbers.answer(Numbers.allclose))

_row("_grouped_mm grouped_mm", how=COMPOSED, take=composed.grouped_mm)
_row("diff", how=COMPOSED, take=composed.diff)
_row("squeeze_copy", how=COMPOSED, take=composed.squeeze_copy)
_row("embedding_bag", how=COMPOSED, take=composed.embedding_bag)
_row("fill_diagonal_", how=COMPOSED, take=composed.fill_diagonal)
_row("linspace", how=COMPOSED, take=composed.linspace)
_row("triu_indices", how=COMPOSED, take=composed.triangle_indices("triu"))
_row("tril_indices", how=COMPOSED, take=composed.triangle_indices("tril"))
_row("_pack_padded_sequence", how=COMPOSED, take=packed_sequences.pack)
_row("_pad_packed_sequence", how=COMPOSED, take=packed_sequences.pad)
for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    _row(_name, how=COMPOSED, take=packed_sequences.layer(_name), training=refused_calls.recurrent)

_row("binary_cross_entropy", how=CHECKED, take=value_checks.binary_cross_entropy)
_row("histc", how=CHECKED, take=value_checks.histc)
_row("max_unpool2d max_unpool3d", how=CHECKED, take=value_checks.max_unpool)
_row("quantile nanquantile", how=CHECKED, take=value_checks.quantile)
_row("slice_scatter", how=CHECKED, take=value_checks.slice_scatter)

for _name in ("data_ptr", "untyped_storage", "storage", "_typed_storage", "numpy", "__array__", "__dlpack__",
              "const_data_ptr"):
    _row(_name, how=REFUSED, take=_refusing(f"{_name} reads a tensor's memory while the program is compiled", None,
                                            "escape.memory"))
_row("__repr__ __str__ __format__ __reduce__ __reduce_ex__", how=REFUSED, take=_refusing(
    "a tensor known only at run time as a string", "use item() of single elements", "escape.text"))
_row("backward run_backward register_hook", how=REFUSED, take=_refusing(*GRADIENTS, "autograd"))

# ---- layers that engines know ------------------------------------------------------------------------

_row("""linear matmul __matmul__ layer_norm group_norm batch_norm instance_norm rms_norm scaled_dot_product_attention
        lstm gru rnn_tanh rnn_relu conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
        gelu embedding softmax log_softmax prelu silu mish pad pixel_shuffle cosine_similarity
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d
        upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
        upsample_bicubic2d upsample_trilinear3d""", whole=True)
_row("native_dropout", training=refused_calls.dropout)
for _name in ("uniform_", "normal_", "exponential_", "geometric_", "cauchy_", "log_normal_"):
    _row(_name, how=COMPOSED, take=random.with_run_time_numbers(getattr(torch.ops.aten, _name).default))
_row("batch_norm instance_norm", training=refused_calls.running_statistics)

# ---- arguments ---------------------------------------------------------------------------------------

_row("zeros ones empty", sizes=slice(0, None))
_row("full", sizes=slice(0, 1))
_row("view reshape expand repeat new_zeros new_ones new_empty", sizes=slice(1, None))
_row("""new_full pad upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d
        _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d
        upsample_trilinear3d""", sizes=slice(1, 2))

_row("""max min amax amin argmax argmin aminmax median mode item stack cat add sub mul div __add__ __sub__ __mul__""",
     may_fail=True)
_row("__getitem__", may_fail=True,
     indices=lambda args: () if isinstance(args[1], torch.SymInt) else args[1:2])  # a number is a branch already
_row("__setitem__", may_fail=True, indices=lambda args: args[1:2])
_row("one_hot bincount", may_fail=True, indices=lambda args: args[:1])
_row("repeat_interleave", may_fail=True, indices=lambda args: args[1:] or args)
_row("""index_select gather take take_along_dim scatter scatter_ scatter_add scatter_add_ index_add index_add_ index_put
        index_put_ index_copy index_copy_ index_fill index_fill_ select narrow embedding embedding_bag view reshape
        scatter_reduce scatter_reduce_ index_reduce index_reduce_ nll_loss nll_loss_nd cross_entropy_loss put put_""",
     may_fail=True, indices=lambda args: args[1:])

_row("is_contiguous stride is_non_overlapping_and_dense dim_order", layout=ASKS)
_row("storage_offset", layout=ASKS_OFFSET)
_row("contiguous reshape flatten reshape_as ravel to", layout=MAY_COPY)
