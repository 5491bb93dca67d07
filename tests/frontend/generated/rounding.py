# SPDX-License-Identifier: Apache-2.0
"""Does a program decide on the last bit of a number that torch rounds?

`softmax(x).sum() > 1.0` is true or false by the order in which an engine adds. Such a program has no answer that
another way of computing must give, and eager itself gives another one with another version of its libraries. It is told
by running eager again while results of operations that round are moved by at most one unit in the last place (all up,
all down, or at random): if the outcome of a call changes by more than comparisons allow, the program is one. Numbers
with at most eight binary places that come from such stay as they are: sums, products and halves of what is drawn
(multiples of a half) are exact, and a program whose decisions depend on those alone is never one.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.frontend.generated.seeds import seed_all
from tests.frontend.support.compare import copy_value, differences, state_of
from tests.frontend.support.harness import outcome

TRIALS = 24
PLACES = 8  # binary
ROUNDS = frozenset(
    "_softmax _log_softmax softmax log_softmax exp exp2 expm1 log log1p log2 log10 logsumexp logaddexp tanh sigmoid "
    "silu gelu elu celu selu softplus mish "
    "erf erfc erfinv sin cos tan asin acos atan atan2 sinh cosh div true_divide reciprocal sqrt rsqrt pow mean var std "
    "var_mean std_mean norm "
    "sum add sub mul addcmul linalg_vector_norm mm bmm addmm baddbmm matmul linear convolution native_layer_norm "
    "native_group_norm native_batch_norm cumsum cumprod prod "
    "lerp addcdiv hypot _cdist_forward cosine_similarity log_sigmoid_forward logit frac remainder fmod "
    "_linalg_det _linalg_slogdet _linalg_eigh linalg_eig _linalg_svd linalg_qr linalg_inv_ex _linalg_solve_ex "
    "linalg_cholesky_ex linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_solve_triangular linalg_lstsq "
    "linalg_matrix_exp cholesky_solve".split())


def is_exact(x: torch.Tensor) -> torch.Tensor:
    places = x * 2**PLACES
    return places == places.trunc()


class Nudged(TorchDispatchMode):
    """Results of operations that round, each element one unit up, down, or as it is; seeds 0 and 1:
    all up, all down."""

    def __init__(self, seed: int):
        super().__init__()
        self.seed, self.draw = seed, torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = [x for x in torch.utils._pytree.tree_leaves((args, kwargs))
                 if isinstance(x, torch.Tensor) and x.is_floating_point()]
        from_exact = all(bool(is_exact(x).all()) for x in given)
        made = func(*args, **(kwargs or {}))
        if func._schema.name.removeprefix("aten::").rstrip("_") not in ROUNDS:
            return made
        for one in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(one, torch.Tensor) and one.dtype in (torch.float32, torch.float64):
                one.copy_(self.nudged(one, is_exact(one) & from_exact))
        return made

    def nudged(self, x: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
        way = (torch.randint(-1, 2, x.shape, generator=self.draw) if self.seed > 1
               else torch.full(x.shape, 1 - 2 * self.seed))
        towards = torch.where(way == 0, x, torch.where(way > 0, torch.inf, -torch.inf).to(x.dtype))
        return torch.where(x.isfinite() & ~exact, torch.nextafter(x, towards), x)


def outcomes(make: Any, inputs: list[tuple]) -> list[Any]:
    """What the calls give, one after the other on one object: result or error,
    arguments and state afterwards, printed text."""
    target, found = make(), []
    for number, given in enumerate(inputs):
        args, printed = copy_value(given), io.StringIO()
        seed_all(number)
        with contextlib.redirect_stdout(printed):
            how, value = outcome(target, args, {})
        value = copy_value(value) if how == "returned" else type(value).__qualname__
        found.append([how, value, copy_value(args), copy_value(state_of(target)), printed.getvalue()])
    return found


def decides(make: Any, inputs: list[tuple]) -> bool:
    """Whether the last bits decide what these calls give."""
    expected = outcomes(make, inputs)
    for seed in range(TRIALS):
        with Nudged(seed):
            found = outcomes(make, inputs)
        if differences(expected, found):
            return True
    return False
