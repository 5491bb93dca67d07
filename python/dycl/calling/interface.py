# SPDX-License-Identifier: Apache-2.0
"""Between Python objects and the flat values of a program.

Collects the tensors of a call in the order of the program's inputs, checking that everything else is
what it was at compile time; makes the result objects from the outputs; reads and writes back the
states (buffers, attributes) of the live module, and inputs that the program changes.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import threading
from typing import Any

import torch

from .. import generators
from ..errors import InputError
from ..objects import IdentityDict
from . import places
from .exceptions import Raised
from .memory_layout import fits
from .nodes import refill
from .same_contents import same
from .state_values import ABSENT
from .states.buffer import Buffer
from .states.choice import recognise
from .states.container import ContainerState
from .states.generator import Generator
from .states.state import State
from .templates import Given, Made


@dataclasses.dataclass
class Interface:
    arguments: list  # templates of positional arguments
    keywords: dict  # name -> template
    variants: list  # templates of results: (body, writes)
    slots: list  # per variant: the output number of each leaf
    written_inputs: list  # numbers of the inputs that are written
    states: list[State]
    exceptions: Raised
    symbols: dict
    names: list  # of inputs, for messages
    argument_names: list
    guards: list
    random: bool = False
    initials: dict = dataclasses.field(default_factory=dict)
    # ONNX op -> what torch raises where an index is out of range
    index_errors: dict = dataclasses.field(default_factory=dict)
    # per variant: (place, "input", "state", "held" or "own", number) of what is given back itself
    themselves: list = dataclasses.field(default_factory=list)
    # (owner, name) of attributes that are not there at first, in their order
    appearing: list = dataclasses.field(default_factory=list)
    own: list = dataclasses.field(default_factory=list)  # tensors of the model that are given back as they are
    # how each input must lie in memory, where that matters (recording/memory_layout.py)
    layouts: list = dataclasses.field(default_factory=list)
    kept: bool = False  # loaded from a file
    # per variant: the same, where they are not in one order on all paths
    orders: list = dataclasses.field(default_factory=list)
    # (writes, origins, in place, order) that a call may leave which raises
    failures: list = dataclasses.field(default_factory=list)
    # per variant: (state, state) of attributes whose tensor is one from before, written in place
    origins: list = dataclasses.field(default_factory=list)
    # per variant: (id of owner, key) of containers of run-time length that are changed in place
    in_place: list = dataclasses.field(default_factory=list)
    # name -> a list or dict of the model that is given back as it is
    own_containers: dict = dataclasses.field(default_factory=dict)
    # numbers of the states whose tensors a call may write and then replace
    replaced: list = dataclasses.field(default_factory=list)
    at_risk: list = dataclasses.field(default_factory=list)  # numbers of the states whose tensors calls write in place
    # pairs of tensors of which the model asks whether they are one
    apart: list = dataclasses.field(default_factory=list)
    # requires_grad of the example's tensors, if the model asks
    gradients: list = dataclasses.field(default_factory=list)
    # (number, whether it is an nn.Parameter) of the tensors of which the model asks
    parameters: list = dataclasses.field(default_factory=list)
    # per variant: (state, input) of attributes that are left with an argument itself
    held: list = dataclasses.field(default_factory=list)
    # where the model's tensors lie that the program has taken as they were
    constants: set = dataclasses.field(default_factory=set)
    sharing: list | None = None  # which lists, dicts and objects among the arguments are one
    # keywords that go into **kwargs, which keeps their order
    extra_keywords: list = dataclasses.field(default_factory=list)
    # the first parameters, if they may be given by place or by name
    interchangeable: list = dataclasses.field(default_factory=list)
    # name -> template of the default value of a parameter, where one may be left out or given
    defaults: dict = dataclasses.field(default_factory=dict)
    # name -> number of an input that such a call may have written
    kept_inputs: dict = dataclasses.field(default_factory=dict)
    containers: IdentityDict = dataclasses.field(default_factory=IdentityDict)  # captured container -> its path
    # (holder, key, container): where lists and dicts that hold states were
    homes: list = dataclasses.field(default_factory=list)
    # (table, key, id of the tensor): where buffers that are states are
    tensor_homes: list = dataclasses.field(default_factory=list)
    # of numbers of values that such attributes have together
    combinations: list = dataclasses.field(default_factory=list)
    # .given: path -> the container of this thread's call
    _call: Any = dataclasses.field(default_factory=threading.local)

    def watch(self, model: Any) -> None:
        """Remembers where the model keeps the lists and dicts that hold states or are written to."""
        owners = [s.owner for s in self.states] + [
            owner.obj for _, writes in self.variants for owner, _, _ in writes
        ]
        self.homes = places.holders(getattr(model, "__self__", model),
                                    {id(x) for x in owners if type(x) in (list, dict)})
        buffers = {id(s.owner) for s in self.states if isinstance(s, Buffer)}
        self.tensor_homes = [(table, key, id(tensor))
                             for table, key, tensor in places.tensor_homes(getattr(model, "__self__", model), buffers)]

    def _follow_buffers(self) -> None:
        """A buffer that was replaced since (`model.count = torch.zeros(2)`, `model.double()`) is the new one."""
        now: dict[int, dict] = {}
        for table, key, before in self.tensor_homes:
            found = places.read(table, key)
            now.setdefault(before, {})[id(found)] = found
        new = {before: [*found.values()] for before, found in now.items() if found.keys() != {before}}
        if not new:
            return
        for found in new.values():
            if len(found) > 1 or not isinstance(found[0], torch.Tensor):
                raise InputError("a buffer that the program writes was replaced in some of the places that held it; "
                                 "copy_ into it instead, or compile again")
        for state in self.states:
            if isinstance(state, Buffer) and id(state.owner) in new:
                state.owner = new[id(state.owner)][0]
        self.tensor_homes = [(table, key, id(new[before][0]) if before in new else before)
                             for table, key, before in self.tensor_homes]

    def _check_homes(self) -> None:
        for holder, key, container in self.homes:
            if places.read(holder, key) is not container:
                raise InputError(f"{places.label(holder, key)} is another {type(container).__name__} than while "
                                 "compiling: the program changes the one that was there; "
                                 "put it back or change it in place, or compile again")

    # ---- a call ------------------------------------------------------------------------------

    def collect(self, args: tuple, kwargs: dict) -> tuple[list, list]:
        """(tensors in the program's order, the caller's own tensors)."""
        if len(args) != len(self.arguments) or kwargs.keys() != self.keywords.keys():
            args, kwargs = self._as_compiled(args, kwargs)
        if self.extra_keywords and [k for k in kwargs if k in self.extra_keywords] != self.extra_keywords:
            raise InputError(f"the keywords {self.extra_keywords} in another order than at compile "
                             "time, which **kwargs keeps")
        if not self.kept:
            self._follow_buffers()
        call = Given()
        found, given = call.tensors, call.containers
        self._call.given = given
        for value, template, name in zip(args, self.arguments, self.argument_names):
            template.match(value, name, call)
        for name, template in self.keywords.items():
            template.match(kwargs[name], name, call)
        self._check_apart(found)
        if self.sharing is not None and sharing(list(given.values())) != self.sharing:
            raise InputError("lists, dicts or objects among the arguments are one where they were two "
                             "at compile time, or the other way round; compile again for these")
        given.update(self.own_containers)
        self._check_what_is_asked(found)
        return [*(x.detach() for x in found), *call.numbers], found

    def _check_what_is_asked(self, found: list) -> None:
        """What the model asks of its tensors beside their values."""
        for k, wanted in enumerate(self.gradients):
            if found[k].requires_grad != wanted:
                raise InputError(f"{self.names[k]}: requires_grad is {found[k].requires_grad}, "
                                 f"was {wanted} at compile time, and the model asks")
        for k, wanted in self.parameters:
            if isinstance(found[k], torch.nn.Parameter) != wanted:
                raise InputError(f"{self.names[k]}: was {'an' if wanted else 'no'} nn.Parameter at compile "
                                 "time, and the model asks")
        for k, wanted in enumerate(self.layouts):
            if not fits(found[k], wanted):
                raise InputError(f"{self.names[k]}: lies in memory in another way than the example did, "
                                 "and the model depends on that; pass a copy that does (contiguous() for most), "
                                 "or compile with one like it")

    def _as_compiled(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments by place and by name as the example had them."""
        names = self.interchangeable
        given = dict(zip(names, args))
        places = names[:len(self.arguments)]
        doubled = len(args) > len(names) or given.keys() & kwargs.keys()
        given = self._with_defaults(given | kwargs, {*places, *self.keywords})
        if doubled or len(places) < len(self.arguments) or given.keys() != {*places, *self.keywords}:
            raise InputError(f"the program takes {len(self.arguments)} positional arguments and the keywords "
                             f"{sorted(self.keywords)}; given {len(args)} and {sorted(kwargs)}; compile it with these")
        by_place = tuple(given[name] for name in places)
        return by_place, {name: value for name, value in given.items() if name not in places}

    def _with_defaults(self, given: dict, wanted: set) -> dict:
        """Python fills in what is left out; what the example left out had its default."""
        defaults = {name: template.rebuild(iter(()), Made()) for name, template in self.defaults.items()}
        for name in given.keys() - wanted:
            if name in defaults and not same(given[name], defaults[name]):
                raise InputError(f"{name}: {given[name]!r}, but the program was compiled with the default "
                                 f"{defaults[name]!r}; give {name} in the example")
        kept = {name: value for name, value in given.items() if name in wanted or name not in defaults}
        return {**{name: defaults[name] for name in wanted if name in defaults}, **kept}

    def _check_apart(self, found: list) -> None:
        """An input that the program writes must not share memory with another: eager would write both."""
        for k in {*self.written_inputs, *self.kept_inputs.values()}:
            place = found[k].untyped_storage().data_ptr()
            if any(j != k and x.numel() and x.untyped_storage().data_ptr() == place for j, x in enumerate(found)):
                raise InputError("an argument that the program writes in place shares memory "
                                 "with another; pass a clone")
        self._check_states(found)
        if any(found[k] is found[j] for k, j in self.apart if k != j):
            raise InputError("one tensor is passed twice, and the model asks whether its tensors are one; "
                             "compile it with such an example")

    def _check_states(self, found: list) -> None:
        """Nor with what the model keeps, of which one or the other is written."""
        if self.kept:
            return
        given = {id(made) for made in map(generators.behind, found) if made is not None}
        if any(id(s.generator) in given for s in self.states if isinstance(s, Generator)):
            raise InputError("a generator is passed from which the program draws elsewhere, too; pass another")
        kept = {memory_of(s.owner) for s in self.states if isinstance(s, Buffer)}
        if kept and any(x.numel() and memory_of(x) in kept for x in found):
            raise InputError("an argument shares memory with a buffer that the program writes in place; pass a clone")
        written = [found[k] for k in {*self.written_inputs, *self.kept_inputs.values()}]
        if not written and not self.at_risk:
            return
        recognise(self.states, self.combinations)
        held = {k: x for k, x in enumerate(self.held_tensors()) if x is not None}
        self._check_written_states(found, kept, held)
        if written:
            kept = self.constants | {*map(memory_of, held.values())}
            if any(x.numel() and memory_of(x) in kept for x in written):
                raise InputError("an argument that the program writes in place shares memory with a tensor of "
                                 "the model; pass a clone")

    def _check_written_states(self, found: list, buffers: set, held: dict[int, torch.Tensor]) -> None:
        """Tensors that attributes hold and calls write in place have no second name that the program knows."""
        memory = {k: memory_of(tensor) for k, tensor in held.items()}
        for k in self.at_risk:
            if k not in held:
                continue
            if any(x.numel() and memory_of(x) == memory[k] for x in found):
                raise InputError(f"an argument shares memory with {self.state_names[k]}, "
                                 "which the program writes in place; pass a clone")
            others = self.constants | buffers | {place for j, place in memory.items() if j != k}
            if memory[k] in others and held[k].numel():
                raise InputError(f"{self.state_names[k]}, which the program writes in place, "
                                 "shares memory with another tensor of the model; give it a clone")

    @property
    def buffers(self) -> dict[int, torch.Tensor]:
        """By the numbers of their states."""
        return {s.first: s.owner for s in self.states if isinstance(s, Buffer)}

    @property
    def state_names(self) -> list[str]:
        return [name for s in self.states for name in s.names]

    def held_tensors(self) -> list[torch.Tensor | None]:
        """For each state of the program the tensor that an attribute of the live module holds for it."""
        return [tensor for s in self.states for tensor in s.tensors()]

    def read_states(self) -> list | None:
        """The states' present values in the live module; None: the runtime keeps them."""
        if self.kept:
            return None
        self._check_homes()
        return self.recognised()

    def recognised(self) -> list:
        recognise(self.states, self.combinations)
        return [value for s in self.states for value in s.read()]

    def give_back(self, outputs: list, new_states: list, originals: list) -> Any:
        many = len(self.variants) > 1
        number = int(outputs[0]) if many else 0
        rest = outputs[1:] if many else outputs
        count, replaced = len(self.written_inputs), rest[len(rest) - len(self.replaced):]
        rest = rest[:len(rest) - len(self.replaced)]
        slots, written = (rest[:len(rest) - count], rest[len(rest) - count:]) if count else (rest, [])
        body, writes = self.variants[number]
        if self.at_risk:
            self._own_memory(new_states, [*outputs, *originals])
            self._write_tensors(self.origins[number], new_states, dict(zip(self.replaced, replaced)))
        values = [slots[k] for k in self.slots[number]]
        for place, kind, which in self.themselves[number]:
            if kind == "input":
                values[place] = originals[which]
            elif kind == "held":
                values[place] = new_states[which]
            else:
                values[place] = self.own[which] if kind == "own" else self.buffers[which]
        leaves = iter(values)
        made = Made(self._call.given)
        result = body.rebuild(leaves, made)
        for position, value in zip(self.written_inputs, written):
            _write_argument(originals[position], value)
        for state, argument in self.held[number] if self.held else ():
            new_states[state] = originals[argument]
        self._write_back(new_states, writes, leaves, made, self.in_place[number] if self.in_place else (),
                         self.orders[number] if self.orders else ())
        return result

    def leave(self, kept: dict, new_states: list | None, originals: list) -> None:
        """Puts back what a program had written when it raised. new_states: None where the runtime keeps them."""
        for name, position in self.kept_inputs.items():
            if name in kept:
                _write_argument(originals[position], kept[name])
        writes, origins, in_place, order = (self.failures[kept["case"]] if "case" in kept and self.failures
                                         else ((), (), (), ()))
        if new_states and self.at_risk:
            self._own_memory(new_states, [*kept.values(), *originals])
            self._write_tensors(origins, new_states,
                                {k: kept[f"replaced{k}"] for k in self.replaced if f"replaced{k}" in kept})
        values = itertools.takewhile(lambda v: v is not ABSENT,
                                     (kept.get(f"write{k}", ABSENT) for k in itertools.count()))
        self._write_back(new_states or [], writes, values, Made(self._call.given), in_place, order)

    def _own_memory(self, new_states: list, others: list) -> None:
        """A tensor that later calls write in place is in nobody else's memory:
        an engine may give one tensor for two equal values."""
        for k in self.at_risk:
            beside = [x for j, x in enumerate(new_states) if j != k] + others
            if any(isinstance(x, torch.Tensor) and memory_of(x) == memory_of(new_states[k]) for x in beside):
                new_states[k] = new_states[k].clone()

    def _write_tensors(self, origins: Any, new_states: list, replaced: dict) -> None:
        """Attributes that hold a tensor from before the call hold that one, with what the call wrote; others may hold
        one that was replaced."""
        left, held = {origin for _, origin in origins}, self.held_tensors()
        found: list[tuple[Any, Any]] = [(held[k], value) for k, value in replaced.items()
                                        if k not in left and held[k] is not None]
        for k, origin in origins:
            found.append((held[origin], new_states[k]))
            new_states[k] = held[origin]
        places_of = [memory_of(tensor) for tensor, _ in found]
        apart = [value.clone() if len(found) > 1 and memory_of(value) in places_of else value for _, value in found]
        for (tensor, _), value in zip(found, apart):
            with torch.no_grad():
                tensor.copy_(value)

    def _write_back(self, new_states: list, writes: tuple, leaves: Any, made: Made,
                    in_place: Any = (), order: Any = ()) -> None:
        own = ([(owner.obj, name) for owner, name in order if owner.obj not in self.containers] if order
               else self.appearing)
        fresh = [(vars(owner), name) for owner, name in own if name not in vars(owner)]
        if new_states:
            for state in sorted(self.states, key=lambda s: not isinstance(s, ContainerState)):  # these first
                values = new_states[state.first:state.first + len(state.names)]
                state.write(values, state.place in in_place)
        self._write_all(writes, leaves, made)
        for table, name in fresh:  # states come first, and not where the model put them
            if name in table:
                table[name] = table.pop(name)

    def _write_all(self, writes: tuple, leaves: Any, made: Made) -> None:
        own = {s.place for s in self.states}
        for owner, name, template in writes:
            value = template.rebuild(leaves, made)
            if isinstance(owner, Place):
                if owner.path is not None:
                    _write(self._call.given[owner.path], name, value)
            elif (id(owner.obj), name) not in own:
                path = self.containers.get(owner.obj)
                _write(owner.obj if path is None else self._call.given[path], name, value)

    def write_initial_states(self) -> None:
        """The live model as it was when it was compiled."""
        values = [self.initials[name] for state in self.states for name in state.names]
        self._write_back(copy.deepcopy(values), (), iter(()), Made({}))


def _write_argument(original: torch.Tensor, value: torch.Tensor) -> None:
    with torch.no_grad():
        original.copy_(value)
    generator = generators.behind(original)
    if generator is not None:
        generators.write(generator, original)


def memory_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


@dataclasses.dataclass
class Place:
    """In a loaded program: where among the arguments a write goes; None: nowhere."""

    path: str | None


def sharing(containers: list) -> list:
    """For each container the number of the first that it is."""
    first: dict[int, int] = {}
    return [first.setdefault(id(x), k) for k, x in enumerate(containers)]


def _write(owner: Any, name: Any, value: Any) -> None:
    if name == "+":
        owner.extend(value)
    elif name == "*":
        refill(owner, value)
    else:
        places.write(owner, name, value)
