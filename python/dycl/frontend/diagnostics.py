# SPDX-License-Identifier: Apache-2.0
"""Errors about the user's model, drawn at the line the user wrote.

`CaptureRefusal` travels inside capture: a BaseException, so that neither the user's `except
Exception` nor a library's can mistake it for an exception of the program. At the boundary it becomes
a `CompileError` with the user's stack.
"""

from __future__ import annotations

import linecache
import os
import traceback

import torch

from ..errors import CompileError
from .source import Span


class CaptureRefusal(BaseException):
    """Raised anywhere inside capture when a construct is refused."""

    def __init__(self, message: str, help: str = "", span: Span | None = None, kind: str = "refused", because=None):
        super().__init__(message)
        self.message = message
        self.help = help
        self.span = span
        self.kind = kind
        self.because = because  # a runtime value whose origin is worth telling

    def is_kind(self, kind: str) -> bool:
        return self.kind == kind

    def __reduce__(self):
        return (CaptureRefusal, (self.message, self.help, self.span, self.kind))


class Restart(BaseException):
    """Capture must begin anew with a decision changed (a merge forbidden, an attribute made a state)."""

    def __init__(self, why: str):
        super().__init__(why)


def raised_on_example(name: str, text: str, span: Span | None = None) -> CaptureRefusal:
    """For a model that ends in an exception on the arguments that were to show how it is used."""
    told = f"{name}: {text}" if text else name
    return CaptureRefusal(f"the model raises on the example: {told}",
                          "give example arguments on which the model returns; allow_raise=True (--allow-raise) "
                          "compiles it as it is", span=span, kind="example")


def stack_of(error: BaseException) -> list[tuple[Span, str]]:
    """Where an exception came through, outermost first; torch's own frames only if there are no others."""
    own = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)
    found = [(Span(frame.filename, frame.lineno or 0, (frame.colno or 0) + 1, frame.end_lineno or 0,
                   (frame.end_colno or 0) + 1), frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    return [entry for entry in found if not entry[0].file.startswith(own)] or found[-1:]


def draw(span: Span) -> list[str]:
    """The source line with a caret line under the span."""
    text = linecache.getline(span.file, span.line).rstrip("\n")
    if not text:
        return []
    data = text.encode()
    start = len(data[: max(span.column - 1, 0)].decode(errors="replace"))
    if span.end_line == span.line and span.end_column > span.column:
        end = len(data[: span.end_column - 1].decode(errors="replace"))
    else:
        end = len(text)
    indent = len(text) - len(text.lstrip())
    text, start, end = text[indent:], max(start - indent, 0), max(end - indent, 1)
    return [f"    {text}", "    " + " " * start + "^" + "~" * max(end - start - 1, 0)]


# Kinds of refusals of something that a program may leave to Python or C++.
_MAY_STAY_OUTSIDE = ("builtin", "escape", "lowering", "math", "native", "nondeterministic", "numpy", "outside")


def _remedies(refusal: CaptureRefusal) -> list[str]:
    found = [refusal.help] if refusal.help else []
    if refusal.kind.split(".")[0] in _MAY_STAY_OUTSIDE:
        found.append("what need not be compiled may stay outside: put it into a function of tensors and numbers, and "
                     "write @dycl.host_function in the line above its `def`")
    return found


def report(refusal: CaptureRefusal, stack: list[tuple[Span, str]]) -> CompileError:
    """`stack`: the user's frames, outermost first, as (span, function name)."""
    span = refusal.span or (stack[-1][0] if stack else None)
    lines = []
    if span is not None:
        lines.append(f"{span.file}:{span.line}:{span.column}: error: {refusal.message}")
        lines += draw(span)
    else:
        lines.append(f"error: {refusal.message}")
    origin = _origin(refusal.because)
    if origin is not None and origin != span:
        lines.append(f"  known only at run time because of {origin.file}:{origin.line}:{origin.column}:")
        lines += draw(origin)
    remedies = _remedies(refusal)
    lines += [f"  help: {text}" for text in remedies[:1]] + [f"        or {text}" for text in remedies[1:]]
    callers = [entry for entry in stack[:-1]]
    if callers:
        lines.append("  called from:")
        for where, name in reversed(callers[-8:]):
            lines.append(f"    {where.file}:{where.line} in {name}")
    return CompileError("\n".join(lines), message=refusal.message, help="; or ".join(remedies), span=span,
                        kind=refusal.kind)


def _origin(value) -> Span | None:
    origin = getattr(value, "origin", None)
    return origin if isinstance(origin, Span) else None
