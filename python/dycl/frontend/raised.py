# SPDX-License-Identifier: Apache-2.0
"""Exceptions that a program raises: from a class's name and a text, which is all that a run gives, back to the object.

`Raised` maps names to classes and remembers how each exception looked while compiling: the format of its text, its arguments and its
attributes. One is found again by its text; where two look alike but differ, the text is the only argument.
"""

from __future__ import annotations

import builtins
import copy
import re
from typing import Any

from .runtime_text import RtText
from .structure import new_instance
from .values import RtScalar

_PLAIN = (str, int, float, bool, type(None))
_READ = {"int": int, "float": float, "bool": {"True": True, "False": False}.__getitem__, "text": str}


class Raised(dict):
    """name -> class; `looks`: (name, format, arguments, attributes) of each exception. An argument is ("static", value) or the
    kind of a run-time value and its own format; an attribute is ["static", value], ["argument", which] or the kind and place of a
    run-time value in the text."""

    def __init__(self, classes: dict | None = None, looks: list | None = None):
        super().__init__(classes or {})
        self.looks: list[tuple] = looks or []

    def add(self, error: BaseException) -> tuple[str, str, list]:
        """(name, format of the text, run-time values in it)"""
        name, cls = type(error).__name__, type(error)
        if self.get(name, getattr(builtins, name, cls)) is not cls:  # another class has that name
            name = f"{cls.__module__}.{cls.__qualname__}"
        self[name] = cls
        text, values = message_of(error)
        arguments = _arguments(error)
        if arguments is not None:
            look = (name, text, arguments, _attributes(error, text, values))
            if look not in self.looks:
                self.looks.append(look)
        return name, text, values

    def exception(self, cls: type, name: str, message: str) -> BaseException:
        found = []
        for look in self.looks:
            read = _read(look, message) if look[0] == name else None
            if read is not None and read not in found:
                found.append(read)
        arguments, attributes = found[0] if len(found) == 1 else ((message,), {})
        if not isinstance(getattr(cls, "__init__", None), type(_read)):  # as Python makes it
            try:
                return cls(*arguments)
            except Exception:
                pass
        error = new_instance(cls)
        error.args = copy.deepcopy(arguments)
        error.__dict__.update(copy.deepcopy(attributes))
        return error

    # ---- in a file ----------------------------------------------------------------------------

    def looks_to_json(self) -> list:
        return [[name, text, [[kind, _written(what)] for kind, what in arguments], {k: [kind, _written(what)] for k, (kind, what) in attributes.items()}]
                for name, text, arguments, attributes in self.looks]

    def take_looks(self, data: list) -> None:
        self.looks = [(name, text, tuple((kind, _from_file(what)) for kind, what in arguments),
                       {k: [kind, _from_file(what)] for k, (kind, what) in attributes.items()}) for name, text, arguments, attributes in data]


def message_of(error: BaseException) -> tuple[str, list]:
    """str(error) as a format, and the run-time values in it."""
    args = error.args
    if len(args) == 1 and isinstance(args[0], (RtText, RtScalar)):
        quoted = isinstance(error, KeyError) and isinstance(args[0], RtText)
        return RtText.join(["'", args[0], "'"] if quoted else ["", args[0]]).template()
    if all(isinstance(a, (RtText, RtScalar, *_PLAIN)) for a in args) and any(isinstance(a, (RtText, RtScalar)) for a in args):
        pieces = [p for a in args for p in (", ", *(("'", a, "'") if isinstance(a, RtText) else (a,) if isinstance(a, RtScalar) else (repr(a),)))]
        return RtText.join(["(", *pieces[1:], ")"]).template()
    if any(not isinstance(a, _PLAIN) and _unknown(a) for a in args):
        return "a message with values known only at run time", []
    return str(error).replace("{", "{{").replace("}", "}}"), []


def _unknown(x: Any) -> bool:
    return isinstance(x, (RtScalar, RtText)) or hasattr(x, "_dycl") or isinstance(x, (list, tuple)) and any(map(_unknown, x))


def _arguments(error: BaseException) -> tuple | None:
    """None: they cannot be told from the text."""
    found = []
    for a in error.args:
        if _is_plain(a):
            found.append(("static", copy.deepcopy(a)))
        elif isinstance(a, RtScalar):
            found.append((a.kind, "{}"))
        elif isinstance(a, RtText):
            found.append(("text", a.template()[0]))
        else:
            return None
    return tuple(found)


def _attributes(error: BaseException, text: str, values: list) -> dict[str, list]:
    """Those that can be told again: values known while compiling, run-time values that are arguments or stand in the text."""
    found, places = {}, _PLACE.findall(text.replace("{{", "").replace("}}", ""))
    for k, v in getattr(error, "__dict__", {}).items():
        same = [i for i, a in enumerate(error.args) if a is v and isinstance(a, (RtScalar, RtText))]
        if same:
            found[k] = ["argument", same[0]]
        elif isinstance(v, RtScalar) and (shown := [i for i, x in enumerate(values) if x is v and places[i] == "{}"]):
            found[k] = [v.kind, shown[0]]
        elif k != "__notes__" and _is_plain(v):
            found[k] = ["static", copy.deepcopy(v)]
    return found


_TUPLE = "()"  # the one key of the dict that stands for a tuple in a file


def _is_plain(x: Any) -> bool:
    """As it is after it was in a file."""
    if type(x) is dict:
        return all(type(k) is str and k != _TUPLE and _is_plain(v) for k, v in x.items())
    return all(map(_is_plain, x)) if type(x) in (list, tuple) else isinstance(x, _PLAIN)


def _written(x: Any) -> Any:
    if type(x) is dict:
        return {k: _written(v) for k, v in x.items()}
    if type(x) in (list, tuple):
        items = [_written(v) for v in x]
        return items if type(x) is list else {_TUPLE: items}
    return x


def _from_file(x: Any) -> Any:
    if type(x) is dict:
        return tuple(map(_from_file, x[_TUPLE])) if list(x) == [_TUPLE] else {k: _from_file(v) for k, v in x.items()}
    return [*map(_from_file, x)] if type(x) is list else x


_PLACE = re.compile(r"\{(?::[^{}]*)?\}")


def _plain(text: str) -> str:
    """A format without the specifications of its places."""
    return re.sub(r"\{\{|\}\}|\{:[^{}]*\}", lambda found: found[0] if found[0] in ("{{", "}}") else "{}", text)


def _read(look: tuple, message: str) -> tuple[tuple, dict] | None:
    """The arguments and attributes of an exception of that look whose text is `message`."""
    _, text, arguments, attributes = look
    if all(kind == "static" for kind, _ in arguments):
        return (tuple(value for _, value in arguments), {k: what for k, (_, what) in attributes.items()}) if text.format() == message else None
    pieces = _plain(text).replace("{{", "\0").replace("}}", "\1").split("{}")
    matched = re.fullmatch("(.*?)".join(re.escape(p.replace("\0", "{").replace("\1", "}")) for p in pieces), message, re.DOTALL)
    if matched is None:
        return None
    values, made = iter(matched.groups()), []
    try:
        for kind, what in arguments:
            count = 0 if kind == "static" else len(_PLACE.findall(what.replace("{{", "").replace("}}", "")))
            made.append(what if kind == "static" else _READ[kind](_plain(what).format(*(next(values) for _ in range(count)))))
        told = {k: what if kind == "static" else made[what] if kind == "argument" else _READ[kind](matched[what + 1])
                for k, (kind, what) in attributes.items()}
    except (ValueError, KeyError):  # no number stands there: another exception's text
        return None
    return tuple(made), told
