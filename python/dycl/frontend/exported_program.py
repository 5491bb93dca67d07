# SPDX-License-Identifier: Apache-2.0
"""What `torch.export.export` gives, as a model and the arguments of a capture: a module, its example inputs, and the
extents that were dynamic when it was exported."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from ..errors import CompileError, InputError
from . import torch_internals

ExportedProgram = torch.export.ExportedProgram


def opened(exported: ExportedProgram, args: tuple, kwargs: dict, dynamic_dims: dict | None,
           ranges: dict | None) -> tuple[torch.nn.Module, tuple, dict, dict, dict]:
    """(module, args, kwargs, dynamic_dims, ranges). The program's own example stands where none is given."""
    for name, given in (("dynamic_dims", dynamic_dims), ("ranges", ranges)):
        if given:
            raise InputError(f"{name} says nothing of an exported program: its extents are dynamic as it was exported; "
                             "leave it out, or give torch.export.export other dynamic_shapes")
    if not args and not kwargs:
        if exported.example_inputs is None:
            raise CompileError("the exported program holds no example inputs\n  help: give them: "
                               "dycl.compile(program, (x,))", kind="argument")
        args, kwargs = exported.example_inputs
    module = exported.module()
    dims = _dynamic_dims(exported, module, args, kwargs)
    used = {name for axes in dims.values() for name in axes.values()}
    bounds = {str(symbol): _bounds(found) for symbol, found in exported.range_constraints.items()
              if str(symbol) in used}
    return module, tuple(args), dict(kwargs), dims, bounds


def _dynamic_dims(exported: ExportedProgram, module: torch.nn.Module, args: tuple, kwargs: dict) -> dict:
    """{argument: {axis: symbol}}: each tensor among the arguments, and the placeholder that stands for it."""
    names = [spec.arg.name for spec in exported.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    stand_for = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    leaves, _ = torch_internals.tree_flatten_with_path((tuple(args), dict(kwargs)))
    if len(leaves) != len(names):
        raise InputError(f"the exported program takes {len(names)} tensors and numbers, the example has {len(leaves)}")
    parameters = list(inspect.signature(module.forward).parameters)
    dims: dict = {}
    for (path, leaf), name in zip(leaves, names):
        if not isinstance(leaf, torch.Tensor):
            continue
        of_kwargs, first = path[0].idx == 1, path[1]
        argument = first.key if of_kwargs else parameters[first.idx]
        place = argument + torch_internals.keystr(path[2:])
        found = {axis: _symbol(extent, place, axis) for axis, extent in enumerate(stand_for[name].shape)
                 if isinstance(extent, torch.SymInt)}
        if found:
            dims[place] = found
    return dims


def _symbol(extent: torch.SymInt, place: str, axis: int) -> str:
    expression = extent.node.expr
    if not expression.is_Symbol:
        raise CompileError(f"extent {axis} of {place} was exported as {expression}, computed from others\n"
                           "  help: export with a torch.export.Dim of its own for this extent", kind="dims.example")
    return str(expression)


def _bounds(found: Any) -> tuple[int, int]:
    upper = found.upper
    return max(int(found.lower), 0), int(upper) if upper.is_Integer else 2**31 - 1
