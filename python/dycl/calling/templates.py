# SPDX-License-Identifier: Apache-2.0
"""Templates of results: nested tuples with tensors and numbers at their leaves;
`rebuild` makes the object again from computed leaves."""

from __future__ import annotations

import collections
import re
from typing import Any, Callable, Iterator

import torch

from ..objects import HEAP_TYPE, new_instance


class StaticObject:
    """An object of the user's world that a program gives back as it is."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any):
        self.obj = obj

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, StaticObject) and other.obj is self.obj

    def __hash__(self) -> int:
        return id(self.obj)


class Made(list):
    """Objects made so far, in the order in which templates number them. `given`: the call's own containers, by path."""

    def __init__(self, given: dict):
        super().__init__()
        self.given = given


def rebuild(template: tuple, leaves: Any, made: list | None = None) -> Any:
    """`leaves`: an iterator of computed leaves in the order of flattening."""
    made = [] if made is None else made
    kind = template[0]
    if kind == "ref":
        return made[template[1]]
    if kind == "static":
        return float(template[2]) if template[1] == "float" else template[2]
    if kind == "text":
        how, parts = template[1], [rebuild(t, leaves, []) for t in template[2]]
        if isinstance(how, str):
            return how.format(*parts)
        if how[0] == "method":
            return getattr(parts[0], how[1])(*how[2:])
        return how[1 + parts[0]] if how[0] == "choice" else how[1].join(parts[0])
    if kind == "live":
        made.append(template[1].obj)
        return template[1].obj
    if kind == "argument":
        slot = len(made)
        # takes its leaves; what the call wrote is put into the argument itself
        copied = rebuild(template[2], leaves, made)
        made[slot] = getattr(made, "given", {}).get(template[1], copied)
        return made[slot]
    if kind == "tuple":
        cls, items = template[1], template[2]
        if cls is not tuple:
            slot = len(made)
            made.append(None)
        values = [rebuild(t, leaves, made) for t in items]
        if cls is torch.Size:
            result = torch.Size(values)
        elif cls is tuple:
            return tuple(values)
        elif cls.__flags__ & HEAP_TYPE and not hasattr(cls, "n_sequence_fields"):
            result = tuple.__new__(cls, values)
            _put_extra(result, template, leaves, made)
        else:  # torch.return_types and other structured tuples
            try:
                result = cls(values)
            except TypeError:
                result = tuple.__new__(cls, values)
        made[slot] = result
        return result
    return _rebuild_mutable(template, leaves, made)


def _rebuild_mutable(template: tuple, leaves: Any, made: list) -> Any:
    kind = template[0]
    if kind in ("tensor", "array", "int", "float", "bool"):
        value = next(leaves)
        if kind == "tensor":
            made.append(value)
        return value
    cls = template[1]
    if kind == "numbers":  # in an element of a list of run-time length: a list of them as a tensor
        return cls(next(leaves).tolist())
    if kind == "rows":
        slot = len(made)
        if cls is list:
            made.append(None)
        columns = [next(leaves) for _ in range(count_leaves(template[2]))]
        rows = [rebuild(template[2], iter(row), []) for row in zip(*columns)]
        if cls is list:
            made[slot] = rows
        return rows if cls is list else tuple(rows)
    if kind == "list":
        result = new_instance(cls)
        if isinstance(result, collections.deque):
            collections.deque.__init__(result, (), template[4][2] if len(template) > 4 else None)
        made.append(result)
        append: Callable[..., None] = list.append if isinstance(result, list) else collections.deque.append
        for t in template[2]:
            append(result, rebuild(t, leaves, made))
        _put_extra(result, template, leaves, made)
        return result
    if kind == "dict":
        result = new_instance(cls)
        if len(template) > 4:
            result.default_factory = rebuild(template[4], leaves, [])
        made.append(result)
        put = collections.OrderedDict.__setitem__ if isinstance(result, collections.OrderedDict) else dict.__setitem__
        for key, t in template[2]:
            put(result, key, rebuild(t, leaves, made))
        for name, t in template[3]:
            result.__dict__[name] = rebuild(t, leaves, made)
        return result
    if kind == "table":
        result = new_instance(cls)
        made.append(result)
        columns = [rebuild(t, leaves, made) for t in template[2]]
        if len(columns) == 1:
            result.update(columns[0])
        put = collections.OrderedDict.__setitem__ if isinstance(result, collections.OrderedDict) else dict.__setitem__
        for key, value in zip(*columns) if len(columns) > 1 else ():
            put(result, key, value)
        return result
    if kind == "set":
        slot = len(made)
        made.append(None)
        values = [rebuild(t, leaves, made) for t in template[2]]
        if issubclass(cls, set):
            made[slot] = new_instance(cls)
            set.update(made[slot], values)
        else:
            made[slot] = frozenset.__new__(cls, values)
        _put_extra(made[slot], template, leaves, made)
        return made[slot]
    result = new_instance(cls)
    made.append(result)
    for name, t in template[2]:
        (BaseException if kind == "exception" else object).__setattr__(result, name, rebuild(t, leaves, made))
    return result


def _put_extra(result: Any, template: tuple, leaves: Any, made: list) -> None:
    for name, t in template[3] if len(template) > 3 else ():
        result.__dict__[name] = rebuild(t, leaves, made)


def leaf_names(template: tuple) -> list[str]:
    """What the user calls each computed leaf, in order: the keys and fields on its way ("boxes", "past_0"); "" where
    there are only places."""
    return [re.sub(r"\W", "_", "_".join(path).lstrip("0123456789_")) for path in _leaf_paths(template, ())]


def _leaf_paths(template: tuple, path: tuple) -> Iterator[tuple]:
    kind = template[0]
    if kind == "argument":
        yield from _leaf_paths(template[2], path)
    elif kind == "rows":
        yield from [path] * count_leaves(template[2])
    elif kind in ("tuple", "list", "set", "table", "text"):
        names = getattr(template[1], "_fields", getattr(template[1], "__match_args__", ())) or range(len(template[2]))
        for name, t in zip(map(str, names), template[2]):
            yield from _leaf_paths(t, path if kind == "text" else (*path, name))
        yield from _of_entries(template[3:4], path)
    elif kind in ("dict", "object", "exception"):
        yield from _of_entries(template[2:4], path)
    elif kind not in ("static", "live", "ref"):
        yield path


def _of_entries(groups: tuple, path: tuple) -> Iterator[tuple]:
    for key, t in (entry for group in groups for entry in group):
        yield from _leaf_paths(t, (*path, str(key)))


def in_words(template: tuple, leaves: Iterator[str]) -> str:
    """A result as Python would write it, with names for what is computed."""
    kind, cls = template[0], template[1] if len(template) > 1 else None
    if kind == "argument":
        return in_words(template[2], leaves)
    if kind == "static":
        return str(template[2]) if cls == "float" else repr(template[2])
    if kind in ("tuple", "list", "set"):
        items = [in_words(t, leaves) for t in template[2]]
        one = "," if cls is tuple and len(items) == 1 else ""
        before, after = {tuple: "()", list: "[]", set: "{}"}.get(cls, (f"{cls.__name__}(", ")"))  # type: ignore
        return before + ", ".join(items) + one + after
    if kind == "dict":
        return "{" + ", ".join(f"{key!r}: {in_words(t, leaves)}" for key, t in template[2]) + "}"
    if kind in ("object", "exception"):
        fields = ", ".join(f"{name}={in_words(t, leaves)}" for name, t in template[2])
        return f"{cls.__name__}({fields})"  # type: ignore
    if kind in ("live", "ref"):
        return "..."
    names = [next(leaves) for _ in _leaf_paths(template, ())]
    return ", ".join(names) if len(names) == 1 else f"({', '.join(names)})"


def types_of_keys(template: Any) -> tuple:
    """Of the dicts in templates: 1, 1.0 and True are equal and not the same."""
    if not isinstance(template, tuple):
        return ()
    found = [type(k) for k, _ in template[2]] if len(template) > 2 and template[0] == "dict" else []
    return (*found, *(t for part in template if isinstance(part, tuple) for t in types_of_keys(part)))


def count_leaves(template: tuple) -> int:
    """Of an element of a list whose length is known only at run time."""
    if template[0] in ("tuple", "list", "text"):
        return sum(map(count_leaves, template[2]))
    if template[0] in ("dict", "object"):
        return sum(count_leaves(t) for _, t in template[2])
    return 0 if template[0] == "static" else 1
