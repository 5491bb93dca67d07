# SPDX-License-Identifier: Apache-2.0
"""Templates of the example's arguments: tensors with dtype and shape, containers with the attributes of their subclass,
objects with the names that the model asked of them (so that one which is there now and was not then is noticed).
"""

from __future__ import annotations

import array
import collections
import inspect
import types
from inspect import Parameter
from typing import Any

import numpy as np
import torch

from ...calling.nodes import Object, Set, node_of
from ...calling.templates import Generator, Live, Number, Same, Static, Template, Tensor
from ...objects import IdentityDict, attributes_of, parameter_names
from .. import torch_internals


class Entering:
    """Captured arguments (copies with handles at the leaves) as templates."""

    def __init__(self, inputs: Any):
        self.inputs = inputs
        self.handles = IdentityDict((h, k) for k, h in enumerate(inputs.handles))
        self.numbers = IdentityDict((number, number.kind) for _, number in inputs.numbers)
        self.asked: dict[int, set] = {}  # id of an object -> names that the model asked of it; "*": all it has
        for key, name in inputs.m.loaded:
            self.asked.setdefault(key, set()).add(name)
        self.met: set[int] = set()
        self.containers: list = []

    def __call__(self, x: Any) -> Template:
        number = self.handles.get(x)
        if number in self.met:
            return Same(number)
        if number is not None:
            self.met.add(number)
            shape = tuple(d if type(d) is int else None for d in x.shape)
            return Tensor(self.inputs.examples[number].dtype, shape)
        if x in self.numbers:
            return Number(self.numbers[x])
        if any(x is made for made in self.inputs.generators):
            return Generator()
        node = node_of(x)
        if node is None and x in self.inputs.objects and attributes_of(x) is not None:
            node = Object
        if node not in (None, Set):
            if node.mutable:
                self.containers.append(x)
            return node.of(x, lambda part, _: self(part), **self._more(x))
        if isinstance(x, (bool, int, float, str, type(None), torch.dtype, torch.device)):
            return Static(x)
        return Live(x.copy() if isinstance(x, (np.ndarray, bytearray)) else x[:] if isinstance(x, array.array) else x)

    def _more(self, x: Any) -> dict[str, Any]:
        """What the node of this object has beside its parts."""
        if isinstance(x, collections.defaultdict):
            return {"factory": None if x.default_factory is None else Live(x.default_factory)}
        if node_of(x) is None:
            return {"asked": tuple(sorted(n for n in self.asked.get(id(x), ()) if isinstance(n, str)))}
        return {}


def extra_keywords(fn: Any, given: list) -> list:
    """Those of the keywords that a **kwargs of the model takes."""
    fn = fn.forward if isinstance(fn, torch.nn.Module) else fn
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return []
    if not parameter_names(parameters, Parameter.VAR_KEYWORD):
        return []
    return [k for k in given if k not in parameters or k in parameter_names(parameters, Parameter.POSITIONAL_ONLY)]


def by_place_or_name(fn: Any) -> list[str]:
    """The first parameters of the model, by name, if it cannot tell whether one was given by place or by name: hooks
    and wrappers can."""
    if isinstance(fn, torch.nn.Module):
        hooks = (fn._forward_pre_hooks, fn._forward_hooks, *torch_internals.global_forward_hooks())
        if type(fn).__call__ is not torch.nn.Module.__call__ or any(hooks):
            return []
        fn = fn.forward
    if not isinstance(fn, (types.FunctionType, types.MethodType)):
        return []
    parameters = inspect.signature(fn, follow_wrapped=False).parameters
    by_place = parameter_names(parameters, Parameter.POSITIONAL_ONLY)
    return [] if by_place else parameter_names(parameters, Parameter.POSITIONAL_OR_KEYWORD)


def plain_defaults(fn: Any) -> dict[str, Template]:
    """Templates of the default values that are known whatever the model does."""
    fn = fn.forward if isinstance(fn, torch.nn.Module) else fn
    parameters = inspect.signature(fn, follow_wrapped=False).parameters.values()
    return {p.name: Static(p.default) for p in parameters
            if p.default is None or type(p.default) in (bool, int, float, str)}
