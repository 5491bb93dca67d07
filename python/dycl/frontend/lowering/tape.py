# SPDX-License-Identifier: Apache-2.0
"""A tape of ONNX ops (opset 23) with types: what a conversion of one torch op writes on.

`Tape.op("Add", a, b)` appends one op and returns its result, a `Sym`. Python numbers and lists stand
for constants and take the dtype of the operands they share a type parameter with. Each op is checked
when it is written: its operands must agree in dtype, and ONNX's own inference gives the results'
dtype and shape. Work on known shapes is done here and leaves no op (Shape of a known shape, Reshape
to the shape at hand, Cast to the dtype at hand, arithmetic on small integer constants).

A tape is also an onnxscript evaluator, so that functions of onnxscript's torchlib can write on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np
import onnx
import onnx_ir as ir
import torch
from onnx.shape_inference import infer_node_outputs

from ... import dtypes
from ...dtypes import own_name
from . import double_precision, linear_algebra_ops, ort_kernels

OPSET = 23

# torch dtype -> ONNX's code
_CODES = {
    torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.uint16: 4, torch.int16: 5, torch.int32: 6,
    torch.int64: 7, torch.bool: 9, torch.float16: 10, torch.float64: 11, torch.uint32: 12,
    torch.uint64: 13, torch.bfloat16: 16,
}
_TORCH_OF_CODE = {code: dtype for dtype, code in _CODES.items()}
_LARGEST_FOLD = 4096  # elements


class ConversionError(Exception):
    """This op, with these arguments, has no ONNX form that means the same; the message says why."""


def dtype_name(dtype: torch.dtype) -> str:
    """The IR's text for a torch dtype: "f32", "i64", "bool", ..."""
    if dtype not in _CODES:
        raise ConversionError(f"tensors of {own_name(dtype)} are not supported")
    return dtypes.NAMES[dtype]


def onnx_code(dtype: torch.dtype) -> int:
    dtype_name(dtype)
    return _CODES[dtype]


def torch_dtype(code: int) -> torch.dtype:
    if int(code) not in _TORCH_OF_CODE:
        raise ConversionError(f"ONNX's element type {int(code)} is not supported")
    return _TORCH_OF_CODE[int(code)]


def type_text(dtype: torch.dtype, shape: Sequence[int | str | None] | None) -> str:
    if shape is None:
        return f"{dtype_name(dtype)}[*]"
    return f"{dtype_name(dtype)}[{','.join('?' if d is None else str(d) for d in shape)}]"


class Sym(ir.Value):
    """A tensor on a tape: dtype and shape (dims are ints, symbol texts or None), perhaps its contents."""

    def __init__(self, tape: "Tape", index: int, dtype: torch.dtype, shape, const: torch.Tensor | None = None):
        super().__init__(
            name=f"v{index}",
            type=ir.TensorType(ir.DataType(onnx_code(dtype))),
            shape=None if shape is None else ir.Shape(list(shape)),
        )
        self.tape, self.index, self.torch_dtype, self.const = tape, index, dtype, const
        self.bits: int | None = None  # its integers are known to be in 0..2**bits - 1
        self.exact: float | None = None  # the number of Python's that it is, before it was rounded to float32
        self.dims: tuple | None = None if shape is None else tuple(shape)
        if const is not None and const.numel() <= _LARGEST_FOLD and const.dtype != torch.bfloat16:
            self.const_value = ir.tensor(const.numpy())

    @property
    def rank(self) -> int:
        if self.dims is None:
            raise ConversionError("the number of dimensions is known only at run time")
        return len(self.dims)

    @property
    def nonnegative(self) -> bool:
        return self.bits is not None

    @property
    def is_float(self) -> bool:
        return self.torch_dtype.is_floating_point

    @property
    def known(self) -> bool:
        return self.dims is not None and all(isinstance(d, int) for d in self.dims)

    def __repr__(self) -> str:
        return f"%{self.index}:{type_text(self.torch_dtype, self.dims)}"

    def __bool__(self):
        raise ConversionError("the conversion asks for the truth of a tensor")

    def __iter__(self):
        raise ConversionError("the conversion iterates over a tensor")

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self.tape.op("Equal", self, other)

    def __ne__(self, other):
        return self.tape.op("Not", self.tape.op("Equal", self, other))

    def __mod__(self, other):
        return self.tape.op("Mod", self, other, fmod=1 if self.is_float else 0)

    def __neg__(self):
        return self.tape.op("Neg", self)


def _operator(name: str, swapped: bool):
    def method(self, other):
        return self.tape.op(name, other, self) if swapped else self.tape.op(name, self, other)

    return method


for _python, _onnx in {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "truediv": "Div",
    "pow": "Pow",
    "matmul": "MatMul",
}.items():
    setattr(Sym, f"__{_python}__", _operator(_onnx, False))
    setattr(Sym, f"__r{_python}__", _operator(_onnx, True))
for _python, _onnx in {
    "lt": "Less",
    "le": "LessOrEqual",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
    "and": "And",
    "or": "Or",
}.items():
    setattr(Sym, f"__{_python}__", _operator(_onnx, False))


@dataclass
class TapeOp:
    name: str
    inputs: list[Sym | None]
    attrs: dict[str, Any]  # int, float, str, list of these, or a torch tensor
    outputs: list[Sym]


_schemas: dict[str, onnx.defs.OpSchema] = {}
_FORBIDDEN = {"If", "Loop", "Scan"}


TORCH = "torch."  # the domain of ops that order as torch's kernels do (src/backends/ort/selection_ops.h)
_SELECTIONS = {  # name: has it a second operand, k; its attributes
    "torch.TopK": (True, ("axis", "largest", "sorted", "elements")),
    "torch.Sort": (False, ("axis", "descending", "stable", "elements")),
    "torch.KthValue": (True, ("axis", "stable", "elements")),
    "torch.Mode": (False, ("axis", "elements")),
}


def _selection_schema(name: str) -> onnx.defs.OpSchema:
    has_k, attributes = _SELECTIONS[name]
    parameter = onnx.defs.OpSchema.FormalParameter
    kinds = [f"tensor({n})" for n in "float double float16 bfloat16 int8 int16 int32 int64 uint8 bool".split()]
    return onnx.defs.OpSchema(
        name,
        "torch",
        1,
        inputs=[parameter("x", "T"), parameter("k", "tensor(int64)")][: 1 + has_k],
        outputs=[parameter("values", "T"), parameter("indices", "tensor(int64)")],
        type_constraints=[("T", kinds, "what can be ordered")],
        attributes=[onnx.defs.OpSchema.Attribute(a, onnx.defs.OpSchema.AttrType.INT) for a in attributes],
    )


def _infer_selection(name: str, operands: list, attrs: dict) -> list[tuple[torch.dtype, tuple | None]]:
    x = operands[0]
    shape = list(x.dims)
    if name != "torch.Sort":
        k = operands[1].const if name == "torch.TopK" else torch.ones(1)
        shape[attrs["axis"]] = None if k is None else int(k)
    return [(x.torch_dtype, tuple(shape)), (torch.int64, tuple(shape))]


def schema_of(name: str) -> onnx.defs.OpSchema:
    schema = _schemas.get(name)
    if schema is None and name in _SELECTIONS:
        schema = _schemas[name] = _selection_schema(name)
    if schema is None and name.startswith(linear_algebra_ops.DOMAIN):
        schema = _schemas[name] = linear_algebra_ops.schema(name)
    if schema is None:
        if name in _FORBIDDEN or name.startswith(("Sequence", "Optional", "Random", "Bernoulli", "Multinomial")):
            raise ConversionError(f"its ONNX form needs {name}, which a straight run of ops cannot hold")
        schema = _schemas[name] = onnx.defs.get_schema(name, OPSET, "")
    return schema


class Tape:
    """Collects ops. `outputs` are the (dtype, shape) that torch says the node's results have."""

    def __init__(self, outputs: list[tuple[torch.dtype, tuple]] | None = None):
        self.ops: list[TapeOp] = []
        self.symbols: list[Sym] = []
        self.outputs = outputs or []
        self._constants: dict[Any, Sym] = {}
        self._results: dict[Any, list[Sym]] = {}  # an op written twice is computed once

    # ---- values ----------------------------------------------------------------------------

    def new(self, dtype: torch.dtype, shape, const: torch.Tensor | None = None) -> Sym:
        sym = Sym(self, len(self.symbols), dtype, shape, const)
        self.symbols.append(sym)
        return sym

    def constant(self, value: Any, dtype: torch.dtype | None = None) -> Sym:
        """A constant from a number, (nested) list, numpy array or tensor. A float without a dtype is of float32, unless
        it is cast to float64: then it is what it was."""
        tensor = _as_tensor(value, dtype)
        exact = value if dtype is None and type(value) is float else None
        key = (
            exact,
            tensor.dtype,
            tuple(tensor.shape),
            tensor.view(torch.uint8).numpy().tobytes()
            if tensor.dim() and tensor.numel()
            else tensor.reshape(-1).view(torch.uint8).numpy().tobytes(),
        )
        sym = self._constants.get(key)
        if sym is None:
            sym = self._constants[key] = self.new(tensor.dtype, tuple(tensor.shape), tensor)
            sym.exact = exact
        return sym

    def ints(self, values: Sequence[Any] | Any) -> Sym:
        """A 1-d int64 tensor of Python ints and 0-d (or one-element 1-d) Syms."""
        if isinstance(values, Sym):
            return self.cast(self.op("Reshape", values, self.constant([-1], torch.int64)), torch.int64)
        values = list(values) if isinstance(values, (list, tuple, ir.Shape, torch.Size)) else [values]
        if all(isinstance(v, (int, np.integer)) for v in values):
            return self.constant([int(v) for v in values], torch.int64)
        return self.op(
            "Concat",
            *[self.ints(v) if isinstance(v, Sym) else self.constant([int(v)], torch.int64) for v in values],
            axis=0,
        )

    def cast(self, x: Any, dtype: torch.dtype) -> Sym:
        if not isinstance(x, Sym):
            return self.constant(x, dtype)
        if x.torch_dtype == dtype:
            return x
        if x.const is not None:
            exact = x.exact if dtype == torch.float64 else None
            return self.constant(x.const.to(dtype) if exact is None else exact, dtype)
        return self.op("Cast", x, to=onnx_code(dtype))

    # ---- ops -------------------------------------------------------------------------------

    def op(self, name: str, *inputs: Any, n: int = 1, **attrs: Any):
        """Writes one op with `n` results; a single result comes back bare."""
        schema = schema_of(name)
        operands = self._operands(schema, list(inputs))
        attrs = _attributes(schema, attrs)
        simple = self._simplify(name, operands, attrs) if n == 1 else None
        if simple is not None:
            return simple
        key = (name, tuple(None if o is None else o.index for o in operands), _attribute_key(attrs), n)
        results = self._results.get(key)
        if results is None:
            results = self._results[key] = self._detour(schema, operands, attrs, n) or self._write(
                schema, operands, attrs, n
            )
        return results[0] if n == 1 else results

    def _detour(self, schema, operands, attrs, n) -> list[Sym] | None:
        """The op in another dtype, there and back, or made of other ops, if the engine has no kernel for this one."""
        formals = [schema.inputs[min(i, len(schema.inputs) - 1)] for i in range(len(operands))]
        through: dict[str, tuple[torch.dtype, torch.dtype]] = {}
        for formal, x in zip(formals, operands):
            if x is not None and not ort_kernels.has_kernel(schema.name, formal.type_str, x.torch_dtype):
                other = ort_kernels.detour(schema.name, formal.type_str, x.torch_dtype)
                if other is None and x.torch_dtype == torch.float64:
                    made = double_precision.composed(self, schema.name, operands, attrs)
                    if made is not None:
                        return [made]
                if other is None:
                    raise ConversionError(
                        f"there is no kernel of {schema.name} for {own_name(x.torch_dtype)}"
                    )
                through[formal.type_str] = (x.torch_dtype, other)
        if not through:
            return None
        moved = [
            x if x is None or f.type_str not in through else self.cast(x, through[f.type_str][1])
            for f, x in zip(formals, operands)
        ]
        results = self.op(schema.name, *moved, n=n, **attrs)
        results = [results] if n == 1 else results
        outputs = [schema.outputs[min(i, len(schema.outputs) - 1)].type_str for i in range(n)]
        return [self.cast(r, through[o][0]) if o in through else r for r, o in zip(results, outputs)]

    def _write(self, schema, operands, attrs, n) -> list[Sym]:
        results = [self.new(dtype, shape) for dtype, shape in infer(schema, operands, attrs, n)]
        self.ops.append(TapeOp(schema.name, operands, attrs, results))
        return results

    def _operands(self, schema, inputs: list[Any]) -> list[Sym | None]:
        while inputs and inputs[-1] is None:
            inputs.pop()
        formals = [schema.inputs[min(i, len(schema.inputs) - 1)] for i in range(len(inputs))]
        homogeneous = [
            f.option != onnx.defs.OpSchema.FormalParameterOption.Variadic or f.is_homogeneous for f in formals
        ]
        bound: dict[str, torch.dtype] = {}
        for formal, same, x in zip(formals, homogeneous, inputs):
            if isinstance(x, Sym) and same:
                if bound.setdefault(formal.type_str, x.torch_dtype) != x.torch_dtype:
                    raise ConversionError(f"{schema.name} of {bound[formal.type_str]} and {x.torch_dtype}")
        return [None if x is None else self._operand(schema, f, bound, x) for f, x in zip(formals, inputs)]

    def _operand(self, schema, formal, bound, x) -> Sym:
        if isinstance(x, Sym):
            return x
        if isinstance(x, (list, tuple, ir.Shape)) and any(isinstance(v, Sym) for v in x):
            return self.ints(list(x))
        dtype = bound.get(formal.type_str)
        if dtype is None and formal.type_str.startswith("tensor("):
            dtype = _TORCH_OF_NAME[formal.type_str[7:-1]]
        if isinstance(x, (ir.TensorProtocol, np.ndarray, np.generic, torch.Tensor)):
            dtype = None
        if isinstance(x, float) and dtype is not None and not dtype.is_floating_point and not x.is_integer():
            raise ConversionError(f"{schema.name} of {dtype} and the number {x}")
        return self.constant(list(x) if isinstance(x, ir.Shape) else x, dtype)

    # ---- what needs no op --------------------------------------------------------------------

    def _simplify(self, name: str, inputs: list[Sym | None], attrs: dict) -> Sym | None:
        x = inputs[0] if inputs else None
        match name:
            case "Identity":
                return x
            case "Constant":
                return self._constant_op(attrs)
            case "Cast":
                to = torch_dtype(attrs["to"])
                return self.cast(x, to) if x.torch_dtype == to or x.const is not None else None
            case "CastLike":
                return self.cast(x, inputs[1].torch_dtype)
            case "Shape" if x.dims is not None:
                return self._shape(x.dims[slice(attrs.get("start", 0), attrs.get("end"))])
            case "Size" if x.known:
                return self.constant(int(np.prod(x.dims, dtype=np.int64)), torch.int64)
            case "Reshape" if _has_shape(x, inputs[1], takes_zeros=bool(attrs.get("allowzero"))):
                return x
            case "Expand" if _has_shape(x, inputs[1], takes_zeros=True):
                return x
            case "Transpose" if attrs.get("perm") == list(range(len(attrs.get("perm", ())))):
                return x
            case "Concat" if len(inputs) == 1:
                return x
        return self._fold(name, inputs, attrs)

    def _shape(self, dims: tuple) -> Sym | None:
        return self.constant(list(dims), torch.int64) if all(isinstance(d, int) for d in dims) else None

    def _constant_op(self, attrs: dict) -> Sym:
        ((kind, value),) = attrs.items()
        if kind not in ("value", "value_int", "value_ints", "value_float", "value_floats"):
            raise ConversionError(f"a Constant with {kind}")
        dtype = {
            "value_int": torch.int64,
            "value_ints": torch.int64,
            "value_floats": torch.float32,
        }
        return self.constant(value, dtype.get(kind))

    def _fold(self, name: str, inputs: list[Sym | None], attrs: dict) -> Sym | None:
        rule = _FOLDS.get(name)
        if (
            rule is None
            or not inputs
            or any(x is None or x.const is None or x.const.numel() > _LARGEST_FOLD for x in inputs)
        ):
            return None
        if any(x.torch_dtype not in (torch.int64, torch.bool) for x in inputs) and name not in _FOLDS_OF_ANY:
            return None
        result = rule(attrs, *[x.const for x in inputs])
        return None if result is None else self.constant(result)

    # ---- onnxscript's evaluator protocol -----------------------------------------------------

    def eval_op(self, op, args, kwargs):
        if op.domain:
            raise ConversionError(f"its ONNX form needs {op.domain}.{op.name}")
        schema = schema_of(op.name)
        kwargs = {k: v for k, v in kwargs.items() if v is not None}
        names = [f.name for f in schema.inputs]
        inputs = list(args)
        variadic = bool(schema.inputs) and schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
        if len(inputs) > len(names) and not variadic:
            raise ConversionError(f"{op.name} with positional attributes")
        for name in [k for k in kwargs if k in names]:
            position = names.index(name)
            inputs += [None] * (position + 1 - len(inputs))
            inputs[position] = kwargs.pop(name)
        return self.op(op.name, *inputs, n=_result_count(schema, kwargs), **kwargs)

    def eval_function(self, function, args, kwargs):
        """A scripted torchlib function: its Python body, which holds only ops and static choices, is run."""
        params = list(function.op_signature.params)
        named = dict(zip([p.name for p in params], args)) | dict(kwargs)
        known = {p.name for p in params}
        bound: dict[str, torch.dtype] = {}
        for p in params:
            if isinstance(p, ir.schemas.Parameter) and isinstance(named.get(p.name), Sym):
                bound.setdefault(p.type_constraint.name, named[p.name].torch_dtype)
        for p in params:
            value = named.get(p.name)
            if isinstance(p, ir.schemas.Parameter) and isinstance(value, (bool, int, float)):
                named[p.name] = self.constant(value, bound.get(p.type_constraint.name))
            elif isinstance(p, ir.schemas.AttributeParameter) and isinstance(value, Sym):
                raise ConversionError(f"'{p.name}' is known only at run time")
            elif (
                isinstance(p, ir.schemas.AttributeParameter)
                and p.type == ir.AttributeType.FLOAT
                and isinstance(value, int)
            ):
                named[p.name] = float(value)
        return function.function(**{k: v for k, v in named.items() if k in known})


def _has_shape(x: Sym, shape: Sym, takes_zeros: bool) -> bool:
    """Whether both are known, and x has that shape already. `takes_zeros`: a 0 in the shape is an extent."""
    if not x.known or shape.const is None or shape.const.tolist() != list(x.dims):
        return False
    return takes_zeros or 0 not in x.dims


def _result_count(schema, attrs) -> int:
    if schema.name == "Split":
        count = attrs.get("num_outputs")
        if count is None:
            raise ConversionError("Split into a number of parts known only at run time")
        return count
    return 1 if schema.name == "BatchNormalization" else max(1, len(schema.outputs))  # unread ones are dropped later


_TORCH_OF_NAME = {
    "int64": torch.int64,
    "float": torch.float32,
    "double": torch.float64,
    "bool": torch.bool,
    "int32": torch.int32,
    "uint8": torch.uint8,
    "int8": torch.int8,
}


def _as_tensor(value: Any, dtype: torch.dtype | None) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return (value if dtype is None else value.to(dtype)).detach().contiguous()
    if isinstance(value, ir.TensorProtocol):
        raw = value.numpy()
        if value.dtype == ir.DataType.BFLOAT16:
            return torch.from_numpy(raw.view(np.int16).copy()).view(torch.bfloat16)
        value = raw
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    if isinstance(value, (np.ndarray, np.generic)):
        tensor = torch.from_numpy(np.array(value, copy=True, order="C"))
        return tensor if dtype is None else tensor.to(dtype)
    if isinstance(value, complex):
        raise ConversionError("complex numbers are not supported")
    if dtype is None and isinstance(value, (list, tuple)) and not value:
        dtype = torch.int64
    return torch.tensor(value, dtype=dtype)


def _attributes(schema, attrs: dict[str, Any]) -> dict[str, Any]:
    result = {}
    for key, value in attrs.items():
        if value is None:
            continue
        if key not in schema.attributes:
            raise ConversionError(f"{schema.name} has no attribute '{key}' in opset {OPSET}")
        formal = schema.attributes[key]
        value = _attribute(schema, key, formal.type, value)
        if isinstance(value, torch.Tensor) or value != _default_of(formal):
            result[key] = value
    return result


def _attribute_key(attrs: dict[str, Any]) -> str:
    """Tells apart any two sets of attributes (a tensor's own repr is abridged)."""
    return repr(
        [(k, (str(v.dtype), v.tolist()) if isinstance(v, torch.Tensor) else v) for k, v in sorted(attrs.items())]
    )


def _default_of(formal) -> Any:
    proto = formal.default_value
    if not proto.name or proto.type == onnx.AttributeProto.TENSOR:
        return None
    value = onnx.helper.get_attribute_value(proto)
    return value.decode() if isinstance(value, bytes) else value


def _attribute(schema, key, kind, value):
    if isinstance(value, ir.Attr):
        value = value.value
    if isinstance(value, Sym) or (isinstance(value, (list, tuple)) and any(isinstance(v, Sym) for v in value)):
        raise ConversionError(f"{schema.name}'s {key} is known only at run time")
    read = _ATTRIBUTES.get(kind)
    if read is None:
        raise ConversionError(f"{schema.name}'s attribute {key}: kind {kind}")
    return read(value)


_KINDS = onnx.defs.OpSchema.AttrType
_ATTRIBUTES: dict[Any, Callable[[Any], Any]] = {  # kind -> how a value of it is read
    _KINDS.INT: int,
    _KINDS.FLOAT: float,
    _KINDS.STRING: lambda value: value.decode() if isinstance(value, bytes) else str(value),
    _KINDS.INTS: lambda value: [int(v) for v in value],
    _KINDS.FLOATS: lambda value: [float(v) for v in value],
    _KINDS.STRINGS: lambda value: [str(v) for v in value],
    _KINDS.TENSOR: lambda value: _as_tensor(value, None),
}


# ---- inference -------------------------------------------------------------------------------


def tensor_proto(tensor: torch.Tensor) -> onnx.TensorProto:
    proto = onnx.TensorProto(dims=list(tensor.shape), data_type=onnx_code(tensor.dtype))
    proto.raw_data = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return proto


def node_proto(name: str, inputs: list[str], outputs: list[str], attrs: dict[str, Any]) -> onnx.NodeProto:
    plain = {k: tensor_proto(v) if isinstance(v, torch.Tensor) else v for k, v in attrs.items()}
    domain, _, plain_name = name.rpartition(".")
    node = onnx.helper.make_node(plain_name, inputs, outputs, domain=domain or None)
    for key in sorted(plain):
        kind = int(schema_of(name).attributes[key].type)
        node.attribute.append(onnx.helper.make_attribute(key, plain[key], attr_type=kind))
    return node


def type_proto(sym: Sym) -> onnx.TypeProto:
    proto = onnx.TypeProto()
    proto.tensor_type.elem_type = onnx_code(sym.torch_dtype)
    if sym.dims is not None:
        proto.tensor_type.shape.SetInParent()
        for d in sym.dims:
            dim = proto.tensor_type.shape.dim.add()
            if isinstance(d, int):
                dim.dim_value = d
            elif d is not None:
                dim.dim_param = str(d)
    return proto


def infer(schema, operands: list[Sym | None], attrs: dict, n: int) -> list[tuple[torch.dtype, tuple | None]]:
    if schema.domain:
        rule = linear_algebra_ops.infer if schema.name.startswith(linear_algebra_ops.DOMAIN) else _infer_selection
        return rule(schema.name, operands, attrs)
    present = {o.name: o for o in operands if o is not None}
    outputs = [f"o{i}" for i in range(n)]
    node = node_proto(schema.name, [o.name if o is not None else "" for o in operands], outputs, attrs)
    data = {
        name: tensor_proto(o.const)
        for name, o in present.items()
        if o.const is not None and o.const.numel() <= _LARGEST_FOLD
    }
    try:
        types = infer_node_outputs(
            schema,
            node,
            {name: type_proto(o) for name, o in present.items()},
            data,
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        )
    except Exception as error:  # onnx raises its own class, undocumented
        raise ConversionError(f"ONNX refuses {schema.name} of {operands} {attrs}: {error}") from None
    return [_read_type(schema, types.get(name)) for name in outputs]


def _read_type(schema, proto) -> tuple[torch.dtype, tuple | None]:
    if proto is None or not proto.HasField("tensor_type") or not proto.tensor_type.elem_type:
        raise ConversionError(f"the type of {schema.name}'s result is not known")
    tensor = proto.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(d.dim_value if d.HasField("dim_value") else (d.dim_param or None) for d in tensor.shape.dim)
    return torch_dtype(tensor.elem_type), shape


# ---- folding of small integer constants --------------------------------------------------------


def _fold_slice(attrs, data, starts, ends, axes=None, steps=None):
    index = [slice(None)] * data.dim()
    count = starts.numel()
    axes = list(range(count)) if axes is None else axes.tolist()
    steps = [1] * count if steps is None else steps.tolist()
    if any(s < 1 for s in steps):
        return None
    for axis, start, end, step in zip(axes, starts.tolist(), ends.tolist(), steps):
        index[axis] = slice(start, end, step)
    return data[tuple(index)].clone()


def _fold_reshape(attrs, data, shape):
    target = [data.shape[i] if s == 0 and not attrs.get("allowzero") else s for i, s in enumerate(shape.tolist())]
    return data.reshape(target).clone()


def _fold_gather(attrs, data, indices):
    axis = attrs.get("axis", 0)
    if (
        data.dim() != 1
        or axis not in (0, -1)
        or (indices.numel() and (indices.max() >= len(data) or indices.min() < -len(data)))
    ):
        return None
    return data[indices.where(indices >= 0, indices + len(data))]


def _fold_squeeze(attrs, data, axes=None):
    if axes is None:
        return data.squeeze().clone()
    for axis in sorted((a % data.dim() for a in axes.tolist()), reverse=True):
        data = data.squeeze(axis)
    return data.clone()


def _fold_unsqueeze(attrs, data, axes):
    rank = data.dim() + axes.numel()
    for axis in sorted(a % rank for a in axes.tolist()):
        data = data.unsqueeze(axis)
    return data.clone()


def _reduce_product(attrs, data, axes=None):
    if axes is not None or attrs.get("keepdims", 1) and data.dim() != 1:
        return None
    return data.prod().reshape([1] if attrs.get("keepdims", 1) else [])


_FOLDS = {
    "Add": lambda _, a, b: a + b,
    "Sub": lambda _, a, b: a - b,
    "Mul": lambda _, a, b: a * b,
    "Neg": lambda _, a: -a,
    "Div": lambda _, a, b: None if (b == 0).any() else torch.div(a, b, rounding_mode="trunc"),
    "Concat": lambda at, *xs: torch.cat(xs, at["axis"]),
    "Slice": _fold_slice,
    "Reshape": _fold_reshape,
    "Gather": _fold_gather,
    "Squeeze": _fold_squeeze,
    "Unsqueeze": _fold_unsqueeze,
    "ReduceProd": _reduce_product,
    "Equal": lambda _, a, b: a == b,
    "Less": lambda _, a, b: a < b,
    "Where": lambda _, c, a, b: torch.where(c, a, b),
    "Min": lambda _, *xs: torch.stack(torch.broadcast_tensors(*xs)).amin(0),
    "Not": lambda _, a: ~a,
    "Max": lambda _, *xs: torch.stack(torch.broadcast_tensors(*xs)).amax(0),
}
_FOLDS_OF_ANY = {"Reshape", "Squeeze", "Unsqueeze", "Where", "Equal", "Less"}
