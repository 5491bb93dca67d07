# SPDX-License-Identifier: Apache-2.0
"""The ends of a captured program: results, exceptions, and what was written to the outside.

Every end state gives a template of its result (calling/templates.py) and the values at its leaves. Ends of one
structure share it; where structures differ by path, the program returns which one it is (`variant`)
and every structure's leaves have result slots, unused ones filled with zeros.
Writes to buffers, attributes and input tensors are results too, put back by the caller. An end that raises has no
result; what it wrote is kept by name (`keep`, docs/ir.md) beside the error.
"""

from __future__ import annotations

import copy
import functools
import re
import sys
import types
from operator import is_
from typing import Any

import numpy as np
import torch

from ...calling import places
from ...calling.exceptions import Raised
from ...calling.state_values import ABSENT
from ...calling.states.attribute import TensorAttribute
from ...calling.states.buffer import Buffer
from ...calling.templates import Live, Template
from ...calling.wording import leaf_names
from ...objects import IdentityDict, plain_object, reached
from ..diagnostics import CaptureRefusal
from ..graph.program import INT, HostNode, Raise, Return, Value
from ..library import lru_cache
from ..machine.exceptions import cleans_up
from ..semantics import callbacks, interpretation, lookup
from ..source import Span
from ..state.contents import Cell, ContextCell, has_own_contents
from ..state.state import State
from ..values.stand_in import stand_in_of
from ..values.tensor import is_handle
from . import exceptions, late_states, shared_arrays
from .attribute_values import UNKNOWN, LeftValues
from .changes import changed_outside, changes, is_whole
from .flatten import Flattener
from .ownership import owned
from .path_numbers import share_structures
from .result_slots import Slots, kind_of_type
from .states import array, choice
from .states import container as containers
from .states.attribute import declare, is_plain
from .states.buffer import declare_written
from .states.declared import is_declared, second_name
from .tensor_states import HeldTensors


class End:
    """One end state: its result's template, the values at its leaves, its writes."""

    def __init__(self, state: State):
        self.state = state
        self.template: Any = None  # (of the result, (owner, name, template) of each write)
        self.values: list[Value] = []
        self.names: list[str] = []  # of the last values: the attributes that they go into
        self.writes: dict = {}  # key -> (owner, name, template)
        self.roots: dict[Any, Value] = {}  # what a root that was written has at this end
        # id of a value that is an argument or a buffer given back as itself -> which
        self.themselves: dict[int, tuple] = {}
        self.containers: set[int] = set()  # ids of lists, dicts and objects in the result and the writes
        self.held: dict[int, int] = {}  # number of a state that is left with an argument itself -> which
        # ids of values left in attributes that are buffers written in place, or views of them
        self.left: set[int] = set()
        self.others: list = []  # tensors and lists in the result and in what is written, but for states
        self.tensors: dict[int, Any] = {}  # number of a state -> the tensor that an attribute is left with
        self.choice_tensors: list = []  # all tensors in attributes that hold one of a few values, known ones too
        self.state_values: list[Value] = []
        self.chosen: list[int] = []  # numbers of the values that attributes are left with
        self.held_containers: set[int] = set()  # ids of lists, dicts and objects in states
        self.list_cells: set[int] = set()  # ids of the storages whose values list states hold
        # (id of the owner, key) of states that are left in the container or array that was there
        self.in_place: set[tuple] = set()
        # number of a state that is written in place -> the state whose tensor it is left with
        self.origins: dict[int, int] = {}
        self.appearing: tuple = ()  # (owner, name) of attributes that are not there at first, in their order


class Outputs:
    def __init__(self, machine, inputs):
        self.m = machine
        self.inputs = inputs
        self.left_values = LeftValues(machine)
        self.exceptions = Raised()
        self.ends: list[End] = []
        self.raising: list[End] = []
        # (writes, origins, containers in place, order of attributes) of ends that raise, where they differ
        self.failures: list[tuple] = []
        self.kept_inputs: dict[str, Any] = {}  # name under which a raise keeps an input -> its root
        # (owner, name) of attributes that are not there at first, in the order in which they come
        self.appearing: list[tuple[Any, str]] = []
        self.own: list[torch.Tensor] = []  # of the model, given back as they are
        self.changed: set = set()  # (id of the owner, name) of what some path leaves different
        # id of an object from outside -> the names or keys that some path leaves different
        self.written_containers: dict[int, set] = {}
        self.own_containers: dict[str, Any] = {}  # name -> a list or dict of the model that is given back
        self.owned: IdentityDict | None = None  # what belongs to the model
        self.place: Span | None = None  # the user's line that wrote what is looked at
        self.buffers = {machine.recorder.real.handle_of(s.owner)._dycl.cell for s in self._written_buffers()}
        try:
            self._collect(machine)
        except CaptureRefusal as refusal:
            refusal.span = refusal.span or self.place or machine.left
            raise

    def _collect(self, machine) -> None:
        self._note_changed(machine)
        for state in machine.finished:
            machine.activate(state)
            self._note_given(state)
        for state in machine.finished:
            machine.activate(state)
            self._refuse_abandoned(state)
            kind, payload = state.finished
            if kind == "raise":
                self._raise(state, payload)
                self.raising.append(self._end(state, None, raises=True))
            else:
                self.ends.append(self._end(state, payload))
        machine.assumptions.states.settle()
        self.roots = [r for r in machine.recorder.real.roots
                      if any(r in e.roots for e in (*self.ends, *self.raising))]
        shared_arrays.refuse_shared(machine, self.roots)
        if machine.remembers:
            lru_cache.refuse_changing(machine, self.roots, self.changed)
        declare_written(self)
        for end in (*self.ends, *self.raising):
            machine.activate(end.state)
            end.state_values = self._state_values(end)
        machine.assumptions.states.settle()
        self.held_tensors = HeldTensors(machine, self.inputs, [*self.ends, *self.raising])
        self.orders_differ = self._orders_differ()
        self._assemble()
        for end in self.raising:
            self._keep(end)
        machine.assumptions.states.settle()

    def _note_changed(self, machine) -> None:
        heap = machine.heap
        heap.save()
        self.resized = {key for state in machine.finished for key, contents in state.overlay.contents.items()
                        if isinstance(heap.objects[key], list) and isinstance(contents, tuple)
                        and len(contents) != len(heap.pristine[key])}
        for state in machine.finished:
            machine.activate(state)
            for owner, name, value, initial in self._written_attributes(state):
                if (name == "+" or (id(owner), "*") in state.stored
                        or not self.left_values.is_kept(owner, name, initial, value)):
                    self.changed.add((id(owner), name))
                    self.written_containers.setdefault(id(owner), set()).add(name)

    def _note_given(self, state: State) -> None:
        """A list or dict of the model that is returned, or left under another name, is read: what this path does not
        write there is that of earlier calls."""
        kind, payload = state.finished
        given = [value for _, name, value, _ in self._written_attributes(state) if name not in ("*", "+")]
        for x in _containers_in([*given, payload] if kind == "return" else given):
            for name in (self.written_containers.get(id(x), ())
                         if not self.m.is_born(x) and x not in self.inputs.objects else ()):
                whole = isinstance(x, list) or name in ("*", "+")
                if whole or (id(x), name) not in state.stored:
                    self.m.loaded.setdefault((id(x), "*" if whole else name), x)

    # ---- exceptions --------------------------------------------------------------------------

    def _raise(self, state: State, error: BaseException) -> None:
        name, text, values = exceptions.add(self.exceptions, error)
        state.block.exit = Raise(name, text, [v.value for v in values])

    def _keep(self, end: End) -> None:
        """Before the raise: what this end wrote, by name."""
        m = self.m
        m.activate(end.state)
        kept = {self._input_name(root): end.roots[root]
                for root in self.roots if root.is_input and root in end.roots}
        for (name, initial), value in zip(m.graph.states, end.state_values):
            if value is not initial:
                kept[f"@{name}"] = value
        kept.update((f"replaced{k}", end.roots[root])
                    for k in self.held_tensors.replaced if (root := self.inputs.state_roots[k]) in end.roots)
        left = (end.template[1], tuple(sorted(end.origins.items())), frozenset(end.in_place),
                end.appearing if self.orders_differ else ())
        if any(left):  # beside the states
            if left not in self.failures:
                self.failures.append(left)
            kept["case"] = m.scalars.value(self.failures.index(left))
            kept.update((f"write{k}", value) for k, value in enumerate(end.values))
        if kept:
            m.recorder.append(HostNode("keep", list(kept.values()), [], {"names": list(kept)},
                                       end.state.block.exit_span))

    def _input_name(self, root: Any) -> str:
        for name, known in self.kept_inputs.items():
            if known is root:
                return name
        name, k = f"{root.name}_after", 1
        while name in self.kept_inputs:
            name, k = f"{root.name}_after.{k}", k + 1
        self.kept_inputs[name] = root
        return name

    def _refuse_abandoned(self, state: State) -> None:
        """A generator left suspended inside try or with is closed by Python, which runs what stands there."""
        for key, generator in self.m.guarded.items():
            if key in state.overlay.contents and generator.frame is not None and cleans_up(generator.frame):
                raise CaptureRefusal(f"the generator {generator.frame.info.code.co_name} is left "
                                     "suspended inside try or with: Python runs its clean-up when it goes",
                                     "exhaust it, or move the clean-up out of it",
                                     span=generator.frame.instr.span, kind="generator.close")

    # ---- one end -------------------------------------------------------------------------------

    def _end(self, state: State, result: Any, raises: bool = False) -> End:
        end = End(state)
        m = self.m
        flattener = Flattener(m, lambda obj: m.is_born(obj) or id(obj) in m.heap.objects
                              or obj in self.inputs.objects or has_own_contents(type(obj)), self._argument)
        body = flattener.flatten(result, "result")
        of_result = len(flattener.leaves)
        written: list[str] = []  # for each leaf of what is written: the attribute
        recorder = self.m.recorder
        for root in recorder.real.written():
            end.roots[root] = recorder.value_of_info(root.info)
        writes, appearing, states = [], [], set()
        for owner, name, value, initial in self._written_attributes(state):
            if initial is ABSENT and isinstance(name, str) and isinstance(getattr(owner, "__dict__", None), dict):
                appearing.append((owner, name))
            if not self._is_left(owner, name, value, initial, raises):
                continue
            before = len(flattener.leaves)
            writes.append((owner, name, flattener.flatten(value, str(name))))
            if is_declared(m.assumptions, owner, name, "attribute"):
                states |= {*range(before, len(flattener.leaves))}
            written += [str(name)] * (len(flattener.leaves) - before)
        self._note_appearing(appearing)
        self._describe(end, flattener, body, of_result, writes, appearing, written, states)
        return end

    def _is_left(self, owner: Any, name: Any, value: Any, initial: Any, raises: bool) -> bool:
        """Whether a call has to write it beside its states."""
        recorder, assumptions = self.m.recorder, self.m.assumptions
        if (id(owner), name) not in self.changed:
            return False  # computed anew with the same contents: `self.scales = [s.to(x) for s in self.scales]`
        if isinstance(initial, torch.Tensor) and isinstance(value, torch.Tensor) and any(
                value is handle for handle in (recorder.real.handle_of(initial),
                                               recorder.real.attribute_handles.get((id(owner), name)))):
            return False  # the same tensor assigned back, as `self.total += x` does
        if isinstance(owner, type):
            raise CaptureRefusal(f"the class attribute {owner.__name__}.{name} is left changed by the model",
                                 "make it an attribute of the module", kind="class-attribute")
        if is_declared(assumptions, owner, name, "choice", "container", "array"):
            return False
        if raises and self._of_a_library(owner):
            return False
        choice.refuse_written(assumptions, owner)
        self._check_state(owner, name, initial, value)
        return not (raises and is_declared(assumptions, owner, name, "attribute"))

    def _describe(self, end: End, flattener: Flattener, body: Template, of_result: int, writes: list, appearing: list,
                  written: list[str], states: set[int]) -> None:
        end.appearing = tuple((Live(owner), name) for owner, name in appearing)
        end.writes = {(id(owner), name): (owner, name, t) for owner, name, t in writes}
        end.template = (body, tuple((Live(owner), name, t) for owner, name, t in writes))
        stand_ins = [*map(stand_in_of, flattener.leaves)]
        leaves = [own.graph_values(self.m) for own in stand_ins]
        end.values = [v for values in leaves for v in values]
        end.containers = {id(x) for x in flattener.seen if not isinstance(x, torch.Tensor)}
        end.names = [name for name, values in zip(written, leaves[of_result:]) for _ in values]
        end.themselves = self._themselves(flattener.leaves)
        end.others = [x for k, own in enumerate(stand_ins) if k not in states for x in own.memory(self.m)]
        end.left = {self.value(leaf).id for leaf in flattener.leaves[of_result:] if self.is_buffer(leaf)}

    def _note_appearing(self, found: list[tuple[Any, str]]) -> None:
        """Puts what this end has and others had not before what comes next here."""
        place = len(self.appearing)
        for owner, name in reversed(found):
            known = next((k for k, (o, n) in enumerate(self.appearing) if o is owner and n == name), None)
            if known is None:
                self.appearing.insert(place, (owner, name))
            else:
                place = known

    def _orders_differ(self) -> bool:
        """Whether no order of the attributes that calls make is that of all ends:
        calls before may have made some of them."""
        place = {(id(owner), name): k for k, (owner, name) in enumerate(self.appearing)}
        orders = ([place[id(owner.obj), name] for owner, name in end.appearing] for end in (*self.ends, *self.raising))
        return any(order != sorted(order) for order in orders)

    def _argument(self, obj: Any) -> str | None:
        """The path of a list, dict or object among the arguments; a name for a list or dict of the model that calls
        change: these are given back themselves."""
        if (type(obj) in (list, dict) and id(obj) in self.written_containers and obj not in self.inputs.objects
                and not self.m.is_born(obj)):
            known = next((name for name, x in self.own_containers.items() if x is obj), f"@{len(self.own_containers)}")
            self.own_containers[known] = obj
            return known
        return self.inputs.objects.get(obj)

    def _themselves(self, leaves: list) -> dict[int, tuple]:
        """Which results are arguments, buffers or what an attribute holds from now on, not copies of them:
        the caller gets these tensors."""
        recorder = self.m.recorder
        known = IdentityDict((handle, ("input", k)) for k, handle in enumerate(self.inputs.handles))
        for s in self.inputs.states:
            if isinstance(s, TensorAttribute):
                known.setdefault(places.read(s.owner, s.key), ("held", s.first))
        known.update((recorder.real.handle_of(s.owner), ("state", s.first)) for s in self._written_buffers())
        found: dict[int, set] = {}
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                found.setdefault(self.value(leaf).id, set()).add(known.get(self.handle(leaf)) or self._own(leaf))
        return {value: which.pop() for value, which in found.items() if len(which) == 1 and None not in which}

    def _own(self, tensor: torch.Tensor) -> tuple | None:
        """A parameter, buffer or constant of the model's that no path writes."""
        if is_handle(tensor):
            return None
        if not any(known is tensor for known in self.own):
            self.own.append(tensor)
        return ("own", next(k for k, known in enumerate(self.own) if known is tensor))

    def _written_buffers(self) -> list[Buffer]:
        return [s for s in self.inputs.states if isinstance(s, Buffer)]

    def handle(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.m.recorder.real.lift(tensor)

    def is_buffer(self, leaf: Any) -> bool:
        """Whether a tensor shares the memory of a buffer that is written in place, in this call or in later ones."""
        if not isinstance(leaf, torch.Tensor):
            return False
        cell = self.handle(leaf)._dycl.cell
        if self.buffers & cell.guard.roots:
            cell.guard()  # in some paths only: they stay apart
        return cell in self.buffers

    def _of_a_library(self, owner: Any) -> bool:
        """Filled by an installed package for itself, on the way to an exception:
        outside the model and its arguments."""
        if not isinstance(owner, dict) or self.place is None or interpretation.is_user_file(self.place.file):
            return False
        if self.owned is None:
            self.owned = owned([self.inputs.callable, self.inputs.args, self.inputs.kwargs])
        return owner not in self.owned

    def value(self, tensor: torch.Tensor) -> Value:
        return self.m.recorder.value_of(tensor)

    # ---- writes to the outside ------------------------------------------------------------------

    def _written_attributes(self, state: State):
        """(owner, name, new value, old value) of attributes and entries of objects from outside."""
        heap = self.m.heap
        heap.save()
        for key, contents in state.overlay.contents.items():
            obj = heap.objects[key]
            before = heap.pristine[key]
            if isinstance(obj, Cell) or self.m.is_born(obj) or before is contents and (key, "*") not in state.stored:
                continue
            self.place = heap.written_at.get(key)
            if isinstance(obj, types.CellType):
                raise CaptureRefusal("a variable of an enclosing function (nonlocal, closure) "
                                     "outside the compiled code is changed", "make it an attribute of the module",
                                     kind="state.closure")
            if isinstance(obj, ContextCell) and not (len(before) == len(contents) and all(map(is_, before, contents))):
                raise CaptureRefusal("a context variable is left changed when the program ends",
                                     "reset it, or use `with`", kind="state.context")
            if has_own_contents(type(obj)):
                continue
            stored = {name for owner, name in state.stored if owner == key}
            yield from changes(obj, before, contents, stored, (key, "*") in self.m.loaded, key in self.resized)
        self.place = None

    def _check_state(self, owner: Any, name: Any, initial: Any, value: Any) -> None:
        """An attribute that is read and written must be a state."""
        m = self.m
        if owner in self.inputs.objects:
            if is_whole(owner):
                raise changed_outside(owner)
            return
        if name == "+":
            name = "*"
        read = (id(owner), name) in m.loaded or (id(owner), "*") in m.loaded or name == "*" and (
            is_whole(owner) or any(k[0] == id(owner) for k in m.loaded))
        if not read:
            late_states.note(self.left_values, owner, name, initial, value)
            return
        if is_declared(m.assumptions, owner, name, "attribute"):
            return
        if initial is ABSENT:
            shared = lookup.mro_lookup(type(owner), name)
            if isinstance(shared, functools.cached_property) and self.left_values.known(value) is not UNKNOWN:
                self._declare_cached(owner, name, shared, value)
                return
            initial = shared if type(shared) in (bool, int, float) else initial
        self._declare(owner, name, initial, value)

    def _declare_cached(self, owner: Any, name: Any, shared: functools.cached_property, value: Any) -> None:
        """A choice between absent and there, or the same in every call."""
        if not choice.begin(self, owner, name, ABSENT, value) and callbacks.writes(shared.func.__code__):
            raise CaptureRefusal(f"the cached property {name}, whose function writes to objects",
                                 "compute it in __init__", kind="state.type")

    def _declare(self, owner: Any, name: Any, initial: Any, value: Any) -> None:
        m = self.m
        if is_plain(initial):
            m.assumptions.states.due = f"{declare(m.assumptions, owner, name, initial)} is a state"
            return
        if isinstance(owner, dict) and _is_library_cache(owner):
            return
        if choice.begin(self, owner, name, initial, value):
            return
        if containers.begin(self, owner, owner) if name == "*" else containers.begin(self, initial, value):
            return
        if name == "*" and choice.begin_with_contents(self, owner, containers.as_it_was(m, owner), copy.copy(owner)):
            return
        if (array.begin_written(m, self.inputs.model, owner) if isinstance(owner, np.ndarray)
                else array.begin(m, self.inputs.model, owner, name, initial)):
            m.assumptions.states.due = "a numpy array is a state"
            return
        if is_whole(owner):
            raise changed_outside(owner)
        held = "absent at first" if initial is ABSENT else f"a {type(initial).__name__}"
        raise CaptureRefusal(
            f"the attribute {type(owner).__name__}.{name} ({held}) is read and changed by the model: "
            "a state between calls that is neither a number nor a tensor",
            "keep one tensor, and torch.cat what is new to it" if name == "*" and isinstance(
                owner, list) else "pass it in and return it, or keep a tensor", kind="state.type")

    # ---- the results of the program ------------------------------------------------------------------

    def _assemble(self) -> None:
        graph = self.m.graph
        self.written_inputs = [root for root in self.roots
                               if root.is_input and any(root in e.roots for e in self.ends)]
        share_structures(self.ends, self._constant)
        numbers = self._number_variants()
        of_variants = [[end for end, n in zip(self.ends, numbers) if n == number]
                       for number in range(len(self.variants))]
        plan = self._place_slots(numbers)
        self.themselves = [*map(_common, of_variants)]
        if any(end.left - end.themselves.keys() for end in self.ends):
            raise second_name()
        replaced = [self.inputs.state_roots[k] for k in sorted(self.held_tensors.replaced)]
        for end, number in zip(self.ends, numbers):
            self._return(end, number, plan, [*self.written_inputs, *replaced])
        self._note_held(of_variants)
        graph.output_names = ["variant"] * (len(self.variants) > 1) + self._names(numbers, len(plan.types))
        graph.output_names += [f"{root.name}_after" for root in self.written_inputs]
        graph.output_names += [f"{root.name}_before" for root in replaced]
        graph.output_states = [name for name, _ in graph.states]

    def _note_held(self, of_variants: list[list[End]]) -> None:
        self.held = [_in_all([end.held for end in ends]) for ends in of_variants]
        self.origins = [_in_all([end.origins for end in ends]) for ends in of_variants]
        self.orders = [ends[0].appearing for ends in of_variants] if self.orders_differ else []
        self.in_place = [ends[0].in_place for ends in of_variants]

    def _place_slots(self, numbers: list[int]) -> Slots:
        plan = Slots()
        self.slots_of: list[list[int]] = [[] for _ in self.variants]
        for end, number in zip(self.ends, numbers):
            self.slots_of[number] = plan.place(end.values, self.slots_of[number])
        return plan

    def _return(self, end: End, number: int, plan: Slots, roots: list) -> None:
        m = self.m
        m.activate(end.state)
        many = len(self.variants) > 1
        values: list[Value] = [m.recorder.host("const", [], INT, value=number)] if many else []
        filled = dict(zip(self.slots_of[number], end.values))
        values += [filled[k] if k in filled else plan.filler(m, k) for k in range(len(plan.types))]
        end.state.block.exit = Return([*values, *(self._root_value(end, root) for root in roots), *end.state_values])

    def _number_variants(self) -> list[int]:
        """Which structure each end has."""
        self.variants: list[tuple] = []
        seen: list[tuple] = []
        numbers: list[int] = []
        for end in self.ends:
            key = (end.template, tuple(kind_of_type(v.type) for v in end.values),
                   self.held_tensors.exact_origins(end), frozenset(end.in_place),
                   end.appearing if self.orders_differ else (),
                   tuple(end.themselves.get(v.id) for v in end.values if v.id in end.left))
            if key not in seen:
                seen.append(key)
                self.variants.append(end.template)
            numbers.append(seen.index(key))
        return numbers

    def _names(self, numbers: list[int], count: int) -> list[str]:
        """Results have the names of their keys and fields, what goes into an attribute has its name, where nothing else
        is in that slot."""
        taken = {"variant", *self.m.graph.input_names, *(name for name, _ in self.m.graph.states),
                 *(f"{root.name}_{when}" for root in self.roots for when in ("after", "before"))}
        found: list[set] = [set() for _ in range(count)]
        for end, number in zip(self.ends, numbers):
            for k, name in zip(self.slots_of[number], leaf_names(end.template[0]) + end.names, strict=True):
                found[k].add(name if name.isidentifier() and not re.fullmatch(r"out\d+", name) else "")
        names: list[str] = []
        for k, candidates in enumerate(found):
            name = candidates.pop() if len(candidates) == 1 else ""
            same = [name, *(f"{name}_{n}" for n in range(1, k + 2 + len(taken)))]
            names.append(next(n for n in same if n not in names and n not in taken) if name else f"out{k}")
        return names

    def _constant(self, end: End, number: Any) -> Value:
        self.m.activate(end.state)
        return self.m.scalars.value(number)

    def _root_value(self, end: End, root: Any) -> Value:
        return end.roots.get(root) or self.m.recorder.value_of_info(root.info)

    def _state_values(self, end: End) -> list[Value]:
        """The new value of each declared state, in order."""
        found: list[Value] = []
        for number, declared in self.inputs.declared:
            self.place = self.m.heap.written_at.get(id(declared.owner))
            found += declared.left(self, end, number)
        combinations = self.m.assumptions.combinations
        if end.chosen and tuple(end.chosen) not in combinations:
            combinations.append(tuple(end.chosen))
            self.m.assumptions.states.due = "attributes hold another combination of values"
        return found


def _is_library_cache(table: dict) -> bool:
    """A dict that an installed package keeps in its own module: filled on first use, not a state of the model."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) or ""
        if not path or interpretation.is_user_file(path):
            continue
        if any(value is table for value in list(vars(module).values())):
            return True
    return False


def _containers_in(values: list) -> list:
    """The lists and dicts in values, and in what they hold."""
    return [x for x in reached(values, _inside) if isinstance(x, (list, dict))]


def _inside(x: Any) -> Any:
    if isinstance(x, (list, dict, tuple)):
        return dict.values(x) if isinstance(x, dict) else tuple(x)
    return vars(x).values() if plain_object(x) else None


def _in_all(found: list[dict]) -> list[tuple]:
    """The entries that all have."""
    return sorted(set.intersection(*(set(entries.items()) for entries in found)))


def _common(ends: list[End]) -> list[tuple]:
    """(place, "input" or "state", its number) of results that are the same argument or buffer at all ends of one
    structure."""
    columns = zip(*([end.themselves.get(v.id) for v in end.values] for end in ends))
    return [(place, *column[0]) for place, column in enumerate(columns)
            if column[0] is not None and len(set(column)) == 1]
