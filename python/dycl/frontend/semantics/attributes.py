# SPDX-License-Identifier: Apache-2.0
"""Attributes for the abstract machine: reading, storing and deleting them, by descriptors, properties,
super() and `__getattr__`.

As in semantics/calls.py: a value at once, or PUSHED when a frame of user code was pushed.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import torch

from ...objects import is_slot
from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..state import signals
from ..state.contents import unfollowed
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values import parameters
from ..values.native_entries import natively, refuse_own
from ..values.stand_in import stand_in_of, type_of
from ..values.tensor import is_handle
from ..values.text import RtText
from . import interpretation, opaque_objects
from .lookup import MISSING, class_of, getattr_dict, mro_lookup


def load_attr(m: Interpreter, s: State, obj: Any, name: str) -> Any:
    if type(name) is not str:
        if type_of(m, name) is str:
            name = attribute_of_text(m, obj, name)
        if not isinstance(name, str):
            raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    cls = type(obj)
    if type(cls) is type and cls.__getattribute__ is _DEFAULT and issubclass(cls, torch.nn.Module):
        return default_attr(m, s, obj, name)
    own = stand_in_of(obj)
    found = own.attribute(m, s, name) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    if isinstance(obj, super):
        return super_attr(m, s, obj, name)
    if isinstance(obj, (types.ModuleType, type)):
        return natively(getattr, obj, name)
    custom = mro_lookup(cls, "__getattribute__")
    if isinstance(custom, types.FunctionType) and interpretation.interpreted(custom):
        return m.call(s, custom, (obj, name), {})
    return default_attr(m, s, obj, name)


_DEFAULT = object.__getattribute__


def attribute_of_text(m: Interpreter, obj: Any, text: RtText) -> str:
    names = set(dir(type(obj))) | set(getattr_dict(obj) or ())
    if isinstance(obj, torch.nn.Module):
        names |= {*obj._modules, *obj._parameters, *obj._buffers}
    try:
        return m.decide_text(text, sorted(names))
    except KeyError as error:
        refuse_own(error)
        if mro_lookup(type(obj), "__getattr__") not in (MISSING, torch.nn.Module.__getattr__):
            raise CaptureRefusal("an attribute that a __getattr__ of the model's gives, "
                                 "under a name known only at run time", kind="escape.str") from None
        raise AttributeError(RtText.join([f"'{type(obj).__name__}' object has no attribute '", text, "'"])) from None


def default_attr(m: Interpreter, s: State, obj: Any, name: str, fallback: bool = True) -> Any:
    """object.__getattribute__(obj, name), then __getattr__."""
    cls = class_of(obj)
    if name == "__dict__" and getattr_dict(obj) is not None:
        return _own_dict(m, obj)
    attr = mro_lookup(cls, name)
    if attr is not MISSING:
        if isinstance(attr, property):
            return _computed(m, s, attr, obj, name, fallback)
        if hasattr(type(attr), "__set__") and not isinstance(attr, type):
            return _of_data_descriptor(m, s, attr, obj, name)
    own = getattr_dict(obj)
    if own is not None and name in own:
        m.note_load(obj, name)
        return own[name]
    if own is not None:
        m.note_load(obj, name)  # that it is not there is a fact of this call
    if attr is not MISSING:
        return bind_descriptor(m, s, attr, obj, cls)
    if isinstance(obj, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            entries = own.get(table)
            if entries is not None:
                m.note_load(entries, name)  # that it is not there, too
                if name in entries:
                    return entries[name]
    return _not_found(m, s, obj, name, fallback)


def _own_dict(m: Interpreter, obj: Any) -> dict:
    own = getattr_dict(obj)
    m.heap.owner_of_dict[id(own)] = obj
    return m.new(own) if m.is_born(obj) else own


def _of_data_descriptor(m: Interpreter, s: State, attr: Any, obj: Any, name: str) -> Any:
    if isinstance(mro_lookup(type(attr), "__get__"), types.FunctionType):
        return bind_descriptor(m, s, attr, obj, type(obj))
    m.note_load(obj, name)
    return natively(getattr, obj, name)


def _not_found(m: Interpreter, s: State, obj: Any, name: str, fallback: bool) -> Any:
    """Neither the object nor its class has it: what __getattr__ gives."""
    custom = mro_lookup(class_of(obj), "__getattr__") if fallback else None
    if isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__getattr__:
        if interpretation.interpreted(custom):
            return m.call(s, custom, (obj, name), {})
        return natively(getattr, obj, name)
    if getattr_dict(obj) is None:
        return natively(getattr, obj, name)
    raise AttributeError(f"'{type(obj).__name__}' object has no attribute '{name}'")


def _computed(m: Interpreter, s: State, attr: property, obj: Any, name: str, fallback: bool) -> Any:
    """What a property gives. Where it raises AttributeError, __getattr__ is asked;
    that of modules says no more than that."""
    getter = attr.fget
    if getter is None:
        raise AttributeError(f"property '{name}' of '{type(obj).__name__}' object has no getter")
    custom = mro_lookup(class_of(obj), "__getattr__") if fallback else None
    if (isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__getattr__
            and interpretation.interpreted(custom)):
        return m.call(s, polyfills.attribute_by, (getter, (obj,), custom, obj, name), {})
    return m.call(s, getter, (obj,), {})


def bind_descriptor(m: Interpreter, s: State, attr: Any, obj: Any, cls: type) -> Any:
    if isinstance(attr, types.FunctionType):
        return types.MethodType(attr, obj)
    if isinstance(attr, functools.cached_property):
        return m.call(s, polyfills.cached_property, (attr.func, obj, attr.attrname), {})
    if isinstance(attr, (staticmethod, classmethod)):
        return natively(attr.__get__, obj, cls)
    getter = mro_lookup(type(attr), "__get__")
    if isinstance(getter, types.FunctionType) and interpretation.interpreted(getter):
        return m.call(s, getter, (attr, obj, cls), {})
    if getter is not MISSING:
        return natively(attr.__get__, obj, cls)
    return attr


def super_attr(m: Interpreter, s: State, sup: super, name: str) -> Any:
    owner, obj, cls = sup.__thisclass__, sup.__self__, sup.__self_class__
    mro = cls.__mro__
    for base in mro[mro.index(owner) + 1:]:
        attr = base.__dict__.get(name, MISSING)
        if attr is MISSING:
            continue
        if obj is cls:
            return natively(getattr, sup, name)
        if isinstance(attr, property):
            return m.call(s, attr.fget, (obj,), {})
        return bind_descriptor(m, s, attr, obj, cls)
    return natively(getattr, sup, name)


def store_attr(m: Interpreter, s: State, obj: Any, name: str, value: Any) -> Any:
    """obj.name = value; returns None, or PUSHED with the result dropped."""
    own = stand_in_of(obj)
    found = own.store_attribute(m, s, name, value) if own is not None else NotImplemented
    if found is not NotImplemented:
        return None
    cls = class_of(obj)
    custom = mro_lookup(cls, "__setattr__")
    if (isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__setattr__
            and interpretation.interpreted(custom)):
        return m.call_then(s, custom, (obj, name, value), {}, signals.drop)
    if isinstance(custom, types.WrapperDescriptorType) and custom.__objclass__ not in _KEEPERS:
        raise unfollowed(obj)
    return store_default(m, s, obj, name, value)


# their attributes are where they seem to be
_KEEPERS = (object, type, BaseException, types.SimpleNamespace, types.ModuleType,
            types.FunctionType, *torch.Tensor.__mro__)


def store_default(m: Interpreter, s: State, obj: Any, name: str, value: Any) -> Any:
    attr = mro_lookup(class_of(obj), name)
    if isinstance(attr, property):
        if attr.fset is None:
            raise AttributeError(f"property '{name}' of '{type(obj).__name__}' object has no setter")
        return m.call_then(s, attr.fset, (obj, value), {}, signals.drop)
    setter = mro_lookup(type(attr), "__set__") if attr is not MISSING else None
    if isinstance(setter, types.FunctionType) and interpretation.interpreted(setter):
        return m.call_then(s, setter, (attr, obj, value), {}, signals.drop)
    own = stand_in_of(obj)
    if own is not None and own.keep(m, name, value):
        return None
    if isinstance(attr, (types.GetSetDescriptorType, types.MemberDescriptorType)) and not is_slot(obj, name):
        opaque_objects.check_store(m, obj, name, value)
    touch_attributes(m, obj)
    m.note_store(obj, name)
    if isinstance(obj, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            if table in obj.__dict__:
                m.note_store(obj.__dict__[table], name)
        _refuse_new_parameter(obj, name, value)
        natively(torch.nn.Module.__setattr__, obj, name, value)
    elif isinstance(obj, type):
        descriptors = (types.FunctionType, property, types.MemberDescriptorType)
        if isinstance(mro_lookup(obj, name), descriptors) or name.startswith("__"):
            raise CaptureRefusal(f"the class attribute {obj.__name__}.{name} is written", kind="class-attribute")
        natively(type.__setattr__, obj, name, value)
    else:
        natively(object.__setattr__, obj, name, value)
    return None


def _refuse_new_parameter(module: torch.nn.Module, name: str, value: Any) -> None:
    """Assigning a parameter registers it, and nothing but parameters can be assigned under that name from then on."""
    if not isinstance(value, torch.Tensor) or name in module.__dict__.get("_parameters", ()):
        return
    if parameters.of(value) != "no":
        raise CaptureRefusal(f"an nn.Parameter is assigned to the attribute {name} while the model runs: "
                             "it becomes a parameter of the module",
                             "assign it in __init__, or keep what is computed from it", kind="state.type")
    if is_handle(value):
        parameters.ask(value)  # of an argument: calls must pass the like


def delete_attr(m: Interpreter, s: State, obj: Any, name: str) -> Any:
    """del obj.name; returns None, or PUSHED with the result dropped."""
    custom = mro_lookup(class_of(obj), "__delattr__")
    if (isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__delattr__
            and interpretation.interpreted(custom)):
        return m.call_then(s, custom, (obj, name), {}, signals.drop)
    attr = mro_lookup(class_of(obj), name)
    if isinstance(attr, property) and attr.fdel is not None:
        return m.call_then(s, attr.fdel, (obj,), {}, signals.drop)
    deleter = mro_lookup(type(attr), "__delete__") if attr is not MISSING else None
    if isinstance(deleter, types.FunctionType) and interpretation.interpreted(deleter):
        return m.call_then(s, deleter, (attr, obj), {}, signals.drop)
    if class_of(obj) is not type(obj):
        raise CaptureRefusal(f"an attribute of a {class_of(obj).__name__}, whose objects are known only at run time, "
                             "is deleted", "set it to None", kind="delattr")
    touch_attributes(m, obj)
    natively(delattr, obj, name)
    return None


def touch_attributes(m: Interpreter, obj: Any) -> None:
    if isinstance(obj, np.ndarray):
        raise CaptureRefusal("an attribute of a numpy array is changed", "use reshape, astype", kind="heap")
    m.heap.touch(obj)
    if isinstance(obj, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            if table in obj.__dict__:
                m.heap.touch(obj.__dict__[table])
