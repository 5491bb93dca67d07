# SPDX-License-Identifier: Apache-2.0
"""From ATen nodes to ONNX ops (opset 23).

`convert(node)` gives a `Template`: the ONNX ops that compute what the node computes, written over
numbered values so that it can be replayed for every node of the same kind. Templates are cached by
the op, the types of its operands and results, and its other arguments; a model of a thousand like
blocks is converted once. Each result has exactly the dtype that capture saw torch give it.

An op without a conversion is refused with LoweringRefusal; `NEEDS_DECOMPOSITION` names the ops that
capture should take apart while recording, because their parts convert and they themselves do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import onnx
import torch

from ...objects import mapped
from ..graph.missing_kernels import missing_kernel
from ..graph.program import AtenNode, ScalarType, TensorType, Value, inputs_of
from ..graph.text import op_name
from ..source import Span
from . import torchlib
from .conversions import torchvision
from .registry import BOUNDED, CONVERSIONS
from .tape import ConversionError, Sym, Tape, TapeOp, dtype_name, schema_of, type_text

_SCALARS = {"int": torch.int64, "float": torch.float64, "bool": torch.bool}


class LoweringRefusal(Exception):
    """A torch op that cannot be lowered. `op`: its name; `span`: the user's line; `why`: a sentence."""

    def __init__(self, op: str, why: str, span: Span | None):
        where = f"{span.file}:{span.line}:{span.column}: " if span else ""
        super().__init__(f"{where}{op} cannot be compiled: {why}")
        self.op, self.why, self.span = op, why, span


@dataclass
class TemplateOp:
    name: str
    inputs: tuple[int, ...]  # -1: left out
    outputs: tuple[int, ...]
    types: tuple[str, ...]
    attrs: dict[str, Any]


@dataclass
class Template:
    """Values 0..inputs-1 are the node's operands, in the order of `inputs_of`."""

    inputs: int
    constants: dict[int, torch.Tensor] = field(default_factory=dict)
    ops: list[TemplateOp] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  # -1: not read


def scalar_dtype(type: ScalarType) -> torch.dtype:
    """The dtype of the 0-d tensor that a runtime scalar becomes."""
    return _SCALARS[type.kind]


# ---- conversion ------------------------------------------------------------------------------

_cache: dict[Any, Template | ConversionError] = {}


def convert(node: AtenNode, read: tuple[bool, ...] | None = None, bits: Callable | None = None) -> Template:
    """`read`: which results anybody reads (default: all); the template leaves out what only the others need.
    `bits`: how large a Value's integers may be (RangesOfGraph.bits)."""
    read = read or (True,) * len(node.outputs)
    facts = tuple(map(bits, inputs_of(node))) if bits and node.target in BOUNDED else ()
    key = (node.target, _signature(node.args), _signature(node.kwargs),
           tuple(v.type for v in node.outputs), read, facts)
    found = _cache.get(key)
    if found is None:
        try:
            found = _convert(node, read, facts)
        except ConversionError as error:
            found = error
        _cache[key] = found
    if isinstance(found, ConversionError):
        raise LoweringRefusal(op_name(node.target), str(found), node.span)
    return found


def _signature(argument: Any) -> Any:
    """A hashable stand-in that tells apart whatever could change the conversion (1, 1.0 and True too)."""
    if isinstance(argument, Value):
        return argument.type
    if isinstance(argument, (list, tuple)):
        return (list, *map(_signature, argument))
    if isinstance(argument, dict):
        return (dict, *((k, _signature(argument[k])) for k in sorted(argument)))
    if isinstance(argument, float):
        return (float, repr(argument))
    return (type(argument), argument)


def _convert(node: AtenNode, read: tuple[bool, ...], facts: tuple[int | None, ...]) -> Template:
    tape = Tape([_output_type(v) for v in node.outputs])
    inputs: list[Sym] = []
    args = _symbols(node.args, tape, inputs)
    kwargs = _symbols(node.kwargs, tape, inputs)
    for sym, fact in zip(inputs, facts):
        sym.bits = fact
    empty = _empty_results(tape)
    if empty is not None:
        return _template(tape, inputs, [e if r else None for e, r in zip(empty, read)], node.outputs)
    results = _results(tape, node, args, kwargs)
    types = [mapped(lambda x: x.type if isinstance(x, Value) else x, given) for given in (node.args, node.kwargs)]
    missing = missing_kernel(node.target, *types)
    if missing is not None:
        text = str(missing).split("\n")[0]
        raise ConversionError(f"torch does not compute it ({text}); convert its operands to a dtype that it takes")
    typed = [_typed(tape, r, v) if wanted else None for r, v, wanted in zip(results, node.outputs, read)]
    return _template(tape, inputs, typed, node.outputs)


def _empty_results(tape: Tape) -> list[Sym] | None:
    """Results without any element, which nothing needs to compute; None if there may be one."""
    if not all(0 in shape and _static(shape) for _, shape in tape.outputs):
        return None
    return [tape.constant(torch.empty(shape, dtype=dtype)) for dtype, shape in tape.outputs]


def _results(tape: Tape, node: AtenNode, args: Any, kwargs: Any) -> list:
    """What the op's conversion gives, as many as the op has results."""
    own = CONVERSIONS.get(node.target) or torchvision.BY_NAME.get(str(node.target))
    try:
        results = own(tape, *args, **kwargs) if own else torchlib.call(tape, node.target, args, kwargs)
    except (ConversionError, RecursionError):
        raise
    except Exception as error:  # torchlib's functions assert and raise as they like; ours may meet odd arguments
        raise ConversionError(f"its conversion fails ({type(error).__name__}: {error})") from error
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if len(results) != len(node.outputs):
        raise ConversionError(f"its conversion gives {len(results)} results instead of {len(node.outputs)}")
    return results


def _static(shape: tuple) -> bool:
    return all(isinstance(d, int) for d in shape)


def _symbols(argument: Any, tape: Tape, inputs: list[Sym]) -> Any:
    if isinstance(argument, Value):
        if isinstance(argument.type, TensorType):
            sym = tape.new(argument.type.dtype, argument.type.shape)
        elif isinstance(argument.type, ScalarType):
            sym = tape.new(scalar_dtype(argument.type), ())
        else:
            raise ConversionError(f"an operand of type {argument.type}")
        inputs.append(sym)
        return sym
    if isinstance(argument, (list, tuple)):
        return (
            type(argument)(_symbols(a, tape, inputs) for a in argument)
            if type(argument) in (list, tuple)
            else [_symbols(a, tape, inputs) for a in argument]
        )
    if isinstance(argument, dict):
        return {key: _symbols(argument[key], tape, inputs) for key in sorted(argument)}
    return argument


def _output_type(value: Value) -> tuple[torch.dtype, tuple]:
    if not isinstance(value.type, TensorType):
        raise ConversionError("a result that is no tensor")
    dtype_name(value.type.dtype)
    return value.type.dtype, value.type.shape


def _typed(tape: Tape, result: Any, value: Value) -> Sym:
    """The result in the dtype torch gave it, after checking that its shape can be torch's."""
    if result is None:
        raise ConversionError("one of its results that is read here cannot be given")
    if not isinstance(result, Sym):
        raise ConversionError("its conversion gives no tensor")
    shape = value.type.shape
    if result.dims is not None:
        clash = len(result.dims) != len(shape) or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(result.dims, shape)
        )
        if clash:
            raise ConversionError(f"its conversion gives the shape {list(result.dims)}; torch gives {list(shape)}")
    return tape.cast(result, value.type.dtype)


def _template(tape: Tape, inputs: list[Sym], results: list[Sym | None], outputs: list[Value]) -> Template:
    """The ops that the results need, renumbered: inputs, then constants and results as they come."""
    ops, needed = _needed(tape, results)
    number = {sym.index: i for i, sym in enumerate(inputs)}
    template = Template(len(inputs))
    for sym in tape.symbols:
        if sym.index in needed and sym.const is not None:
            number[sym.index] = len(number)
            template.constants[number[sym.index]] = sym.const
    exact = {r.index: type_text(v.type.dtype, v.type.shape) for r, v in zip(results, outputs) if r is not None}
    for op in ops:
        while len(op.outputs) > 1 and op.outputs[-1].index not in needed and _optional_output(op):
            op.outputs.pop()
        for out in op.outputs:
            number[out.index] = len(number)
        template.ops.append(
            TemplateOp(
                op.name,
                _numbers(op.inputs, number),
                _numbers(op.outputs, number),
                tuple(exact.get(o.index) or type_text(o.torch_dtype, o.dims) for o in op.outputs),
                op.attrs,
            )
        )
    template.results = list(_numbers(results, number))
    return template


def _needed(tape: Tape, results: list[Sym | None]) -> tuple[list[TapeOp], set[int]]:
    """The ops that the results need, in the order of the tape, and the symbols that these and the results read."""
    needed = {r.index for r in results if r is not None}
    ops = []
    for op in reversed(tape.ops):
        if any(o.index in needed for o in op.outputs):
            ops.append(op)
            needed.update(x.index for x in op.inputs if x is not None)
    return ops[::-1], needed


def _numbers(symbols: list[Sym | None], number: dict[int, int]) -> tuple[int, ...]:
    """-1 for what is left out."""
    return tuple(-1 if x is None else number[x.index] for x in symbols)


def _optional_output(op: TapeOp) -> bool:
    formals = schema_of(op.name).outputs
    return formals[min(len(op.outputs), len(formals)) - 1].option == onnx.defs.OpSchema.FormalParameterOption.Optional
