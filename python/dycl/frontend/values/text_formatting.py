# SPDX-License-Identifier: Apache-2.0
"""str(), repr(), format() and % of values known only at run time."""

from __future__ import annotations

import re
from typing import Any

from ..diagnostics import CaptureRefusal
from .chosen_text import is_chosen, lifted
from .native_entries import natively
from .scalar import EXAMPLES, RtScalar
from .stand_in import made_stand_in, stand_in_of
from .text import Formatted, Opaque, RtText

# What a run can format as Python does (src/support/python_str.h); not digits grouped behind zeros that fill up.
_SPEC = re.compile(r"(?:[ -z|~]?[<>=^])?[+\- ]?0?\d{0,3}[,_]?(?:\.\d{1,2})?[bdeEfFgGoxX%]?")
_ZEROS_IN_GROUPS = re.compile(r"(?:0[<>=^]|.?=|^[+\- ]?0\d|[<>=^][+\- ]?0\d).*[,_]|[,_].*[boxX]$")
_PERCENT = re.compile(r"%([-+ 0]*)(\d{0,3})(\.\d{1,2})?([a-zA-Z%])")


def text_method(text: RtText, name: str, args: tuple) -> bool:
    """text.startswith(...), text.endswith(...), where what is asked for ends before a number begins."""
    wanted = args[0] if len(args) == 1 and isinstance(args[0], (str, tuple)) else None
    each = () if wanted is None else (wanted,) if isinstance(wanted, str) else wanted
    found = [_begins(text.parts, w, name) for w in each]
    if wanted is None or True not in found and None in found:
        refuse_method(text, name)
    return True in found


def refuse_method(text: RtText, name: str) -> None:
    raise CaptureRefusal(f"str.{name} of a string that holds a number known only at run time",
                         "compare the number itself", kind="escape.str", because=text)


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
            return (None if not isinstance(part, RtScalar) or part.kind != "int" or first.isdigit()
                    or first == "-" else False)
        part = part[::-1] if turned else part
        rest = wanted[::-1] if turned else wanted
        size = min(len(part), len(rest))
        if part[:size] != rest[:size]:
            return False
        wanted = rest[size:][::-1] if turned else rest[size:]
    return not wanted


def format_value(m: Any, value: Any, spec: Any, conversion: int) -> Any:
    """f"{value!c:spec}"."""
    m.note_deep(value)
    if isinstance(spec, RtText):  # `{x:{width}}`
        _refuse_in_try(m)
        return RtText((Opaque("a format known only at run time", spec.origin),))
    if isinstance(value, BaseException) and not spec and conversion < 2 and is_text_of_argument(value):
        value = value.args[0]
    own = stand_in_of(value)
    if own is not None and isinstance(spec, str) and spec.endswith("c"):  # not every number is a character
        _refuse_in_try(m)
    found = own.formatted(m, spec, conversion) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    if m.has_runtime(value) and not spec:
        return RtText.join(_pieces(m, value, max(conversion, 2)))
    return format_known(value, spec, conversion)


def format_known(value: Any, spec: Any, conversion: int) -> str:
    return natively(format, value if not conversion else _CONVERSIONS[conversion](value), spec)


def format_number(value: RtScalar, spec: Any, conversion: int) -> RtText:
    if spec == "":
        return RtText((value,))
    return RtText((_opaque(value, spec) if conversion else formatted(value, spec),))


def format_text(m: Any, text: RtText, spec: Any, conversion: int) -> Any:
    """NotImplemented: filled up, which is not known."""
    if text.chooses and (spec or conversion > 1):
        return _of_chosen(m, text, lambda known: format(_CONVERSIONS.get(conversion, str)(known), spec))
    if spec:
        return NotImplemented
    return text if conversion < 2 else RtText(_quoted(text.parts, conversion))


def _quoted(parts: tuple, conversion: int) -> tuple:
    """repr() or ascii() of a text: numbers have no quotes in them, and nothing that is escaped."""
    quote = _CONVERSIONS[conversion]
    known = "".join(p for p in parts if isinstance(p, str))
    mark = quote(known)[0]
    other = "'" if mark == '"' else '"'  # with it in the text quote() takes the wanted mark
    return (mark, *(quote(p + other)[1:-2] if isinstance(p, str) else p for p in parts), mark)


def format_tensor(m: Any, tensor: Any, spec: Any, conversion: int) -> Any:
    """One of a single element is the number, but for str() and repr()."""
    static = m.recorder.numbers.static(tensor)
    if static is not None:
        return format_known(static, spec, conversion)
    if tensor.dim() == 0 and not conversion:
        return format_value(m, m.tensor_item(tensor), spec, conversion)
    if spec and not conversion:
        raise TypeError("unsupported format string passed to Tensor.__format__")
    return RtText((Opaque("tensor", m.recorder.span),))


def _of_chosen(m: Any, value: RtText, fn: Any) -> RtText:
    if not is_chosen(value):
        value.refuse("quoted or filled up")
    found = lifted(m, value, fn)
    return RtText((found,)) if isinstance(found, str) else found


def _opaque(value: RtScalar, spec: Any) -> Opaque:
    return Opaque(f"{value.kind}:{spec}" if isinstance(spec, str) else value.kind, value.origin)


def formatted(value: RtScalar, spec: Any) -> Any:
    """format(value, spec) as a part of a text. Raises what Python does where the spec is none for such numbers."""
    if not isinstance(spec, str):
        return _opaque(value, spec)
    natively(format, EXAMPLES[value.kind], spec)
    return (Formatted(value, spec) if _SPEC.fullmatch(spec) and not _ZEROS_IN_GROUPS.search(spec)
            else _opaque(value, spec))


def percent(m: Any, text: str, values: tuple) -> "str | RtText":
    """text % values."""
    pieces, left, end = [], list(values), 0
    for found in _PERCENT.finditer(text):
        pieces.append(text[end:found.start()])
        end = found.end()
        if found[4] == "%":
            pieces.append("%")
            continue
        if "%" in pieces[-1] or not left:
            break
        piece = _percent_piece(m, left.pop(0), found)
        if piece is None:
            break
        pieces.append(piece)
    else:
        if not left and "%" not in text[end:]:
            return RtText.join([*pieces, text[end:]])
    _refuse_in_try(m)
    return RtText((text, Opaque("% values", next((v.origin for v in values if isinstance(v, RtScalar)), None))))


def _refuse_in_try(m: Any) -> None:
    """Of a text that no run writes: Python, which does, may fail over its values."""
    if m.may_catch(ValueError, OverflowError, TypeError):
        raise CaptureRefusal("a string made of values known only at run time, which may fail, inside `try` that would "
                             "catch it", "make it behind the `try`", kind="try")


def _percent_piece(m: Any, value: Any, found: re.Match) -> Any:
    """One conversion; None if a run cannot write it."""
    flags, width, precision, kind = found.groups()
    if kind in "eEfFgG" and m.is_tensor(value) and value.dim() == 0:
        value = m.tensor_item(value)
    if isinstance(value, RtText):
        return value if found[0] == "%s" else None
    if not isinstance(value, RtScalar):
        return None if m.has_runtime(value) else found[0] % (value,)
    if kind in "sr":
        return RtText((value,)) if not (flags or width or precision) else None
    if not _takes(value, kind, precision):
        return None
    return RtText((formatted(value, _spec_of_percent(flags, width, precision or "", kind)),))


def _takes(value: RtScalar, kind: str, precision: str | None) -> bool:
    """Whether a conversion of %-formatting writes this number as format() does."""
    if kind in "diuoxX":
        return value.kind != "float" and not precision
    return kind in "eEfFgG"


def _spec_of_percent(flags: str, width: str, precision: str, kind: str) -> str:
    """What format() has for the flags of %."""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    fill = "<" + sign if "-" in flags else sign + ("0" if "0" in flags else "")
    return fill + width + precision + ("d" if kind in "iu" else kind)


_OF_ARGUMENTS = (BaseException.__str__, AttributeError.__str__, NameError.__str__)


def is_text_of_argument(error: BaseException) -> bool:
    """str(error) is the text of its one argument, which is known only at run time."""
    return (type(error).__str__ in _OF_ARGUMENTS and len(error.args) == 1
            and isinstance(error.args[0], (RtText, RtScalar)))


_CONVERSIONS: dict = {1: str, 2: repr, 3: ascii}


def _pieces(m: Any, value: Any, conversion: int) -> list:
    """repr(value) or ascii(value) of a container that holds values of run time."""
    quote = _CONVERSIONS[conversion]
    own = made_stand_in(value)
    found = own.formatted(m, "", conversion) if own is not None else NotImplemented
    if found is not NotImplemented:
        return [found]
    if not m.has_runtime(value):
        return [quote(value)]
    if isinstance(value, m.size_type):
        return ["torch.Size(", *_pieces(m, list(value), conversion), ")"]
    if type(value) in (list, tuple):
        opening, closing = ("[", "]") if type(value) is list else ("(", ",)" if len(value) == 1 else ")")
        inside = [piece for k, x in enumerate(value) for piece in ([", "] if k else []) + _pieces(m, x, conversion)]
        return [opening, *inside, closing]
    return [Opaque(type(value).__name__, m.recorder.span)]
