# SPDX-License-Identifier: Apache-2.0
"""Functions of torch that are answered without an operator: contexts, checks, hooks, seeds, higher-order operators."""

from __future__ import annotations

import time
import types

import torch
import torch.utils.checkpoint

from ....calling import host_functions
from ... import torch_internals
from ...diagnostics import CaptureRefusal
from ...polyfills import torch as torch_polyfills
from ...semantics import identity, iteration, lookup, operators
from ...semantics.registry import handles, ignore
from ...values.escape import Thrown
from ...values.stand_in import made_stand_in
from .. import host_calls


@handles(torch.is_grad_enabled, torch.is_inference_mode_enabled, torch.is_autocast_enabled,
         torch.backends.mha.get_fastpath_enabled, torch.jit.is_scripting, torch.jit.is_tracing,
         torch.compiler.is_compiling, torch_internals.is_scripting, torch_internals.get_tracing_state,
         torch.compiler.is_dynamo_compiling, torch.compiler.is_exporting)
def _false(m, s, args, kwargs):
    return False


handles(torch_internals.get_tracing_state)(lambda m, s, args, kwargs: None)


@handles(torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled,
         torch.autograd.set_grad_enabled, torch.autograd.profiler.record_function, torch.profiler.record_function)
def _null_context(m, s, args, kwargs):
    if args and isinstance(args[0], types.FunctionType):
        return args[0]
    return m.new(torch_polyfills.NullContext())


@handles(*(getattr(c, name) for c in (torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled)
           for name in ("__enter__", "__exit__")))
def _outside_context(m, s, args, kwargs):
    """Of one made outside (a decorator's): entered for real it would change how capture itself runs,
    and outlast the path."""
    return None


@handles(torch.autocast, torch.amp.autocast)
def _autocast(m, s, args, kwargs):
    enabled = kwargs.get("enabled", args[2] if len(args) > 2 else True)
    if enabled and not (args and args[0] == "cuda" or kwargs.get("device_type") == "cuda"):
        raise _autocast_refusal()
    return m.new(torch_polyfills.NullContext())


@handles(torch.cuda.amp.autocast)
def _cuda_autocast(m, s, args, kwargs):
    return m.new(torch_polyfills.NullContext())


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


@handles(torch_internals.assert_)
def _torch_assert(m, s, args, kwargs):
    condition, message = args
    if not m.truth(condition):
        raise Thrown(AssertionError(message))


@handles(torch_internals.check)
def _torch_check(m, s, args, kwargs):
    if not m.truth(args[0]):
        raise Thrown(RuntimeError(torch_internals.CHECK_FAILED))


@handles(torch_internals.check_with)
def _torch_check_with(m, s, args, kwargs):
    if not m.truth(args[1]):
        raise Thrown(args[0](torch_internals.CHECK_FAILED))


@handles(torch_internals.check_tensor_all)
def _torch_check_all(m, s, args, kwargs):
    return _check_elements(m, RuntimeError, args[0])


@handles(torch_internals.check_tensor_all_with)
def _torch_check_all_with(m, s, args, kwargs):
    return _check_elements(m, args[0], args[1])


def _check_elements(m, error, condition):
    if not m.truth(m.recorder.call(torch.all, (condition,), {})):
        raise Thrown(error(torch_internals.ALL_FAILED))


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


@handles(torch.nn.TransformerEncoder.forward)
def _encoder(m, s, args, kwargs):
    """Sequences with padding: torch's fast path, which differs where there is padding."""
    given = dict(zip(("self", "src", "mask", "src_key_padding_mask", "is_causal"), args), **kwargs)
    self, src = given["self"], given.get("src")
    fast = (
        m.is_tensor(src)
        and src.dim() == 3
        and m.is_tensor(given.get("src_key_padding_mask"))
        and given.get("mask") is None
        and not given.get("is_causal")
        and getattr(self, "use_nested_tensor", False)
        and not self.layers[0].training
    )
    if not fast or not torch.backends.mha.get_fastpath_enabled():
        return NotImplemented
    return m.call(s, torch_polyfills.encode_padded, args, kwargs)


@handles(torch.jit.annotate)
def _annotate(m, s, args, kwargs):
    """The value itself, for a list to go on being the one that it is."""
    return args[1] if len(args) == 2 and not kwargs else NotImplemented


@handles(torch.Size)
def _size(m, s, args, kwargs):
    items = iteration.materialise(m, args[0]) if args else []
    if items is None:
        return m.call(s, torch_polyfills.make_size, args, {})
    return identity.sizes(m, items)


@handles(torch.arange)
def _numbers_between(m, s, args, kwargs):
    """Bounds that are tensors of floats (the largest of the lengths): torch takes the numbers in them."""
    def is_one(x):
        return m.is_symbolic(x) and x.dtype.is_floating_point

    def number(x):
        return m.tensor_number(x) if is_one(x) else x

    if not any(map(is_one, (*args, *kwargs.values()))):
        return NotImplemented
    return m.recorder.call(torch.arange, tuple(map(number, args)),
                           {name: number(x) if name != "out" else x for name, x in kwargs.items()})


def _checked_classes(m, indices, classes):
    """The contents of the indices, if they are known; those out of range fail as in eager."""
    known = m.recorder.numbers.static(indices) if m.is_symbolic(indices) else indices
    if isinstance(known, torch.Tensor) and type(classes) is int:
        try:
            with m.recorder.without_modes():
                torch_internals.native_one_hot(known, classes)
        except RuntimeError as error:
            raise RuntimeError(*error.args) from None
    return known


@handles(torch_internals.native_one_hot, torch.nn.functional.one_hot)
def _one_hot(m, s, args, kwargs):
    """A comparison with 0, 1, 2, ...; what torch makes of it while it is recorded checks no class."""
    indices = args[0] if args else kwargs["tensor"]
    classes = args[1] if len(args) > 1 else kwargs.get("num_classes", -1)
    if m.is_tensor(classes):
        classes = m.tensor_item(classes)
    unknown = _checked_classes(m, indices, classes) is None
    if type(classes) is int and classes < 0 and unknown:
        top = m.tensor_item(m.recorder.call(torch.max, (indices,), {}))
        classes = m.scalars.binary("add", top, 1)
    checked = unknown and indices.dtype == torch.int64
    if made_stand_in(classes) is None and not (checked and type(classes) is int and classes > 0):
        if len(args) > 1 and m.is_tensor(args[1]):
            return m.recorder.call(torch_internals.native_one_hot, (indices, classes), {})
        return NotImplemented
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


for _check, _error in torch_internals.CHECKS.items():
    handles(_check)(_checking(_error))


@handles(*torch_internals.SIZE_CHECKS)
def _check_is_size(m, s, args, kwargs):
    size, most = args[0] if args else kwargs["i"], kwargs.get("max")
    for comparison, bound in (("ge", 0), ("le", most)):
        if bound is not None:
            if not m.truth(operators.compare(m, s, comparison, size, bound)):
                raise RuntimeError(torch_internals.SIZE_FAILED)


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
    """Made as it is: it keeps weak references to the tables of hooks, which must not be copied;
    its number is nobody's state."""
    return m.new(torch.utils.hooks.RemovableHandle(*args, **kwargs))


@handles(torch.utils.checkpoint.checkpoint)
def _checkpoint(m, s, args, kwargs):
    """Recomputation is a matter of training."""
    own = ("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop")
    return m.call(s, args[0], args[1:], {k: v for k, v in kwargs.items() if k not in own})


def autograd_apply(cls, m, s, args, kwargs):
    context = m.new(types.SimpleNamespace(save_for_backward=_ignore_python, mark_non_differentiable=_ignore_python,
                                          set_materialize_grads=_ignore_python, mark_dirty=_ignore_python,
                                          needs_input_grad=(False,) * len(args)))
    forward = lookup.mro_lookup(cls, "forward")
    if isinstance(forward, classmethod):
        forward = types.MethodType(forward.__func__, cls)
    elif isinstance(forward, staticmethod):
        forward = forward.__func__
    if cls.setup_context is not torch.autograd.Function.setup_context:
        return m.call(s, forward, args, kwargs)
    return m.call(s, forward, (context, *args), kwargs)


def _ignore_python(*args, **kwargs):
    return None


handles(_ignore_python)(ignore)


@handles(torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward)
def _gradients(m, s, args, kwargs):
    raise CaptureRefusal("gradients inside the model", "compute them outside", kind="autograd")


@handles(torch.sparse_coo_tensor, torch.sparse_csr_tensor, torch.sparse_csc_tensor, torch.sparse_bsr_tensor,
         torch.sparse_bsc_tensor, torch.sparse_compressed_tensor)
def _sparse_tensor(m, s, args, kwargs):
    raise CaptureRefusal("sparse tensors", "use dense tensors, or indices with scatter_add", kind="tensor.layout")
