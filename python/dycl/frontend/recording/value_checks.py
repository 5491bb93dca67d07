# SPDX-License-Identifier: Apache-2.0
"""Values that torch rejects: the run fails on them as eager does,
where the op that stands in for torch's would answer something.

Torch looks at such values itself (a probability above 1, a quantile's place, offsets of bags), which stand-ins for
tensors don't have while recording; and it converts Python's numbers to a tensor's dtype with care, engines without.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import sympy
import torch

from ...objects import IdentityDict, mapped
from ..graph.known_values import is_known
from ..graph.missing_kernels import missing_kernel
from ..graph.program import BOOL, FLOAT, INT
from ..torch_internals import tree_iter, without_dispatch
from ..values.native_entries import imitated
from .schema import bind

aten = torch.ops.aten

_scalars: dict[Any, list[tuple[int, str]]] = {}  # op: which of its arguments are numbers
_OF_INTEGERS = ("int.to_float", "bool.to_float")
_WITHIN = {torch.float32: (torch.float32, torch.float16, torch.bfloat16),
           torch.bfloat16: (torch.float16, torch.bfloat16)}  # dtype: those with no greater numbers
_missing: dict[Any, Exception | None] = {}  # op and forms of its arguments: what torch raises
_careful: dict[Any, str] = {}  # op, argument and dtypes: what torch says against a number that is too large, if it does


def require(recorder, holds: Callable[[], torch.Tensor], message: str) -> None:
    """The run fails unless the tensor that `holds` computes is all true."""
    recorder.numbers.assert_true(recorder.numbers.truth(recorder.calls.native(lambda: holds().all(), (), {})), message)


def require_number(recorder, func, args: tuple, kwargs: dict, dtype: torch.dtype) -> None:
    """Numbers that the dtype of the result cannot hold: torch converts some with care and wraps others, and says which
    if it is given one. Known ones fail at once; those of run time must fit where torch converts with care."""
    for name, x in _numbers(func, args, kwargs):
        if _overflows(x, dtype):
            message = _rejection(func, args, kwargs)
            if message:
                raise RuntimeError(message)
        elif isinstance(x, (torch.SymInt, torch.SymFloat)) and _may_overflow(recorder, x, dtype):
            message = _careful_words(func, args, kwargs, name, dtype)
            if message:
                require_fitting(recorder, x, dtype, message)


def _numbers(func, args: tuple, kwargs: dict) -> list[tuple[str, Any]]:
    """The arguments that may be integers or floats, by name."""
    places = _scalars.get(func)
    if places is None:
        places = _scalars[func] = [(index, a.name) for index, a in enumerate(func._schema.arguments)
                                   if str(a.type).removeprefix("Optional[").rstrip("]") in ("number", "float")]
    return [(name, args[index] if index < len(args) else kwargs.get(name)) for index, name in places]


def _may_overflow(recorder, number: Any, dtype: torch.dtype) -> bool:
    """Whether numbers of the run of that kind may be beyond the dtype. No integer is beyond float32, nor a number that
    a tensor held that has no more than it."""
    if dtype in (torch.float32, torch.bfloat16):
        if isinstance(number, torch.SymInt):
            return False
        node = recorder.producers.get(recorder.symbols.lower(number.node.expr))
        return node is None or node.op not in _OF_INTEGERS and (
            node.op != "item" or node.operands[0].type.dtype not in _WITHIN[dtype])
    return dtype == torch.float16 or not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def _overflows(number: Any, dtype: torch.dtype) -> bool:
    """A known number that the dtype cannot hold."""
    if type(number) not in (int, float) or dtype == torch.bool or dtype.is_complex:
        return False
    if dtype.is_floating_point:
        return math.isfinite(number) and abs(number) > torch.finfo(dtype).max
    info = torch.iinfo(dtype)
    return not (math.isfinite(number) and info.min <= int(number) <= info.max)


def _careful_words(func, args: tuple, kwargs: dict, name: str, dtype: torch.dtype) -> str:
    key = (func, name, dtype, *(x.dtype for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)))
    if key not in _careful:
        given = bind(func, args, kwargs)
        beyond = math.inf if dtype == torch.int64 else 1e300 if dtype.is_floating_point else 2**60
        _careful[key] = _rejection(func, (), {**given, name: beyond})
    return _careful[key]


def _rejection(func, args: tuple, kwargs: dict) -> str:
    """What torch says against a number, over small tensors of zeros."""
    def small(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return torch.zeros([min(n, 2) if type(n) is int else 2 for n in x.shape], dtype=x.dtype)
        if isinstance(x, (list, tuple)):
            return [small(y) for y in x]
        return 1 if isinstance(x, (torch.SymInt, torch.SymFloat)) else x

    if torch.Tag.nondeterministic_seeded in func.tags:
        return ""  # it would draw
    with without_dispatch():
        try:
            func(*map(small, args), **{name: small(x) for name, x in kwargs.items()})
        except Exception as error:  # zeros may not suit the op
            return str(error) if "without overflow" in str(error) else ""
    return ""


def require_fitting(recorder, number: Any, dtype: torch.dtype, message: str) -> None:
    """`number`: a torch.SymInt or SymFloat."""
    if dtype == torch.int64 and isinstance(number, torch.SymInt):
        return
    if dtype.is_floating_point:
        recorder.check(_is_held(recorder, number, torch.finfo(dtype).max), message, "RuntimeError")
        return
    highest = torch.iinfo(dtype).max
    lowest = torch.iinfo(dtype).min or -highest  # torch lets -1 be 255
    for condition in (sympy.Ge(number.node.expr, lowest), sympy.Le(number.node.expr, highest)):
        if condition is not sympy.true:
            recorder.check(recorder.symbols.lower(condition), message, "RuntimeError")


def _is_held(recorder, number: Any, most: float) -> Any:
    """A float or integer of the run is not greater than that, or infinite, or NaN."""
    x = recorder.numbers.scalar_as(recorder.symbols.from_symbolic(number), torch.float64)
    small = recorder.host("float.le", [recorder.host("float.abs", [x], FLOAT), recorder.host("const", [], FLOAT,
                                                                                             value=most)], BOOL)
    finite = recorder.host("float.isfinite", [x], BOOL)
    return recorder.host("bool.or", [small, recorder.host("bool.not", [finite], BOOL)], BOOL)


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
    if isinstance(offsets, torch.Tensor) and not is_known(recorder.value_of(offsets)) and offsets.dim() == 1:
        message = "offsets of bags must begin with 0 and not go beyond the input"
        require(recorder, lambda: offsets[:1] == 0, message)
        require(recorder, lambda: offsets[-1:] <= indices.numel(), message)


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
    if recorder.is_symbolic((input, src, start, end)):
        place = recorder.calls.native(lambda: aten.slice.Tensor(input, dim, start, end, step), (), {})
        if len(place.shape) == len(src.shape):
            for have, wanted in zip(src.shape, place.shape):
                recorder.symbols.require_equal(have, wanted)
    return NotImplemented


# ---- what kernels check ------------------------------------------------------------------------------


def before(recorder, func, args: tuple, kwargs: dict) -> None:
    """What torch's kernels check and its rules for shapes do not, raised here as in eager."""
    checked = _CHECKED.get(func.overloadpacket)
    if checked is not None:
        checked(recorder, bind(func, args, kwargs))


def require_kernel(recorder, func, args: tuple, kwargs: dict) -> None:
    """Torch has one for these dtypes; else its error, now. In the run the op might be left out, or taken apart."""
    dtypes = {x.dtype for x in tree_iter((args, kwargs)) if isinstance(x, torch.Tensor)}
    if func.namespace != "aten" or len(dtypes) < 2 and all(x.is_floating_point or x.is_complex for x in dtypes):
        return
    kinds = mapped(lambda x: _kind(recorder, x), (args, kwargs))
    key = (func, repr(kinds))
    if key not in _missing:
        _missing[key] = missing_kernel(func, *kinds)
    if _missing[key] is not None:
        imitated(_raise, (_missing[key],), {})


def _kind(recorder, x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return recorder.type_of(x)
    return INT if isinstance(x, (torch.SymInt, torch.SymFloat, torch.SymBool)) else x


def _raise(error: Exception) -> None:
    raise type(error)(*error.args)


def refuse_caught(recorder, func, args: tuple, kwargs: dict, result: torch.Tensor) -> None:
    """An op on values for which the run fails for good, in a `try` that might take that."""
    may_fail = _FAILING.get(func.overloadpacket)
    if may_fail is not None and recorder.path.may_catch(RuntimeError, IndexError) and may_fail(
            recorder, bind(func, args, kwargs), result):
        recorder.refuse_caught(RuntimeError, IndexError)


# ---- indices that are known ------------------------------------------------------------------------

_INDICES = ("index", "indices", "target")  # what ATen calls tensors of places in another tensor
_MOST_ELEMENTS = 1 << 22
_index_names: dict[Any, list[str]] = {}


def known_indices(recorder, func, args: tuple, kwargs: dict, result: torch.Tensor) -> None:
    """Places known while recording that a tensor does not have: torch's own error, now. In the run the op might be
    left out, as nobody reads its result."""
    names = _index_names.get(func)
    if names is None:
        names = _index_names[func] = [a.name for a in func._schema.arguments if a.name in _INDICES]
    if not names or recorder.is_symbolic((args, kwargs)):
        return
    given = bind(func, args, kwargs)
    places = [x for x in tree_iter([given[name] for name in names])
              if isinstance(x, torch.Tensor) and x.dtype in (torch.int64, torch.int32)]
    if not all(is_known(recorder.value_of(x)) for x in places):
        return
    whole = next(x for name, x in given.items() if name not in names and isinstance(x, torch.Tensor))
    _require_places(recorder, func, given, whole, IdentityDict((x, recorder.numbers.static(x)) for x in places),
                    result.numel())


def _require_places(recorder, func, given: dict, whole: torch.Tensor, known: IdentityDict, count: int) -> None:
    with recorder.without_modes(), torch.no_grad():
        if all(_lies_within(x, min(whole.shape, default=0)) for x in known.values()):
            return
        if count > _MOST_ELEMENTS:
            return recorder.refuse_caught(IndexError, RuntimeError)
        error = _raised(func, given, known)
        if error is not None and _raised(func, given, IdentityDict()) is None:  # over zeros it is none of the values
            raise type(error)(*error.args)


def _lies_within(places: torch.Tensor, least: int) -> bool:
    return not places.numel() or bool((places >= 0).all() and (places < least).all())


def _raised(func, given: dict, known: IdentityDict) -> Exception | None:
    """What torch raises for those arguments over zeros, in which some tensors are known."""
    def plain(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            found = known.get(x)
            return torch.zeros((), dtype=x.dtype).expand(x.shape) if found is None else found
        return type(x)(map(plain, x)) if isinstance(x, (list, tuple)) else x

    arguments = {name: plain(x) for name, x in given.items()}
    positional = [arguments.pop(a.name) for a in func._schema.arguments if not a.kwarg_only]
    try:
        func(*positional, **arguments)
    except (IndexError, RuntimeError) as error:
        return error
    return None


# ---- dtypes and shapes that only kernels check -----------------------------------------------------


def _mask(recorder, given: dict) -> None:
    x, mask = given["self"], given["mask"]
    if mask.dtype != torch.bool:
        raise RuntimeError(f"expected a mask of bools, but got {mask.dtype}")
    operands, named = recorder.broadcasting.stretched(aten.where.self, (mask, x, x), {})
    imitated(aten.where.self, operands, named)


def _complex(recorder, given: dict) -> None:
    if given["real"].dtype != given["imag"].dtype:
        raise RuntimeError("Expected object of one scalar type for the real and the imaginary part")


def _boundaries(recorder, given: dict) -> None:
    if given["boundaries"].dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({given['boundaries'].dim()})")


def _strided(recorder, given: dict) -> None:
    """The elements must lie in the memory: none before its first, none behind its last."""
    numbers = lambda name: [expression(n) for n in given[name]]
    sizes, strides = numbers("size"), numbers("stride")
    offset = expression(given.get("storage_offset") or 0)
    if len(sizes) != len(strides):
        return  # torch says so
    for numbers, message in ((sizes, "Trying to create tensor with negative dimension"),
                             (strides, "as_strided: Negative strides are not supported at the moment"),
                             ([offset], "Tensor: invalid storage offset")):
        for n in numbers:
            _require(recorder, sympy.Ge(n, 0), message)
    x = given["self"]
    if any(isinstance(n, torch.SymInt) for n in x.shape):
        return  # refused: only the whole of its memory is taken
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    count = x.untyped_storage().nbytes() // x.element_size()
    if not recorder.symbols.require(sympy.Or(sympy.Lt(last, count), *(sympy.Eq(size, 0) for size in sizes)),
                                    "out of bounds"):
        raise RuntimeError("setStorage: sizes, strides and storage offset are out of bounds for storage")


def _padding(recorder, given: dict) -> None:
    """What negative numbers cut off must be there."""
    if given.get("mode", "constant") != "constant":
        return
    x, amounts = given["self"], [expression(n) for n in given["pad"]]
    for extent, before, after in zip(reversed(x.shape), amounts[::2], amounts[1::2]):
        rest = expression(extent) + sympy.Min(before, 0) + sympy.Min(after, 0)
        _require(recorder, sympy.Ge(rest, 0), "narrow(): length must be non-negative.")


def _pivots(given_by: Any, what: str, below: str, above: str, signed: bool = False) -> Callable:
    """They name rows, from 1. What a factorization of the program gives does."""
    def check(recorder, given: dict) -> None:
        matrix, pivots = list(given.values())[:2]
        node = recorder.producers.get(recorder.value_of(pivots))
        while getattr(node, "target", None) == aten.expand.default:
            node = recorder.producers.get(node.args[0])
        if getattr(node, "target", None) == given_by:
            return
        rows = matrix.shape[-2]
        for holds, message in ((lambda x: x >= 1, below), (lambda x: x <= rows, above)):
            require(recorder, lambda: holds(pivots.abs() if signed else pivots),
                    f"{message}Did you properly pass the result of {what}?")

    return check


def _counting(recorder, given: dict) -> None:
    _require(recorder, sympy.Ge(expression(given.get("minlength") or 0), 0), "minlength should be >= 0")


def _recurrent(recorder, given: dict) -> None:
    """A layer takes no sequence without steps; of a packed sequence there is none."""
    x = given.get("input")
    if x is not None and x.dim() == 3:
        _require(recorder, sympy.Gt(expression(x.shape[1 if given["batch_first"] else 0]), 0),
                 "Expected sequence length to be larger than 0 in RNN")


def _transposed_convolution(recorder, given: dict) -> None:
    """Of extents of 0 it takes those of the batch and of the channels."""
    x, weight = given["input"], given["weight"]
    sizes = [expression(n) for n in x.shape]
    if x.dim() == weight.dim():
        some = sympy.And(*(sympy.Gt(n, 0) for n in sizes[2:]))
        _require(recorder, sympy.Or(sympy.Eq(sizes[0], 0), sympy.Eq(sizes[1], 0), some),
                 "Only zero batch or zero channel inputs are supported")


def _made(recorder, given: dict) -> None:
    sizes = list(given["size"])
    negative = next((n for n in sizes if type(n) is int and n < 0), None)
    if negative is not None:
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {sizes}")


def _require(recorder, condition: Any, message: str) -> None:
    if not recorder.symbols.require(condition, message):
        raise RuntimeError(message)


def expression(n: Any) -> sympy.Expr:
    return n.node.expr if isinstance(n, torch.SymInt) else sympy.Integer(n)


_CHECKED: dict[Any, Callable] = {
    aten.masked_select: _mask, aten.masked_scatter: _mask, aten.complex: _complex, aten.bucketize: _boundaries,
    aten.as_strided: _strided, aten.as_strided_scatter: _strided, aten.constant_pad_nd: _padding, aten.pad: _padding,
    aten.bincount: _counting,
    aten.linalg_lu_solve: _pivots(aten.linalg_lu_factor_ex.default, "lu_factor",
                                  "Pivots given to lu_solve must all be greater or equal to 1. ",
                                  "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). "),
    aten.lu_unpack: _pivots(aten.linalg_lu_factor_ex.default, "lu_factor",
                            *["pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."] * 2),
    aten.linalg_ldl_solve: _pivots(aten.linalg_ldl_factor_ex.default, "ldl_factor",
                                   "Pivots given to ldl_solve must all satisfy |pivot| >= 1. ",
                                   "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). ", signed=True),
    **dict.fromkeys((aten.conv_transpose1d, aten.conv_transpose2d, aten.conv_transpose3d), _transposed_convolution),
    **dict.fromkeys((aten.lstm, aten.gru, aten.rnn_tanh, aten.rnn_relu), _recurrent),
    **dict.fromkeys((aten.ones, aten.zeros, aten.full, aten.rand, aten.randn, aten.randint, aten.new_full), _made),
}


# ---- ops that fail for values ----------------------------------------------------------------------


def _divides_integers(recorder, given: dict, result: torch.Tensor) -> bool:
    """By something that may be 0."""
    if result.dtype.is_floating_point or result.dtype.is_complex:
        return False
    divisor = given["other"]
    if isinstance(divisor, torch.SymInt):
        return not recorder.symbols.follows(sympy.Ne(divisor.node.expr, 0))
    if isinstance(divisor, torch.Tensor):
        known = recorder.numbers.static_value(recorder.value_of(divisor))
        return known is None or not bool(torch.as_tensor(known).all())
    return not divisor


def _fills_a_mask(recorder, given: dict, result: torch.Tensor) -> bool:
    """With as many values as it has places."""
    masks = [i for i in given["indices"] if i is not None and i.dtype in (torch.bool, torch.uint8)]
    values = given["values"]
    return bool(masks) and values.dim() > 0 and values.shape[0] != 1


_FAILING: dict[Any, Callable] = {
    **dict.fromkeys((aten.floor_divide, aten.remainder, aten.fmod, aten.div), _divides_integers),
    aten.masked_scatter: lambda recorder, given, result: True,
    aten.index_put: _fills_a_mask,
}
