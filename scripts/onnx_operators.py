# SPDX-License-Identifier: Apache-2.0
"""Writes src/onnx/import/operator_table.inc anew: how many inputs and outputs each operator takes and gives, and its
attributes, by version, as the pinned wheels of onnx and (for com.microsoft) onnxruntime state it; of the other domains
than ONNX's own the element types of results, too."""

import sys
from pathlib import Path

import onnx.defs
from onnx import TensorProto
from onnxruntime.capi import onnxruntime_pybind11_state as ort

FILE = Path(__file__).resolve().parent.parent / "src" / "onnx" / "import" / "operator_table.inc"
HEADER = """// SPDX-License-Identifier: Apache-2.0
// Written by scripts/onnx_operators.py: {name, since version, inputs, outputs, attributes, results}. Inputs and
// outputs: a letter for each, s single, o optional, * any number (the last). Attributes: name:kind, kinds as in
// operators.cpp, ! required. Results: for each the inputs whose element type it has, or =code, or ? where attributes
// say, - where it may be no tensor.
// clang-format off
"""
KINDS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I",
         "STRINGS": "S", "TENSORS": "T", "GRAPHS": "G", "SPARSE_TENSOR": "p", "SPARSE_TENSORS": "P",
         "TYPE_PROTO": "y", "TYPE_PROTOS": "Y"}


def parameters(of, least):
    text = ""
    for i, parameter in enumerate(of):
        option = str(parameter.option).rsplit(".", 1)[-1]
        if option == "Variadic":
            # The formal variadic parameter itself may have to be there: ONNX counts that in the least number.
            text += "s" * max(0, least - i) + "*"
        else:
            text += {"Single": "s", "Optional": "o"}[option]
    return text


def results(schema):
    """Of each output where its element type comes from."""
    if schema.domain == "":
        return ""  # result_dtype.cpp knows
    allowed = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
    return " ".join(_origin(schema, _type(output), allowed.get(_type(output), [_type(output)]))
                    for output in schema.outputs)


def _type(parameter):
    """The two libraries differ in how they spell it."""
    return parameter.type_str if hasattr(parameter, "type_str") else parameter.typeStr


def _origin(schema, kind, allowed):
    if not all(each.startswith("tensor(") for each in allowed):
        return "-"
    if len(allowed) == 1:
        name = allowed[0].removeprefix("tensor(").removesuffix(")").upper()
        return f"={TensorProto.DataType.Value(name)}"
    return ",".join(str(i) for i, each in enumerate(schema.inputs) if _type(each) == kind) or "?"


def row(schema):
    kind = {name: KINDS[str(a.type).rsplit(".", 1)[-1]] for name, a in schema.attributes.items()}
    attributes = " ".join(f"{name}:{kind[name]}{'!' if schema.attributes[name].required else ''}"
                          for name in sorted(kind))
    return (parameters(schema.inputs, schema.min_input), parameters(schema.outputs, schema.min_output), attributes,
            results(schema))


def rows():
    table = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml"):
            table[_name(schema), schema.since_version] = ("-", "-", "", "") if schema.deprecated else row(schema)
    for schema in ort.get_all_operator_schema():
        if schema.domain == "com.microsoft":
            table[_name(schema), schema.since_version] = row(schema)
    last = {}
    for (name, since), said in sorted(table.items()):
        if last.get(name) != said:  # most versions differ only in what types they take
            yield name, since, *said
        last[name] = said


def _name(schema):
    return schema.domain + "." * bool(schema.domain) + schema.name


def text():
    lines = [f'{{"{name}", {since}, "{inputs}", "{outputs}", "{attributes}", "{results}"}},'
             for name, since, inputs, outputs, attributes, results in rows()]
    return HEADER + "\n".join(lines) + "\n// clang-format on\n"


if __name__ == "__main__":
    FILE.write_text(text())
    sys.stdout.write(f"{FILE}: {sum(1 for _ in rows())} rows\n")
