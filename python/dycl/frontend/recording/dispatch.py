# SPDX-License-Identifier: Apache-2.0
"""What torch dispatches during a recorded call, one ATen op at a time.

Each op is of one kind, which `kind_of` says: a view extends a path, an op that writes goes to `inplace`, a random op
to `random`, everything else becomes a node. Ops that the ONNX lowering cannot take whole are taken apart here
(recording/decompositions.py). A kind is a method of the recorder for (op, arguments), whose tensors are handles.
"""

from __future__ import annotations

from typing import Any, Callable

import sympy
import torch

from ..diagnostics import CaptureRefusal
from ..torch_internals import FakeTensor, TorchDispatchMode, is_composite, tree_iter
from ..values.native_entries import imitated, refuse_own
from ..values.tensor import is_handle
from . import inplace, known_results, linear_algebra, schema, value_checks
from .decompositions import decomposition_of
from .random import run
from .views import step_of

aten = torch.ops.aten
prim = torch.ops.prim

_DROPPED = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "generator"}
_EMPTY = {aten.empty, aten.empty_like, aten.new_empty, aten.empty_strided, aten.new_empty_strided, aten.empty_permuted}
_MEMOS = ("nonzero_memo", "item_memo", "unique_memo", "unique_consecutive_memo")


class DispatchRecorder(TorchDispatchMode):
    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder
        self._kinds: dict[Any, Callable] = {}
        self.log: list | None = None  # what is dispatched, ops within ops left out; see recording/call_cache.py

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing here is ever compiled by Dynamo; the wrapper that guards against it costs time

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace == "prim":
            if self.log is not None and func.overloadpacket not in (prim.device, prim.layout):
                self.log.append(None)
            return imitated(func, args, kwargs)
        log, self.log = self.log, None
        with self.recorder.unswallowed():
            kind = self._kinds.get(func)
            if kind is None:
                kind = self._kinds[func] = kind_of(func)
            args, kwargs = _enter(self.recorder, args), _enter(self.recorder, kwargs)
            result = kind(self, func, args, kwargs)
        if log is not None:
            log.append((func, kind, args, kwargs, result))
            self.log = log
        return result

    def _computed(self, func, args, kwargs):
        """The op's fake result."""
        value_checks.before(self.recorder, func, args, kwargs)
        forms = self.recorder.forms
        key = forms.key(func, args, kwargs)
        result = forms.again(key, func, args, kwargs)
        if result is not NotImplemented:
            return result
        self.recorder.choose_cache((args, kwargs))
        self.recorder.symbols.expanding = func is aten.expand.default
        operands, named = self.recorder.broadcasting.stretched(func, args, kwargs)
        return forms.keep(key, func, args, kwargs, imitated(func, operands, named))

    # -- kinds ------------------------------------------------------------------------

    def pure(self, func, args, kwargs):
        if torch.Tag.dynamic_output_shape in func.tags:
            args, kwargs = known_results.with_dim_from_the_front(func, args, kwargs)
            args = known_results.without_known_masks(self.recorder, func, args)
            result = known_results.evaluated(self.recorder, func, args, kwargs)
            if result is not NotImplemented:
                return result
        _forget(args)
        result = self._computed(func, args, kwargs)
        if any(result is a for a in args):
            return result
        return record_results(self.recorder, func, args, kwargs, result)

    def view(self, func, args, kwargs):
        try:
            result = self._computed(func, args, kwargs)
        except ValueError as error:
            refuse_own(error)
            raise RuntimeError(f"view size is not compatible with input tensor's size and stride: {error}") from error
        source = args[0]
        if func.overloadpacket is aten.as_strided:
            offset = args[3] if len(args) > 3 else kwargs.get("storage_offset")
            if offset is not None and self._may_be_from_outside(source._dycl.cell):
                raise CaptureRefusal("as_strided with an offset in the memory of an argument, "
                                     "which may be a part of a larger one in another call",
                                     "leave the offset out, or use slices", kind="tensor.strides")
            source = self._in_memory_order(source)
        info = source._dycl
        outputs = result if isinstance(result, (list, tuple)) else [result]
        for index, output in enumerate(outputs):
            if output is source:
                continue
            self.recorder.adopt_view(output, info, step_of(func, args, kwargs, index, output, info.sizes))
        return result

    def _may_be_from_outside(self, cell) -> bool:
        """Whether it is the memory of an argument or a state, on some path at least."""
        root = next((r for r in self.recorder.real.roots if r.cell is cell), None)
        return not root.is_constant if root is not None else bool(cell.guard.roots)

    def _in_memory_order(self, source):
        """The tensor with its dims as they lie in memory: what as_strided's strides are about."""
        sizes, strides = source.shape, source.stride()
        whole = not self.recorder.is_symbolic(source) and source.storage_offset() == 0 and (
            source.untyped_storage().nbytes() == source.numel() * source.element_size())
        order = sorted(range(source.dim()), key=lambda d: (-strides[d], sizes[d] == 1)) if whole else []
        expected = 1
        for d in reversed(order):
            whole = whole and (sizes[d] == 1 or strides[d] == expected)
            expected *= sizes[d]
        if not whole:
            raise CaptureRefusal("as_strided of a tensor that is not the whole of its memory",
                                 "use slices, unfold or indexing", kind="tensor.strides")
        return source if order == list(range(source.dim())) else self.view(aten.permute.default, (source, order), {})

    def squeeze(self, func, args, kwargs):
        """A dim goes if its extent is 1; of an extent that depends on data that is a decision."""
        source, sizes = args[0], args[0].shape
        if not source._has_symbolic_sizes_strides:
            return self.view(func, args, kwargs)
        going = [d for d in _squeezed(func, args, kwargs, len(sizes)) if self._is_one(sizes[d])]
        for d in reversed(going):
            source = self.view(aten.select.int, (source, d, 0), {})
        return source if going else self.view(aten.alias.default, (source,), {})

    def _is_one(self, size) -> bool:
        if not isinstance(size, torch.SymInt):
            return size == 1
        # the user's dims are not split by cases: 1 is ruled out
        if size.node.expr.free_symbols <= set(self.recorder.symbols.names):
            self.recorder.symbols.require_not_one(size.node.expr)
            return False
        return self.recorder.path.decide(sympy.Eq(size.node.expr, 1))

    def lift_fresh(self, func, args, kwargs):
        return args[0]

    def decomposed(self, func, args, kwargs):
        if func in linear_algebra.TAKEN_APART:
            result = known_results.evaluated(self.recorder, func, args, kwargs)
            if result is not NotImplemented:
                return result
        value_checks.require_kernel(self.recorder, func, args, kwargs)
        known_form = (func in linear_algebra.TAKEN_APART and func not in linear_algebra.WITHOUT_SHAPES
                      and not self.recorder.is_symbolic((args, kwargs)))
        # called for its errors, too
        wanted = linear_algebra.strides(self._computed(func, args, kwargs)) if known_form else []
        if func in linear_algebra.LAPACK:
            self._require_defined(func, args, kwargs)
        with self:
            result = imitated(decomposition_of(func), args, kwargs)
            if wanted and isinstance(result, tuple):
                result = tuple(map(linear_algebra.laid_out, result, wanted))
            elif wanted and result is not NotImplemented:
                result = linear_algebra.laid_out(result, wanted[0])
        return self.pure(func, args, kwargs) if result is NotImplemented else result

    def composite(self, func, args, kwargs):
        """A view that torch itself makes of simpler ones; within a decomposition it arrives whole."""
        with self:
            return func.decompose(*args, **kwargs)

    def _require_defined(self, func, args, kwargs):
        """A run ends at a matrix of which libraries make different things, so that none of them is the answer."""
        with self:
            finite = linear_algebra.defined(func, next(iter(schema.bind(func, args, kwargs).values())),
                                            self.recorder.path.may_catch(RuntimeError, torch.linalg.LinAlgError))
            truth = self.recorder.numbers.truth(finite.all())
        self.recorder.numbers.assert_true(truth, f"{func.overloadpacket.__name__.strip('_')} of a matrix with an "
                                          "infinity or a NaN: what comes of it depends on the LAPACK library; "
                                          "test torch.isfinite(matrix).all() before", torch.linalg.LinAlgError,
                                          in_try=True)

    def write(self, func, args, kwargs):
        return inplace.run(self.recorder, func, args, kwargs)

    def random(self, func, args, kwargs):
        return run(self.recorder, func, args, kwargs)

    def empty(self, func, args, kwargs):
        """Uninitialised memory: zeros, so that the program is deterministic."""
        self.recorder.choose_cache((args, kwargs))
        fake = imitated(func, args, kwargs)
        value = self.recorder.full(fake, 0)
        tensor = self.recorder.adopt(fake, value)
        if not isinstance(args[0], torch.Tensor):
            self.recorder.layout.made(tensor)
        return tensor

    def item(self, func, args, kwargs):
        return self.recorder.numbers.symbolic_item(args[0])

    def equal(self, func, args, kwargs):
        return self.recorder.numbers.native_truth(self.recorder.numbers.equal(args[0], args[1]))

    def allclose(self, func, args, kwargs):
        return self.recorder.numbers.native_truth(self.recorder.numbers.allclose(*args, **kwargs))

    def nonzero_truth(self, func, args, kwargs):
        return self.recorder.numbers.native_truth(self.recorder.numbers.truth(args[0]))

    def assertion(self, func, args, kwargs):
        condition = self.recorder.numbers.truth(args[0])
        message = args[1] if len(args) > 1 else "Expected Tensor with single nonzero value, but got zero"
        self.recorder.numbers.assert_true(condition, message)

    def linalg_errors(self, func, args, kwargs):
        info, name, is_matrix = schema.bind(func, args, kwargs).values()
        with self:
            place, number = linear_algebra.first_failure(info, is_matrix)
        if not self._holds(number):
            return
        with self:
            negative = linear_algebra.may_be_negative(name) and self._holds(number < 0)
            number = -number if negative else number
        self.recorder.fail(linear_algebra.failure(name, place if place is None else self.recorder.numbers.item(place),
                                                  self.recorder.numbers.item(number), negative))

    def _holds(self, tensor) -> bool:
        """Of a number: it is not 0. Known, or a decision."""
        return self.recorder.numbers.native_truth(self.recorder.numbers.truth(tensor))

    def batch_norm(self, func, args, kwargs):
        """Its schema hides that training writes the running statistics."""
        arguments = schema.bind(func, args, kwargs)
        if arguments["training"] and arguments["running_mean"] is not None:
            raise CaptureRefusal("batch_norm, which updates its running statistics, in training mode",
                                 "call model.eval() before compiling", kind="training")
        return self.pure(func, args, kwargs)

    def nothing(self, func, args, kwargs):
        return None

    def metadata(self, func, args, kwargs):
        """What native code has just made, or an op since the last decision: no other state knows that tensor."""
        target = args[0]
        if func.overloadpacket in (aten.resize_as_, aten.resize_):
            wanted = args[1].shape if isinstance(args[1], torch.Tensor) else args[1]
            if not self.recorder.is_symbolic((target, args[1])) and tuple(wanted) == tuple(target.shape):
                return target
        functional = _RESHAPES.get(func)
        info = target._dycl
        known = (info.born == self.recorder.serial or info.alone is self.recorder.block
                 and _fixed_change(func, target, args[1:]))
        if functional is not None and known:
            self.recorder.choose_cache(args)
            imitated(func, args, kwargs)
            self.recorder.adopt_view(target, info, step_of(functional, args, kwargs, 0, target, info.sizes))
            return target
        raise CaptureRefusal(f"{func.overloadpacket.__name__} changes a tensor's shape in place",
                             "use the form without the underscore and assign its result", kind="inplace.metadata")

    PLAIN = (pure, view, write)  # what they record depends on metadata and plain values alone

def _fixed_change(func, target: torch.Tensor, given: tuple) -> bool:
    """Which dims there are afterwards is known: `squeeze_` asks extents that are numbers."""
    if any(isinstance(x, torch.SymInt) for x in given):
        return False
    if func.overloadpacket is not aten.squeeze_:
        return True
    dims = range(target.dim()) if not given else given[0] if isinstance(given[0], (list, tuple)) else (given[0],)
    return all(type(target.shape[d]) is int for d in dims)


_SPECIAL = {
    aten._local_scalar_dense.default: DispatchRecorder.item,
    aten.item.default: DispatchRecorder.item,
    aten.equal.default: DispatchRecorder.equal,
    aten.allclose.default: DispatchRecorder.allclose,
    aten.is_nonzero.default: DispatchRecorder.nonzero_truth,
    aten._assert_async.default: DispatchRecorder.assertion,
    aten._assert_async.msg: DispatchRecorder.assertion,
    aten.lift_fresh.default: DispatchRecorder.lift_fresh,
    aten._assert_tensor_metadata.default: DispatchRecorder.nothing,
    aten.sym_constrain_range.default: DispatchRecorder.nothing,
    aten.sym_constrain_range_for_size.default: DispatchRecorder.nothing,
    aten.detach_.default: DispatchRecorder.lift_fresh,
    aten._linalg_check_errors.default: DispatchRecorder.linalg_errors,
    aten.native_batch_norm.default: DispatchRecorder.batch_norm,
    aten._native_batch_norm_legit.default: DispatchRecorder.batch_norm,
    aten._native_batch_norm_legit_functional.default: DispatchRecorder.batch_norm,
    aten.cudnn_batch_norm.default: DispatchRecorder.batch_norm,
    aten.miopen_batch_norm.default: DispatchRecorder.batch_norm,
}

_RESHAPES = {
    aten.squeeze_.default: aten.squeeze.default,
    aten.squeeze_.dim: aten.squeeze.dim,
    aten.squeeze_.dims: aten.squeeze.dims,
    aten.unsqueeze_.default: aten.unsqueeze.default,
    aten.transpose_.default: aten.transpose.int,
    aten.t_.default: aten.t.default,
}


def kind_of(func) -> Callable:
    """What takes an op that arrives: read off the tables, else off its schema."""
    if (special := _SPECIAL.get(func)) is not None:
        return special
    if decomposition_of(func) is not None:
        return DispatchRecorder.decomposed
    if func.overloadpacket in _EMPTY and not any(a.alias_info for a in func._schema.arguments):
        return DispatchRecorder.empty
    if torch.Tag.inplace_view in func.tags:
        return DispatchRecorder.metadata
    if schema.written(func):
        return DispatchRecorder.write
    if torch.Tag.nondeterministic_seeded in func.tags:
        return DispatchRecorder.random
    if func.overloadpacket is aten.squeeze:
        return DispatchRecorder.squeeze
    if any(r.alias_info is not None for r in func._schema.returns):
        return DispatchRecorder.composite if is_composite(func) else DispatchRecorder.view
    return DispatchRecorder.pure


def _squeezed(func, args, kwargs, rank: int) -> list[int]:
    given = args[1] if len(args) > 1 else kwargs.get("dim", list(range(rank)))
    return sorted({d % rank for d in (given if isinstance(given, (list, tuple)) else [given])}) if rank else []


def _enter(recorder, tree: Any) -> Any:
    """Real tensors that native code made or holds become handles."""
    if isinstance(tree, torch.Tensor):
        if isinstance(tree, FakeTensor):
            return recorder.real.lift(tree)
        found = recorder.real.handle_of(tree)
        return found if found is not None else recorder.real.constant_handle(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)(_enter(recorder, x) for x in tree)
    if isinstance(tree, dict):
        return {k: _enter(recorder, x) for k, x in tree.items()}
    return tree


def _forget(tree: Any) -> None:
    """FakeTensors remember their nonzero count and item; contents change under them here."""
    for x in tree:
        if isinstance(x, FakeTensor):
            for name in _MEMOS:
                if getattr(x, "_" + name, None) is not None:
                    setattr(x, name, None)
        elif isinstance(x, (list, tuple)):
            _forget(x)


def record_results(recorder, func, args, kwargs, result) -> Any:
    """Records `func` as one node with the fake `result`'s types; the result's tensors become handles."""
    flat = ([result] if isinstance(result, torch.Tensor)
            else [x for x in tree_iter(result) if isinstance(x, torch.Tensor)])
    if not flat and func.overloadpacket in (aten.size, aten.stride, aten.storage_offset, aten.numel):
        raise RuntimeError("a plain number was expected with symbolic sizes/strides")
    if not flat:
        raise CaptureRefusal(f"{func} gives no tensor: its result would be fixed when the program is compiled",
                             kind="native.result")
    if any(map(is_handle, flat)):
        raise CaptureRefusal(f"{func} returns one of its arguments", kind="native.alias")
    value_checks.of_truth_values(func, args)
    value_checks.require_kernel(recorder, func, args, kwargs)
    value_checks.require_number(recorder, func, args, kwargs, flat[0].dtype)
    value_checks.refuse_caught(recorder, func, args, kwargs, flat[0])
    value_checks.known_indices(recorder, func, args, kwargs, flat[0])
    args, kwargs = clean(func, args, kwargs, flat[0])
    for fake, value in zip(flat, recorder.record(func, args, kwargs, [recorder.type_of(f) for f in flat])):
        recorder.adopt(fake, value)._dycl.alone = recorder.block
    return result


def clean(func, args: tuple, kwargs: dict, output: torch.Tensor) -> tuple[tuple, dict]:
    """Without arguments about memory; a factory's dtype is written out."""
    kwargs = {k: v for k, v in kwargs.items() if k not in _DROPPED and v is not None}
    if "dtype" not in kwargs and any(a.name == "dtype" and a.kwarg_only for a in func._schema.arguments):
        if not any(isinstance(a, torch.Tensor) for a in args):
            kwargs["dtype"] = output.dtype
    return args, kwargs
