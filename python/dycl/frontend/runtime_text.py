# SPDX-License-Identifier: Apache-2.0
"""Text with runtime numbers in it: known enough to print or raise, never to compare or index with."""

from __future__ import annotations

from typing import Any

from .values import Escape, RtScalar


class Opaque:
    """A part of a text that cannot be written down while compiling: fit for an exception's message only."""

    __slots__ = ("what", "origin")

    def __init__(self, what: str, origin: Any = None):
        self.what, self.origin = what, origin


class RtText:
    """parts: strings and runtime scalars in order. Immutable."""

    __slots__ = ("parts", "origin")

    def __init__(self, parts: tuple):
        self.parts = parts
        self.origin = next((p.origin for p in parts if isinstance(p, (RtScalar, Opaque))), None)

    @staticmethod
    def join(pieces: list) -> "str | RtText":
        if all(isinstance(p, str) for p in pieces):
            return "".join(pieces)
        parts: list = []
        for p in pieces:
            parts.extend(p.parts if isinstance(p, RtText) else (p,))
        return RtText(tuple(parts))

    @property
    def exact(self) -> bool:
        return not any(isinstance(p, Opaque) for p in self.parts)

    def template(self) -> tuple[str, list]:
        """A format with `{}` for each runtime scalar (braces doubled), and the scalars."""
        text, values = [], []
        for part in self.parts:
            if isinstance(part, RtScalar):
                text.append("{}")
                values.append(part)
            elif isinstance(part, Opaque):
                text.append(f"<{part.what}>")
            else:
                text.append(part.replace("{", "{{").replace("}", "}}"))
        return "".join(text), values

    def __str__(self) -> str:
        raise Escape(self, "str")

    def __hash__(self) -> int:
        raise Escape(self, "hash")

    def __eq__(self, other: Any) -> bool:
        raise Escape(self, "comparison eq")

    def __bool__(self) -> bool:
        raise Escape(self, "truth")

    __repr__ = __str__


def text_method(text: RtText, name: str, args: tuple) -> bool:
    """text.startswith(...), text.endswith(...), where what is asked for ends before a number begins."""
    from .diagnostics import CaptureRefusal

    wanted = args[0] if len(args) == 1 and isinstance(args[0], (str, tuple)) else None
    found = None if wanted is None else [_begins(text.parts, w, name) for w in ((wanted,) if isinstance(wanted, str) else wanted)]
    if found is None or True not in found and None in found:
        raise CaptureRefusal(f"str.{name} of text that holds a number known only at run time", "compare the number itself",
                             kind="escape.str", because=text)
    return True in found


def _begins(parts: tuple, wanted: Any, name: str) -> bool | None:
    """None: the number decides."""
    if type(wanted) is not str:
        return None
    turned = name == "endswith"
    for part in reversed(parts) if turned else parts:
        if not wanted:
            return True
        if not isinstance(part, str):
            first = wanted[-1] if turned else wanted[0]
            return None if part.__class__ is Opaque or part.kind != "int" or first.isdigit() or first == "-" else False
        part = part[::-1] if turned else part
        rest = wanted[::-1] if turned else wanted
        size = min(len(part), len(rest))
        if part[:size] != rest[:size]:
            return False
        wanted = rest[size:][::-1] if turned else rest[size:]
    return not wanted


def format_value(machine, state, value: Any, spec: str, conversion: int) -> Any:
    """f"{value!c:spec}"."""
    machine.note_deep(value)
    if isinstance(value, BaseException) and not spec and conversion < 2 and is_text_of_argument(value):
        value = value.args[0]
    if isinstance(value, RtText) and not spec:
        return value if conversion < 2 else RtText(("'", *value.parts, "'"))
    if isinstance(value, RtScalar):
        return RtText((value,)) if not spec else RtText((Opaque(f"{value.kind}:{spec}", value.origin),))
    if machine.is_tensor(value):
        static = machine.recorder.static(value)
        if static is None and value.dim() == 0:
            return format_value(machine, state, machine.tensor_item(value), spec, conversion)
        if static is None:
            return RtText((Opaque("tensor", machine.recorder.span),))
        value = static
    if machine.has_runtime(value) and not spec:
        return RtText.join(_pieces(machine, value))
    value = {0: lambda v: v, 1: str, 2: repr, 3: ascii}[conversion](value)
    return format(value, spec)


def is_text_of_argument(error: BaseException) -> bool:
    """str(error) is the text of its one argument, which is known only at run time."""
    return type(error).__str__ is BaseException.__str__ and len(error.args) == 1 and isinstance(error.args[0], (RtText, RtScalar))


def _pieces(machine, value: Any) -> list:
    """repr(value) of a container that holds values of run time."""
    if isinstance(value, RtText):
        return ["'", *value.parts, "'"]
    if isinstance(value, RtScalar):
        return [value]
    if not machine.has_runtime(value):
        return [repr(value)]
    if type(value).__name__ == "RtSize":
        return ["torch.Size(", *_pieces(machine, list(value)), ")"]
    if type(value) in (list, tuple):
        opening, closing = ("[", "]") if type(value) is list else ("(", ",)" if len(value) == 1 else ")")
        inside = [piece for k, x in enumerate(value) for piece in ([", "] if k else []) + _pieces(machine, x)]
        return [opening, *inside, closing]
    return [Opaque(type(value).__name__, machine.recorder.span)]
