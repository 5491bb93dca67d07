# SPDX-License-Identifier: Apache-2.0
"""onnxscript's torchlib: several hundred torch ops as Python functions that call ONNX ops.

`call(tape, target, args, kwargs)` lets torchlib's function for a torch op write on a tape. The
functions do not take every argument of the torch op; one that is given and that the function does
not take is a ConversionError unless it cannot change the values (device, layout, ...).
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Callable

import onnx_ir as ir
import torch

from ..torch_internals import OpOverload
from .tape import ConversionError, Sym, Tape, onnx_code

_WITHOUT_EFFECT = {
    "layout",
    "device",
    "pin_memory",
    "memory_format",
    "non_blocking",
    "copy",
    "requires_grad",
    "dtype_layout",
}

# torchlib's functions that mean something else than torch, found by the sweep over torch's OpInfo samples.
_WRONG = {"as_strided", "special_erfcx", "unique_consecutive", "scatter_reduce.two", "pixel_unshuffle", "fft_r2c"}


@functools.cache
def _registry():
    """Loaded late: it costs 0.2 s and a program of common ops never needs it."""
    importlib.import_module("onnxscript.function_libs.torch_lib.ops")
    return importlib.import_module("onnxscript.function_libs.torch_lib.registration").default_registry


def names() -> list[str]:
    return [name.removeprefix("aten::") for name in _registry() if name.startswith("aten::")]


@functools.cache
def function_for(target: Any) -> Callable | None:
    """torchlib's function for an OpOverload, or None. Only functions on real numbers."""
    if not isinstance(target, OpOverload):
        return None
    name = target._schema.name
    if target._schema.overload_name:
        name += f".{target._schema.overload_name}"
    registry = _registry()
    if name.removeprefix("aten::") in _WRONG:
        return None
    if name not in registry or not registry[name].overloads:
        return None
    return registry[name].overloads[0]


def call(tape: Tape, target: Any, args: tuple, kwargs: dict) -> Any:
    function = function_for(target)
    if function is None:
        raise ConversionError("no conversion to ONNX is known")
    named = _named(target, args, kwargs)
    params = {p.name: p for p in function.op_signature.params}
    for name in list(named):
        if name not in params:
            if name not in _WITHOUT_EFFECT and named[name] != _default(target, name):
                raise ConversionError(f"its argument '{name}' has no ONNX form")
            del named[name]
    named = {name: _argument(params[name], value) for name, value in named.items()}
    if torch.Tag.pointwise in target.tags and all(dtype.is_floating_point for dtype, _ in tape.outputs):
        dtype = tape.outputs[0][0]  # torch computes in floating point; torchlib would in the operands' own dtype
        named = {n: tape.cast(v, dtype) if isinstance(v, Sym) and not v.is_float else v for n, v in named.items()}
    with importlib.import_module("onnxscript.evaluator").default_as(tape):
        if hasattr(function, "func"):  # traced: plain Python
            return function.func(**named)
        return tape.eval_function(function, (), named)


def _named(target, args, kwargs) -> dict[str, Any]:
    formals = [a.name for a in target._schema.arguments]
    return {**dict(zip(formals, args)), **kwargs}


def _default(target, name):
    return next((a.default_value for a in target._schema.arguments if a.name == name), None)


def _argument(param, value):
    if isinstance(value, torch.dtype):
        return onnx_code(value)
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return None
    if isinstance(value, complex):
        raise ConversionError("complex numbers are not supported")
    if isinstance(param, ir.schemas.AttributeParameter) and isinstance(value, Sym):
        raise ConversionError(f"its argument '{param.name}' is known only at run time")
    return value
