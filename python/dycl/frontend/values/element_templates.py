# SPDX-License-Identifier: Apache-2.0
"""The structure of an element of a list whose length is known only at run time, by its kind (values/list_kinds.py)."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from ...calling.nodes import Built, Dict, List, Object, Tuple
from ...calling.templates import Array, Number, Row, Static, Template, Tensor
from ..diagnostics import CaptureRefusal
from .text_templates import element_of_texts


def element_template(m: Any, kind: tuple, typed: bool = False) -> Template:
    """`typed`: with dtype and shape of its tensors."""
    if typed and kind[0] == "tensor":
        return Tensor(kind[1].dtype, tuple(d if isinstance(d, int) else None for d in kind[1].shape))
    parts = [element_template(m, k, typed) for k in kind[2]] if kind[0] in _HOLDERS else []
    return _OF_KINDS[kind[0]](m, kind, parts)


def _refuse_objects(cls: type) -> NoReturn:
    raise CaptureRefusal(f"a list of objects of the class {cls.__name__}, which are known only at run time, is "
                         "returned or kept", "return lists of their attributes", kind="output")


def _row(kind: tuple) -> Template:
    if kind[1][0] == "reference":
        _refuse_objects(kind[1][1])
    return Row(tuple if kind[2] else list)


_HOLDERS = ("tuple", "dict", "list", "object", "built")
_OF_KINDS: dict[str, Callable[[Any, tuple, Any], Template]] = {
    "tuple": lambda m, kind, parts: Tuple(kind[1], tuple(parts)),
    "dict": lambda m, kind, parts: Dict(dict, tuple(parts), (), kind[1]),
    "list": lambda m, kind, parts: List(list, tuple(parts)),
    "object": lambda m, kind, parts: Object(kind[1][0], tuple(parts), (), kind[1][1]),
    "built": lambda m, kind, parts: Built(kind[1], tuple(parts)),
    "text": lambda m, kind, _: element_of_texts(m, kind),
    "row": lambda m, kind, _: _row(kind),
    "const": lambda m, kind, _: Static(kind[1]),
    "tensor": lambda m, kind, _: Tensor(),
    "numpy": lambda m, kind, _: Array(),
    "reference": lambda m, kind, _: _refuse_objects(kind[1]),
    **dict.fromkeys(("int", "float", "bool"), lambda m, kind, _: Number(kind[0]))}
