# SPDX-License-Identifier: Apache-2.0
"""What a package keeps for calls from Python: JSON, written by `Writer` and checked whole by `Reader` before anything
is made of it. docs/package_format.md specifies it; ADR 9 says why it is JSON.

Whatever is not as specified is a PackageError that names the section and the field.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from typing import Any, Iterator, NoReturn

import torch

from ..errors import PackageError
from .classes import Classes, check_description, class_name, describe, in_process, is_fixed
from .nodes import Built, Dict, List, Node, Object, Raising, Set, Table, Tuple
from .records import is_special
from .templates import (
    Argument,
    Array,
    Generator,
    Lost,
    Named,
    Number,
    Reference,
    Row,
    Rows,
    Same,
    Static,
    Template,
    Tensor,
)
from .text_templates import Text

DEEPEST = 100  # templates in templates
_LARGEST = 1 << 27  # characters
_MOST_VALUES = 1 << 22  # in arrays and objects, of about a hundred bytes each
_MOST_IN_PATHS = 1 << 26  # characters: the name of each part of an argument holds those of all that it is in
_RESULTS: dict[str, type[Template]] = {
    "tensor": Tensor, "array": Array, "int": Number, "float": Number, "bool": Number, "numbers": Row, "rows": Rows,
    "static": Static, "written": Static, "import": Named, "member": Named,
    "constant": Named, "ref": Reference, "argument": Argument,
    "text": Text, "tuple": Tuple, "list": List, "dict": Dict, "set": Set, "object": Object, "exception": Raising,
    "table": Table, "built": Built}
_ARGUMENTS: dict[str, type[Template]] = {
    "tensor": Tensor, "int": Number, "float": Number, "bool": Number, "same": Same,
    "generator": Generator, "static": Static,
    "written": Static, "import": Named, "member": Named, "constant": Named, "lost": Lost, "tuple": Tuple, "list": List,
    "dict": Dict, "object": Object}


class NotSaved(Exception):
    """A structure that cannot be written to a file."""


class Writer:
    """`classes`: what the package says of those that it names."""

    def __init__(self) -> None:
        self.classes: dict[str, dict] = {}
        self.of_arguments = False

    def whole(self, template: Template) -> list:
        """Of what a program gives back, nothing may be lost."""
        self.of_arguments = False
        return self._checked(template)

    def argument(self, template: Template) -> list:
        self.of_arguments = True
        return self._checked(template)

    def _checked(self, template: Template) -> list:
        if _levels(template) > DEEPEST:
            raise NotSaved(f"a structure of more than {DEEPEST} levels")
        return template.write(self)

    def name_of(self, cls: type) -> str:
        name = class_name(cls)
        if not is_fixed(cls) and name not in self.classes and (description := describe(cls)) is not None:
            self.classes[name] = description
        return name

    def is_found(self, obj: Any) -> bool:
        """Whether another process can have it under its name."""
        found = bool(class_name(obj)) and in_process(class_name(obj)) is obj
        if found and isinstance(obj, type):
            self.name_of(obj)
        return found

    def lost(self, what: str) -> list:
        if not self.of_arguments:
            raise NotSaved(f"it gives back a {what} of the model's, which a file can't hold")
        return ["lost", what]

    def key(self, key: Any) -> Any:
        if type(key) in (str, int, bool, type(None)) or type(key) is float and math.isfinite(key):
            return key
        raise NotSaved(f"a dict key of type {type(key).__name__}")


def _levels(template: Template) -> int:
    return 1 + max(map(_levels, template.parts()), default=0)


class Reader:
    """Reads templates: either of arguments or of results, whose objects are counted as `rebuild` counts them."""

    def __init__(self) -> None:
        self.where = "the interface"
        self.classes = Classes({})
        self.of_arguments = False
        self.tensors = self.numbers = 0  # of the arguments
        self.made: list[bool] = []  # whether each object is there when the next part of it is made
        self.unsure: list[int] = []  # objects of which it is not known whether they are counted
        self._depth = 0

    def fail(self, what: str) -> NoReturn:
        raise PackageError(f"{self.where}: {what}", section="metadata")

    # ---- plain values --------------------------------------------------------------------------------

    def exactly(self, x: Any, kind: type) -> Any:
        if type(x) is not kind:
            self.fail(f"a {type(x).__name__} where a {kind.__name__} is expected")
        return x

    def text(self, x: Any) -> str:
        return self.exactly(x, str)

    def number(self, x: Any, low: int, high: int = 2**63 - 1) -> int:
        if not low <= self.exactly(x, int) <= high:
            self.fail(f"{x} is not in {low} to {high}")
        return x

    def items(self, x: Any, count: int | None = None) -> list:
        if len(self.exactly(x, list)) != count and count is not None:
            self.fail(f"{len(x)} elements where {count} are expected")
        return x

    def pairs(self, x: Any) -> list:
        for pair in self.items(x):
            self.items(pair, 2)
        return x

    def length(self, data: list, low: int, high: int = 0) -> None:
        if not low <= len(data) <= (high or low):
            self.fail(f"a {data[0]} of {len(data)} elements")

    def fields(self, x: Any, *names: str) -> None:
        if sorted(self.exactly(x, dict)) != sorted(names):
            self.fail(f"fields {sorted(x)} where {sorted(names)} are expected")

    def field(self, x: Any, name: str) -> Any:
        if name not in self.exactly(x, dict):
            self.fail(f"no field {name}")
        return x[name]

    def dtype(self, x: Any) -> torch.dtype:
        found = vars(torch).get(self.text(x).removeprefix("torch."))
        if not isinstance(found, torch.dtype):
            self.fail(f"{x} is no dtype")
        return found

    def attribute(self, x: Any) -> str:
        if is_special(self.text(x)) and x != "__notes__":
            self.fail(f"an attribute {x}")
        return x

    def key(self, x: Any) -> Any:
        if type(x) not in (str, int, bool, float, type(None)):
            self.fail(f"a key that is a {type(x).__name__}")
        return x

    # ---- templates -----------------------------------------------------------------------------------

    def template(self, data: Any) -> Template:
        if not self.items(data):
            self.fail("an empty template")
        of_kind = (_ARGUMENTS if self.of_arguments else _RESULTS).get(self.text(data[0]))
        if of_kind is None:
            self.fail(f"no template is a {data[0]!r}")
        self._depth += 1
        if self._depth > DEEPEST:
            self.fail(f"more than {DEEPEST} levels")
        found = of_kind.read(data, self)
        self._depth -= 1
        return found

    def apart(self, data: Any) -> Template:
        """A part whose objects are counted from 0 again."""
        before, self.made = (self.made, self.unsure), []
        self.unsure = []
        found = self.template(data)
        self.made, self.unsure = before
        return found

    def factory(self, data: Any) -> Template | None:
        """Of a defaultdict, which calls it: so a class that is merely there will not do."""
        if data[:1] != ["import"] or len(self.items(data)) != 2:
            found = self.apart(data)
            return None if found == Static(None) else self.fail("a factory is a class or a function")
        return Named(self.classes.object(self.text(data[1]), called=True), data[1])

    def number_object(self, finished: bool) -> int:
        """An object gets its number; one that is made after its parts is not there for them."""
        self.made.append(finished)
        return len(self.made) - 1

    def argument(self, data: Any) -> Template:
        self.of_arguments, self.made = True, []
        return self.template(data)

    def constant(self, data: Any) -> Template:
        """Of an argument: a default."""
        found = self.argument(data)
        if not isinstance(found, (Static, Named)):
            self.fail("a default that is no constant")
        return found

    @contextlib.contextmanager
    def results(self) -> Iterator[None]:
        """Templates that share the numbers of their objects."""
        self.of_arguments, self.made, self.unsure = False, [], []
        yield

    def descriptions(self, data: Any) -> dict[str, dict]:
        return {self.text(name): check_description(self, x) for name, x in self.exactly(data, dict).items()}


# Of one that has no end, all that is left: without that, each of its quotes was tried as a beginning.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?')


def _values(text: str) -> int:
    """How many there are in arrays and objects, at most; before anything is made of them."""
    return sum(map(text.count, "[{,"))


def parsed(text: str) -> Any:
    """JSON with nothing that JSON has not."""
    def no_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number")

    def once(pairs: list) -> dict:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a field twice")
        return found

    if len(text) > _LARGEST:
        raise PackageError(f"{len(text)} characters", section="metadata")
    if _values(text) > _MOST_VALUES and (count := _values(_STRING.sub("", text))) > _MOST_VALUES:
        raise PackageError(f"{count} values", section="metadata")
    try:
        return json.loads(text, parse_constant=no_constant, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise PackageError(f"no JSON: {str(error) or 'too deep'}", section="metadata") from None


def own_metadata(program: Any) -> dict[str, str]:
    """What the program itself keeps in its package: a map of strings."""
    try:
        whole = parsed(program.metadata)
    except UnicodeDecodeError as error:
        raise PackageError(f"no UTF-8: {error}", section="metadata") from None
    own = whole.get("metadata", {}) if isinstance(whole, dict) else None
    if not isinstance(own, dict) or not all(isinstance(text, str) for text in own.values()):
        raise PackageError("no map of strings", section="metadata")
    return own


def interface_data(program: Any) -> Any:
    """What the package keeps for Python; {} if nothing."""
    return parsed(own_metadata(program).get("python", "{}"))


class Paths:
    """How parts of the arguments are called, in messages and in writes."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.left = reader, _MOST_IN_PATHS

    def nodes(self, template: Template, path: str) -> Iterator[tuple[str, Node]]:
        """The containers of an argument that a call may change, as `match` finds them."""
        self.left -= len(path)
        if self.left < 0:
            self.reader.fail(f"names of its parts of more than {_MOST_IN_PATHS} characters")
        yield from self._inside(template, path)

    def _inside(self, template: Template, path: str) -> Iterator[tuple[str, Node]]:
        if not isinstance(template, Node):
            return
        if template.mutable:
            yield path, template
        for key, t in zip(template.keys(), template.items):
            yield from self.nodes(t, f"{path}.{key}" if isinstance(template, Object) else f"{path}[{key!r}]")
        for name, t in template.attributes:
            yield from self.nodes(t, f"{path}.{name}")
