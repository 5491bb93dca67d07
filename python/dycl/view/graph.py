# SPDX-License-Identifier: Apache-2.0
"""What a block of a program shows as a node: its place in the source, what it calls, how it ends."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

_MOST_CALLS = 4
_WIDEST = 40  # characters


@dataclass
class Node:
    block: int
    kind: str  # "entry", "branch", "switch", "loop", "return", "raise" or "step"
    lines: list[str]  # the first is its heading
    calls: list[int] = field(default_factory=list)  # sub-DNNs


@dataclass(frozen=True)
class Edge:
    source: int
    target: int
    label: str
    arm: int | None


class Program:
    """A package's program as `native().package_to_json` describes it."""

    def __init__(self, described: dict):
        self.described = described
        self.texts = {(file, line): " ".join(text.split()) for file, line, text in described["lines"]}
        self.nodes = [self._node(k, block) for k, block in enumerate(described["blocks"])]
        self.edges = [Edge(k, edge["to"], edge["label"], edge["arm"])
                      for k, block in enumerate(described["blocks"]) for edge in block["exit"]["edges"]]
        order = self._order()
        for edge in self.edges:
            if order.get(edge.target, 0) <= order.get(edge.source, 0):  # goes back
                node = self.nodes[edge.target]
                node.kind = "loop" if node.kind == "step" else node.kind
                node.lines[0] = node.lines[0].removeprefix("loop: ")
                node.lines[0] = short(f"loop: {node.lines[0]}")

    def _order(self) -> dict[int, int]:
        """Reverse postorder from the entry: an edge to what is not later goes back."""
        after: dict[int, list[int]] = {}
        for edge in self.edges:
            after.setdefault(edge.source, []).append(edge.target)
        order: list[int] = []
        seen, stack = {0}, [(0, iter(after.get(0, ())))]
        while stack:
            block, targets = stack[-1]
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(after.get(target, ()))))
                    break
            else:
                order.append(block)
                stack.pop()
        return {block: k for k, block in enumerate(reversed(order))}

    def place(self, where: Any) -> str:
        """"model.py:12"; "" if it is not known."""
        sources = self.described["sources"]
        if not where or where[0] >= len(sources):
            return ""
        return f"{os.path.basename(sources[where[0]])}:{where[1]}"

    def source(self, where: Any) -> str:
        return self.texts.get((where[0], where[1]), "") if where else ""

    def _node(self, number: int, block: dict) -> Node:
        exit = block["exit"]
        calls = [op["sub_dnn"] for op in block["ops"] if "sub_dnn" in op]
        kind = exit["kind"] if exit["kind"] != "goto" else "entry" if number == 0 else "step"
        lines = [short(self._heading(block, kind))]
        for sub_dnn in calls[:_MOST_CALLS]:
            lines.append(short(self.described["sub_dnns"][sub_dnn]["readable"]))
        if len(calls) > _MOST_CALLS:
            lines.append(f"and {len(calls) - _MOST_CALLS} more")
        others = len(block["ops"]) - len(calls)
        if others:
            lines.append(f"{others} host op{'s' if others > 1 else ''}")
        return Node(number, kind, lines, calls)

    def _heading(self, block: dict, kind: str) -> str:
        inside = [op["place"] for op in sorted(block["ops"], key=lambda op: "sub_dnn" not in op) if op["place"]]
        ends = kind in ("branch", "switch", "return", "raise")
        where = next((place for place in (block["exit"]["place"] if ends else None, *inside, block["place"]) if place),
                     None)
        text = self.source(where) or self.place(where)
        if kind == "raise":
            return f"raise: {text or block['exit']['text'].removeprefix('raise ')}"
        return text or {"entry": "entry", "return": "return"}.get(kind, block["name"])


def short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[:_WIDEST - 3] + "..."
