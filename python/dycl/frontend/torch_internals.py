# SPDX-License-Identifier: Apache-2.0
"""The private names of torch that the front end uses: the one file to begin with when torch is upgraded.

Nothing else may name them (tests/frontend/test_layers.py). Each says what it is for. This file knows nothing of ours.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import threading
from typing import Any, Callable, Iterator

import torch
from torch._decomp import get_decompositions  # ops that are recorded as what torch itself makes of them
from torch._dispatch.python import (
    enable_python_dispatcher,  # shape functions written in Python, which take symbolic extents
)
from torch._dynamo.source import ConstantSource  # where a ShapeEnv says that a declared extent comes from
from torch._guards import SLoc  # the place of a guard, which we leave empty
from torch._higher_order_ops import scan, while_loop  # answered by polyfills
from torch._jit_internal import is_scripting  # answered: never
from torch._ops import OpOverload, OpOverloadPacket  # ops and groups of overloads: what a graph's nodes hold
from torch._subclasses import fake_tensor as _fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, is_fake  # tensors without memory: shape inference
from torch.fx.experimental import _config as shape_config  # how questions about declared extents are answered
from torch.fx.experimental import symbolic_shapes as _symbolic_shapes
from torch.fx.experimental.sym_node import SymNode
from torch.nn.functional import _canonical_mask as canonical_mask  # what nn.TransformerEncoder makes of a mask
from torch.nn.modules import module as _modules
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm  # layers to which training mode matters
from torch.nn.modules.dropout import _DropoutNd as Dropout
from torch.utils._python_dispatch import TorchDispatchMode  # sees every op that native code runs
from torch.utils._python_dispatch import _disable_current_modes as without_modes  # real tensors, computed as they are
from torch.utils._pytree import (
    keystr,  # a path to a leaf, as Python writes it
    tree_flatten,
    tree_flatten_with_path,
    tree_iter,
    tree_leaves,
    tree_map_only,
    tree_unflatten,
)
from torch.utils._sympy import functions as sympy_functions  # what expressions over extents are made of
from torch.utils._sympy.numbers import int_oo  # an extent without upper bound
from torch.utils._sympy.value_ranges import ValueRanges  # the bounds of a symbol

__all__ = [
    "ALL_FAILED", "CHECKS", "CHECK_FAILED", "COMPILED_MODULES", "MUTATION_GUARD", "SHAPE_ERRORS", "SIZE_CHECKS",
    "SIZE_FAILED", "TENSOR_METHODS", "BatchNorm", "ConstantSource", "Dropout", "FakeTensor", "FakeTensorMode",
    "OpOverload", "OpOverloadPacket", "SLoc", "TorchDispatchMode", "ValueRanges", "active_modes", "assert_",
    "canonical_mask", "check", "check_tensor_all", "check_tensor_all_with", "check_with", "enable_python_dispatcher",
    "forbid_data_pointer", "get_decompositions", "get_tracing_state", "global_forward_hooks", "has_kernel",
    "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "higher_order", "int_oo",
    "is_composite", "is_fake", "is_scripting", "keystr", "linalg_check_errors", "linalg_eigh", "linalg_svd",
    "make_subclass", "module_call", "native_one_hot", "native_pad", "native_pad_sequence", "patched", "scan",
    "shape_config", "standard_gamma", "sympy_functions", "tree_flatten", "tree_flatten_with_path", "tree_iter",
    "tree_leaves", "tree_map_only", "tree_unflatten", "unsafe_view", "upsample_bicubic_antialiased",
    "upsample_bilinear_antialiased", "while_loop", "without_dispatch", "without_modes",
]

# Why shape inference of a call fails where only a real tensor would tell.
SHAPE_ERRORS = (_fake_tensor.UnsupportedFakeTensorException, _fake_tensor.DynamicOutputShapeException,
                _fake_tensor.DataDependentOutputException, _fake_tensor.UnsupportedOperatorException,
                _fake_tensor.MetadataMismatchError, _symbolic_shapes.GuardOnDataDependentSymNode)

standard_gamma = torch._standard_gamma  # gamma numbers of rate 1

# Functions that the library answers.
assert_, check, check_with = torch._assert, torch._check, torch._check_with
check_tensor_all, check_tensor_all_with = torch._check_tensor_all, torch._check_tensor_all_with
CHECKS = {getattr(torch, name): error for name, error in {
    "_check_value": ValueError, "_check_index": IndexError, "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError}.items() if hasattr(torch, name)}  # each with what it raises
SIZE_CHECKS = tuple(getattr(torch, name) for name in ("_check_is_size",) if hasattr(torch, name))
CHECK_FAILED, ALL_FAILED, SIZE_FAILED = (f"torch.{name} failed"
                                         for name in ("_check", "_check_tensor_all", "_check_is_size"))
get_tracing_state = torch._C._get_tracing_state
has_torch_function, has_torch_function_unary, has_torch_function_variadic = (
    # overrides by arguments
    torch._C._has_torch_function, torch._C._has_torch_function_unary, torch._C._has_torch_function_variadic)
native_one_hot, native_pad, native_pad_sequence = torch._C._nn.one_hot, torch._C._nn.pad, torch._C._nn.pad_sequence
upsample_bicubic_antialiased, upsample_bilinear_antialiased = (
    torch._C._nn._upsample_bicubic2d_aa,
    torch._C._nn._upsample_bilinear2d_aa,
)
higher_order = torch.ops.higher_order  # what graphs of torch.export hold for control flow
module_call = torch.nn.Module._call_impl  # nn.Module.__call__ with hooks, interpreted


# Modules of torch, by name: where a function was written tells what it is.
TENSOR_METHODS = "torch._tensor"
MUTATION_GUARD = "torch._dynamo.mutation_guard"  # wraps nn.Module.__init__ once torch.compile was used
COMPILED_MODULES = "torch._dynamo.eval_frame"  # has OptimizedModule, what torch.compile gives

# Operators of ATen whose names begin with an underscore.
unsafe_view = torch.ops.aten._unsafe_view.default
linalg_check_errors = torch.ops.aten._linalg_check_errors  # raises where a factorisation failed
linalg_eigh, linalg_svd = torch.ops.aten._linalg_eigh, torch.ops.aten._linalg_svd

active_modes = torch._C._len_torch_dispatch_stack  # how many dispatch modes are on
without_dispatch = torch._C._DisableTorchDispatch  # an op on a fake tensor's own memory, unseen by modes
make_subclass = torch.Tensor._make_subclass  # a fake tensor of a known shape, without running shape inference
forbid_data_pointer = torch._C._set_throw_on_mutable_data_ptr  # as FakeTensor's own constructor does

# Private attributes of torch's objects that the front end reads, sets or overrides, wherever it does.
# tests/frontend/test_layers.py checks that these are all, and that this torch has them.
ATTRIBUTES = {
    # of tensors
    "_base": "the tensor that a view looks into",
    "_cdata": "the identity of a storage",
    "_grad": "where a parameter's gradient is kept",
    "_is_view": "whether it looks into another tensor",
    "_typed_storage": "gives memory away: refused",
    "_has_symbolic_sizes_strides": "of a fake tensor: whether an extent is known only at run time",
    # of ops
    "_schema": "names, kinds and aliasing of an op's arguments",
    # of modules
    "_backward_hooks": "a module with them does more than forward",
    "_backward_pre_hooks": "likewise",
    "_buffers": "where a module keeps its buffers",
    "_forward_hooks": "run after forward",
    "_forward_hooks_always_called": "likewise, exceptions or not",
    "_forward_hooks_with_kwargs": "likewise",
    "_forward_pre_hooks": "run before forward",
    "_forward_pre_hooks_with_kwargs": "likewise",
    "_modules": "where a module keeps its modules",
    "_non_persistent_buffers_set": "a buffer that is assigned may leave it",
    "_parameters": "where a module keeps its parameters",
    # of a ShapeEnv, for extents known only at run time
    "_constrain_range_for_size": "an extent is not negative",
    "_get_stack_summary": "overridden: no stack for each guard",
    "_log_create_unbacked_symbol": "overridden: no log",
    "_maybe_evaluate_static": "what it knows of an expression",
    "_maybe_guard_rel": "a fact that simplifies later expressions",
    "_update_version_counter": "what it has cached is stale",
}


def global_forward_hooks() -> tuple[dict, dict]:
    """Hooks of all modules: before forward, after it."""
    return _modules._global_forward_pre_hooks, _modules._global_forward_hooks


def with_memory(tensor: torch.Tensor) -> torch.Tensor:
    """Zeros that forward-mode differentiation makes have no memory to read."""
    return torch.zeros(tensor.shape, dtype=tensor.dtype) if tensor._is_zerotensor() else tensor


def has_kernel(op: OpOverload) -> bool:
    """It is no op of TorchScript alone."""
    return torch._C._dispatch_has_kernel(op.name())


def is_composite(op: OpOverload) -> bool:
    """torch runs it as other ops, which is all that is dispatched of it."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")


# ---- patches, for as long as a capture lasts -----------------------------------------------------

_lock = threading.Lock()
_captures = 0
_undo = contextlib.ExitStack()


@contextlib.contextmanager
def patched(guard_bool: Callable, static_answer: Callable) -> Iterator[None]:
    """Within it torch's questions about symbolic numbers go through `guard_bool(torch's own)` and
    `static_answer(torch's own)`, and shape inference that fails says so by its exception alone. Captures of several
    threads share the patches."""
    global _captures
    with _lock:
        if not _captures:
            _replace(SymNode, "guard_bool", guard_bool(SymNode.guard_bool))
            _replace(_symbolic_shapes, "_static_eval_sym_bool", static_answer(_symbolic_shapes._static_eval_sym_bool))
            logger = logging.getLogger(_fake_tensor.__name__)
            _undo.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        _captures += 1
    try:
        yield
    finally:
        with _lock:
            _captures -= 1
            if not _captures:
                _undo.close()


def _replace(owner: Any, name: str, value: Any) -> None:
    _undo.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


# ---- torch's own compilers, which `dycl bench --peers` measures: loaded where they are asked for -----


def reset_dynamo() -> Any:
    """torch.compile begins anew; its counters, by subject, from zero."""
    dynamo = importlib.import_module("torch._dynamo")
    dynamo.reset()
    dynamo.utils.counters.clear()
    return dynamo.utils.counters


def compiled_ahead_of_time(exported: Any, path: str) -> Any:
    """AOTInductor's package of an exported program, written and loaded."""
    inductor = importlib.import_module("torch._inductor")
    return inductor.aoti_load_package(inductor.aoti_compile_and_package(exported, package_path=path))
