# SPDX-License-Identifier: Apache-2.0
"""What Python can do with a value that is known only at run time: the one interface of all kinds.

A kind is a class that says, in a file of its own, what each of these means for it. What it does not say ends in
`Escape`, or in NotImplemented where Python has another way: the other operand, an iteration in place of `in`. A kind
asks the interpreter `m` for what it needs (`m.decide`, `m.recorder`, `m.scalars`, `m.call`); a method that may run code
of the program gives a value, or PUSHED as calls do. The dispatchers in semantics/ ask `stand_in_of` once and follow
Python's rules for all other objects.
"""

from __future__ import annotations

import types
from typing import Any, Callable, NoReturn

import torch

from ...calling.templates import Template
from ..diagnostics import CaptureRefusal
from ..graph.program import Value
from .escape import Escape
from .native_entries import natively

DONE = object()  # an iterator has nothing more to give


def key_refusal(what: str, because: Any) -> CaptureRefusal:
    return CaptureRefusal(what, "use integers, or tuples of them", kind="escape.hash", because=because)


class StandIn:
    """One value known only at run time, of whichever kind."""

    __slots__ = ()
    late = True  # what it is is known only at run time: False of what holds such values, which are asked one by one
    priority = 0  # of two stand-ins the one that has more says what an operator between them means
    merges_with_lists = False  # those of other classes, too (merging/unify_lists.py)
    keeps_objects = False  # what its contents hold is compared, not merged
    suspends = False  # its code goes on later, or is told that it does not
    indexed = False  # takes an integer in brackets, and so an object that says in Python which one it is
    refers = False  # is the number of an object (values/arena.py)
    own_class: type | None = None  # that has its methods and the other attributes that it does not say itself

    # ---- what it is ----------------------------------------------------------------------------

    def example(self, m: Any) -> Any:
        """Some known value of the class that it stands for."""
        raise Escape(self, "type")

    def type_of(self, m: Any) -> type:
        return type(self.example(m))

    def is_instance(self, m: Any, kinds: Any) -> bool:
        return isinstance(self.example(m), kinds)

    def small_example(self, m: Any) -> Any:
        """The same for a function that is tried: no divisor is zero, and nothing is empty."""
        return self.example(m)

    def identity(self, m: Any) -> Any:
        """id(self); NotImplemented: of the object that it is."""
        return NotImplemented

    def copied(self, m: Any, deep: bool) -> Any:
        """copy.copy(self), or copy.deepcopy; NotImplemented: as of other objects."""
        return NotImplemented

    def hint(self, m: Any, name: str) -> None:
        """It is assigned to a variable of this name, which people who read the program may like to see."""

    def truth(self, m: Any) -> Any:
        """bool(self): a bool, one of run time, or NotImplemented: its own __bool__ or __len__ is interpreted."""
        raise Escape(self, "truth")

    def length(self, m: Any) -> Any:
        """len(self): an int, known or not, or NotImplemented: its own __len__ is interpreted."""
        raise Escape(self, "len")

    def as_index(self, m: Any, error: str) -> Any:
        """The int, known or not, that it is where an index is wanted; `error`: the words if it is none."""
        raise Escape(self, "index")

    def is_place(self, m: Any) -> bool:
        """Whether it is one integer, which may be an index in any place."""
        return False

    # ---- what it holds ---------------------------------------------------------------------------

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        raise Escape(self, "subscript")

    def set_item(self, m: Any, s: Any, key: Any, value: Any) -> Any:
        raise Escape(self, "subscript")

    def delete_item(self, m: Any, s: Any, key: Any) -> Any:
        raise Escape(self, "subscript")

    def assign_slice(self, m: Any, target: Any, key: slice) -> Any:
        """The polyfill that replaces a slice of a list by its elements."""
        return m.polyfills.assign_slice

    def among_names(self, m: Any, names: list) -> Any:
        """What it is as a key where only these strings are there."""
        return self

    def as_subscript(self, m: Any) -> Any:
        """What torch takes for it in the brackets of a tensor."""
        return self

    def contains(self, m: Any, s: Any, item: Any, negate: bool) -> Any:
        """`item in self`."""
        return NotImplemented

    def is_in(self, m: Any, s: Any, container: Any, negate: bool) -> Any:
        """`self in container`, of an object that is none of ours."""
        return NotImplemented

    def add_entry(self, m: Any, s: Any, *entry: Any) -> Any:
        """[..., item], {..., item} or {..., key: value} while a display or comprehension makes it: None, or PUSHED."""
        raise Escape(self, "add")

    def extend_display(self, m: Any, items: Any) -> Any:
        """[*items, *self] while a display makes it; NotImplemented: item by item."""
        return NotImplemented

    def unpacked(self, m: Any, s: Any, count: int) -> Any:
        """Its items, where so many variables take them; NotImplemented: by its iteration."""
        return NotImplemented

    def refuse_spread(self, m: Any) -> None:
        """`f(*self)`: raises where the number of arguments would be known only at run time."""

    def joined(self, m: Any, separator: str) -> Any:
        """separator.join(self); NotImplemented: by its iteration."""
        return NotImplemented

    def columns(self, m: Any) -> Any:
        """What zip(*self) gives, one after the other; None: as `f(*self)`."""
        return None

    # ---- operators -------------------------------------------------------------------------------

    def yields(self, a: Any, b: Any, comparing: bool) -> bool:
        """Whether a method that a class of the user's has in Python goes before what this kind says of `a op b`."""
        return True

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        """`a op b`, one of which it is."""
        x, y = as_stand_in(a), as_stand_in(b)
        return NotImplemented if x is a and y is b else m.call(s, m.polyfills.plain_binary, (op, x, y), {})

    def unary(self, m: Any, s: Any, op: str) -> Any:
        raise Escape(self, f"operator {op}")

    def compare(self, m: Any, s: Any, op: str, a: Any, b: Any) -> Any:
        """`a op b`, one of which it is."""
        return NotImplemented

    def is_same(self, m: Any, a: Any, b: Any) -> Any:
        """`a is b`, one of which it is; NotImplemented: it is the object that it is."""
        return NotImplemented

    def is_element(self, m: Any, a: Any, b: Any) -> Any:
        """Whether they are one object, one of which it is, for a container that goes on to compare them if not;
        NotImplemented: as `is` has it."""
        return NotImplemented

    # ---- functions that ask for a number -----------------------------------------------------------

    def number(self, m: Any) -> Any:
        """The number, known or not, that int(), float() and math see in it; itself if there is none."""
        return self

    def converted(self, m: Any, to: type) -> Any:
        """int(self) or float(self); NotImplemented: Python's own way."""
        x = self.number(m)
        return NotImplemented if x is self else x.converted(m, to) if isinstance(x, StandIn) else to(x)

    def rounded_number(self) -> tuple | None:
        """(number, digits) where float(self) is that number rounded to so many; None: it is none such."""
        return None

    def absolute(self, m: Any) -> Any:
        """abs(self)."""
        return NotImplemented

    def rounded(self, m: Any, digits: Any) -> Any:
        """round(self, digits); NotImplemented: a polyfill is interpreted."""
        raise Escape(self, "round")

    def as_argument(self, arguments: Any) -> Any:
        """What torch gets for it (recording/native_call.py); NotImplemented: as for other objects."""
        return NotImplemented

    def refuse_native(self, m: Any, name: str) -> None:
        """Native code of this name is called with it: raises where it could not even begin."""

    def formatted(self, m: Any, spec: Any, conversion: int) -> Any:
        """f"{self!c:spec}", `conversion`: 1 for !s, 2 for !r, 3 for !a; NotImplemented: as of other objects."""
        return NotImplemented

    # ---- where states meet -----------------------------------------------------------------------

    def held(self) -> tuple:
        """What it refers to, of a kind that does not change; of others their contents say it."""
        return ()

    def dycl_merged(self, union: Any, a: Any, b: Any) -> Any:
        """What two states have of its contents, of a kind that changes."""
        union.apart(f"{type(self).__name__} objects with different contents")

    def mark(self, likeness: Any, state: Any, depth: int) -> Any:
        """What it has in common with all that it may merge with (merging/signature.py)."""
        return type(self)

    def unified(self, union: Any, other: Any) -> Any:
        """What two states have of it and of `other`, of the same class, where they merge; NotImplemented: they merge
        as objects, or keep the states apart."""
        return NotImplemented

    # ---- in lists of run-time length ---------------------------------------------------------------

    def element_kind(self, look: Any) -> Any:
        """("reference", class) of one that is kept in a list as a number; None: it cannot be an element."""
        return None

    def reference(self, m: Any) -> Value:
        """That number."""
        raise Escape(self, "element")

    # ---- in results and in states between calls ----------------------------------------------------

    def flattened(self, flattener: Any, path: str) -> Template:
        """What it is made again from (boundary/flatten.py): a leaf of its own, or a node of what it holds."""
        return flattener.refuse(self, path)

    def graph_values(self, m: Any) -> list[Value]:
        """The values of the program that its leaf is made from."""
        raise Escape(self, "result")

    def open_leaf(self) -> Template | None:
        """A leaf for any value of its kind, dtype and shape; None: it has parts, or no such leaf."""
        return None

    def memory(self, m: Any) -> list:
        """Whose memory somebody sees who gets it: handles of tensors, and lists."""
        return []

    # ---- in exceptions -----------------------------------------------------------------------------

    def shown(self) -> tuple | None:
        """repr(self) in pieces of a text; None: it cannot be written into a message."""
        return None

    def spelled(self) -> Template | None:
        """How an argument of an exception is read off its message."""
        return None

    # ---- as data of tensors and arrays -------------------------------------------------------------

    def as_operand(self, m: Any) -> Any:
        """The tensor or plain number that numpy's functions compute with."""
        raise CaptureRefusal(f"numpy with a {self.type_of(m).__name__} among values known only at run time",
                             kind="numpy", because=self)

    def tensor_of(self, m: Any, dtype: torch.dtype | None) -> Any:
        """torch.tensor(self), `dtype`: None for its own; NotImplemented: by the numbers in it."""
        return NotImplemented

    def holds_floats(self, m: Any) -> bool:
        """Whether something other than ints and bools may be in it, so that torch does not make integers of it."""
        return False

    def joined_tensors(self, m: Any, how: str, axis: int) -> Any:
        """torch.stack(self, axis) or torch.cat; NotImplemented: torch itself."""
        return NotImplemented

    # ---- iteration -------------------------------------------------------------------------------

    def iterate(self, m: Any, s: Any) -> Any:
        """iter(self), or PUSHED."""
        return NotImplemented

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        """The next item, DONE, or PUSHED: see semantics/iteration.py."""
        return NotImplemented

    def all_items(self, m: Any) -> Any:
        """All that iteration gives, if no code of the program and no decision is needed; else None."""
        return None

    def counts_off(self) -> bool:
        """Each item moves it along a sequence known while compiling: no two iterations are alike."""
        return False

    def ends_by_itself(self) -> bool:
        """The number of its items is known while compiling."""
        return False

    def rebuilt_as(self, m: Any, s: Any, kind: type, more: dict) -> Any:
        """list(self), tuple(self), set(self), dict(self, **more), ... `kind`; NotImplemented: by its iteration."""
        return NotImplemented

    def in_any_order(self, m: Any) -> Any:
        """What may stand in a `for` whose order does not matter; NotImplemented: itself."""
        return NotImplemented

    # ---- attributes ------------------------------------------------------------------------------

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        return NotImplemented

    def store_attribute(self, m: Any, s: Any, name: str, value: Any) -> Any:
        """`self.name = value`; NotImplemented: as of other objects."""
        return NotImplemented

    def keep(self, m: Any, name: str, value: Any) -> bool:
        """object.__setattr__(self, name, value), if it keeps its attributes in a way of its own."""
        return False

    def call_method(self, m: Any, s: Any, name: str, args: tuple, kwargs: dict) -> Any:
        """What a `BoundMethod` of it is called for."""
        raise Escape(self, f"call of {name}")

    # ---- as a key of a dict, or an element of a set ------------------------------------------------

    def is_late_key(self) -> bool:
        """Whether its hash is known only at run time."""
        return False

    def as_key(self, m: Any) -> Any:
        """What it is as a key: a number of numpy's is the number."""
        return self

    def check_key(self, m: Any) -> None:
        """Fails as Python does for what has no hash, and refuses where two keys could not be told apart."""

    def equal_key(self, m: Any, a: Any, b: Any) -> Any:
        """Whether two keys are one, one of which it is: a bool, known now or at run time."""
        if type(a).__eq__ is object.__eq__ and type(b).__eq__ is object.__eq__:
            return False  # not the same object
        raise key_refusal(f"a {type(a).__name__} as a key beside keys known only at run time", None)

    def match_key(self, m: Any, s: Any, a: Any, b: Any) -> Any:
        """The same where code may be interpreted: PUSHED too; NotImplemented: as `equal_key`."""
        return NotImplemented

    def possible_values(self, m: Any) -> list | None:
        """All values it may have, if they are few."""
        return None


def drop_result(m: Any, s: Any, value: Any) -> None:
    """Takes what a call that is made for its effect gives."""


class BoundMethod:
    """A method of a stand-in, not called yet."""

    __slots__ = ("owner", "name")

    def __init__(self, owner: StandIn, name: str):
        self.owner, self.name = owner, name


class InterpretedStandIn(StandIn):
    """A kind whose methods are written in Python, in polyfills/, and interpreted as those of a class of the user's."""

    __slots__ = ()

    def truth(self, m: Any) -> Any:
        return NotImplemented

    def length(self, m: Any) -> Any:
        return NotImplemented

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        return NotImplemented

    def set_item(self, m: Any, s: Any, key: Any, value: Any) -> Any:
        return NotImplemented

    def delete_item(self, m: Any, s: Any, key: Any) -> Any:
        return NotImplemented

    def unary(self, m: Any, s: Any, op: str) -> Any:
        return NotImplemented

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        """The program sees the attributes of the class that it stands for; its own methods see theirs."""
        if name == "__class__":
            return self.type_of(m)
        if m.current.frames[-1].hidden:
            return NotImplemented
        natively(getattr, self.example(m), name)  # raises where Python does
        if not hasattr(type(self), name):
            raise CaptureRefusal(f"{self.type_of(m).__name__}.{name} of a value known only at run time",
                                 kind="escape.attribute", because=self)
        return NotImplemented


ADAPTERS: dict[type, Callable[[Any], StandIn]] = {}  # for torch's own class of tensors, which cannot derive from ours


# class of Python's -> what makes a known value of it one of the kind, beside values known only at run time
KINDS: dict[type, Callable[[Any], StandIn]] = {}


# class of Python's -> what makes a value of the kind of its parts, as the class itself does (calling/nodes.py:Built)
OF_PARTS: dict[type, Callable[..., StandIn]] = {}


def as_stand_in(x: Any) -> Any:
    """A known value as one of its kind, if its class has one; else itself."""
    made = KINDS.get(type(x))
    return x if made is None else made(x)


def stand_in_of(x: Any) -> StandIn | None:
    """What says what Python's operations mean for x; None: Python itself."""
    if isinstance(x, StandIn):
        return x
    return ADAPTERS[torch.Tensor](x) if isinstance(x, torch.Tensor) else None


def counts_off(iterator: Any) -> bool:
    return isinstance(iterator, StandIn) and iterator.counts_off()


def is_late(x: Any) -> bool:
    """Whether x itself is known only at run time, as all tensors are taken to be."""
    return isinstance(x, torch.Tensor) or isinstance(x, StandIn) and x.late


def is_opaque(x: Any) -> bool:
    """Whether native code meets in x something of ours that it does not know."""
    return isinstance(x, StandIn) and (x.late or hasattr(type(x), "dycl_contents"))


def made_stand_in(x: Any) -> StandIn | None:
    """The same as `stand_in_of` of what is no tensor, where that is asked often."""
    return x if isinstance(x, StandIn) else None


def number_of(m: Any, x: Any) -> Any:
    """The number, known or not, that int(), float() and math see in x."""
    own = stand_in_of(x)
    return x if own is None else own.number(m)


def truth_of(m: Any, x: Any) -> Any:
    """bool(x), known or not, of what needs no code of the user's."""
    own = stand_in_of(x)
    return bool(x) if own is None else own.truth(m)


def negated(m: Any, truth: Any) -> Any:
    """`not truth` of a bool, known or not."""
    return not truth if isinstance(truth, bool) else m.scalars.unary("not", truth)


def index_of(m: Any, x: Any, error: str = "'float' object cannot be interpreted as an integer") -> Any:
    """The int, known or not, that x is where an index is wanted; `error`: the words if it is none."""
    own = stand_in_of(x)
    found = x if own is None else own.as_index(m, error)
    return as_int(m, found) if own is not None else x


def as_int(m: Any, x: Any) -> Any:
    """int(x) of an int or bool, known or not."""
    return x.converted(m, int) if isinstance(x, StandIn) else int(x)


def deciding(a: Any, b: Any) -> StandIn | None:
    """The one of two operands that says what an operator between them means."""
    x, y = stand_in_of(a), stand_in_of(b)
    return y if x is None or y is not None and y.priority > x.priority else x


def type_of(m: Any, x: Any) -> type:
    """type(x) as the user's code sees it."""
    own = stand_in_of(x)
    return type(x) if own is None else own.type_of(m)


def is_instance(m: Any, x: Any, kinds: Any) -> bool:
    """isinstance(x, kinds) as the user's code sees it."""
    own = stand_in_of(x)
    return isinstance(x, kinds) if own is None else own.is_instance(m, kinds)


def one_by_one(kinds: Any) -> list:
    """The classes that isinstance is asked for."""
    if isinstance(kinds, types.UnionType):
        kinds = kinds.__args__
    return [k for one in kinds for k in one_by_one(one)] if isinstance(kinds, tuple) else [kinds]


def sealed(*protocols: str) -> Callable[[type], type]:
    """The decorated class raises `Escape` where native code uses one of these: "name", or "name=what is done"."""
    def seal(cls: type) -> type:
        for protocol in protocols:
            name, _, how = protocol.partition("=")
            setattr(cls, f"__{name}__", _refusing(how or name))
        return cls

    return seal


def _refusing(how: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise Escape(self, how)

    return method
