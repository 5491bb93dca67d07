# SPDX-License-Identifier: Apache-2.0
"""The arguments of a captured call: which leaves are inputs, which are fixed and checked at each call.

Tensors anywhere in the arguments (nested containers, dataclasses, plain objects) become inputs; every
other leaf is specialised on its example value, and a call with another value is an error.
"""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import enum
import functools
import inspect
import types
from inspect import Parameter
from typing import Any, Iterable

import torch

from ... import dtypes, generators
from ...calling import places
from ...calling.nodes import node_of
from ...calling.states.state import State
from ...dtypes import own_name
from ...errors import InputError
from ...objects import IdentityDict, all_in_attributes, attributes_of, parameter_names
from ..diagnostics import CaptureRefusal
from ..graph.program import BOOL, FLOAT, INT, Value
from ..polyfills.generators import RtGenerator
from ..state.heap import Overlay
from ..values import parameters
from .states import container
from .states.choice import enter_combinations
from .states.declared import Declared

_STATIC = (type(None), bool, int, float, str, bytes, complex, torch.dtype, torch.device,
           torch.Size, type(Ellipsis), range, slice)


class Inputs:
    """Walks the example arguments once; afterwards `collect` walks a call's arguments the same way."""

    def __init__(self, machine, fn: Any, args: tuple, kwargs: dict):
        self.m = machine
        self.callable = self.model = fn
        self.numbers: list[tuple[str, Any]] = []  # (path, stand-in) of dynamic_args, which come behind the tensors
        self.leaves: list[tuple[str, str]] = []  # (path, kind) in the order of the graph's inputs
        self.examples: list[torch.Tensor] = []
        self.handles: list = []
        self.statics: list[tuple[str, Any]] = []
        self.generators: list = []  # what stands for those among the arguments
        self.objects = IdentityDict()  # copy of a container of the caller's -> its path
        self._seen = IdentityDict()  # object of the caller's -> what stands for it
        names = _argument_names(fn, len(args))
        self.argument_names = names
        self.args = tuple(self._enter(a, names[k]) for k, a in enumerate(args))
        self.kwargs = {k: self._enter(v, k) for k, v in kwargs.items()}
        self.given = self.args, self.kwargs
        for path, number in self.numbers:
            machine.graph.inputs.append(number.value)
            machine.graph.input_names.append(path)
        machine.keep_between_calls = functools.partial(container.begin_at_once, machine, fn)
        self._declare_states()

    def _enter(self, x: Any, path: str) -> Any:
        if isinstance(x, torch.Tensor):
            return self._tensor(x, path)
        if isinstance(x, torch.Generator) and x.device.type == "cpu":
            return self._generator(x, path)
        if isinstance(x, _STATIC):
            if path in self.m.options.dynamic_args:
                return self._number(x, path)
            self.statics.append((path, x))
            return x
        if x in self._seen:
            return self._seen[x]
        return self._container(x, path)

    def _generator(self, x: torch.Generator, path: str) -> Any:
        """What stands for it holds an input, its state."""
        if x in self._seen or x is torch.default_generator:
            raise CaptureRefusal(f"the argument {path} is a generator that is given twice, or torch's own",
                                 "pass another one, or None", kind="random.generator")
        made = self._seen[x] = object.__new__(RtGenerator)
        made.state = self._tensor(generators.snapshot(x), path)
        self.generators.append(made)
        return made

    def _container(self, x: Any, path: str) -> Any:
        if isinstance(x, tuple):
            items = [self._enter(y, f"{path}[{k}]") for k, y in enumerate(x)]
            made = tuple.__new__(type(x), items) if type(x) is not tuple else tuple(items)
            if hasattr(x, "__dict__"):
                made.__dict__.update((name, self._enter(value, f"{path}.{name}")) for name, value in vars(x).items())
            return made
        if isinstance(x, (torch.nn.Module, type, enum.Enum, types.FunctionType, types.MethodType,
                          types.BuiltinFunctionType)):
            self.statics.append((path, x))
            return x
        if isinstance(x, collections.abc.Iterator) and not all_in_attributes(type(x)):
            raise CaptureRefusal(f"{path} is an iterator ({type(x).__name__}): compiling would use it up",
                                 "pass a list", kind="argument")
        try:
            made = copy.copy(x)
        except Exception:  # it is what it is
            self.statics.append((path, x))
            return x
        self._seen[x] = made
        self.objects[made] = path
        if isinstance(x, (set, frozenset)):
            self.statics.append((path, x))
            return made
        if node_of(x) is None and attributes_of(x) is None:
            self.statics.append((path, x))
            return x
        self._fill(made, x, path)
        self._attributes(made, path)
        return made

    def _fill(self, made: Any, x: Any, path: str) -> None:
        """The copy of a list, deque or dict gets what stands for its elements."""
        if isinstance(x, list):
            list.__setitem__(made, slice(None),
                             [self._enter(y, f"{path}[{k}]") for k, y in enumerate(list.__iter__(x))])
        elif isinstance(x, collections.deque):
            items = [self._enter(y, f"{path}[{k}]") for k, y in enumerate(collections.deque.__iter__(x))]
            collections.deque.clear(made)
            collections.deque.extend(made, items)
        elif isinstance(x, dict):
            for key in list(dict.keys(x)):
                dict.__setitem__(made, key, self._enter(dict.__getitem__(x, key), f"{path}[{key!r}]"))

    def _attributes(self, made: Any, path: str) -> None:
        own = getattr(made, "__dict__", {})
        for name, value in (attributes_of(made) or {}).items():
            entered = self._enter(value, f"{path}.{name}")
            if name in own:
                own[name] = entered
            else:
                object.__setattr__(made, name, entered)

    def _tensor(self, x: torch.Tensor, path: str) -> Any:
        known = self._seen.get(x)
        if known is not None:  # one input, and a call must pass one tensor in both places
            return known
        if x.is_complex():
            raise CaptureRefusal(f"the argument {path} is a tensor of complex numbers",
                                 "pass torch.view_as_real of it", kind="dtype.complex")
        if x.dtype not in dtypes.NAMES and not x.is_quantized:  # an unusual tensor, which input_tensor refuses
            raise CaptureRefusal(f"the argument {path} is a tensor of {own_name(x.dtype)}",
                                 _other_dtype(x.dtype), kind="dtype")
        dynamic = self.m.options.dims_of(path, self.argument_names, x.dim())
        handle, value = self.m.recorder.input_tensor(x, _clean(path), dynamic, self.m.options.ranges)
        parameters.note_argument(handle, x)
        self.m.graph.inputs.append(value)
        self.m.graph.input_names.append(path)
        self.leaves.append((path, "tensor"))
        self.examples.append(x)
        self.handles.append(handle)
        self._seen[x] = handle
        return handle

    def _number(self, x: Any, path: str) -> Any:
        """Declared to be known only at run time."""
        kind = self.m.options.dynamic_args[path]
        if type(x) is not kind and not (kind is float and type(x) is int):
            raise InputError(f"dynamic_args: {path} is {x!r} in the example, no {kind.__name__}")
        number = self.m.scalars.wrap(Value({bool: BOOL, int: INT, float: FLOAT}[kind], None, _clean(path)))
        self.numbers.append((path, number))
        return number

    # ---- states ---------------------------------------------------------------------------

    def _declare_states(self) -> None:
        """What earlier attempts found to be read and written: a runtime value from the start."""
        self.states: list[State] = []
        self.declared: list[tuple[int, Declared]] = []  # with the numbers of their first states of the program
        # number of a state -> the storage of the tensor that an attribute holds at first
        self.state_roots: dict[int, Any] = {}
        self.chosen: list = []  # (number, owner, key, values) of attributes that hold one of a few values
        for declared in self.m.assumptions.states.values():
            self.declared.append((len(self.m.graph.states), declared))
            declared.enter(self)
        enter_combinations(self)

    def declare(self, state: State, values: Iterable[Value]) -> int:
        """The program gets these states; returns the number of the first."""
        state.first = len(self.m.graph.states)
        self.states.append(state)
        self.m.graph.states += zip(state.names, values)
        return state.first

    def state_of(self, number: int) -> State:
        return next(s for s in reversed(self.states) if s.first <= number)

    def number_of(self, declared: Declared) -> int:
        return next(number for number, known in self.declared if known is declared)

    def put(self, owner: Any, key: Any, value: Any) -> None:
        """Writes the runtime value where the program will read it, in every state of the capture."""
        heap = self.m.heap
        if heap.active is None:
            heap.active = self.m.initial_overlay = Overlay()
        heap.touch(owner)
        places.write(owner, key, value)


def _other_dtype(dtype: torch.dtype) -> str:
    if dtype.is_floating_point:
        return "convert it before (x.to(torch.float16), x.float()) and pass that"
    return "convert it before (x.to(torch.int64)) and pass that"


def _argument_names(fn: Any, count: int) -> list[str]:
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    names: list[str] = []
    with contextlib.suppress(TypeError, ValueError):  # of what is written in C
        own = inspect.signature(target, follow_wrapped=False).parameters
        # a decorator that passes on what it gets: the names are those of the function below
        passed_on = parameter_names(own, Parameter.VAR_POSITIONAL)
        below = inspect.signature(target).parameters if passed_on else own
        names = parameter_names(below, Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return [names[k] if k < len(names) else f"arg{k}" for k in range(count)]


def _clean(path: str) -> str:
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in path).strip("_")
    return text if text and not text[0].isdigit() else f"x{text}"
