# SPDX-License-Identifier: Apache-2.0
"""Builtins and torch functions that the machine answers itself.

`intercept(fn)` finds the handler of a function by identity. A handler gets (machine, state, args,
kwargs) and returns a value, PUSHED, or NotImplemented (then the call takes its usual way).
"""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import itertools
import math
import operator
import random
import sys
import time
import types
import warnings
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor
import torch.utils.checkpoint

from ..host_functions import HostFunction
from .. import host_functions
from . import host_calls, iterators, keys, ndarrays, places, policy, protocol, remembered, shims, tables, unaccelerated
from .arrays import BoundArrayMethod, RtArray
from .diagnostics import CaptureRefusal
from .graph import BOOL, HostNode
from .iterators import MGenerator, RtRange
from .machine import PUSHED, Machine
from .rtlist import ListMethod, RtList
from .runtime_text import RtText, format_value, is_text_of_argument
from .state import State
from .values import RtBool, RtFloat, RtInt, RtScalar, Thrown

_HANDLERS: dict[int, Any] = {}
_KEEP: list = []
_OURS = (MGenerator,)


def handles(*functions):
    def register(f):
        for fn in functions:
            _HANDLERS[id(fn)] = f
            _KEEP.append(fn)
        return f

    return register


def intercept(fn: Any):
    found = _HANDLERS.get(id(fn))
    if found is not None:
        return found
    kind = type(fn)
    if kind is types.MethodType:
        return _autograd_function(fn)
    if issubclass(kind, torch.nn.Module):
        return None
    if isinstance(fn, BoundSpecial):
        return fn.call
    if isinstance(fn, type) and fn.__module__.partition(".")[0] == "tqdm" and hasattr(fn, "set_postfix"):
        return lambda m, s, args, kwargs: protocol.call(m, s, shims.Progress, args, kwargs)
    if isinstance(fn, HostFunction):
        return functools.partial(host_calls.call, fn)
    if isinstance(fn, ListMethod):
        return functools.partial(_list_method, fn)
    if isinstance(fn, BoundArrayMethod):
        return lambda m, s, args, kwargs: m.arrays.method(fn, args, kwargs)
    if isinstance(fn, (np.ufunc, types.FunctionType, types.BuiltinFunctionType, type(np.argmax))):
        module = policy.home(fn) or ("numpy" if isinstance(fn, np.ufunc) else "")
        if module.startswith("numpy"):
            return functools.partial(_numpy, fn)
        if module in ("logging", "warnings"):
            return _ignore
    if isinstance(fn, types.FunctionType) and policy.home(fn) == "torch._dynamo.mutation_guard":
        return _patched_by_dynamo(fn)
    inner = _wrapped_by_torch(fn) if isinstance(fn, types.FunctionType) and fn.__dict__ else None
    if inner is not None:
        return lambda m, s, args, kwargs: protocol.call(m, s, inner, args, kwargs)
    return None


def _autograd_function(fn: types.MethodType) -> Any:
    if isinstance(fn.__self__, type) and fn.__name__ == "apply" and issubclass(fn.__self__, torch.autograd.Function):
        return functools.partial(_autograd_apply, fn.__self__)
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
            return _next_of(m, s, self.obj, args[0] if args else None)
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
        raise CaptureRefusal(f"generator.{self.name}", kind="generator")


def _throw_into(m: Machine, s: State, generator: MGenerator, args: tuple) -> Any:
    """generator.throw: the exception begins at the yield where the generator is suspended."""
    error = next((a for a in args if isinstance(a, BaseException)), None) or args[0]()
    frame = generator.frame
    if frame is None or frame.info.instrs[frame.pc - 1].op != "YIELD_VALUE":  # done, or not yet begun
        m.heap.touch(generator)
        generator.finish()
        raise error
    if frame.instr.op == "RESUME" and (frame.instr.arg or 0) & 3 == 2:
        raise CaptureRefusal("an exception thrown into a generator inside `yield from`", kind="generator")
    iterators.resume(m, s, generator, _raise_stop, None)
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
    if isinstance(obj, MGenerator):
        if not hasattr(types.GeneratorType, name):
            raise AttributeError(f"'generator' object has no attribute '{name}'")
        return BoundSpecial(obj, name)
    if isinstance(obj, iterators.OURS) and not hasattr(_ITERATOR, name):
        raise AttributeError(f"'{_ITERATOR.__name__}' object has no attribute '{name}'")
    if isinstance(obj, RtList):
        if not hasattr([], name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        return ListMethod(obj, name)
    if isinstance(obj, keys.TABLES) and name == "__class__":
        return protocol.type_of(m, obj)
    if isinstance(obj, RtText):
        raise CaptureRefusal(f"str.{name} of text that holds a number known only at run time", kind="escape.str",
                             because=obj)
    return NotImplemented


_ITERATOR = type(iter([]))
_PLAIN = {"dtype", "device", "layout", "ndim", "is_cuda", "is_sparse", "is_quantized", "is_meta", "is_mkldnn", "is_mps",
          "is_xla", "is_xpu", "is_nested", "names", "itemsize", "_is_param"}


def _tensor_attribute(m: Machine, s: State, t: torch.Tensor, name: str) -> Any:
    if name in _PLAIN:
        return getattr(t, name)
    if name == "shape":
        shape = t.shape
        return shape if all(type(d) is int for d in shape) else m.recorder.attribute(t, "shape")
    if name == "__class__":
        return torch.Tensor if m.is_symbolic(t) else type(t)
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
    found = protocol.mro_lookup(torch.Tensor, name)
    if isinstance(found, types.FunctionType):
        return types.MethodType(found, t)
    if isinstance(found, types.MethodDescriptorType) and name in vars(FakeTensor):
        return found.__get__(t)  # torch's own, not the stand-in's
    return getattr(t, name)


def _scalar_attribute(m: Machine, x: RtScalar, name: str) -> Any:
    if name == "real" or name == "numerator" and not isinstance(x, RtFloat):
        return x
    if name == "__class__":
        return protocol.type_of(m, x)
    if hasattr({"int": 0, "float": 0.0, "bool": False}[x.kind], name):
        raise CaptureRefusal(f"{x.kind}.{name} of a number known only at run time", kind="escape.attribute", because=x)
    raise AttributeError(f"'{x.kind}' object has no attribute '{name}'")


def store_special(m: Machine, s: State, obj: Any, name: str, value: Any) -> bool:
    if isinstance(obj, torch.Tensor):
        if name == "requires_grad" and value is not False:
            m.want_gradients(obj)
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


# ---- numbers -----------------------------------------------------------------------------


@handles(int)
def _int(m, s, args, kwargs):
    return _convert(m, s, args, kwargs, "int", "__int__")


@handles(float)
def _float(m, s, args, kwargs):
    return _convert(m, s, args, kwargs, "float", "__float__")


def _convert(m, s, args, kwargs, kind, method):
    if len(args) != 1 or kwargs:
        return NotImplemented
    x = args[0]
    if isinstance(x, RtArray):
        x = x.tensor
    if m.is_tensor(x):
        x = m.tensor_item(x)
        if not isinstance(x, RtScalar):
            return {"int": int, "float": float}[kind](x)
    if isinstance(x, RtScalar):
        return m.scalars.to_int(x) if kind == "int" else m.scalars.to_float(x)
    user = protocol.python_method(x, method)
    if user is not None:
        return protocol.call(m, s, user, (x,), {})
    return NotImplemented


@handles(bool)
def _bool(m, s, args, kwargs):
    if len(args) != 1:
        return NotImplemented
    x = args[0]
    if isinstance(x, RtScalar):
        return m.scalars.to_bool(x)
    if isinstance(x, RtList):
        return m.scalars.compare("gt", m.lists.length(x), 0)
    if isinstance(x, RtArray):
        x = x.tensor
    if m.is_tensor(x):
        return m.tensor_truth(x)
    method = protocol.truth_method(m, x)
    if method is not None:
        result = protocol.call(m, s, method, (), {})
        if result is PUSHED:
            s.frames[-1].on_return = _push_truth
            return PUSHED
        return _truth_of(m, result)
    return bool(x)


def _push_truth(m, s, value):
    s.frames[-1].stack.append(_truth_of(m, value))


def _truth_of(m, value):
    """Of what __bool__ or __len__ gave."""
    return m.scalars.to_bool(value) if isinstance(value, RtScalar) else bool(value)


@handles(operator.truth)
def _truth(m, s, args, kwargs):
    return _bool(m, s, args, kwargs)


@handles(abs)
def _abs(m, s, args, kwargs):
    x = args[0]
    if isinstance(x, RtScalar):
        return m.scalars.absolute(x)
    if m.is_array(x):
        return m.arrays.function(np.abs, (x,), {})
    if m.is_tensor(x):
        return m.recorder.call(torch.abs, (x,), {})
    user = protocol.python_method(x, "__abs__")
    return protocol.call(m, s, user, (x,), {}) if user is not None else NotImplemented


@handles(round)
def _round(m, s, args, kwargs):
    x = args[0]
    if isinstance(x, RtScalar):
        digits = args[1] if len(args) > 1 else kwargs.get("ndigits")
        if digits is None:
            return m.scalars.round(x)
        if type(digits) is not int or not 0 <= digits <= 22:
            raise CaptureRefusal("round() to these digits of a number known only at run time", kind="escape.round", because=x)
        return protocol.call(m, s, shims.round_to, (x, digits), {}) if isinstance(x, RtFloat) else m.scalars.to_int(x)
    if m.is_tensor(x):
        return m.recorder.call(torch.round, args, {"decimals": args[1]} if len(args) > 1 else {})
    return NotImplemented


@handles(pow)
def _pow(m, s, args, kwargs):
    if len(args) == 2 and m.has_runtime(args):
        return protocol.binary(m, s, "pow", args[0], args[1], False)
    if len(args) == 3 and m.has_runtime(args):
        power = protocol.binary(m, s, "pow", args[0], args[1], False)
        return protocol.binary(m, s, "mod", power, args[2], False)
    return NotImplemented


@handles(divmod)
def _divmod(m, s, args, kwargs):
    if m.has_runtime(args):
        a, b = args
        return (protocol.binary(m, s, "floordiv", a, b, False), protocol.binary(m, s, "mod", a, b, False))
    return NotImplemented


def _math(name):
    def call(m, s, args, kwargs):
        args = tuple(m.tensor_item(a) if m.is_tensor(a) else m.tensor_item(a.tensor) if m.is_array(a) else a for a in args)
        if any(isinstance(a, RtScalar) for a in args):
            result = m.scalars.math_call(name, args)
            if result is NotImplemented:
                raise CaptureRefusal(f"math.{name} of a number known only at run time", kind="math",
                                     because=next(a for a in args if isinstance(a, RtScalar)))
            return result
        return getattr(math, name)(*args, **kwargs)

    return call


for _name in dir(math):
    if callable(getattr(math, _name)) and not _name.startswith("_"):
        handles(getattr(math, _name))(_math(_name))

handles(math.isclose)(lambda m, s, args, kwargs: protocol.call(m, s, shims.isclose, args, kwargs))
_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod",
           "pow": "pow", "and_": "and", "or_": "or", "xor": "xor", "matmul": "matmul", "lshift": "lshift",
           "rshift": "rshift"}
for _name, _op in _BINARY.items():
    handles(getattr(operator, _name))(
        lambda m, s, args, kwargs, _op=_op: protocol.binary(m, s, _op, args[0], args[1], False))
for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    handles(getattr(operator, _op))(lambda m, s, args, kwargs, _op=_op: protocol.compare(m, s, _op, args[0], args[1]))


@handles(operator.getitem)
def _getitem(m, s, args, kwargs):
    return protocol.get_item(m, s, *args)


@handles(operator.setitem)
def _setitem(m, s, args, kwargs):
    return protocol.as_call(s, protocol.set_item(m, s, *args))


@handles(operator.neg)
def _neg(m, s, args, kwargs):
    return protocol.unary(m, s, "neg", args[0])


@handles(operator.not_)
def _not(m, s, args, kwargs):
    x = args[0]
    if isinstance(x, RtScalar):
        return m.scalars.unary("not", x)
    return NotImplemented


# ---- lists whose length is known only at run time ---------------------------------------------


def _list_method(method, m, s, args, kwargs):
    if method.name in ("index", "count", "remove", "reverse", "sort", "__contains__", "__iter__"):
        shim = {"index": shims.list_index, "count": shims.list_count}.get(method.name)
        if shim is not None:
            return protocol.call(m, s, shim, (method.target, *args), kwargs)
        if method.name == "__iter__":
            return iterators.get_iter(m, s, method.target)
        if method.name == "__contains__":
            return protocol.contains(m, s, method.target, args[0], False)
    result = m.lists.call(method, args, kwargs)
    if result is NotImplemented:
        return protocol.call_then(m, s, shims.extend_list, (method.target, *args), {}, protocol.push_none)
    return result


def _join_tensors(how):
    def call(m, s, args, kwargs):
        source = args[0] if args else kwargs.get("tensors")
        if not isinstance(source, RtList):
            return NotImplemented
        axis = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
        if isinstance(axis, RtScalar) or kwargs.get("out") is not None:
            raise CaptureRefusal(f"torch.{how} of a list whose length is known only at run time with this argument",
                                 kind="list.stack")
        return m.lists.tensor(source, how, axis)

    return call


handles(torch.cat, torch.concat, torch.concatenate)(_join_tensors("cat"))
handles(torch.stack)(_join_tensors("stack"))


@handles(torch.tensor, torch.as_tensor)
def _tensor_of_list(m, s, args, kwargs):
    if not args or not isinstance(args[0], RtList):
        return NotImplemented
    return m.lists.numbers(args[0], kwargs.get("dtype", args[1] if len(args) > 1 else None))


def _legacy_tensor(dtype):
    def call(m, s, args, kwargs):
        exact = dtype() if dtype().is_floating_point else None  # for integers it is asked first whether they were floats
        if len(args) == 1 and type(args[0]) in (list, tuple) and m.has_runtime(args[0]):
            made = m.recorder.call(torch.tensor, (args[0],), {"dtype": exact})
        elif len(args) == 1 and isinstance(args[0], RtList):
            made = m.lists.numbers(args[0], exact)
        else:
            return NotImplemented
        if made.dtype.is_floating_point and not dtype().is_floating_point:
            raise CaptureRefusal("integers made of floats known only at run time", "round them first", kind="build.data")
        return made if made.dtype == dtype() else m.recorder.call(torch.Tensor.to, (made, dtype()), {})

    return call


handles(torch.Tensor)(_legacy_tensor(torch.get_default_dtype))
for _class, _dtype in ((torch.FloatTensor, torch.float32), (torch.DoubleTensor, torch.float64), (torch.LongTensor, torch.int64),
                       (torch.IntTensor, torch.int32), (torch.BoolTensor, torch.bool)):
    handles(_class)(_legacy_tensor(lambda dtype=_dtype: dtype))


@handles(torch.Tensor.new_tensor)
def _new_tensor_of_list(m, s, args, kwargs):
    if len(args) < 2 or not isinstance(args[1], RtList):
        return NotImplemented
    return m.lists.numbers(args[1], kwargs.get("dtype") or args[0].dtype)


def _draws(shim):
    def call(m, s, args, kwargs):
        if m.has_runtime(args) or kwargs or not all(type(x) in (int, float) for x in args):
            return NotImplemented
        return protocol.call(m, s, m.shim(shim), args, {})

    return call


handles(np.random.uniform, random.uniform)(_draws("drawn_between"))
handles(random.random)(_draws("drawn"))


def _resize_antialiased(cubic):
    def call(m, s, args, kwargs):
        x, size = args[0], args[1] if len(args) > 1 else kwargs.get("output_size")
        factors = args[3:] or [v for k, v in kwargs.items() if k.startswith("scale")]
        if kwargs.keys() & {"input"} or size is None or any(f is not None for f in factors) or x.dtype not in (torch.float32, torch.float64):
            return NotImplemented
        corners = args[2] if len(args) > 2 else kwargs.get("align_corners", False)
        return protocol.call(m, s, shims.resize_antialiased, (x, size, cubic, corners), {})

    return call


handles(torch._C._nn._upsample_bicubic2d_aa)(_resize_antialiased(True))
handles(torch._C._nn._upsample_bilinear2d_aa)(_resize_antialiased(False))


@handles(torch._C._nn.pad_sequence)
def _pad_sequence(m, s, args, kwargs):
    if not args or not isinstance(args[0], RtList):
        return NotImplemented
    return protocol.call(m, s, shims.pad_list, args, kwargs)


@handles(torch.split, torch.Tensor.split, torch.split_with_sizes, torch.Tensor.split_with_sizes)
def _split(m, s, args, kwargs):
    sizes = args[1] if len(args) > 1 else kwargs.get("split_size_or_sections", kwargs.get("split_size"))
    if not isinstance(sizes, RtList):
        return NotImplemented
    dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
    return protocol.call(m, s, shims.split_by, (args[0], sizes, dim), {})


# ---- containers and iteration -----------------------------------------------------------


@handles(len)
def _len(m, s, args, kwargs):
    (x,) = args
    if isinstance(x, RtList):
        return m.lists.length(x)
    if isinstance(x, RtArray):
        x = x.tensor
    if m.is_tensor(x):
        if x.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return x.shape[0] if type(x.shape[0]) is int else m.recorder.attribute(x, "shape")[0]
    user = protocol.python_method(x, "__len__")
    if user is not None:
        return protocol.call(m, s, user, (x,), {})
    if isinstance(x, RtRange):
        raise CaptureRefusal("the length of a range known only at run time", kind="range")
    if isinstance(x, (list, dict, set)):
        m.note_load(x, "*")
    return len(x)


@handles(range)
def _range(m, s, args, kwargs):
    args = tuple(m.tensor_item(a) if m.is_tensor(a) else m.tensor_item(a.tensor) if m.is_array(a) else a for a in args)
    if not any(isinstance(a, RtScalar) for a in args):
        return range(*args)
    if any(isinstance(a, RtFloat) for a in args):
        raise TypeError("'float' object cannot be interpreted as an integer")
    args = tuple(m.scalars.to_int(a) if isinstance(a, RtScalar) else a for a in args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    if isinstance(step, RtScalar):
        return protocol.call(m, s, shims.range_by, (start, stop, step), {})
    return RtRange(start, stop, step)


@handles(iter)
def _iter(m, s, args, kwargs):
    if len(args) == 2:
        return protocol.call(m, s, shims.iter_sentinel, args, {})
    return iterators.get_iter(m, s, args[0])


@handles(next)
def _next(m, s, args, kwargs):
    if len(args) == 2:
        return protocol.call(m, s, shims.next_default, args, {})
    return _next_of(m, s, args[0], None)


def _next_of(m, s, iterator, sent):
    result = iterators.next_item(m, s, iterator, exhausted=_raise_stop, sent=sent)
    if result is iterators.DONE:
        raise StopIteration
    return result


def _raise_stop(m, s, value):
    m.pending = StopIteration() if value is None else StopIteration(value)
    raise m.pending


def _from_iterable(native, shim, keeps=()):
    def build(m, s, args, kwargs):
        if kwargs:
            return NotImplemented
        if not args:
            return () if native is tuple else keys.made(m, set()) if native is set else m.new(native())
        source = args[0]
        if native is set and isinstance(source, tables.RtSet):
            return protocol.call(m, s, tables.RtSet.copy, (source,), {})
        if isinstance(source, keeps) and type(source) is native and native is tuple:
            return source
        if isinstance(source, RtList) and native in (list, tuple):
            return m.lists.frozen(source, native is tuple)
        items = iterators.materialise(m, source)
        if items is None or native is set and (keys.wanted(m) or any(map(keys.at_run_time, items))):
            return protocol.call(m, s, shim, (source if items is None else tuple(items),), {})
        made = native(items)
        return made if native in (tuple, frozenset) else keys.made(m, made) if native is set else m.new(made)

    return build


handles(list)(_from_iterable(list, shims.make_list))
handles(tuple)(_from_iterable(tuple, shims.make_tuple, (tuple,)))
handles(set)(_from_iterable(set, shims.make_set))
handles(collections.deque)(lambda m, s, args, kwargs: m.new(collections.deque(*args, **kwargs)) if not args or isinstance(
    args[0], (list, tuple)) else NotImplemented)


def _dict(cls):
    def build(m, s, args, kwargs):
        if not args:
            return keys.made(m, cls(**kwargs))
        source = args[0]
        if isinstance(source, dict):
            m.note_load(source, "*")
            return keys.made(m, cls(source, **kwargs))
        if isinstance(source, tables.RtDict):
            return protocol.call(m, s, tables.copy_with, (keys.as_table(m, cls()), source, kwargs), {})
        if hasattr(type(source), "keys"):
            if cls is not dict:
                raise CaptureRefusal(f"{cls.__name__} of a {type(source).__name__}", "make a dict of it first", kind="builtin")
            return protocol.call(m, s, shims.make_mapping, (source, kwargs), {})
        items = iterators.materialise(m, source)
        if items is None or cls is dict and (keys.wanted(m) or any(
                keys.at_run_time(x[0]) for x in items if isinstance(x, (tuple, list)) and len(x) > 0)):
            if cls is dict:
                return protocol.call(m, s, shims.make_dict, (source if items is None else tuple(items), kwargs), {})
            return NotImplemented
        return keys.made(m, cls(items, **kwargs))

    return build


handles(dict)(_dict(dict))
handles(collections.OrderedDict)(_dict(collections.OrderedDict))


@handles(collections.defaultdict)
def _defaultdict(m, s, args, kwargs):
    return keys.made(m, collections.defaultdict(*args, **kwargs), args[0] if args else None)


@handles(collections.Counter)
def _counter(m, s, args, kwargs):
    if keys.wanted(m):
        table = keys.as_table(m, collections.Counter())
        return protocol.call(m, s, tables.count, (table, args[0] if args else None, m.new(dict(kwargs))), {})
    made = keys.made(m, collections.Counter())
    result = protocol.call(m, s, collections.Counter.__init__, (made, *args), kwargs)
    if result is PUSHED:
        s.frames[-1].result = (made,)
        return PUSHED
    return made


# ---- tables: dicts and sets with keys known only at run time -------------------------------------


@handles(tables.same_key)
def _same_key(m, s, args, kwargs):
    a, b = args
    if isinstance(a, RtList) or isinstance(b, RtList):
        if not all(isinstance(x, (RtList, tuple)) for x in args):
            return False
        return protocol.call(m, s, shims.equal_sequences, (a, b), {})
    return keys.equal(m, a, b)


@handles(tables.check_key)
def _check_key(m, s, args, kwargs):
    keys.check(m, args[0])


@handles(tables.new_table)
def _new_table(m, s, args, kwargs):
    return keys.new_like(m, *args)


@handles(tables.view)
def _new_view(m, s, args, kwargs):
    return keys.new_view(m, *args)


@handles(tables.elements)
def _elements(m, s, args, kwargs):
    return keys.elements(m, args[0])


@handles(tables.refuse)
def _refuse_table(m, s, args, kwargs):
    raise CaptureRefusal(args[0], "use lists, or sorted(...) of a set", kind="escape.hash")


for _fn, _shim in ((enumerate, shims.enumerate_), (map, shims.map_), (filter, shims.filter_),
                   (zip, shims.zip_), (itertools.chain, shims.chain_), (itertools.takewhile, shims.takewhile_),
                   (itertools.accumulate, shims.accumulate_), (functools.reduce, shims.reduce_),
                   (itertools.chain.from_iterable, shims.chain_from_iterable), (itertools.groupby, shims.groupby_),
                   (itertools.dropwhile, shims.dropwhile_), (itertools.starmap, shims.starmap_),
                   (itertools.islice, shims.islice_), (itertools.pairwise, shims.pairwise_),
                   (itertools.zip_longest, shims.zip_longest_), (itertools.compress, shims.compress_),
                   *(((itertools.batched, shims.batched_),) if sys.version_info >= (3, 12) else ())):
    handles(_fn)(lambda m, s, args, kwargs, _shim=_shim: protocol.call(m, s, _shim, args, kwargs))

handles(shims.keep_remembered)(lambda m, s, args, kwargs: remembered.keep(m, args[0]))
handles(functools.lru_cache)(lambda m, s, args, kwargs: protocol.call(m, s, shims.lru_cache, args, kwargs))

for _fn, _plain in unaccelerated.functions():
    handles(_fn)(lambda m, s, args, kwargs, _plain=_plain: protocol.call(m, s, _plain, args, kwargs))


@handles(reversed)
def _reversed(m, s, args, kwargs):
    x = args[0]
    user = protocol.python_method(x, "__reversed__")
    if user is not None:
        return protocol.call(m, s, user, (x,), {})
    if isinstance(x, (list, dict)):
        m.note_load(x, "*")
    if isinstance(x, list):
        return m.new(iterators.LiveIter(x, "reversed", range(len(x) - 1, -1, -1)))
    if isinstance(x, (tuple, range, str)):
        return m.new(iterators.SeqIter(list(reversed(x))))
    if isinstance(x, dict) or type(x) in iterators._VIEWS:
        return m.new(iterators.SeqIter(list(reversed(x))))
    return protocol.call(m, s, shims.reversed_, (x,), {})


for _fn, _shim in ((any, shims.any_), (all, shims.all_)):
    handles(_fn)(lambda m, s, args, kwargs, _shim=_shim: protocol.call(m, s, _shim, args, kwargs))


@handles(sum)
def _sum(m, s, args, kwargs):
    items = args[0]
    if isinstance(items, (list, tuple)) and not m.has_runtime(items) and len(args) == 1 and not kwargs:
        return sum(items)
    return protocol.call(m, s, shims.sum_ if sys.version_info < (3, 12) else shims.sum_compensated, args, kwargs)


def _extreme(native, shim):
    def call(m, s, args, kwargs):
        key, default = kwargs.get("key"), kwargs.get("default", shims._MISSING)
        items = _unordered(m, args[0], key) if len(args) == 1 else args
        if key is None and isinstance(items, (list, tuple, dict, set, range)) and not m.has_runtime(items) and all(
                type(x) in (int, float, str, bool, tuple) for x in items):
            return native(*args, **kwargs)
        if key is None and len(args) == 2 and any(isinstance(a, RtScalar) for a in args) and _same_kind(args):
            return _scalar_extreme(m, native.__name__, args)
        return protocol.call(m, s, shim, (items, key, default), {})

    return call


def _same_kind(args):
    kinds = {a.kind if isinstance(a, RtScalar) else type(a).__name__ for a in args}
    return len(kinds) == 1 and kinds <= {"int", "float"}


def _scalar_extreme(m, name, args):
    kind = next(a.kind for a in args if isinstance(a, RtScalar))
    values = [m.scalars.value(a, kind) for a in args]
    rt = next(a for a in args if isinstance(a, RtScalar))
    return m.scalars.host(f"{kind}.{name}", *values, type=rt.type)


handles(max)(_extreme(max, shims.max_))
handles(min)(_extreme(min, shims.min_))


def _unordered(m, source, key):
    """The elements of a set of run time, where their order does not matter: ints, or texts and tuples that differ."""
    return keys.elements(m, source) if isinstance(source, tables.RtSet) and key is None else source


@handles(sorted)
def _sorted(m, s, args, kwargs):
    args = (_unordered(m, args[0], kwargs.get("key")), *args[1:])
    items = iterators.materialise(m, args[0]) if not isinstance(args[0], iterators.SeqIter) else None
    if items is not None and kwargs.get("key") is None and not m.has_runtime(items) and all(
            type(x) in (int, float, str, bool, tuple) for x in items):
        return m.new(sorted(items, **kwargs))
    return protocol.call(m, s, shims.sorted_, args, kwargs)


@handles(shims.same)
def _same(m, s, args, kwargs):
    a, b = args
    if isinstance(a, (RtScalar, RtArray)) or isinstance(b, (RtScalar, RtArray)):
        if a is not b and isinstance(a, RtFloat) and isinstance(b, RtFloat) and not (_is_new(m, a) and _is_new(m, b)):
            _refuse_not_a_number(m, a, b)
        return a is b  # a NaN is in the list that holds it
    return protocol.same_object(m, a, b)


def _is_new(m, x):
    """A float that was computed: an object of its own, not one of several that paths or `max` have chosen from."""
    node = m.recorder.producers.get(x.value)
    return isinstance(node, HostNode) and (node.op == "item" or node.op.startswith("float.") and node.op not in ("float.max", "float.min"))


def _refuse_not_a_number(m, a, b):
    """Whether two floats are one object matters only if both are NaN, and then the run fails."""
    both = m.scalars.binary("and", *(m.scalars.host("float.isnan", x.value, type=BOOL) for x in (a, b)))
    m.recorder.check(m.scalars.unary("not", both).value, "whether two floats that are no numbers are one object is not known in a compiled "
                     "program", "RuntimeError")


@handles(shims.put_choice)
def _put_choice(m, s, args, kwargs):
    """The value that an attribute has when the program starts: neither read nor written by it."""
    owner, name, value = args
    m.heap.touch(owner)
    places.write(owner, name, value)
    return None


@handles(shims.plain_binary)
def _plain_binary(m, s, args, kwargs):
    op, a, b = args
    return protocol.binary(m, s, op, a, b, False)


@handles(torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward)
def _gradients(m, s, args, kwargs):
    raise CaptureRefusal("gradients inside the model", "compute them outside", kind="autograd")


# ---- objects -----------------------------------------------------------------------------------


@handles(isinstance)
def _isinstance(m, s, args, kwargs):
    return protocol.is_instance(m, *args)


_WITHOUT_OVERRIDES = {FakeTensor, torch.Tensor, torch.nn.Parameter, type(None), bool, int, float, str, RtInt, RtFloat, RtBool}


def _asks_for_overrides(fn: Any) -> None:
    """Functions of torch.nn.functional ask first whether an argument brings its own implementation; others are torch's to tell."""

    @handles(fn)
    def answer(m, s, args, kwargs):
        given = args[0] if fn is torch._C._has_torch_function and len(args) == 1 and type(args[0]) is tuple else args
        return NotImplemented if kwargs or not _WITHOUT_OVERRIDES.issuperset(map(type, given)) else fn(*args)


for _fn in (torch._C._has_torch_function, torch._C._has_torch_function_unary, torch._C._has_torch_function_variadic):
    _asks_for_overrides(_fn)


@handles(torch._subclasses.fake_tensor.is_fake)
def _is_fake(m, s, args, kwargs):
    return False if m.is_symbolic(args[0]) else NotImplemented


@handles(type)
def _type(m, s, args, kwargs):
    if len(args) == 1:
        return protocol.type_of(m, args[0])
    raise CaptureRefusal("a class made while the model runs", kind="class-statement")


@handles(getattr)
def _getattr(m, s, args, kwargs):
    if len(args) == 3:
        obj, name, default = args
        if not _may_run_code(obj, name):
            try:
                return protocol.load_attr(m, s, obj, name)
            except AttributeError:
                return default
        return protocol.call(m, s, shims.getattr_default, args, {})
    return protocol.load_attr(m, s, *args)


@handles(hasattr)
def _hasattr(m, s, args, kwargs):
    if not _may_run_code(*args):
        try:
            protocol.load_attr(m, s, *args)
            return True
        except AttributeError:
            return False
    return protocol.call(m, s, shims.has_attribute, args, {})


def _may_run_code(obj: Any, name: str) -> bool:
    if isinstance(obj, (torch.Tensor, RtScalar, types.ModuleType, type)):
        return False
    cls = type(obj)
    attr = protocol.mro_lookup(cls, name)
    if isinstance(attr, (property, functools.cached_property)):
        return True
    for special in ("__getattr__", "__getattribute__"):
        custom = protocol.mro_lookup(cls, special)
        if isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__getattr__:
            return True
    return isinstance(obj, super)


@handles(setattr)
def _setattr(m, s, args, kwargs):
    return protocol.as_call(s, protocol.store_attr(m, s, *args))


@handles(object.__setattr__)
def _object_setattr(m, s, args, kwargs):
    return protocol.as_call(s, protocol.store_default(m, s, *args))


@handles(object.__getattribute__)
def _object_getattribute(m, s, args, kwargs):
    return protocol.default_attr(m, s, *args, fallback=False)


@handles(torch.nn.Module.__setattr__)
def _module_setattr(m, s, args, kwargs):
    return protocol.as_call(s, protocol.store_default(m, s, *args))


@handles(torch.nn.Module.__getattr__)
def _module_getattr(m, s, args, kwargs):
    obj, name = args
    for table in ("_parameters", "_buffers", "_modules"):
        entries = obj.__dict__.get(table)
        if entries is not None:
            m.note_load(entries, name)
            if name in entries:
                return entries[name]
    raise AttributeError(f"'{type(obj).__name__}' object has no attribute '{name}'")


@handles(delattr)
def _delattr(m, s, args, kwargs):
    return protocol.as_call(s, protocol.delete_attr(m, s, *args))


@handles(super)
def _super(m, s, args, kwargs):
    if args:
        return super(*args)
    frame = s.frames[-1]
    index = frame.info.local_index
    cls = frame.locals[index["__class__"]].cell_contents
    me = frame.locals[0]
    return super(cls, me.cell_contents if isinstance(me, types.CellType) else me)


@handles(callable)
def _callable(m, s, args, kwargs):
    return callable(args[0]) and not isinstance(args[0], RtScalar)


@handles(id)
def _id(m, s, args, kwargs):
    if isinstance(args[0], RtScalar):
        raise CaptureRefusal("id() of a number known only at run time", kind="escape.id", because=args[0])
    if id(args[0]) in m.heap.fragile:
        m.heap.refuse_fragile(args[0])
    return id(args[0])


@handles(hash)
def _hash(m, s, args, kwargs):
    user = protocol.python_method(args[0], "__hash__")
    return protocol.call(m, s, user, (args[0],), {}) if user is not None else NotImplemented


@handles(str)
def _str(m, s, args, kwargs):
    if args and isinstance(args[0], BaseException) and is_text_of_argument(args[0]):
        args = args[0].args
    if args and isinstance(args[0], (RtScalar, RtText)):
        return RtText.join([args[0] if isinstance(args[0], RtText) else RtText((args[0],))])
    if args and type(args[0]) in (list, tuple) and m.has_runtime(args[0]):
        return format_value(m, s, args[0], "", 0)
    if args and m.has_runtime(args[0]):
        raise CaptureRefusal("str() of a value known only at run time", kind="escape.str")
    if args:
        user = protocol.python_method(args[0], "__str__") or protocol.python_method(args[0], "__repr__")
        if user is not None and not isinstance(args[0], torch.nn.Module):
            return protocol.call(m, s, user, (args[0],), {})
    return NotImplemented


@handles(repr)
def _repr(m, s, args, kwargs):
    if isinstance(args[0], RtScalar):
        return RtText((args[0],))
    if m.has_runtime(args[0]):
        raise CaptureRefusal("repr() of a value known only at run time", kind="escape.repr")
    return NotImplemented


@handles(locals, globals, vars, eval, exec, compile, open, input, breakpoint)
def _refused(m, s, args, kwargs):
    raise CaptureRefusal("a builtin that looks at the running program or the outside world", kind="builtin")


@handles(builtins.vars)
def _vars(m, s, args, kwargs):
    if len(args) == 1:
        return protocol.load_attr(m, s, args[0], "__dict__")
    raise CaptureRefusal("vars() of the running function", kind="builtin")


@handles(print)
def _print(m, s, args, kwargs):
    if set(kwargs) - {"sep", "end", "flush"}:
        raise CaptureRefusal("print to a file", kind="print")
    pieces: list = []
    for k, arg in enumerate(args):
        if k:
            pieces.append(kwargs.get("sep") or " ")
        if isinstance(arg, (RtScalar, RtText)):
            pieces.append(arg)
        elif m.has_runtime(arg):
            if isinstance(arg, torch.Tensor) and m.recorder.static(arg) is not None:
                pieces.append(str(m.recorder.static(arg)))
            else:
                raise CaptureRefusal("print of a tensor known only at run time", "print tensor.item(), or remove it",
                                     kind="print")
        else:
            pieces.append(str(arg))
    pieces.append("\n" if kwargs.get("end") is None else kwargs["end"])
    text, values = _template(pieces)
    node = HostNode("print", [v.value for v in values], [], {"format": text}, m.recorder.span)
    m.recorder.append(node)
    return None


def _template(pieces):
    joined = RtText.join([p if isinstance(p, (str, RtText)) else RtText((p,)) for p in pieces])
    if isinstance(joined, RtText) and not joined.exact:
        raise CaptureRefusal("print of a tensor, or of a number with a format, known only at run time",
                             "print tensor.item() without a format", kind="print", because=joined)
    if isinstance(joined, str):
        return joined.replace("{", "{{").replace("}", "}}"), []
    return joined.template()


def _ignore(m, s, args, kwargs):
    return None


handles(warnings.warn)(_ignore)


@handles(copy.copy)
def _copy(m, s, args, kwargs):
    x = args[0]
    if isinstance(x, RtScalar):
        return x
    if m.is_tensor(x):
        return m.recorder.call(torch.Tensor.detach, (x,), {})
    if type(x) in (list, dict, set):
        m.note_load(x, "*")
        return m.new(x.copy())
    return NotImplemented


@handles(copy.deepcopy)
def _deepcopy(m, s, args, kwargs):
    return _deep(m, args[0], {})


def _deep(m, x, memo):
    if id(x) in memo:
        return memo[id(x)]
    if isinstance(x, RtScalar):
        return x
    if m.is_tensor(x):
        memo[id(x)] = made = m.recorder.call(torch.clone, (x,), {})
        return made
    if type(x) in (list, dict):
        m.note_load(x, "*")
    if type(x) is list:
        made = memo[id(x)] = m.new([])
        made.extend(_deep(m, y, memo) for y in x)
        return made
    if type(x) is dict:
        made = memo[id(x)] = m.new({})
        made.update((k, _deep(m, v, memo)) for k, v in x.items())
        return made
    if type(x) is tuple:
        return tuple(_deep(m, y, memo) for y in x)
    if x is None or isinstance(x, (int, float, str, bytes, bool, type, types.FunctionType, torch.dtype, torch.device)):
        return x
    if m.has_runtime(x):
        raise CaptureRefusal(f"copy.deepcopy of a {type(x).__name__}", kind="deepcopy")
    if hasattr(x, "__dict__") and not hasattr(type(x), "__deepcopy__") and type(x).__reduce_ex__ is object.__reduce_ex__:
        made = memo[id(x)] = m.new(object.__new__(type(x)))
        made.__dict__.update((k, _deep(m, v, memo)) for k, v in x.__dict__.items())
        return made
    return copy.deepcopy(x)


# ---- torch --------------------------------------------------------------------------------------


@handles(torch.is_grad_enabled, torch.is_inference_mode_enabled, torch.is_autocast_enabled,
         torch.backends.mha.get_fastpath_enabled, torch.jit.is_scripting, torch.jit.is_tracing,
         torch.compiler.is_compiling, torch._jit_internal.is_scripting, torch._C._get_tracing_state,
         torch.compiler.is_dynamo_compiling, torch.compiler.is_exporting)
def _false(m, s, args, kwargs):
    return False


handles(torch._C._get_tracing_state)(lambda m, s, args, kwargs: None)


@handles(torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled, torch.autograd.set_grad_enabled,
         torch.autograd.profiler.record_function, torch.profiler.record_function)
def _null_context(m, s, args, kwargs):
    if args and isinstance(args[0], types.FunctionType):
        return args[0]
    return m.new(shims.NullContext())


@handles(*(getattr(c, name) for c in (torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled)
           for name in ("__enter__", "__exit__")))
def _outside_context(m, s, args, kwargs):
    """Of one made outside (a decorator's): entered for real it would change how capture itself runs, and outlast the path."""
    return None


@handles(torch.autocast, torch.amp.autocast)
def _autocast(m, s, args, kwargs):
    enabled = kwargs.get("enabled", args[2] if len(args) > 2 else True)
    if enabled and not (args and args[0] == "cuda" or kwargs.get("device_type") == "cuda"):
        raise _autocast_refusal()
    return m.new(shims.NullContext())


@handles(torch.cuda.amp.autocast)
def _cuda_autocast(m, s, args, kwargs):
    return m.new(shims.NullContext())


@handles(torch.amp.autocast.__enter__, torch.cuda.amp.autocast.__enter__)
def _enter_autocast(m, s, args, kwargs):
    """Of one made outside: a decorator's."""
    if args[0]._enabled and args[0].device != "cuda":
        raise _autocast_refusal()
    return args[0]


@handles(torch.amp.autocast.__exit__, torch.cuda.amp.autocast.__exit__)
def _exit_autocast(m, s, args, kwargs):
    return False


def _autocast_refusal() -> CaptureRefusal:
    return CaptureRefusal("torch.autocast changes the precision of what is inside",
                          "cast the model explicitly, or pass enabled=False", kind="autocast")


@handles(torch._assert)
def _torch_assert(m, s, args, kwargs):
    condition, message = args
    if isinstance(condition, RtScalar) or m.is_tensor(condition):
        if not m.truth(condition):
            raise AssertionError(message if isinstance(message, str) else "assertion failed")
        return None
    assert condition, message
    return None


@handles(torch._check)
def _torch_check(m, s, args, kwargs):
    if not m.truth(args[0]):
        raise RuntimeError("torch._check failed")


@handles(torch._check_with)
def _torch_check_with(m, s, args, kwargs):
    if not m.truth(args[1]):
        raise args[0]("torch._check failed")


@handles(torch._check_tensor_all)
def _torch_check_all(m, s, args, kwargs):
    return _check_elements(m, RuntimeError, args[0])


@handles(torch._check_tensor_all_with)
def _torch_check_all_with(m, s, args, kwargs):
    return _check_elements(m, args[0], args[1])


def _check_elements(m, error, condition):
    if not m.truth(m.recorder.call(torch.all, (condition,), {})):
        raise error("torch._check_tensor_all failed")


def _direct(fn):
    """A function of torch that only looks at dtypes and shapes."""

    def call(m, s, args, kwargs):
        if m.has_stand_in(args) or m.has_stand_in(kwargs):
            return NotImplemented
        return fn(*args, **kwargs)

    return call


for _fn in (torch.promote_types, torch.result_type, torch.can_cast, torch.finfo, torch.iinfo, torch.is_tensor,
            torch.is_floating_point, torch.is_complex, torch.get_default_dtype, torch.device, torch.get_default_device,
            torch.is_storage, torch.typename, torch.cuda.is_available, torch.cuda.device_count, torch.get_num_threads):
    handles(_fn)(_direct(_fn))


@handles(torch.Size)
def _size(m, s, args, kwargs):
    items = iterators.materialise(m, args[0]) if args else []
    if items is None:
        return protocol.call(m, s, shims.make_size, args, {})
    return shims.RtSize(items) if any(isinstance(x, RtScalar) for x in items) else torch.Size(items)


@handles(torch._C._nn.one_hot, torch.nn.functional.one_hot)
def _one_hot(m, s, args, kwargs):
    """A comparison with 0, 1, 2, ...; what torch makes of it while it is recorded checks no class."""
    indices = args[0] if args else kwargs["tensor"]
    classes = args[1] if len(args) > 1 else kwargs.get("num_classes", -1)
    if m.is_tensor(classes):
        classes = m.tensor_item(classes)
    if type(classes) is int and classes < 0 and m.is_symbolic(indices) and m.recorder.static(indices) is None:
        top = m.tensor_item(m.recorder.call(torch.max, (indices,), {}))
        classes = m.scalars.binary("add", top, 1)
    checked = m.is_symbolic(indices) and m.recorder.static(indices) is None and indices.dtype == torch.int64
    if not isinstance(classes, RtScalar) and not (checked and type(classes) is int and classes > 0):
        return NotImplemented if not args or not m.is_tensor(args[1] if len(args) > 1 else None) else \
            m.recorder.call(torch._C._nn.one_hot, (indices, classes), {})
    numbers = m.recorder.call(torch.arange, (classes,), {})
    flat = m.recorder.call(torch.reshape, (indices, (-1,)), {})
    flat = m.recorder.call(torch.gather, (numbers, 0, flat), {})  # fails for a class that is out of range
    column = m.recorder.call(torch.unsqueeze, (m.recorder.call(torch.Tensor.view_as, (flat, indices), {}), -1), {})
    return m.recorder.call(torch.Tensor.to, (m.recorder.call(torch.eq, (column, numbers), {}), torch.int64), {})


def _checking(error: type[Exception]):
    def call(m, s, args, kwargs):
        if not m.truth(args[0] if args else kwargs["cond"]):
            raise error("a check of torch failed")

    return call


for _name, _error in {"_check_value": ValueError, "_check_index": IndexError, "_check_type": TypeError,
                      "_check_not_implemented": NotImplementedError}.items():
    if hasattr(torch, _name):
        handles(getattr(torch, _name))(_checking(_error))


@handles(*(getattr(torch, _name) for _name in ("_check_is_size",) if hasattr(torch, _name)))
def _check_is_size(m, s, args, kwargs):
    size, most = args[0] if args else kwargs["i"], kwargs.get("max")
    for comparison, bound in (("ge", 0), ("le", most)):
        if bound is not None:
            holds = m.scalars.compare(comparison, size, bound) if isinstance(size, RtScalar) or isinstance(bound, RtScalar) \
                else getattr(operator, comparison)(size, bound)
            if not m.truth(holds):
                raise RuntimeError("torch._check_is_size failed")


handles(torch._dynamo.mark_dynamic if hasattr(torch, "_dynamo") and False else _ignore)(_ignore)


def _cond(m, s, args, kwargs):
    return protocol.call(m, s, shims.cond, args, kwargs)


def _while_loop(m, s, args, kwargs):
    return protocol.call(m, s, shims.while_loop, args, kwargs)


def _map(m, s, args, kwargs):
    return protocol.call(m, s, shims.map_over, args, kwargs)


handles(torch.cond)(_cond)
handles(torch._higher_order_ops.while_loop)(_while_loop)
try:
    from functorch.experimental import control_flow as _control_flow

    handles(_control_flow.cond)(_cond)
    handles(_control_flow.map)(_map)
except ImportError:
    pass


@handles(torch.manual_seed, torch.seed, torch.random.manual_seed)
def _seed(m, s, args, kwargs):
    raise CaptureRefusal("torch.manual_seed inside the model", "seed before the run", kind="random.seed")


def _clock(function):
    """A clock is read when the program runs: a host function under the clock's own name."""
    name = f"time.{function.__name__}"

    def call(m, s, args, kwargs):
        known = host_functions.registered.get(name) or host_functions.host_function(function, name=name, results=float)
        return host_calls.call(known, m, s, (), {})

    return call


for _fn in (time.time, time.perf_counter, time.monotonic, time.process_time):
    handles(_fn)(_clock(_fn))


@handles(torch.utils.hooks.RemovableHandle)
def _removable_handle(m, s, args, kwargs):
    """Made as it is: it keeps weak references to the tables of hooks, which must not be copied; its number is nobody's state."""
    return m.new(torch.utils.hooks.RemovableHandle(*args, **kwargs))


@handles(torch.utils.checkpoint.checkpoint)
def _checkpoint(m, s, args, kwargs):
    """Recomputation is a matter of training."""
    own = ("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop")
    return protocol.call(m, s, args[0], args[1:], {k: v for k, v in kwargs.items() if k not in own})


def _autograd_apply(cls, m, s, args, kwargs):
    context = m.new(types.SimpleNamespace(save_for_backward=_ignore_python, mark_non_differentiable=_ignore_python,
                                          set_materialize_grads=_ignore_python, mark_dirty=_ignore_python,
                                          needs_input_grad=(False,) * len(args)))
    forward = protocol.mro_lookup(cls, "forward")
    if isinstance(forward, classmethod):
        forward = types.MethodType(forward.__func__, cls)
    elif isinstance(forward, staticmethod):
        forward = forward.__func__
    if "setup_context" in cls.__dict__:
        return protocol.call(m, s, forward, args, kwargs)
    return protocol.call(m, s, forward, (context, *args), kwargs)


def _ignore_python(*args, **kwargs):
    return None


handles(_ignore_python)(_ignore)


# ---- numpy ---------------------------------------------------------------------------------------


def _numpy(fn, m, s, args, kwargs):
    if m.has_runtime(args) or m.has_runtime(kwargs):
        if m.has_tensor(args) and all(
                not m.is_symbolic(a) or m.recorder.static(a) is not None for a in _leaves(args)) and not _rt(args):
            return ndarrays.run(m, fn, _static_tree(m, args), kwargs)
        return m.arrays.function(fn, args, kwargs)
    if (getattr(fn, "__module__", "") or "").startswith("numpy.random"):
        policy.check_native(m, fn)
    return ndarrays.run(m, fn, args, kwargs)


def _leaves(tree):
    if isinstance(tree, (list, tuple)):
        for x in tree:
            yield from _leaves(x)
    else:
        yield tree


def _rt(tree) -> bool:
    return any(isinstance(x, (RtScalar, RtArray)) for x in _leaves(tree))


def _static_tree(m, tree):
    if isinstance(tree, torch.Tensor):
        with m.recorder.without_modes():
            real = m.recorder.static(tree) if m.is_symbolic(tree) else tree
        return ndarrays.of_tensor(m, tree, real)
    if isinstance(tree, (list, tuple)):
        return type(tree)(_static_tree(m, x) for x in tree)
    return tree


assert PUSHED is not None and RtInt is not None


_SHOWING = {"update", "close", "refresh", "clear", "display", "write", "unpause", "set_description", "set_description_str",
            "set_postfix", "set_postfix_str"}


@handles(shims.progress_method)
def _progress_method(m, s, args, kwargs):
    if args[0] in _SHOWING:
        return shims.shown
    if args[0].startswith("__"):
        raise AttributeError(args[0])
    raise CaptureRefusal(f"{args[0]} of a progress bar", "count yourself", kind="builtin")


@handles(torch.sparse_coo_tensor, torch.sparse_csr_tensor, torch.sparse_csc_tensor, torch.sparse_bsr_tensor,
         torch.sparse_bsc_tensor, torch.sparse_compressed_tensor)
def _sparse_tensor(m, s, args, kwargs):
    raise CaptureRefusal("sparse tensors", "use dense tensors, or indices with scatter_add", kind="tensor.layout")
