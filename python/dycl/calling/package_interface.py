# SPDX-License-Identifier: Apache-2.0
"""The interface of a program in its package: written when it is compiled, checked whole when it is loaded.

A loaded program keeps its states in the runtime; what it writes into arguments is all that it writes.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any, Callable, Iterator

from ..dtypes import NAMES
from ..errors import InputError, PackageError
from ..generators import STATE_BYTES
from .classes import Classes
from .exceptions import Raised, read_look, write_look
from .interface import Interface, Place
from .nodes import Deque, Dict, List, Node, Object
from .package_reader import Paths, Reader, Writer
from .templates import Array, Column, Generator, Number, Row, Template, Tensor
from .text_templates import all_texts_bounded

# ---- written -----------------------------------------------------------------------------------------


def to_json(interface: Interface) -> dict:
    out = Writer()
    data = {
        "arguments": [out.argument(t) for t in interface.arguments],
        "keywords": {k: out.argument(t) for k, t in interface.keywords.items()},
        "variants": [out.whole(body) for body, _ in interface.variants],
        "writes": [_writes_to_json(interface, out, writes) for _, writes in interface.variants],
        "failures": [_writes_to_json(interface, out, writes) for writes, *_ in interface.failures],
        "slots": interface.slots, "written_inputs": interface.written_inputs, "replaced": interface.replaced,
        "names": interface.names, "argument_names": interface.argument_names,
        "states": interface.state_names,
        "exceptions": {n: out.name_of(c) for n, c in interface.exceptions.items()},
        "raised": [write_look(look, out) for look in interface.exceptions.looks], "random": interface.random,
        "index_errors": interface.index_errors, "kept_inputs": interface.kept_inputs, "apart": interface.apart,
        "gradients": interface.gradients, "parameters": interface.parameters, "sharing": interface.sharing,
        "extra_keywords": interface.extra_keywords, "interchangeable": interface.interchangeable,
        "layouts": interface.layouts, "defaults": {k: out.argument(t) for k, t in interface.defaults.items()},
        "themselves": [[t for t in found if t[1] == "input"] for found in interface.themselves],
    }
    return {**data, "classes": out.classes}


def _writes_to_json(interface: Interface, out: Writer, writes: tuple) -> list:
    """Those into arguments; what goes into the model's own objects has no place in a loaded program,
    but values among the outputs."""
    paths = [interface.containers.get(owner.obj) for owner, _, _ in writes]
    if not any(paths):
        return []
    return [[path, out.key(name), out.whole(t)] for path, (_, name, t) in zip(paths, writes)]


# ---- read --------------------------------------------------------------------------------------------


class LoadedInterface(Interface):
    """What a package says can be right in all that is checked, and still not fit what the program computes."""

    def give_back(self, outputs: list, new_states: list, originals: list) -> Any:
        with _fitting(), all_texts_bounded():
            return super().give_back(outputs, new_states, originals)

    def leave(self, kept: dict, new_states: list | None, originals: list) -> None:
        with _fitting(), all_texts_bounded():
            super().leave(kept, new_states, originals)


@contextlib.contextmanager
def _fitting() -> Iterator[None]:
    try:
        yield
    except PackageError:
        raise
    except Exception as error:
        raise PackageError(f"what it says of results does not fit the program: {error}", section="metadata") from error


def from_json(data: Any, inputs: list[tuple[str, str]], outputs: list[tuple[str, str]],
              classes: Callable[[dict], Classes]) -> Interface:
    """The interface of a loaded package. `inputs`, `outputs`: names and types of the program's, as the plan has them;
    `classes`: what finds classes, given what the package says of them."""
    if data == {}:
        raise InputError("this package was not made from a Python model; run it with dycl-run")
    if isinstance(data, dict) and "unsaved" in data:
        raise InputError(f"this program can't be called from a file in Python ({data['unsaved']}); "
                         "run it with dycl-run, or compile it where it is called")
    try:
        return _Loading(data, inputs, outputs, classes).interface()
    except (PackageError, InputError, MemoryError):
        raise
    except RecursionError:
        raise PackageError("too deep", section="metadata") from None
    except Exception as error:  # of a class that was handed over, say: whatever a package leads to, it is its error
        raise PackageError(f"it cannot be read: {type(error).__name__}: {error}", section="metadata") from error


_KNOWN = ("arguments", "keywords", "variants", "writes", "failures", "slots", "written_inputs", "replaced", "names",
          "argument_names", "states", "exceptions", "raised", "random", "index_errors", "kept_inputs", "apart",
          "gradients", "parameters", "sharing", "extra_keywords", "interchangeable", "layouts", "defaults",
          "themselves", "classes")
_LATER: dict[str, Any] = {  # fields that a package may lack
    "writes": [], "failures": [], "replaced": [], "raised": [], "index_errors": {}, "kept_inputs": {}, "apart": [],
    "gradients": [], "parameters": [], "sharing": None, "extra_keywords": [], "interchangeable": [], "layouts": [],
    "defaults": {}, "themselves": [], "classes": {}}


class _Loading:
    """Field by field; each is checked against the program and those before it."""

    def __init__(self, data: Any, inputs: list, outputs: list, classes: Callable[[dict], Classes]):
        self.reader = Reader()
        self.data = {**_LATER, **self.reader.exactly(data, dict)}
        if {*self.data} != {*_KNOWN}:
            self.reader.fail(f"fields {sorted({*self.data} ^ {*_KNOWN})} too many or missing")
        self.inputs, self.outputs = inputs, outputs
        made = classes(self.reader.descriptions(self.at("classes")))
        made.fail = self.reader.fail
        self.reader.classes = made

    def at(self, name: str) -> Any:
        self.reader.where = name
        return self.data[name]

    def interface(self) -> Interface:
        reader = self.reader
        arguments = [reader.argument(t) for t in reader.items(self.at("arguments"))]
        keywords = {k: reader.argument(t) for k, t in reader.exactly(self.at("keywords"), dict).items()}
        argument_names = self.texts("argument_names", len(arguments))
        names = self.texts("names", reader.tensors + reader.numbers)
        self.check_inputs([*arguments, *keywords.values()])
        paths = Paths(reader)
        self.places = dict(found for name, t in (*zip(argument_names, arguments), *keywords.items())
                           for found in paths.nodes(t, name))
        written = self.input_numbers("written_inputs")
        variants = self.variants(len(written) + len(reader.items(self.at("replaced"))))
        loaded = LoadedInterface(arguments, keywords, variants, self.slots, written, [], self.exceptions(), {}, names,
                           argument_names, [], reader.exactly(self.at("random"), bool))
        reader.where = "failures"
        loaded.failures = [(self.writes(w, None), (), (), ()) for w in reader.items(self.data["failures"])]
        loaded.index_errors = self.index_errors()
        loaded.replaced = [reader.number(k, 0) for k in self.data["replaced"]]
        loaded.kept_inputs = {k: self.input_number(v) for k, v in reader.exactly(self.at("kept_inputs"), dict).items()}
        loaded.themselves = self.themselves()
        loaded.layouts = self.layouts()
        loaded.apart = [[self.input_number(k) for k in pair] for pair in reader.pairs(self.at("apart"))]
        loaded.gradients = [reader.exactly(x, bool) for x in self.of_inputs("gradients")]
        loaded.parameters = [[self.input_number(k), reader.exactly(x, bool)]
                             for k, x in reader.pairs(self.at("parameters"))]
        if self.at("sharing") is not None:
            loaded.sharing = [reader.number(k, 0, n) for n, k in enumerate(reader.items(self.data["sharing"]))]
        loaded.extra_keywords, loaded.interchangeable = self.texts("extra_keywords"), self.texts("interchangeable")
        self.texts("states")
        loaded.defaults = {k: reader.constant(t) for k, t in reader.exactly(self.at("defaults"), dict).items()}
        loaded.kept = True
        return loaded

    # ---- plain fields --------------------------------------------------------------------------------

    def texts(self, name: str, count: int | None = None) -> list[str]:
        return [self.reader.text(x) for x in self.reader.items(self.at(name), count)]

    def input_number(self, x: Any) -> int:
        return self.reader.number(x, 0, self.reader.tensors - 1)

    def input_numbers(self, name: str) -> list[int]:
        return [self.input_number(x) for x in self.reader.items(self.at(name))]

    def of_inputs(self, name: str) -> list:
        """One for each input, or none at all."""
        found = self.reader.items(self.at(name))
        return self.reader.items(found, self.reader.tensors) if found else []

    def check_inputs(self, templates: list[Template]) -> None:
        """The tensors of the arguments are the inputs of the program, and behind them the numbers."""
        self.reader.where = "arguments"
        leaves = [leaf for t in templates for leaf in t.leaves()]
        found = sorted(leaves, key=lambda leaf: isinstance(leaf, Number))
        if len(found) != len(self.inputs):
            self.reader.fail(f"{len(found)} tensors and numbers for a program of {len(self.inputs)} inputs")
        for leaf, (name, of_type) in zip(found, self.inputs):
            fits = (_is_tensor(of_type, NAMES.get(leaf.dtype), len(leaf.shape or ()))
                    if isinstance(leaf, Tensor) and leaf.dtype is not None
                    else of_type == (f"u8[{STATE_BYTES}]" if isinstance(leaf, Generator) else leaf.kind))
            if not fits:
                self.reader.fail(f"the input {name} is a {of_type}")

    def exceptions(self) -> Raised:
        reader = self.reader
        found = Raised({name: reader.classes.exception(reader.text(where))
                        for name, where in reader.exactly(self.at("exceptions"), dict).items()})
        found.looks = [read_look(x, reader) for x in reader.items(self.at("raised"))]
        return found

    def index_errors(self) -> dict[str, list[str]]:
        found = self.reader.exactly(self.at("index_errors"), dict)
        for names in found.values():
            if not {*map(self.reader.text, self.reader.items(names))} <= {"IndexError", "RuntimeError"}:
                self.reader.fail(f"an index raises one of {names}")
        return found

    def layouts(self) -> list:
        """(strides or None, whether the tensor begins its memory) of each input."""
        reader = self.reader
        found = [reader.items(x, 2) for x in self.of_inputs("layouts")]
        return [(None if strides is None else tuple(reader.number(s, 0) for s in reader.items(strides)),
                 reader.exactly(begins, bool)) for strides, begins in found]

    # ---- results -------------------------------------------------------------------------------------

    def variants(self, behind: int) -> list[tuple[Template, tuple]]:
        """`behind`: how many results of the program come after those of the templates."""
        reader = self.reader
        bodies = reader.items(self.at("variants"))
        writes = reader.items(self.at("writes")) or [[] for _ in bodies]
        first = int(len(bodies) > 1)
        count = len(self.outputs) - first - behind
        reader.items(self.at("slots"), len(bodies))
        reader.items(writes, len(bodies))
        if count < 0 or first and self.outputs[0][1] != "int":
            reader.fail(f"{len(bodies)} variants of a program of {len(self.outputs)} results")
        self.slots = [[reader.number(k, 0, count - 1) for k in reader.items(slots)] for slots in self.data["slots"]]
        found = []
        for number, (body, slots) in enumerate(zip(bodies, self.slots)):
            types = iter([self.outputs[first + k][1] for k in slots])
            reader.where = f"variants[{number}]"
            with reader.results():
                template = reader.template(body)
                self.check_leaves(template, types)
                reader.where = f"writes[{number}]"
                found.append((template, self.writes(writes[number], types)))
            # what goes into the model's own objects has results that nobody takes
        return found

    def check_leaves(self, template: Template, types: Iterator[str] | None) -> None:
        for leaf in template.leaves() if types is not None else ():
            of_type = next(types or iter(()), None)
            if of_type is None or not _fits(leaf, of_type):
                self.reader.fail(f"a {leaf.kind} of a result that is {of_type or 'not there'}")

    def writes(self, data: Any, types: Iterator[str] | None) -> tuple:
        """`types`: of the results; None: what a call that raises leaves, which has none."""
        reader, found = self.reader, []
        if types is None:
            reader.of_arguments, reader.made, reader.unsure = False, [], []
        for write in reader.items(data):
            path, name, t = reader.items(write, 3)
            template = reader.template(t)
            self.check_leaves(template, types)
            found.append((Place(self.place(path, name)), name, template))
        return tuple(found)

    def place(self, path: Any, name: Any) -> str | None:
        """Where a write goes, if it can go there."""
        reader = self.reader
        if path is None:
            return None
        node = self.places.get(reader.text(path))
        if node is None or not _takes(node, reader.key(name), reader):
            reader.fail(f"{name!r} of the argument {path} cannot be written")
        return path

    def themselves(self) -> list[list[tuple]]:
        reader = self.reader
        found = reader.items(self.at("themselves")) or [[] for _ in self.slots]
        reader.items(found, len(self.slots))
        made = []
        for which, slots in zip(found, self.slots):
            reader.where = "themselves"
            triples = [reader.items(x, 3) for x in reader.items(which)]
            if any(kind != "input" for _, kind, _ in triples):
                reader.fail("what a loaded program gives back itself is an input")
            made.append([(reader.number(k, 0, len(slots) - 1), "input", self.input_number(n)) for k, _, n in triples])
        return made


def _takes(node: Node, name: Any, reader: Reader) -> bool:
    if isinstance(node, (List, Deque)):
        return name in ("+", "*") or type(name) is int and 0 <= name < len(node.items)
    if isinstance(node, Dict):
        return name != "+"
    return isinstance(node, Object) and type(name) is str and name not in ("+", "*") and bool(reader.attribute(name))


_TENSOR = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)


def _is_tensor(of_type: str, dtype: str | None, rank: int) -> bool:
    found = _TENSOR.fullmatch(of_type)
    return found is not None and found[1] == dtype and rank == (found[2].count(",") + 1 if found[2] else 0)


def _fits(leaf: Template, of_type: str) -> bool:
    """Whether the values of a leaf have this type in the program."""
    if isinstance(leaf, Column):
        return of_type.startswith("list<") and _fits(leaf.leaf, of_type[5:-1])
    if isinstance(leaf, Number):
        return of_type == leaf.kind
    return isinstance(leaf, (Tensor, Array, Row)) and _TENSOR.fullmatch(of_type) is not None
