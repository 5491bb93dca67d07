# SPDX-License-Identifier: Apache-2.0
"""A builder that prints: the same methods as dycl._native.ProgramBuilder, the result is .dyir text.

For debugging the front end without the compiled core, and for tests that read what was lowered. It
checks nothing; docs/ir.md describes the text.
"""

from __future__ import annotations

from typing import Any

import torch

from dycl.frontend.lowering.tape import dtype_name


class TextBuilder:
    def __init__(self) -> None:
        self.head: list[str] = []
        self.sources: list[str] = []
        self.weights: dict[str, torch.Tensor] = {}
        self.functions: list[TextFunction] = []

    def add_symbol(self, name: str, min: int = 0, max: int = 2**63 - 1) -> None:
        self.head.append(f"symbol {name} in [{min}, {max}]")

    def add_weight(self, name: str, tensor: torch.Tensor) -> None:
        if name in self.weights:
            raise ValueError(f"weight '{name}' exists already")
        self.weights[name] = tensor
        self.head.append(f"weight @{name}: {dtype_name(tensor.dtype)}[{','.join(map(str, tensor.shape))}]")

    def add_state(self, name: str, type: str, initial: Any) -> None:
        self.head.append(
            f"state @{name}: {type} = {f'@{initial}' if isinstance(initial, str) else _attribute(initial)}"
        )

    def add_source(self, name: str) -> int:
        if name not in self.sources:
            self.sources.append(name)
        return self.sources.index(name)

    def set_metadata(self, key: str, value: str) -> None:
        self.head.append(f'meta "{key}" "{value}"')

    def new_function(self, name: str) -> "TextFunction":
        self.functions.append(TextFunction(name))
        return self.functions[-1]

    def print(self, spans: bool = False) -> str:
        sources = [f'source {i} "{name}"' for i, name in enumerate(self.sources)]
        return "\n".join([*self.head, *sources, "", *(f.print() for f in self.functions)])


class TextFunction:
    def __init__(self, name: str):
        self.name = name
        self.params: list[str] = []
        self.results: list[str] = []
        self.names: list[str] = []  # by value id
        self.types: list[str] = []
        self.taken: dict[str, int] = {}
        self.blocks: list[tuple[str, list[str], list[str]]] = []  # name, parameters, lines
        self.limits: dict[int, int] = {}

    def _value(self, type: str, hint: str) -> int:
        name = hint or str(len(self.names))
        while name in self.taken:
            self.taken[name] += 1
            name = f"{hint}.{self.taken[hint]}" if hint in self.taken and name == hint else f"{name}.1"
        self.taken[name] = 0
        self.names.append(name)
        self.types.append(type)
        return len(self.names) - 1

    def add_param(self, name: str, type: str, state: str = "") -> int:
        id = self._value(type, name)
        self.params.append(f"%{self.names[id]}: {type}" + (f" state @{state}" if state else ""))
        return id

    def add_result(self, type: str, name: str = "", state: str = "") -> None:
        self.results.append((f"%{name}: " if name else "") + type + (f" state @{state}" if state else ""))

    def add_block(self, name: str, span=None) -> int:
        self.blocks.append((name, [], []))
        return len(self.blocks) - 1

    def add_block_param(self, block: int, type: str, hint: str = "") -> int:
        id = self._value(type, hint)
        self.blocks[block][1].append(f"%{self.names[id]}: {type}")
        return id

    def op(self, block: int, name: str, operands, result_types, attrs=None, hint: str = "", span=None) -> list[int]:
        inputs = ", ".join("_" if o is None else f"%{self.names[o]}" for o in operands)
        ids = [self._value(type, hint) for type in result_types]
        results = ", ".join(f"%{self.names[i]}" for i in ids)
        self.blocks[block][2].append(
            f"{results} = {self._right(name, inputs, attrs or {}, result_types)}"
            if ids
            else self._right(name, inputs, attrs or {}, ())
        )
        return ids

    def _right(self, name: str, inputs: str, attrs: dict, types) -> str:
        if name == "const":
            return f"const {_attribute(attrs['value'])}"
        if name == "weight":
            return f"weight @{attrs['name']}"
        inner = ", ".join(f"{k}={_attribute(attrs[k])}" for k in sorted(attrs))
        told = name.rpartition(".")[2][:1].isupper() or name in ("item", "list.new", "opt.none")
        return " ".join(
            part
            for part in (
                name,
                inputs,
                f"{{{inner}}}" if inner else "",
                f": {', '.join(types)}" if told and types else "",
            )
            if part
        )

    def set_loop_limit(self, block: int, limit: int) -> None:
        self.limits[block] = limit

    def _edge(self, target: int, args) -> str:
        inside = ", ".join(f"%{self.names[a]}" for a in args)
        return f"^{self.blocks[target][0]}" + (f"({inside})" if inside else "")

    def goto(self, block: int, target: int, args=()) -> None:
        self.blocks[block][2].append(f"goto {self._edge(target, args)}")

    def branch(self, block: int, condition: int, if_true: int, true_args, if_false: int, false_args) -> None:
        self.blocks[block][2].append(
            f"branch %{self.names[condition]}, {self._edge(if_true, true_args)}, {self._edge(if_false, false_args)}"
        )

    def return_(self, block: int, values) -> None:
        self.blocks[block][2].append(" ".join(["return", ", ".join(f"%{self.names[v]}" for v in values)]).strip())

    def raise_(self, block: int, type: str, message: str, args=()) -> None:
        inside = ", ".join(f"%{self.names[a]}" for a in args)
        self.blocks[block][2].append(f"raise {_attribute(type)} {_attribute(message)} {inside}".rstrip())

    def print(self) -> str:
        results = f" -> ({', '.join(self.results)})" if self.results else ""
        lines = [f"func @{self.name}({', '.join(self.params)}){results} {{"]
        for i, (name, params, body) in enumerate(self.blocks):
            limit = f" limit {self.limits[i]}" if i in self.limits else ""
            lines.append(f"^{name}{f'({chr(44).join(params)})'.replace(',%', ', %') if params else ''}{limit}:")
            lines += [f"  {line}" for line in body]
        return "\n".join([*lines, "}"]) + "\n"


def _attribute(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        elements = ",".join(_attribute(v) for v in value.detach().reshape(-1).tolist())
        return f"{dtype_name(value.dtype)}[{','.join(map(str, value.shape))}] [{elements}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_attribute, value))}]" if value else "ints[]"
    return str(value)
