# SPDX-License-Identifier: Apache-2.0
"""Attributes of tensors, of values known only at run time and of the machine's own objects."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import torch

from ..diagnostics import CaptureRefusal
from ..polyfills.registry import POLYFILLS
from ..state import iterators
from ..state.interpreter import Interpreter
from ..state.iterators import MGenerator
from ..state.state import State
from ..torch_internals import FakeTensor
from ..values import chosen_text, text_with_integers
from ..values.array import RtArray
from ..values.list import ListMethod, RtList
from ..values.native_entries import natively, refuse_own
from ..values.scalar import EXAMPLES, RtFloat, RtScalar
from ..values.stand_in import Interpreted, StandIn, type_of
from ..values.text import RtText
from ..values.text_formatting import refuse_method
from . import keys, lookup
from .generators import BoundSpecial
from .lookup import bound_method


def special_method(m: Interpreter, obj: Any, name: str) -> Any:
    """obj's special method, bound; None if its class has none."""
    own = special_object_method(m, obj, name)
    if own is not None:
        return own
    return bound_method(obj, name)


_OURS = (MGenerator,)


def special_object_method(m: Interpreter, obj: Any, name: str) -> Any:
    if isinstance(obj, _OURS):
        return BoundSpecial(obj, name)
    return None


def special_attribute(m: Interpreter, s: State, obj: Any, name: str) -> Any:
    """Attributes of runtime values and tensors; NotImplemented for ordinary objects."""
    if isinstance(obj, torch.Tensor):
        return _tensor_attribute(m, s, obj, name)
    if isinstance(obj, RtScalar):
        return _scalar_attribute(m, obj, name)
    if isinstance(obj, RtArray):
        kind = np.generic if obj.scalar else np.ndarray
        if not hasattr(kind, name):
            raise AttributeError(f"'{kind.__module__}.{kind.__name__}' object has no attribute '{name}'")
        return m.arrays.attribute(obj, name)
    if isinstance(obj, iterators.OURS):
        kind = type_of(m, obj)
        if name == "__class__":
            return kind
        if not hasattr(kind, name):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        if name in ("__name__", "__qualname__") and isinstance(obj, MGenerator):
            return getattr(obj.function, name)
        if not callable(getattr(kind, name)):
            raise CaptureRefusal(f"{kind.__name__}.{name}", kind="generator")
        return BoundSpecial(obj, name)
    if isinstance(obj, RtList):
        if not hasattr([], name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        return ListMethod(obj, name)
    if isinstance(obj, keys.TABLES) and name == "__class__":
        return type_of(m, obj)
    if isinstance(obj, Interpreted) and name in vars(StandIn) and not name.startswith("__"):
        raise AttributeError(f"'{type_of(m, obj).__name__}' object has no attribute '{name}'")
    if isinstance(obj, RtText):
        if (name in ("startswith", "endswith") or chosen_text.has_method(obj, name)
                or text_with_integers.has_method(obj, name)):
            return BoundSpecial(obj, name)
        refuse_method(obj, name)
    return NotImplemented


_PLAIN = {"dtype", "device", "layout", "ndim", "is_cuda", "is_sparse", "is_quantized", "is_meta", "is_mkldnn", "is_mps",
          "is_xla", "is_xpu", "is_nested", "names", "itemsize", "_is_param"}


def _tensor_attribute(m: Interpreter, s: State, t: torch.Tensor, name: str) -> Any:
    if name in _PLAIN:
        return getattr(t, name)
    if name == "shape":
        shape = t.shape
        return shape if all(type(d) is int for d in shape) else m.recorder.attribute(t, "shape")
    if name == "__class__":
        return type_of(m, t)
    if name in ("grad", "_grad"):
        return None
    if name in ("requires_grad", "is_leaf", "grad_fn"):
        m.ask_about_gradients()
        return getattr(t, name) if name != "grad_fn" else None
    if name == "data":
        return m.recorder.call(torch.Tensor.detach, (t,), {})
    if name in ("T", "mT", "H", "mH", "real", "imag", "nbytes"):
        return m.recorder.attribute(t, name)
    own = t.__dict__.get(name, NotImplemented) if hasattr(t, "__dict__") else NotImplemented
    if own is not NotImplemented and not name.startswith("_"):
        return own
    found = lookup.mro_lookup(torch.Tensor, name)
    if isinstance(found, types.FunctionType):
        return types.MethodType(found, t)
    if isinstance(found, types.MethodDescriptorType) and name in vars(FakeTensor):
        return found.__get__(t)  # torch's own, not the stand-in's
    try:
        return natively(getattr, t, name)
    except AttributeError as error:
        refuse_own(error)
        raise AttributeError(f"'{type_of(m, t).__name__}' object has no attribute '{name}'") from None


def _scalar_attribute(m: Interpreter, x: RtScalar, name: str) -> Any:
    if name == "real" or name == "numerator" and not isinstance(x, RtFloat):
        return x
    if name == "__class__":
        return type_of(m, x)
    method = POLYFILLS.get(vars(float if isinstance(x, RtFloat) else int).get(name))
    if method is not None:
        return types.MethodType(method, x)
    if hasattr(EXAMPLES[x.kind], name):
        raise CaptureRefusal(f"{x.kind}.{name} of a number known only at run time", kind="escape.attribute", because=x)
    raise AttributeError(f"'{x.kind}' object has no attribute '{name}'")


def store_special(m: Interpreter, s: State, obj: Any, name: str, value: Any) -> bool:
    if isinstance(obj, torch.Tensor):
        if name == "requires_grad" and (value is not False or obj.requires_grad):
            m.want_gradients(obj)
        if name == "grad" and value is not None:
            raise CaptureRefusal("a gradient is assigned to a tensor", "compute gradients outside", kind="autograd")
        if name in ("requires_grad", "grad"):
            return True
        if name == "data":
            return _store_data(m, obj, value)
        raise CaptureRefusal(f"the attribute {name} of a tensor is written", "keep it beside the tensor",
                             kind="tensor.attribute")
    return False


def _store_data(m: Interpreter, obj: torch.Tensor, value: Any) -> bool:
    """t.data = value: a copy, where nobody can tell; value and t share memory afterwards."""
    if (value is obj or isinstance(value, torch.Tensor) and m.is_symbolic(value) and not m.is_symbolic(obj)
            and m.recorder.lift(obj) is value):
        return True  # as module.to() does where nothing is to be changed
    made = m.is_symbolic(value) and value._dycl.parent is None and value is not obj \
        and all(root.handle is not value for root in m.recorder.roots)
    own = isinstance(obj, torch.nn.Parameter) or any(root.handle is obj for root in m.recorder.roots)
    if not (made and own and m.recorder.same_shape(obj, value) and obj.dtype == value.dtype):
        raise CaptureRefusal("the memory of a tensor is replaced (`.data = ...`)",
                             "write into it with copy_", kind="tensor.attribute")
    m.recorder.call(torch.Tensor.copy_, (obj, value), {})
    return True
