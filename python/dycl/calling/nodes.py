# SPDX-License-Identifier: Apache-2.0
"""Templates of what holds other values: a class for each kind of container, with how one is taken apart and made again.

`of` makes a node of a container, given what makes the template of a part. A container is rebuilt empty, gets its
number, and is then filled, so that it may hold itself; tuples and frozen sets are made when all their parts are.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import inspect
import types
from typing import Any, Callable, Iterable, Iterator

import numpy as np
import torch

from ..errors import InputError, PackageError
from ..objects import HEAP_TYPE, attributes_of, new_instance, plain_object, slot_names
from .classes import BUILT, is_plain_key
from .same_contents import same
from .templates import Change, Equal, Given, Made, Named, Reference, Rows, Static, Template, class_differs
from .text_templates import Text

Each = Callable[[Any, str], Template]  # (a part, how its path goes on) -> its template


@dataclasses.dataclass(frozen=True)
class Node(Template):
    cls: type
    items: tuple[Template, ...]
    attributes: tuple[tuple[str, Template], ...] = ()  # of an instance of a subclass of a container
    base = object  # what is one derives from this
    hashable = False
    mutable = True  # a call changes it in place
    is_open = True

    def keys(self) -> tuple:
        return tuple(range(len(self.items)))

    def parts(self) -> tuple[Template, ...]:
        return (*self.items, *(t for _, t in self.attributes))

    def map(self, change: Change) -> Template:
        return self.with_parts([t.map(change) for t in self.parts()])

    def with_parts(self, parts: list) -> Template:
        count = len(self.items)
        own = tuple((name, t) for (name, _), t in zip(self.attributes, parts[count:]))
        return dataclasses.replace(self, items=tuple(parts[:count]), attributes=own)

    # ---- made again ----------------------------------------------------------------------------------

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        result = self.empty()
        made.append(result)
        self.fill(result, [t.rebuild(leaves, made) for t in self.items])
        self.put_attributes(result, leaves, made)
        return result

    def empty(self) -> Any:
        return new_instance(self.cls)

    def fill(self, result: Any, values: list) -> None:
        raise NotImplementedError(type(self))

    def put_attributes(self, result: Any, leaves: Iterator, made: Made) -> None:
        for name, t in self.attributes:
            result.__dict__[name] = t.rebuild(leaves, made)

    # ---- compared ------------------------------------------------------------------------------------

    @classmethod
    def contents(cls, x: Any) -> tuple[tuple, tuple]:
        """(keys, values) of such an object."""
        values = tuple(cls.base.__iter__(x))  # type: ignore[attr-defined]
        return tuple(range(len(values))), values

    def match(self, value: Any, path: str, call: Given) -> None:
        if self.mutable:
            call.containers[path] = value
        if error := class_differs(value, self.cls, path):
            raise error
        if not isinstance(value, self.base):
            raise InputError(f"{path}: another class {self.cls.__name__} than the program was compiled for")
        self.match_contents(value, path, call)
        self.match_attributes(value, path, call)

    def match_contents(self, value: Any, path: str, call: Given) -> None:
        values = self.contents(value)[1]
        if len(values) != len(self.items):
            raise InputError(f"{path}: {len(values)} elements, compiled for {len(self.items)}")
        for k, (x, t) in enumerate(zip(values, self.items)):
            t.match(x, f"{path}[{k}]", call)

    def match_attributes(self, value: Any, path: str, call: Given) -> None:
        own, known = getattr(value, "__dict__", {}), [name for name, _ in self.attributes]
        if list(own) != known:
            raise InputError(f"{path}: other attributes than at compile time ({known})")
        for name, t in self.attributes:
            t.match(own[name], f"{path}.{name}", call)

    def fits(self, value: Any, equal: Equal = same) -> bool:
        if type(value) is not self.cls:
            return False
        keys, values = self.contents(value)
        return keys == self.keys() and all(t.fits(x, equal) for t, x in zip(self.items, values))

    def taken(self, value: Any) -> list:
        return [x for t, part in zip(self.items, self.contents(value)[1]) for x in t.taken(part)]

    # ---- in a package --------------------------------------------------------------------------------

    def write(self, out: Any) -> list:
        own = [[[name, t.write(out)] for name, t in self.attributes]] if self.attributes else []
        return [self.kind, out.name_of(self.cls), [t.write(out) for t in self.items], *own]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3, 4)
        made = reader.classes.of_kind(reader.text(data[1]), cls)
        finish = reader.number_object(cls.mutable) if cls.is_numbered(made) else None
        found = cls(made, tuple(map(reader.template, reader.items(data[2]))), cls.read_attributes(data[3:], reader))
        if finish is not None:
            reader.made[finish] = True
        found.check(reader)
        return found

    @classmethod
    def read_attributes(cls, data: list, reader: Any) -> tuple:
        return tuple((reader.attribute(name), reader.template(t)) for name, t in reader.pairs(data[0])) if data else ()

    def check_hashed(self, reader: Any) -> None:
        reader.classes.check_hashed(self.cls)
        super().check_hashed(reader)

    def check(self, reader: Any) -> None:
        """Refuses what `rebuild` could not make."""
        _check_no_method_hidden(self.cls, self.attributes, reader)
        if self.attributes and not hasattr(self.empty(), "__dict__"):
            reader.fail(f"a {self.cls.__name__} has no attributes")

    @classmethod
    def is_numbered(cls, made: type) -> bool:
        return True


_METHODS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, classmethod, staticmethod)


def _check_no_method_hidden(cls: type, attributes: Iterable[tuple[str, Template]], reader: Any) -> None:
    """An attribute in a method's place would be called in its stead, so it must be nothing that can be called."""
    for name, t in attributes:
        if isinstance(t, (Named, Object, Reference)) and isinstance(inspect.getattr_static(cls, name, None), _METHODS):
            reader.fail(f"an attribute {name} that hides a method of {cls.__name__}")


_MOST_OF_ANY = 4096  # elements of a set, keys of a dict, whose hashes a file could choose to be equal


def _attributes(x: Any, each: Each) -> tuple:
    own = getattr(x, "__dict__", None)
    return tuple((name, each(value, f".{name}")) for name, value in own.items()) if isinstance(own, dict) else ()


def _sequence(base: Any, x: Any, each: Each) -> tuple[Template, ...]:
    return tuple(each(y, f"[{k}]") for k, y in enumerate(base.__iter__(x)))


@dataclasses.dataclass(frozen=True)
class Tuple(Node):
    base = tuple
    kind = "tuple"
    mutable = False

    @property
    def hashable(self) -> bool:  # type: ignore[override]
        return all(t.hashable for t in self.items)

    @classmethod
    def of(cls, x: tuple, each: Each, made: type | None = None) -> Template:
        return cls(made or type(x), _sequence(tuple, x, each), _attributes(x, each))

    @classmethod
    def is_numbered(cls, made: type) -> bool:
        return made is not tuple

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        if self.cls is tuple:
            return tuple([t.rebuild(leaves, made) for t in self.items])
        slot = len(made)
        made.append(None)
        values = [t.rebuild(leaves, made) for t in self.items]
        result = made[slot] = self._made(values)
        self.put_attributes(result, leaves, made)
        return result

    def _made(self, values: list) -> Any:
        if self.cls is torch.Size:
            return torch.Size(values)
        if self.cls.__flags__ & HEAP_TYPE and not hasattr(self.cls, "n_sequence_fields"):
            return tuple.__new__(self.cls, values)
        try:  # torch.return_types and other structured tuples
            return self.cls(values)
        except TypeError:
            return tuple.__new__(self.cls, values)

    def check(self, reader: Any) -> None:
        least = most = len(getattr(self.cls, "_fields", self.items))
        if hasattr(self.cls, "n_sequence_fields"):
            least, most = self.cls.n_sequence_fields, self.cls.n_fields  # type: ignore[attr-defined]
        if not least <= len(self.items) <= most:
            reader.fail(f"{len(self.items)} elements for a {self.cls.__name__}")
        if self.attributes and (self.cls in (tuple, torch.Size) or not getattr(self.cls, "__dictoffset__", 0)):
            reader.fail(f"a {self.cls.__name__} has no attributes")


@dataclasses.dataclass(frozen=True)
class List(Node):
    base = list
    kind = "list"

    @classmethod
    def of(cls, x: list, each: Each) -> Template:
        return cls(type(x), _sequence(list, x, each), _attributes(x, each))

    def fill(self, result: Any, values: list) -> None:
        list.extend(result, values)

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3, 5)
        if issubclass(reader.classes.of_kind(reader.text(data[1]), cls, Deque), collections.deque):
            return Deque.read(data, reader)
        return super().read(data[:4], reader)


@dataclasses.dataclass(frozen=True)
class Deque(Node):
    most: int | None = None
    base = collections.deque
    kind = "list"

    @classmethod
    def of(cls, x: collections.deque, each: Each) -> Template:
        return cls(type(x), _sequence(collections.deque, x, each), _attributes(x, each), x.maxlen)

    def empty(self) -> Any:
        result = new_instance(self.cls)
        collections.deque.__init__(result, (), self.most)
        return result

    def fill(self, result: Any, values: list) -> None:
        collections.deque.extend(result, values)

    def match_contents(self, value: Any, path: str, call: Given) -> None:
        super().match_contents(value, path, call)
        if value.maxlen != self.most:
            raise InputError(f"{path}: maxlen is {value.maxlen}, compiled for {self.most}")

    def write(self, out: Any) -> list:
        return [*super().write(out)[:3], [[name, t.write(out)] for name, t in self.attributes],
                Static(self.most).write(out)]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        found = super().read(data[:4], reader)
        most = reader.template(data[4]) if len(data) > 4 else Static(None)
        if not isinstance(most, Static) or type(most.value) not in (int, type(None)) or (most.value or 0) < 0:
            reader.fail("the length of a deque is a number")
        return dataclasses.replace(found, most=most.value)  # type: ignore[type-var]


@dataclasses.dataclass(frozen=True)
class Dict(Node):
    names: tuple = ()  # its keys
    factory: Template | None = None  # of a defaultdict
    base = dict
    kind = "dict"

    def __eq__(self, other: object) -> bool:
        return type(other) is Dict and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple:
        """Keys with their types: 1, 1.0 and True are equal and not the same."""
        return self.cls, self.items, self.attributes, self.names, tuple(map(type, self.names)), self.factory

    @classmethod
    def of(cls, x: dict, each: Each, factory: Template | None = None) -> Template:
        items = tuple(each(value, f"[{key!r}]") for key, value in dict.items(x))
        return cls(type(x), items, _attributes(x, each), tuple(dict.keys(x)), factory)

    def keys(self) -> tuple:
        return self.names

    @classmethod
    def contents(cls, x: Any) -> tuple[tuple, tuple]:
        return tuple(dict.keys(x)), tuple(dict.values(x))

    def empty(self) -> Any:
        return made_empty(self.cls, self.factory)

    def fill(self, result: Any, values: list) -> None:
        fill_table(result, zip(self.names, values))

    def match_contents(self, value: Any, path: str, call: Given) -> None:
        keys = [*dict.keys(value)]
        if keys != [*self.names] or [*map(type, keys)] != [*map(type, self.names)]:
            raise InputError(f"{path}: other keys than at compile time ({[*self.names]})")
        for key, t in zip(self.names, self.items):
            t.match(dict.__getitem__(value, key), f"{path}[{key!r}]", call)

    def match_attributes(self, value: Any, path: str, call: Given) -> None:
        super().match_attributes(value, path, call)
        if isinstance(value, collections.defaultdict):
            (self.factory or Static(None)).match(value.default_factory, f"{path}.default_factory", call)

    def write(self, out: Any) -> list:
        return [self.kind, out.name_of(self.cls),
                [[out.key(key), t.write(out)] for key, t in zip(self.names, self.items)],
                [[name, t.write(out)] for name, t in self.attributes],
                *(() if self.factory is None else (self.factory.write(out),))]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3, 5)
        made = reader.classes.of_kind(reader.text(data[1]), cls)
        reader.number_object(True)
        pairs = reader.pairs(data[2])
        names = tuple(reader.key(key) for key, _ in pairs)
        items = tuple(reader.template(t) for _, t in pairs)
        factory = reader.factory(data[4]) if len(data) > 4 else None
        if sum(not is_plain_key(name) for name in names) > _MOST_OF_ANY:
            reader.fail("a dict with very many keys that are neither texts nor whole numbers of 64 bits")
        if len(set(names)) != len(names):
            reader.fail("a key twice")
        if factory is not None and not issubclass(made, collections.defaultdict):
            reader.fail("what has a factory is a defaultdict")
        found = cls(made, items, cls.read_attributes(data[3:4], reader), names, factory)
        found.check(reader)
        return found


def made_empty(cls: type, factory: Template | None) -> Any:
    """`factory`: of a defaultdict."""
    result = new_instance(cls)
    if factory is not None:
        result.default_factory = factory.rebuild(iter(()), Made())
    return result


def fill_table(result: Any, items: Any) -> None:
    put: Callable = (collections.OrderedDict if isinstance(result, collections.OrderedDict) else dict).__setitem__
    for key, value in items:
        put(result, key, value)


@dataclasses.dataclass(frozen=True)
class Set(Node):
    base = (set, frozenset)  # type: ignore[assignment]
    kind = "set"
    mutable = False  # what is in it is made before

    @property
    def hashable(self) -> bool:  # type: ignore[override]
        return issubclass(self.cls, frozenset)

    @classmethod
    def of(cls, x: Any, each: Each) -> Template:
        own: Any = set if isinstance(x, set) else frozenset
        return cls(type(x), tuple(each(y, "") for y in own.__iter__(x)), _attributes(x, each))

    def map(self, change: Change) -> Template:
        """The order of its elements says nothing: what is known stays."""
        def changed(t: Template) -> Template:
            return t if isinstance(t, Static) else change(t)

        count = len(self.items)
        return self.with_parts([t.map(changed if k < count else change) for k, t in enumerate(self.parts())])

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        slot = len(made)
        made.append(None)
        values = [t.rebuild(leaves, made) for t in self.items]
        if issubclass(self.cls, set):
            made[slot] = new_instance(self.cls)
            set.update(made[slot], values)
        else:
            made[slot] = frozenset.__new__(self.cls, values)  # type: ignore[type-var]
        self.put_attributes(made[slot], leaves, made)
        return made[slot]

    def check(self, reader: Any) -> None:
        super().check(reader)
        if not all(t.hashable for t in self.items):
            reader.fail("an element of a set that cannot be in one")
        for t in self.items:
            t.check_hashed(reader)
        if len(self.items) > _MOST_OF_ANY and not all(isinstance(t, Static) and is_plain_key(t.value)
                                                      for t in self.items):
            reader.fail(f"a set of {len(self.items)} elements that are neither texts nor whole numbers")


@dataclasses.dataclass(frozen=True)
class Object(Node):
    """Attributes are all there is to it. `asked`: in arguments, names that the model asks for; "*": all."""

    names: tuple = ()
    asked: tuple = ()
    kind = "object"

    hashable = True

    @classmethod
    def of(cls, x: Any, each: Each, asked: tuple = ()) -> Template:
        own = attributes_of(x)
        if own is None:
            own = {f.name: getattr(x, f.name) for f in dataclasses.fields(x)}
        return cls(type(x), tuple(each(v, f".{name}") for name, v in own.items()), (), tuple(own), asked)

    def keys(self) -> tuple:
        return self.names

    @classmethod
    def contents(cls, x: Any) -> tuple[tuple, tuple]:
        return tuple(vars(x)), tuple(vars(x).values())

    def fill(self, result: Any, values: list) -> None:
        slots = slot_names(self.cls)
        for name, value in zip(self.names, values):
            if name in slots:
                object.__setattr__(result, name, value)
            else:
                result.__dict__[name] = value

    def match_contents(self, value: Any, path: str, call: Given) -> None:
        own = attributes_of(value)
        if own is None:
            raise InputError(f"{path}: another class {self.cls.__name__} than the program was compiled for")
        more = [name for name in own if name not in self.names]
        if "*" in self.asked and list(own) != [*self.names] or any(name in self.asked for name in more):
            raise InputError(f"{path}: other attributes than at compile time ({[*self.names]}), and the model "
                             "asks for them; compile again for these")
        for name, t in zip(self.names, self.items):
            if name not in own:
                raise InputError(f"{path}: has no attribute {name}, which it had at compile time")
            t.match(own[name], f"{path}.{name}", call)

    def match_attributes(self, value: Any, path: str, call: Given) -> None:
        """They are its contents."""

    def write(self, out: Any) -> list:
        asked = [[[name, Static(None).write(out)] for name in self.asked]] if out.of_arguments else []
        return [self.kind, out.name_of(self.cls), [[name, t.write(out)] for name, t in zip(self.names, self.items)],
                *asked]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3, 4)
        made = reader.classes.of_kind(reader.text(data[1]), cls)
        reader.number_object(True)
        pairs = reader.pairs(data[2])
        names = tuple(reader.attribute(name) for name, _ in pairs)
        found = cls(made, tuple(reader.template(t) for _, t in pairs), (), names,
                    tuple(reader.text(name) for name, _ in reader.pairs(data[3])) if len(data) > 3 else ())
        found.check(reader)
        return found

    def check(self, reader: Any) -> None:
        _check_no_method_hidden(self.cls, zip(self.names, self.items), reader)
        if not getattr(self.cls, "__dictoffset__", 0) and not {*self.names} <= {*slot_names(self.cls)}:
            reader.fail(f"attributes that no {self.cls.__name__} has")


@dataclasses.dataclass(frozen=True)
class Raising(Object):
    """An exception that is given back."""

    base = BaseException
    kind = "exception"

    @classmethod
    def of(cls, x: Any, each: Each, asked: tuple = ()) -> Template:
        own = {"args": x.args, **vars(x)}
        return cls(type(x), tuple(each(v, f".{name}") for name, v in own.items()), (), tuple(own))

    def fill(self, result: Any, values: list) -> None:
        own = dict(zip(self.names, values))
        result.args = own.pop("args", ())
        result.__dict__.update(own)

    def check(self, reader: Any) -> None:
        _check_no_method_hidden(self.cls, zip(self.names, self.items), reader)
        if "args" in self.names:
            args = self.items[self.names.index("args")]
            if not isinstance(args, Tuple) and not isinstance(args, (Rows, Reference)):
                reader.fail("the arguments of an exception are a tuple")


@dataclasses.dataclass(frozen=True)
class Table(Node):
    """A dict or set with run-time keys: lists of its keys and of its values."""

    factory: Template | None = None  # of a defaultdict
    kind = "table"

    @classmethod
    def contents(cls, x: Any) -> tuple[tuple, tuple]:
        columns = ([*x],) if isinstance(x, set) else ([*dict.keys(x)], [*dict.values(x)])
        return tuple(range(len(columns))), columns

    def empty(self) -> Any:
        return made_empty(self.cls, self.factory)

    def fill(self, result: Any, values: list) -> None:
        if len(values) == 1:
            result.update(values[0])
        else:
            fill_table(result, zip(*values))

    def write(self, out: Any) -> list:
        return [*super().write(out), *(() if self.factory is None else ([], self.factory.write(out)))]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3, 5)
        found = super().read(data[:4], reader)
        if len(data) < 5:
            return found
        if not issubclass(found.cls, collections.defaultdict):  # type: ignore[attr-defined]
            reader.fail("what has a factory is a defaultdict")
        return dataclasses.replace(found, factory=reader.factory(data[4]))  # type: ignore[type-var]

    def check(self, reader: Any) -> None:
        count = 1 if issubclass(self.cls, set) else 2
        if len(self.items) != count or self.attributes:
            reader.fail(f"a table of {len(self.items)} columns as a {self.cls.__name__}")
        keys = self.items[0]
        inside = keys.element if isinstance(keys, Rows) else None
        known = all(t.hashable for t in keys.items) if isinstance(keys, (List, Tuple)) else False
        if not (inside is not None and inside.hashable or known):
            reader.fail("keys of a table that cannot be in one")
        keys.check_hashed(reader)
        if not all(isinstance(t, (Rows, List, Tuple)) for t in self.items):
            reader.fail("columns of a table are lists")


@dataclasses.dataclass(frozen=True)
class Built(Node):
    """A value of a class of Python's that calling the class with its parts makes."""

    base = tuple(BUILT)  # type: ignore[assignment]
    kind = "built"
    mutable = False  # it is made when all its parts are

    @classmethod
    def contents(cls, x: Any) -> tuple[tuple, tuple]:
        values = BUILT[class_built(x)](x)
        return tuple(range(len(values))), values

    def fits(self, value: Any, equal: Equal = same) -> bool:
        return class_built(value) is self.cls and all(
            t.fits(x, equal) for t, x in zip(self.items, self.contents(value)[1]))

    def check(self, reader: Any) -> None:
        """A text would be read: "1e999999999" is a number that takes all memory. A code of an array is a letter."""
        super().check(reader)
        for t in self.items:
            if isinstance(t, Text) or isinstance(t, Static) and isinstance(t.value, (str, bytes)) and len(t.value) > 1:
                reader.fail(f"a {self.cls.__name__} made of a text")

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        slot = len(made)
        made.append(None)
        parts = [t.rebuild(leaves, made) for t in self.items]
        try:
            made[slot] = made.build(self.cls, parts)
        except (TypeError, ArithmeticError, ValueError) as error:
            raise PackageError(f"the program gives no parts of a {self.cls.__name__}: {error}") from None
        return made[slot]


def refill(old: Any, new: Any) -> None:
    """Puts into a container what another of its class holds."""
    if isinstance(old, np.ndarray):
        old[...] = new
    elif isinstance(old, (list, array.array)):
        old[:] = new
    elif isinstance(old, (dict, set)):
        old.clear()
        old.update(new)
    else:
        collections.deque.clear(old)
        collections.deque.extend(old, new)


def class_built(x: Any) -> type:
    """What stands in for one while compiling says for which."""
    return getattr(type(x), "dycl_built", type(x))


OF_CONTAINERS: tuple[tuple[Any, Any], ...] = (
    (tuple, Tuple), (list, List), (collections.deque, Deque), (dict, Dict), ((set, frozenset), Set))


def node_of(x: Any) -> Any:
    """The class of nodes for a container, if it is one."""
    return next((node for base, node in OF_CONTAINERS if isinstance(x, base)), None)


def structure_of(x: Any) -> Any:
    """The class of nodes for what attributes may hold from call to call in parts: a tuple, named or plain, a list, a
    dict, a plain object; None: of what has no such parts."""
    if isinstance(x, tuple):
        return Tuple if type(x) is tuple or hasattr(x, "_fields") else None
    if type(x) in (list, dict):
        return node_of(x)
    return Object if plain_object(x) else None
