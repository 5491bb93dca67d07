# SPDX-License-Identifier: Apache-2.0
"""print(): texts and numbers are written by the run itself; a tensor, as torch writes it, by a host function."""

from __future__ import annotations

import torch

from ...calling.host_functions import PRINT
from ..diagnostics import CaptureRefusal
from ..graph.program import HostNode
from ..semantics.registry import handles
from ..values.stand_in import is_instance, type_of
from ..values.text import RtText
from ..values.text_formatting import format_value
from . import host_calls


@handles(print)
def _print(m, s, args, kwargs):
    if set(kwargs) - {"sep", "end", "flush"}:
        raise CaptureRefusal("print to a file", kind="print")
    for name in ("sep", "end"):
        given = kwargs.get(name)
        if given is not None and not is_instance(m, given, str):
            raise TypeError(f"{name} must be None or a string, not {type_of(m, given).__name__}")
    pieces: list = []
    for k, arg in enumerate(args):
        if k:
            pieces.append(" " if kwargs.get("sep") is None else kwargs["sep"])
        pieces.append(_piece(m, arg))
    pieces.append("\n" if kwargs.get("end") is None else kwargs["end"])
    if any(isinstance(p, torch.Tensor) for p in pieces):
        return _through_host(m, s, pieces)
    text, values = _template(pieces)
    node = HostNode("print", [v.value for v in values], [], {"format": text}, m.recorder.span)
    m.recorder.append(node)
    return None


def _piece(m, arg):
    """A text, or a tensor that only the run knows."""
    if not m.has_runtime(arg):
        return str(arg)
    if isinstance(arg, torch.Tensor) and m.recorder.numbers.static(arg) is None:
        return arg
    return format_value(m, arg, "", 1)


def _template(pieces):
    joined = RtText.of(pieces)
    if not joined.writable:
        raise CaptureRefusal("print of a tensor inside another object, or of a number with an unusual format, known "
                             "only at run time", "print the tensor itself, print(x), and numbers with a plain format "
                             "such as :.3f", kind="print", because=joined)
    return joined.pattern()


def _through_host(m, s, pieces):
    text, operands = "", []
    for piece in pieces:
        pattern, values = ("{}", [piece]) if isinstance(piece, torch.Tensor) else _template([piece])
        text += pattern
        operands += values
    with m.recorder.without_modes():
        template = torch.tensor(list(text.encode()), dtype=torch.uint8)
    return host_calls.call(PRINT, m, s, (m.recorder.real.constant_handle(template), *operands), {})
