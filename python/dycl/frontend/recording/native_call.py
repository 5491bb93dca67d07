# SPDX-License-Identifier: Apache-2.0
"""One native call: arguments in, special cases, results out.

Going in, real tensors become handles and runtime scalars torch's symbolic numbers; coming out,
symbolic numbers become runtime scalars. What happens in between recording/functions.py says by the
function's name; the rest runs under the recording modes.
"""

from __future__ import annotations

import contextlib
import operator
import re
import types
from typing import Any, Callable, Iterator

import torch

from ...objects import mapped
from .. import torch_internals
from ..diagnostics import CaptureRefusal
from ..polyfills.generators import RtGenerator
from ..polyfills.torch import RtSize
from ..state.contents import unfollowed
from ..torch_internals import SHAPE_ERRORS, active_modes
from ..values.escape import NeedDecision
from ..values.native_entries import enters_native_code, imitated
from ..values.stand_in import StandIn
from ..values.tensor import is_handle
from . import eager_errors, random, refused_calls, whole_layers
from .call_cache import Plans
from .dispatch import DispatchRecorder
from .functions import ANSWERED, BUILT, FUNCTIONS, GRADIENTS, UNNAMED, Function
from .memory_layout import ASKS, MAY_COPY

_OPERATORS = {operator.getitem: "__getitem__", operator.setitem: "__setitem__", operator.matmul: "__matmul__"}
_OF_TORCH = {*_OPERATORS.values(), "run_backward"}  # whatever has this name
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_UNREADABLE = (  # native code looked at the memory, or at the plain sizes, of a symbolic tensor
    "data is not allocated yet", "with symbolic sizes/strides", "dispatch_on_subclass called",
    "for customized tensor", "tensor subclasses", "FakeTensor", "expected to contain only concrete integers")


class NativeCalls:
    """The calls into native code of one recorder: from the program's arguments to handles, and back."""

    def __init__(self, recorder: Any):
        self.recorder = recorder
        self.mode = DispatchRecorder(recorder)
        self.plans = Plans(recorder)

    def call(self, fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """fn: a function, method or operator of torch, or one that only calls those. Rt scalars and real tensors may
        stand anywhere in the arguments."""
        return self.recorder.transaction(lambda: self._call(fn, tuple(args), dict(kwargs or {})))

    def attribute(self, tensor: torch.Tensor, name: str) -> Any:
        """A tensor's attribute (shape, T, dtype, real, ...), recorded like a call."""
        return self.recorder.transaction(lambda: self._attribute(tensor, name))

    def native(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        """Runs fn with recording on. Arguments are already handles and symbolic numbers."""
        return self.plans.run(fn, args, kwargs, self._natively)

    def dispatched(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """An op within one that is being recorded."""
        return self.plans.run(func, args, kwargs, self._within if active_modes() else self._natively)

    def _within(self, func: Any, args: tuple, kwargs: dict) -> Any:
        with self.mode:
            return imitated(func, args, kwargs)

    @enters_native_code
    def _natively(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        recorder = self.recorder
        asking = recorder.symbols.asking(recorder.is_symbolic((args, kwargs)))
        with torch.no_grad(), asking, recorder.fake_mode, self.mode:
            return fn(*args, **kwargs)

    def _call(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        fn, args = _unbound(fn, args)
        name = _OPERATORS.get(fn) or getattr(fn, "__name__", "")
        refused_calls.refuse_other_device(name, args, kwargs)
        if isinstance(kwargs.get("generator", self), (torch.Generator, RtGenerator, type(None))):
            with random.lent(self.recorder, kwargs["generator"]):
                return self._call(fn, args, {k: x for k, x in kwargs.items() if k != "generator"})
        native = name in _OF_TORCH or _is_native(fn)
        function = FUNCTIONS.get(name, UNNAMED)
        if not native and function is not UNNAMED:
            function = Function(layout=function.layout)
        if function.how == BUILT:
            return function.take(self.recorder, fn, args, kwargs)
        entering = _Entering(self.recorder)
        args, kwargs = entering(args), entering(kwargs)
        if function.may_fail:
            self._refuse_caught(function, args, kwargs)
        with _as_refusals(fn, entering.symbolic, self.recorder):
            try:
                result = self._perform(fn, name, function, args, kwargs)
            except eager_errors.KINDS as error:
                told = error
                if native or getattr(fn, "__module__", "") == "_operator":
                    told = eager_errors.retold(self.recorder, fn, args, kwargs, error)
                if told is error:
                    raise
                told.__cause__ = error
            else:
                entering.refuse_changes()
                return leave(self.recorder, result, entering.given)
        raise told  # eager's own, which is never for a refusal

    def _refuse_caught(self, function: Function, args: tuple, kwargs: dict) -> None:
        """Indices and extents of run time may be wrong in a run, which ends it:
        refused where the program would catch that."""
        fails = any(isinstance(d, torch.SymInt) for x in _parts(args) if isinstance(x, torch.Tensor) for d in x.shape)
        if not fails and function.indices is not None:
            given = _parts((*function.indices(args), *kwargs.values()))
            fails = any(_is_unknown_index(self.recorder, x) for x in given)
        if fails:
            self.recorder.refuse_caught(IndexError, RuntimeError)

    def _perform(self, fn: Callable, name: str, function: Function, args: tuple, kwargs: dict) -> Any:
        if function is not UNNAMED:
            if function.training is not None and (what := function.training(name, args, kwargs)) is not None:
                raise CaptureRefusal(f"{what} in training mode", "call model.eval() before compiling", kind="training")
            args = self._with_sizes(function, args)
            answer = self._taken(name, function, args, kwargs)
            if answer is not NotImplemented:
                return answer
        try:
            return self.recorder.transaction(lambda: self._run(fn, function, args, kwargs))
        except TypeError as error:
            if "SymBool" not in str(error):
                raise
        return self._run(fn, function, _decided(self.recorder, args), _decided(self.recorder, kwargs))

    def _taken(self, name: str, function: Function, args: tuple, kwargs: dict) -> Any:
        """The result of a call that is not dispatched; NotImplemented for others."""
        answer = NotImplemented
        if function.take is not None and (function.how != ANSWERED or args and isinstance(args[0], torch.Tensor)):
            answer = function.take(self.recorder, *args, **kwargs)
        if answer is NotImplemented and function.whole and "out" not in kwargs:
            return whole_layers.record_whole(self.recorder, name, args, kwargs)
        return answer

    def _with_sizes(self, function: Function, args: tuple) -> tuple:
        """A tensor of one integer is a size wherever torch takes sizes."""
        if function.sizes is None or not any(isinstance(x, torch.Tensor) for x in _parts(args[function.sizes])):
            return args

        def size(x: Any) -> Any:
            if isinstance(x, torch.Tensor) and x.dim() == 0 and x.dtype in (torch.int64, torch.int32):
                number = self.recorder.numbers.item(x)
                return self.recorder.symbols.to_symbolic(number)
            return x

        made = list(args)
        made[function.sizes] = [type(x)(map(size, x)) if type(x) in (list, tuple) else size(x)
                                for x in args[function.sizes]]
        return tuple(made)

    def _attribute(self, tensor: torch.Tensor, name: str) -> Any:
        handle = self.recorder.real.lift(tensor)
        if name in ("shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda", "names"):
            return leave(self.recorder, getattr(handle, name))
        with _as_refusals(getattr, False, self.recorder):
            return leave(self.recorder, self.native(getattr, (handle, name), {}))

    def _run(self, fn: Callable, function: Function, args: tuple, kwargs: dict) -> Any:
        result = self.native(fn, args, kwargs)
        if function.layout:
            self._note_layout(function.layout, result, args[0] if args else None)
        return result

    def _note_layout(self, depends: str, result: Any, source: Any) -> None:
        self.recorder.layout.note(depends, result, source)
        sizes = self.recorder.symbols.assumed_not_one
        if sizes and depends == ASKS and not isinstance(result, torch.Tensor):
            for size in sizes:
                self.recorder.symbols.require_not_one(size)
        elif sizes and depends == MAY_COPY and result._dycl.cell is not source._dycl.cell:
            self.recorder.may_share(result._dycl, source._dycl, sizes)


def _parts(arguments: tuple) -> Iterator:
    return (y for x in arguments for y in (x if isinstance(x, (list, tuple)) else (x,)))


def _is_unknown_index(recorder, x: Any) -> bool:
    return isinstance(x, torch.SymInt) or isinstance(x, torch.Tensor) and x.dtype in (torch.int64, torch.int32) and (
        recorder.numbers.static_value(recorder.value_of(x)) is None)


_SYMBOL = re.compile(r"\b[us]\d+\b")  # torch's name of a symbolic extent
_SELECTED = re.compile(r"select\(\): index .* out of range for tensor of size ")


@contextlib.contextmanager
def _as_refusals(fn: Callable, symbolic: bool, recorder: Any):
    """Errors that eager torch would not have raised must not look like the user's."""
    try:
        yield
    except (*SHAPE_ERRORS, NotImplementedError) as error:
        raise _refusal(fn, error) from error
    except RuntimeError as error:
        if (any(text in str(error) for text in _UNREADABLE)
                or _SYMBOL.search(str(error)) and not recorder.symbols.answered):
            raise _refusal(fn, error) from error  # not the answer to a question about extents: eager might go on
        if "does not require grad" in str(error):
            raise CaptureRefusal(*GRADIENTS, kind="autograd") from error
        raise
    except (TypeError, IndexError, ValueError) as error:
        # what is known on this path says that no such element is there
        if type(error) is IndexError and _SELECTED.match(str(error)):
            raise IndexError(f"index is out of bounds for dimension {str(error).rpartition(' ')[2]}") from None
        # torch may just not take a symbolic number there
        if symbolic or _SYMBOL.search(str(error)) and not recorder.symbols.answered:
            raise _refusal(fn, error) from error
        raise


def _unbound(fn: Callable, args: tuple) -> tuple[Callable, tuple]:
    """A method bound to a tensor as a plain function of it, so that a real tensor can be lifted."""
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, torch.Tensor) and isinstance(fn, (types.BuiltinMethodType, types.MethodType,
                                                           types.MethodWrapperType)):
        return getattr(torch.Tensor, fn.__name__), (owner, *args)
    return fn, args


def _is_native(fn: Callable) -> bool:
    """A function or method of torch itself, whose name means what it means in ATen."""
    if isinstance(fn, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return issubclass(torch.Tensor, fn.__objclass__)
    if isinstance(fn, types.FunctionType):
        return fn.__globals__.get("__name__") in (torch_internals.TENSOR_METHODS, "torch.functional")
    if isinstance(fn, types.BuiltinFunctionType):
        module = getattr(fn, "__module__", None) or ""
        owner = getattr(fn, "__self__", None)
        return module.startswith("torch") or "torch" in str(getattr(owner, "__name__", ""))
    return False


def _decided(recorder, tree: Any) -> Any:
    """A flag such as keepdim must be a plain bool: each runtime bool is a decision."""
    return mapped(lambda x: bool(recorder.symbols.evaluate(x.node.expr, False, None)) if isinstance(x, torch.SymBool)
                  else x, tree)


def _refusal(fn: Callable, error: BaseException) -> CaptureRefusal:
    text = str(error).strip().split("\n")[0]
    if "not allocated" in text:
        text = "it reads the tensor's memory"
    name = getattr(fn, "__name__", str(fn))
    return CaptureRefusal(f"torch cannot run {name} symbolically: {text}", kind="native.symbolic")


# -- arguments in, results out -------------------------------------------------------------


class _Entering:
    """Converts arguments; `symbolic` says whether a runtime scalar was among them."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.symbolic = False
        # id of a list or dict that was made -> (it, the argument that it stands for, its contents)
        self.given: dict[int, tuple] = {}

    def __call__(self, tree: Any) -> Any:
        made = self._convert(tree)
        if isinstance(tree, (list, dict)) and made is not tree:
            self.given[id(made)] = (made, tree, _contents(made))
        return made

    def refuse_changes(self) -> None:
        """What native code has changed is not the argument that the program has."""
        for made, tree, contents in self.given.values():
            now = _contents(made)
            if len(now) != len(contents) or not all(map(operator.is_, now, contents)):
                raise unfollowed(tree)

    def _convert(self, tree: Any) -> Any:
        if isinstance(tree, torch.Tensor):
            return self.recorder.real.lift(tree)
        kind = type(tree)
        if kind is tuple or kind is list:
            return kind([self(x) for x in tree])
        if isinstance(tree, (tuple, list, dict, slice)):
            return self._container(tree)
        given = tree.as_argument(self) if isinstance(tree, StandIn) else NotImplemented
        if given is not NotImplemented:
            return given
        self.symbolic |= isinstance(tree, StandIn)  # torch says of it what it would not say of the value
        if not issubclass(kind, torch.SymInt) and isinstance(getattr(kind, "__index__", None), types.FunctionType):
            return tree if hasattr(kind, "__getitem__") else self._number(tree)  # torch may take it for a sequence
        return tree

    def _container(self, tree: Any) -> Any:
        """Of any class: what torch takes in its place."""
        if isinstance(tree, torch.Size):
            return tree
        if isinstance(tree, slice):
            return slice(self(tree.start), self(tree.stop), self(tree.step))
        if isinstance(tree, dict):
            return {k: self(x) for k, x in tree.items()}
        items = [self(x) for x in tree]
        if isinstance(tree, list):
            return items
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)

    def _number(self, tree: Any) -> Any:
        """Of an object whose class says which it is: what it says must not depend on a run."""
        try:
            return self.recorder.transaction(lambda: self.recorder.calls.native(operator.index, (tree,), {}))
        except (NeedDecision, CaptureRefusal) as error:
            raise CaptureRefusal(f"torch asks {type(tree).__name__}.__index__, "
                                 "which depends on values known only at run time",
                                 "pass operator.index(...) of it", kind="escape.callback") from error


def _contents(made: list | dict) -> list:
    return list(made) if isinstance(made, list) else [*made, *made.values()]


def leave(recorder, tree: Any, given: dict | None = None) -> Any:
    if isinstance(tree, _SYMBOLIC):
        return recorder.symbols.from_symbolic(tree)
    if isinstance(tree, torch.Tensor):
        if not is_handle(tree):
            raise CaptureRefusal("a tensor that torch made without dispatching it", kind="native.tensor")
        return tree
    if isinstance(tree, tuple):
        return _leave_tuple(recorder, tree, given)
    if given and id(tree) in given:  # an argument, or a part of one, is given back
        return given[id(tree)][1]
    if isinstance(tree, list):
        return [leave(recorder, x, given) for x in tree]
    if isinstance(tree, dict):
        return {k: leave(recorder, x, given) for k, x in tree.items()}
    return tree


def _leave_tuple(recorder, tree: tuple, given: dict | None) -> tuple:
    """The tuple itself if nothing in it has changed."""
    if isinstance(tree, torch.Size):
        return RtSize(leave(recorder, s) for s in tree) if any(isinstance(s, torch.SymInt) for s in tree) else tree
    items = [leave(recorder, x, given) for x in tree]
    if all(a is b for a, b in zip(items, tree)):
        return tree
    return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
