# SPDX-License-Identifier: Apache-2.0
"""Recording: what happens when a native torch function meets symbolic tensors.

A symbolic tensor (a *handle*) is a FakeTensor with `_dycl`, a TensorInfo: the cell that holds its
storage's present contents and the view path into it. Handles are immutable and shared by all states;
cells are per state (heap.touch before each write). `NativeCalls.call` runs a native callable on handles
under a fake mode and a dispatch mode; what torch dispatches becomes nodes of the current block, views
become paths, in-place ops become functional ops plus a write. A call that raises leaves no trace.
"""

from __future__ import annotations

import builtins
import contextlib
from typing import Any, Callable, NoReturn

import torch

from ... import objects
from ..diagnostics import CaptureRefusal
from ..graph import known_values
from ..graph.integer_ranges import IntegerRanges
from ..graph.program import AtenNode, Block, HostNode, ScalarType, TensorType, Value, dominates
from ..source import Span
from ..state.contents import Cell
from ..state.heap import Heap
from ..torch_internals import FakeTensor, FakeTensorMode, active_modes, without_modes
from ..values.escape import NeedDecision
from ..values.native_entries import imitated, is_of_program, own_fault
from ..values.scalar import RtBool, RtInt, RtScalar, graph_number
from ..values.text import RtText
from . import native_call, real_tensors
from .broadcasting import Broadcasting
from .memory_layout import Layout
from .real_tensors import RealTensors
from .shape_cache import Forms
from .shape_rules import contiguous_strides
from .symbolic_shapes import Extent, Symbols
from .tensor_to_number import Numbers, size_expression
from .views import TensorInfo, Views

aten = torch.ops.aten


class Path:
    """What a recorder asks about the path through the program that it records. The machine answers
    (machine/recorded_path.py); without one, as here, nothing is known but what holds on all paths."""

    def __init__(self, recorder: "Recorder"):
        self.recorder = recorder

    def line(self) -> Span | None:
        """For people: the model's line, not torch's."""
        return self.recorder.span

    def decide(self, expression: Any) -> bool:
        """The truth of a run-time condition that native code asks for."""
        raise NeedDecision(RtBool(self.recorder.symbols.lower(expression), self.recorder.span))

    def range_of(self, number: RtInt) -> tuple[int | None, int | None]:
        return self.recorder.symbols.range_of(number.value)

    def may_catch(self, *errors: type[BaseException]) -> bool:
        return False

    def is_remembering(self) -> bool:
        """Within a function under lru_cache, which must `refuse_remembered` what it does beside computing."""
        return False

    def refuse_remembered(self, what: str) -> None:
        pass


class Recorder:
    """One per capture. The machine sets `block` and `span` as it switches states, and answers by `path`.

    `calls` runs native code, whose ops become nodes here; `numbers` reads what tensors hold; `real` has the tensors
    from outside."""

    def __init__(self, heap: Heap):
        self.heap = heap
        self.block: Block | None = None
        self.span: Span | None = None
        self.path = Path(self)
        self.producers: dict[Value, Any] = {}  # the node that computes a value
        self.packs: dict[Value, Any] = {}  # batch_sizes of packed sequences (recording/packed_sequences.py)
        self.symbols = Symbols(self)
        self.broadcasting = Broadcasting(self)
        self.ranges = IntegerRanges(self.producers, self.symbols.range_of)
        self.fake_mode = FakeTensorMode(shape_env=self.symbols.env, allow_non_fake_inputs=True)
        self.forms = Forms(self.fake_mode)
        self.calls = native_call.NativeCalls(self)
        self.call, self.attribute = self.calls.call, self.calls.attribute
        self.numbers = Numbers(self)
        self.real = RealTensors(self)
        self.views = Views(self)
        self.serial = 0  # counts native calls
        self._journal: list[Callable[[], None]] = []
        self._depth = 0
        self._pending: BaseException | None = None
        self._scalars: dict[int, dict] = {}  # block id -> constants recorded in it
        self._checked: dict[Value, Block] = {}
        self._lasting: list[HostNode] = []  # checks of this transaction that an exception of the program leaves
        self._maybe_shared: dict[Cell, list] = {}
        self.layout = Layout(lambda: self.span)
        self.remembers = False  # a function under lru_cache was called (library/lru_cache.py)
        self.remembered_cells: set[Cell] = set()  # storages from outside that such functions read

    # -- shapes ---------------------------------------------------------------------------

    def fake(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        """Runs fn for its shapes only: nothing is recorded."""
        if active_modes():
            with without_modes():
                return self.fake(fn, args, kwargs)
        self.choose_cache((args, kwargs))
        with torch.no_grad(), self.symbols.asking(not self.fake_mode.cache_enabled), self.fake_mode:
            return imitated(fn, args, kwargs)

    def choose_cache(self, arguments: Any) -> None:
        """The fake mode's cache asks needless questions about symbolic extents: only for static shapes."""
        self.fake_mode.cache_enabled = not self.is_symbolic(arguments)

    def is_symbolic(self, arguments: Any) -> bool:
        """Whether a symbolic number or a tensor with a symbolic extent is among the arguments."""
        return self.symbols.any() and _is_symbolic(arguments)

    @property
    def guards(self) -> list[str]:
        return list(self.symbols.guards)

    # -- transactions --------------------------------------------------------------------

    def transaction(self, body: Callable[[], Any]) -> Any:
        """Runs body; if it raises, nothing stays recorded but what a NeedDecision's condition needs, and before an
        exception of the program the checks that hold in a `try`, too."""
        block, length, mark = self.block, len(self.block.nodes), len(self._journal)
        self._depth += 1
        if self._depth == 1:
            self.symbols.answered = self.symbols.guessed = False
            self.serial += 1
        try:
            result = body()
            if self._depth == 1 and self._pending is not None:
                raise self._pending  # native code swallowed it and went on
            return result
        except BaseException as error:
            if self._depth == 1 and self._pending is not None and error is not self._pending:
                error = self._pending  # native code (TorchScript) made another exception of it
            while len(self._journal) > mark:
                self._journal.pop()()
            recorded = block.nodes[length:]
            del block.nodes[length:]
            block.nodes += _needed(recorded, _read_by(error if self._pending is None else self._pending),
                                   [] if isinstance(error, (NeedDecision, CaptureRefusal)) else self._lasting)
            raise error
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._journal.clear()
                self._lasting.clear()
                self._pending = None

    @contextlib.contextmanager
    def unswallowed(self):
        """Assumptions and refusals raised below native code reach the machine whatever that code does with them."""
        try:
            yield
        except (NeedDecision, CaptureRefusal) as error:
            self._pending = error if self._depth else None  # outside of a transaction nobody would take it back
            raise
        except Exception as error:
            if is_of_program(error):
                raise
            self._pending = refusal = own_fault(error)
            raise refusal from error

    def fail(self, error: BaseException) -> NoReturn:
        """Raises an exception of the program from below native code, which would ask for its words; values known only
        at run time may stand in them."""
        self._pending = error
        raise RuntimeError("an exception of the program")

    def set_cell(self, cell: Cell, value: Value) -> None:
        real_tensors.check_writable(cell)
        self.layout.written(cell)
        if self.remembers and cell in self.real.root_cells:
            self.path.refuse_remembered("writes a tensor")
        for size in self._maybe_shared.get(cell, ()):
            self.symbols.require_not_one(size)
        self.heap.touch(cell)
        old = cell.value
        self._journal.append(lambda: setattr(cell, "value", old))
        cell.value = value

    def may_share(self, a: TensorInfo, b: TensorInfo, sizes: list) -> None:
        """Two storages that eager torch would make one if one of `sizes` were 1: writes must rule that out."""
        for cell in (a.cell, b.cell):
            self._maybe_shared.setdefault(cell, []).extend(sizes)

    def set_cache(self, info: TensorInfo, entry: tuple) -> None:
        old = info.cache
        self._journal.append(lambda: setattr(info, "cache", old))
        info.cache = entry

    def remember(self, table: dict, key: Any, entry: Any) -> None:
        """A memo of something recorded; undone if the recording is."""
        missing = key not in table
        old = table.get(key)
        self._journal.append(lambda: table.pop(key, None) if missing else table.__setitem__(key, old))
        table[key] = entry

    # -- nodes ------------------------------------------------------------------------------

    def append(self, node: Any) -> None:
        """Every node gets into the graph here."""
        if self.remembers and isinstance(node, HostNode) and (node.op == "print" or node.op.startswith("rand.")):
            self.path.refuse_remembered("prints or draws random numbers")
        self.block.nodes.append(node)
        self.producers.update((value, node) for value in node.outputs)

    def record(self, target: Any, args: tuple, kwargs: dict, types: list[TensorType], span: Span | None = None,
               pure: bool = True) -> list[Value]:
        """Appends an AtenNode. Arguments may hold Values, handles and symbolic numbers."""
        args, kwargs = self.lowered(args), self.lowered(kwargs)
        outputs = [Value(t, self.block) for t in types]
        node = AtenNode(target, args, kwargs, outputs, span or self.path.line())
        self.append(node)
        if pure:
            known_values.give_thunks(node)
        return outputs

    def host(self, op: str, operands: list[Value], type: Any, **attrs) -> Value:
        """Appends a HostNode with one result; scalar constants are shared within a block."""
        if op == "const":
            return self._constant(type, attrs["value"])
        output = Value(type, self.block)
        node = HostNode(op, list(operands), [output], attrs, self.span)
        self.append(node)
        self.symbols.produced(output, op, node.operands)
        known_values.give_thunks(node)
        return output

    def _constant(self, type: ScalarType, x: Any) -> Value:
        table = self._scalars.setdefault(self.block.id, {})
        key = (type.kind, repr(x))
        known = table.get(key)
        if known is not None:
            return known
        output = Value(type, self.block)
        node = HostNode("const", [], [output], {"value": x}, self.span)
        self.append(node)
        known_values.give_thunks(node)
        self.symbols.produced(output, "const", [x])
        self.remember(table, key, output)
        return output

    def check(self, condition: Value, message: str, type: str, in_try: bool = False) -> None:
        """A run-time check; the run fails with the message where it does not hold. in_try: even where the program has
        a `try` that would take such an error; else that is refused."""
        checked = self._checked.get(condition)
        if checked is not None and dominates(checked, self.block):
            return
        if not in_try:
            self.refuse_caught(torch.linalg.LinAlgError if type == torch.linalg.LinAlgError.__name__
                               else getattr(builtins, type, RuntimeError))
        self.remember(self._checked, condition, self.block)
        node = HostNode("check", [condition], [], {"message": message, "type": type}, self.span)
        if in_try:
            self._lasting.append(node)
        self.append(node)

    def refuse_caught(self, *errors: type[BaseException]) -> None:
        """What fails in a run fails there for good: the program must not hope to catch it."""
        if self.path.may_catch(*errors):
            raise CaptureRefusal("a tensor operation that may fail at run time, inside `try` or `with` that might "
                                 "catch it", "test the condition with `if` instead", kind="try")

    def lowered(self, tree: Any) -> Any:
        """Handles, real tensors and symbolic numbers in a tree of arguments as they stand in a node."""
        if isinstance(tree, torch.Tensor):
            return self.value_of(tree)
        if isinstance(tree, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.symbols.value_of(tree)
        if isinstance(tree, (list, tuple)):
            return type(tree)(self.lowered(x) for x in tree) if type(tree) in (list, tuple) \
                else tuple(self.lowered(x) for x in tree)
        if isinstance(tree, dict):
            return {k: self.lowered(x) for k, x in tree.items()}
        return graph_number(tree)

    def full(self, like: torch.Tensor, number: Any) -> Value:
        """like's shape and dtype, filled with a number."""
        return self.record(aten.full.default, (list(like.shape), number),
                           {"dtype": like.dtype}, [self.type_of(like)])[0]

    def same_shape(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        return self.same_sizes(tuple(a.shape), tuple(b.shape))

    def same_sizes(self, a: tuple, b: tuple) -> bool:
        """Known to be equal without deciding anything."""
        if len(a) != len(b):
            return False
        return all(size_expression(x) == size_expression(y) for x, y in zip(a, b))

    # -- handles -------------------------------------------------------------------------------

    def type_of(self, fake: torch.Tensor) -> TensorType:
        return TensorType(fake.dtype, tuple(self.symbols.dim_type(s) for s in fake.shape))

    def adopt(self, fake: FakeTensor, value: Value) -> FakeTensor:
        """Makes a fake tensor the handle of a fresh storage holding `value`."""
        if fake.layout is not torch.strided:
            raise CaptureRefusal(f"a tensor of layout {fake.layout}", "use dense tensors", kind="tensor.layout")
        fake.constant = None
        info = TensorInfo(Cell(value), tuple(fake.shape), fake.dtype, value.type, span=self.span)
        info.born = self.serial
        fake._dycl = info
        self.symbols.bind_dims(info, info.sizes)
        return fake

    def adopt_view(self, fake: FakeTensor, parent: TensorInfo, step: tuple | None) -> FakeTensor:
        fake.constant = None
        if step is None:
            fake._dycl, parent.alone = parent, None
            return fake
        info = TensorInfo(parent.cell, tuple(fake.shape), fake.dtype, self.type_of(fake), parent, step, self.span)
        info.born, info.alone = self.serial, self.block
        fake._dycl = info
        self.symbols.bind_dims(info, info.sizes)
        return fake

    def new_handle(self, dtype: torch.dtype, shape: tuple, value: Value, device: Any = "cpu",
                   strides: tuple | None = None) -> FakeTensor:
        """A handle of a fresh storage. dims: ints, SymInts, RtInts, or an Extent or None for one known at run time."""
        sizes = tuple(self.size(d) for d in shape)
        return self.adopt(self.blank(sizes, strides, dtype, device), value)

    def blank(self, sizes: tuple, strides: tuple | None, dtype: torch.dtype, device: Any) -> FakeTensor:
        """A fake tensor of these extents; contiguous without strides."""
        if str(device) == "cpu" and all(type(s) is int for s in sizes):
            return self.forms.blank(sizes, strides or contiguous_strides(sizes), dtype)
        if strides is None:
            return self.fake(torch.empty, (sizes,), {"dtype": dtype, "device": device})
        return self.fake(torch.empty_strided, (sizes, strides), {"dtype": dtype, "device": device})

    def stand_in(self, like: FakeTensor, value: Value) -> FakeTensor:
        """A handle for a state that is never run: of `like`'s extents, whatever those of `value` are."""
        fake = self.forms.like(like)
        fake._dycl = TensorInfo(Cell(value), tuple(like.shape), like.dtype, value.type, span=self.span)
        return fake

    def size(self, dim: Any) -> Any:
        """An extent as a fake tensor has it; a fresh symbol for one known at run time."""
        if dim is None:
            return self.symbols.fresh_dim()
        if isinstance(dim, Extent):
            return self.symbols.fresh_dim(dim.least)
        return self.symbols.to_symbolic(dim)

    def value_of(self, tensor: torch.Tensor) -> Value:
        """The present value of a handle or a real tensor."""
        tensor = self.real.lift(tensor)
        if self.remembers and self.path.is_remembering() and tensor._dycl.cell in self.real.root_cells:
            self.remembered_cells.add(tensor._dycl.cell)
        return self.views.value(tensor._dycl)

    def value_of_info(self, info: TensorInfo) -> Value:
        return self.views.value(info)

    def write(self, target: FakeTensor, new: Value) -> None:
        self.views.write(target._dycl, new)

    # -- inputs --------------------------------------------------------------------------------

    def input_tensor(self, example: torch.Tensor, name: str, dynamic: dict[int, str] | None = None,
                     ranges: dict[str, tuple[int, int]] | None = None,
                     open_axes: frozenset = frozenset()) -> tuple[FakeTensor, Value]:
        """The handle and the graph value of an input; dims in `dynamic` become symbols,
        those in `open_axes` may be anything."""
        if unusual := objects.exotic(example):
            raise CaptureRefusal(f"the argument {name} is {unusual}", "pass plain dense tensors", kind="tensor.input")
        sizes = [self.symbols.fresh_dim() if axis in open_axes else size for axis, size in enumerate(example.shape)]
        for axis, symbol in (dynamic or {}).items():
            low, high = (ranges or {}).get(symbol, (1, 2**31 - 1))
            sizes[axis % example.dim()] = self.symbols.declare(symbol, example.shape[axis], low, high)
        fake = self.blank(tuple(sizes), None if dynamic or open_axes else example.stride(),
                          example.dtype, example.device)
        value = Value(self.type_of(fake), None, name)
        handle = self.adopt(fake, value)
        self.symbols.bind_dims(value, handle.shape)
        self.real.register_input(example, name, handle, value)
        return handle, value

    def without_modes(self):
        return without_modes()


def _is_symbolic(tree: Any) -> bool:
    if isinstance(tree, FakeTensor):
        return tree._has_symbolic_sizes_strides
    if isinstance(tree, (list, tuple)):
        return any(_is_symbolic(x) for x in tree)
    if isinstance(tree, dict):
        return any(_is_symbolic(x) for x in tree.values())
    return isinstance(tree, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _read_by(error: BaseException) -> set[Value]:
    """The values that a decision asks for, or that stand in the words of an exception of the program."""
    if isinstance(error, NeedDecision):
        return {error.condition.value}
    return {part.value for x in error.args if isinstance(x, RtText) for part in x.parts if isinstance(part, RtScalar)}


def _needed(nodes: list, values: set[Value], checks: list) -> list:
    """Those of `nodes` that compute `values`, and `checks` with what they ask."""
    wanted, kept = set(values), []
    for node in reversed(nodes):
        if any(output in wanted for output in node.outputs) or any(node is check for check in checks):
            if isinstance(node, HostNode) and node.op.startswith("rand."):
                raise CaptureRefusal("native code decides on a random number that it draws itself",
                                     kind="random.native")
            kept.append(node)
            wanted.update(known_values.operands(node))
    return kept[::-1]
