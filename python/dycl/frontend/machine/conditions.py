# SPDX-License-Identifier: Apache-2.0
"""What a decision asks, by its meaning.

An instruction that needs decisions runs again for each answer (docs/adr/0003), and computes its conditions again, as
other values of the graph: constants anew in another block, what was found in a table last time made afresh this time.
Answers must therefore not be kept by value, nor by the order of questions, but by what is asked: the op and what it is
applied to, down to values that were there before the instruction began.
"""

from __future__ import annotations

from typing import Any

from ..graph.program import AtenNode, HostNode, Value

_DEEP = 40
_RANDOM = ("rand", "bernoulli", "multinomial", "normal", "exponential", "dropout", "poisson",
           "geometric", "cauchy", "log_normal")


def question(value: Value, producers: dict[Value, Any], since: int) -> Any:
    """A hashable term, equal for conditions that mean the same. `since`: the first id of the present instruction."""
    return _Terms(producers, since).of(value, 0)


class _Terms:
    def __init__(self, producers: dict[Value, Any], since: int):
        self.producers, self.since = producers, since
        self.known: dict[Value, Any] = {}

    def of(self, value: Value, depth: int) -> Any:
        if value not in self.known:
            self.known[value] = self._term(value, depth)
        return self.known[value]

    def _term(self, value: Value, depth: int) -> Any:
        node = self.producers.get(value)
        if depth > _DEEP or node is None:
            return value.id
        if isinstance(node, HostNode):
            if node.op == "const":
                return ("const", value.type, repr(node.attrs["value"]))
            if value.id < self.since and (depth > 1 or _is_drawn(node)):
                return value.id
            if _is_drawn(node):
                return self._nth(value, node)
            return (node.op, node.outputs.index(value), *(self.of(v, depth + 1) for v in node.operands),
                    repr(sorted(node.attrs.items(), key=str)))
        if value.id < self.since:
            return value.id
        if _is_drawn(node):
            return self._nth(value, node)
        return (node.target, node.outputs.index(value), self._part(node.args, depth), self._part(node.kwargs, depth))

    def _nth(self, value: Value, node: Any) -> Any:
        """Not its operands tell which draw it is, but how many came before it in this instruction."""
        earlier = {id(n) for v, n in self.producers.items() if self.since <= v.id < value.id and _is_drawn(n)}
        return ("draw", len(earlier - {id(node)}), node.outputs.index(value))

    def _part(self, x: Any, depth: int) -> Any:
        if isinstance(x, Value):
            return self.of(x, depth + 1)
        if isinstance(x, (list, tuple)):
            return tuple(self._part(i, depth) for i in x)
        if isinstance(x, dict):
            return tuple((k, self._part(v, depth)) for k, v in sorted(x.items()))
        return repr(x)


def _is_drawn(node: Any) -> bool:
    """Another result each time: random numbers, what the host's functions give."""
    if isinstance(node, AtenNode):
        return any(word in node.target._schema.name for word in _RANDOM)
    return node.op.startswith("rand") or node.op == "host_call"
