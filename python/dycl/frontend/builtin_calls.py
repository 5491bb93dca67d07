# SPDX-License-Identifier: Apache-2.0
"""What the machine answers itself instead of running it: `intercept(fn)` finds the handler of a function (see handlers.py),
`special_attribute` the attributes of run-time values, of tensors and of the machine's own objects.
"""

from __future__ import annotations

import enum
import functools
import operator
import sys
import types
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..host_functions import HostFunction
from . import calls_numbers, calls_lists, calls_containers, calls_objects, calls_surroundings, calls_torch, calls_numpy  # noqa: F401  (in this order: they register)
from . import array_scipy, handlers, host_calls, instances, iterators, keys, lookup, policy, protocol, shims, shims_numbers, text_choices, text_parts
from .arrays import BoundArrayMethod, RtArray
from .diagnostics import CaptureRefusal
from .iterators import MGenerator
from .machine import Machine
from .rtlist import ListMethod, RtList
from .runtime_text import RtText, refuse_method, text_method
from .state import State
from .values import EXAMPLES, RtFloat, RtInt, RtScalar, Thrown

_OURS = (MGenerator,)


def intercept(fn: Any):
    found = handlers.find(fn)
    if found is not None:
        return found
    kind = type(fn)
    if kind is types.MethodType:
        return _autograd_function(fn)
    if issubclass(kind, torch.nn.Module):
        inner = fn.__dict__["_modules"].get("_orig_mod") if kind.__name__ == "OptimizedModule" else None
        if inner is not None and kind is getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None):
            return lambda m, s, args, kwargs: protocol.call(m, s, inner, args, kwargs)  # what torch.compile was given
        return None
    if issubclass(kind, enum.EnumMeta):
        return functools.partial(_member, fn)
    if kind in _GETTERS:
        return functools.partial(_getter, fn)
    if isinstance(fn, BoundSpecial):
        return fn.call
    if isinstance(fn, type) and fn.__module__.partition(".")[0] == "tqdm" and hasattr(fn, "set_postfix"):
        return lambda m, s, args, kwargs: protocol.call(m, s, shims.Progress, args, kwargs)
    if isinstance(fn, HostFunction):
        return functools.partial(host_calls.call, fn)
    if isinstance(fn, ListMethod):
        return functools.partial(calls_lists.list_method, fn)
    if isinstance(fn, BoundArrayMethod):
        return lambda m, s, args, kwargs: m.arrays.method(fn, args, kwargs)
    if isinstance(fn, (np.ufunc, types.FunctionType, types.BuiltinFunctionType, type(np.argmax))):
        module = policy.home(fn) or ("numpy" if isinstance(fn, np.ufunc) or isinstance(getattr(fn, "__self__", None), np.ufunc) else "")
        if module.startswith("numpy"):
            return functools.partial(calls_numpy.call, fn)
        if module == "scipy.optimize._lsap":
            return functools.partial(host_calls.assignment, fn)
        if module.startswith("scipy."):
            return array_scipy.find(fn)
        if module in ("logging", "warnings"):
            return _ask_logging(fn) if fn.__name__ in _ABOUT_LOGGING else handlers.ignore
    if isinstance(fn, types.FunctionType) and policy.home(fn) == "torch._dynamo.mutation_guard":
        return _patched_by_dynamo(fn)
    inner = _wrapped_by_torch(fn) if isinstance(fn, types.FunctionType) and fn.__dict__ else None
    if inner is not None:
        return lambda m, s, args, kwargs: protocol.call(m, s, inner, args, kwargs)
    return None


def _member(cls: Any, m: Machine, s: State, args: tuple, kwargs: dict) -> Any:
    """Color(n) of a number known only at run time."""
    if len(args) != 1 or kwargs or not isinstance(args[0], (RtInt, RtText)) or type(cls).__call__ is not enum.EnumMeta.__call__ \
            or issubclass(cls, enum.Flag) or getattr(cls._missing_, "__func__", None) is not enum.Enum._missing_.__func__ or not cls.__members__:
        return NotImplemented
    text = RtText.join([args[0] if isinstance(args[0], RtText) else RtText((args[0],)), f" is not a valid {cls.__qualname__}"])
    return cls._value2member_map_[keys.present_key(m, args[0], cls._value2member_map_, ValueError(text))]


_GETTERS = {operator.itemgetter: shims.items_got, operator.attrgetter: shims.attributes_got, operator.methodcaller: shims.method_called}


def _getter(fn: Any, m: Machine, s: State, args: tuple, kwargs: dict) -> Any:
    """What operator's getters do, as code of the program: items and attributes may be the model's, keys known only at run time."""
    if len(args) != 1 or kwargs:
        return NotImplemented
    made = fn.__reduce__()
    named = made[0].keywords if isinstance(made[0], functools.partial) else {}
    held = (*made[0].args, *made[1]) if isinstance(made[0], functools.partial) else made[1]
    return protocol.call(m, s, _GETTERS[type(fn)], (args[0], held, *([named] if type(fn) is operator.methodcaller else ())), {})


def _autograd_function(fn: types.MethodType) -> Any:
    if isinstance(fn.__self__, type) and fn.__name__ == "apply" and issubclass(fn.__self__, torch.autograd.Function):
        return functools.partial(calls_torch.autograd_apply, fn.__self__)
    return None


def _wrapped_by_torch(fn: types.FunctionType) -> Any:
    """The user's function inside torch.compile, torch.compiler.disable or torch.jit.script_if_tracing; else None."""
    names = ("_torchdynamo_inline", "_torchdynamo_orig_callable")
    found = next((fn.__dict__[n] for n in names if fn.__dict__.get(n) is not None), None)
    if found is None and "__script_if_tracing_wrapper" in fn.__dict__:
        found = fn.__dict__.get("__original_fn")
    return found if found is not fn else None


def _patched_by_dynamo(fn: types.FunctionType):
    """Once torch.compile was used, nn.Module.__init__ is a wrapper that notes new modules: the function inside is called."""
    inner = [c.cell_contents for c in fn.__closure__ or () if isinstance(c.cell_contents, types.FunctionType)]
    return (lambda m, s, args, kwargs: protocol.call(m, s, inner[0], args, kwargs)) if len(inner) == 1 else None


class BoundSpecial:
    """A method of one of the machine's own objects (generators)."""

    __slots__ = ("obj", "name")

    def __init__(self, obj: Any, name: str):
        self.obj, self.name = obj, name

    def call(self, m: Machine, s: State, args: tuple, kwargs: dict) -> Any:
        if self.name in ("__next__", "send"):
            if args and args[0] is not None and _has_not_begun(self.obj):
                raise TypeError("can't send non-None value to a just-started generator")
            return calls_containers.next_of(m, s, self.obj, args[0] if args else None)
        if isinstance(self.obj, RtText) and not text_choices.is_chosen(self.obj) and text_parts.has_method(self.obj, self.name):
            return text_parts.method(m, self.obj, self.name, args, kwargs)
        if isinstance(self.obj, RtText) and text_choices.has_method(self.obj, self.name):
            return text_choices.method(m, self.obj, self.name, args, kwargs)
        if isinstance(self.obj, RtText):
            return text_method(self.obj, self.name, args)
        if self.name == "__iter__":
            return self.obj
        if self.name == "close":
            m.heap.touch(self.obj)
            if self.obj.frame is not None and self.obj.frame.info.guards(self.obj.frame.pc):
                return protocol.call(m, s, m.shim("close_generator"), (self.obj,), {})
            self.obj.finish()
            return None
        if self.name == "throw":
            return _throw_into(m, s, self.obj, args)
        raise CaptureRefusal(f"{instances.type_of(m, self.obj).__name__}.{self.name}", kind="generator")


def _has_not_begun(generator: Any) -> bool:
    frame = generator.frame if isinstance(generator, MGenerator) else None
    return frame is not None and frame.info.instrs[frame.pc - 1].op != "YIELD_VALUE"


def _throw_into(m: Machine, s: State, generator: MGenerator, args: tuple) -> Any:
    """generator.throw: the exception begins at the yield where the generator is suspended."""
    error = next((a for a in args if isinstance(a, BaseException)), None) or args[0]()
    frame = generator.frame
    if frame is None or _has_not_begun(generator):
        m.heap.touch(generator)
        generator.finish()
        raise error
    if frame.instr.op == "RESUME" and (frame.instr.arg or 0) & 3 == 2:
        raise CaptureRefusal("an exception thrown into a generator inside `yield from`", kind="generator")
    iterators.resume(m, s, generator, calls_containers.raise_stop, None)
    frame.stack.pop()
    frame.pc -= 1
    raise Thrown(error)


def special_object_method(m: Machine, obj: Any, name: str) -> Any:
    if isinstance(obj, _OURS):
        return BoundSpecial(obj, name)
    return None


def special_attribute(m: Machine, s: State, obj: Any, name: str) -> Any:
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
        kind = instances.type_of(m, obj)
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
        return instances.type_of(m, obj)
    if isinstance(obj, RtText):
        if name in ("startswith", "endswith") or text_choices.has_method(obj, name) or text_parts.has_method(obj, name):
            return BoundSpecial(obj, name)
        refuse_method(obj, name)
    return NotImplemented


_ABOUT_LOGGING = {"getLogger", "getChild", "isEnabledFor", "getEffectiveLevel", "getLevelName", "hasHandlers"}


def _ask_logging(fn: Any) -> Any:
    """What only looks at loggers is answered as it is while compiling."""
    return lambda m, s, args, kwargs: NotImplemented if m.has_runtime(args) or m.has_runtime(kwargs) else fn(*args, **kwargs)


_PLAIN = {"dtype", "device", "layout", "ndim", "is_cuda", "is_sparse", "is_quantized", "is_meta", "is_mkldnn", "is_mps",
          "is_xla", "is_xpu", "is_nested", "names", "itemsize", "_is_param"}


def _tensor_attribute(m: Machine, s: State, t: torch.Tensor, name: str) -> Any:
    if name in _PLAIN:
        return getattr(t, name)
    if name == "shape":
        shape = t.shape
        return shape if all(type(d) is int for d in shape) else m.recorder.attribute(t, "shape")
    if name == "__class__":
        return instances.type_of(m, t)
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
        return getattr(t, name)
    except AttributeError:
        raise AttributeError(f"'{instances.type_of(m, t).__name__}' object has no attribute '{name}'") from None


def _scalar_attribute(m: Machine, x: RtScalar, name: str) -> Any:
    if name == "real" or name == "numerator" and not isinstance(x, RtFloat):
        return x
    if name == "__class__":
        return instances.type_of(m, x)
    method = shims_numbers.NUMBER_METHODS.get(("float" if isinstance(x, RtFloat) else "int", name))
    if method is not None:
        return types.MethodType(method, x)
    if hasattr(EXAMPLES[x.kind], name):
        raise CaptureRefusal(f"{x.kind}.{name} of a number known only at run time", kind="escape.attribute", because=x)
    raise AttributeError(f"'{x.kind}' object has no attribute '{name}'")


def store_special(m: Machine, s: State, obj: Any, name: str, value: Any) -> bool:
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


def _store_data(m: Machine, obj: torch.Tensor, value: Any) -> bool:
    """t.data = value: a copy, where nobody can tell; value and t share memory afterwards."""
    if value is obj or isinstance(value, torch.Tensor) and m.is_symbolic(value) and not m.is_symbolic(obj) and m.recorder.lift(obj) is value:
        return True  # as module.to() does where nothing is to be changed
    made = m.is_symbolic(value) and value._dycl.parent is None and value is not obj \
        and all(root.handle is not value for root in m.recorder.roots)
    own = isinstance(obj, torch.nn.Parameter) or any(root.handle is obj for root in m.recorder.roots)
    if not (made and own and m.recorder.same_shape(obj, value) and obj.dtype == value.dtype):
        raise CaptureRefusal("the memory of a tensor is replaced (`.data = ...`)", "write into it with copy_", kind="tensor.attribute")
    m.recorder.call(torch.Tensor.copy_, (obj, value), {})
    return True
