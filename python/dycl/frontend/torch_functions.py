# SPDX-License-Identifier: Apache-2.0
"""What happens to a function of torch, from the call to ONNX: the tables that have something to say, asked in order.

    python -m dycl.frontend.torch_functions torch.linspace
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
import types
from pathlib import Path
from typing import Any, Callable

import torch

from . import library, torch_internals
from .graph.aten import overload
from .lowering import conversions, torchlib
from .lowering.registry import CONVERSIONS
from .polyfills.registry import POLYFILLS
from .recording.decompositions import decomposition_of
from .recording.dispatch import DispatchRecorder, kind_of
from .recording.functions import FUNCTIONS, UNNAMED
from .recording.schema import is_out_variant
from .semantics import interpretation, registry

_REGISTERED = (library, conversions)  # importing them fills the tables
_LIBRARY = "recorded, and lowered by onnxscript's torchlib"
_NOT = "refused: it is not lowered"
_OTHER = re.compile(r"cudnn|miopen|mkldnn|quant|::q_|int_repr|sparse|coalesced|indices$|(indices|values|real)_copy$"
                    r"|dense_dim|values$|batch_norm_|from_file|complex|polar|stft|sym_|fft|normal|as_real|is_set_to"
                    r"|pinned|same_size|padded_tensor|slice_inverse|qscheme|hspmm")
RECORDED = (DispatchRecorder.pure, DispatchRecorder.view, DispatchRecorder.squeeze, DispatchRecorder.batch_norm)


def steps(name: str) -> list[str]:
    """Of "torch.linspace", a line each, in the order in which they are tried."""
    fn = pkgutil.resolve_name(name)
    polyfill, handler = POLYFILLS.get(fn), registry.find(fn)
    found = []
    if polyfill is not None:
        found.append(f"interpreted as {_where(polyfill)}, or left to the next")
    elif handler is not None:
        found.append(f"answered by {_where(handler)}, or left to the next")
    if isinstance(fn, types.FunctionType) and interpretation.interpreted(fn):
        return [*found, "interpreted as it is written"]
    row = FUNCTIONS.get(fn.__name__, UNNAMED)
    found += [f"{way} by {_where(row.take)}" if way == row.how and row.take is not None else way for way in row.ways()]
    return found + [f"    {op}: {of_op(op)}" for op in ops_of(fn) if row.ways() != [row.how] or row.take is None]


def ops_of(fn: Any) -> list:
    """The ops under its name, which torch most likely dispatches or is made of."""
    name, module = fn.__name__, (getattr(fn, "__module__", None) or "").rpartition(".")[2].removeprefix("_")
    packets = [getattr(torch.ops.aten, n, None) for n in dict.fromkeys((name, f"{module}_{name}"))]
    found = [getattr(p, o) for p in packets if isinstance(p, torch_internals.OpOverloadPacket) for o in p.overloads()]
    return [op for op in found if torch_internals.has_kernel(op) and not is_out_variant(op)]


def answered() -> list[str]:
    """Functions of torch that have a handler or a polyfill."""
    found = (fn for fn in registry.registered() if (getattr(fn, "__module__", None) or "").startswith("torch"))
    names = {_qualified(fn).removeprefix("_VariableFunctionsClass.") for fn in found}
    return sorted(name for name in names if not re.search(r"(^|\.)_[a-z]", name))


def _qualified(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or f"torch.ops.{fn.namespace}.{fn.name()}"  # of an operator


def lowered_by_torchlib(names: list[str]) -> list:
    ops = [op for name in names if (op := overload(name)) is not None and torch_internals.has_kernel(op)]
    return [op for op in ops if _LIBRARY in of_op(op) and not _OTHER.search(op.name())]


def not_lowered() -> list:
    """Ops of functions that torch documents, but for those of other kinds of tensors and of vendors."""
    found = {}
    for space in (torch, torch.Tensor, torch.nn.functional, torch.special, torch.linalg):
        for fn in (vars(space)[name] for name in vars(space) if not name.startswith("_")):
            ops = ops_of(fn) if callable(fn) and hasattr(fn, "__name__") and not isinstance(fn, type) else ()
            found.update((op, None) for op in ops if of_op(op) == _NOT and not _OTHER.search(op.name()))
    return [op for op in found if op is (default := getattr(op.overloadpacket, "default", op)) or default not in found]


def of_op(op: Any) -> str:
    """What becomes of an op of torch."""
    kind = kind_of(op)
    apart = decomposition_of(op)
    if apart is not None:
        return f"taken apart by {_where(apart)}"
    conversion = CONVERSIONS.get(op)
    if conversion is not None:
        return f"recorded, and lowered by {_where(conversion)}"
    if kind not in RECORDED:
        return f"recorded as `{kind.__name__}` of recording/dispatch.py says"
    if torchlib.function_for(op) is not None:
        return _LIBRARY
    return "taken apart by torch" if torch_internals.is_composite(op) else _NOT


def _where(function: Callable) -> str:
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType):
        return str(function)
    path = Path(function.__code__.co_filename)
    home, name = Path(__file__).parent, function.__qualname__.partition(".<locals>")[0]
    return f"{path.relative_to(home) if home in path.parents else path.name}:{name}"


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print("\n".join([given, *(f"  {step}" for step in steps(given))]))
