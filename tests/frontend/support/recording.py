# SPDX-License-Identifier: Apache-2.0
"""Records straight-line test programs: a torch function mode sends every torch call to the Recorder.

(Capture proper interprets bytecode instead; this is only a short way to write programs in tests.)
"""

from __future__ import annotations

import contextlib
from types import FunctionType
from typing import Any, Callable

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map_only

from dycl.frontend.graph.interpret import look, run_block, symbols_of
from dycl.frontend.graph.program import Block, Value
from dycl.frontend.polyfills.torch import RtSize
from dycl.frontend.recording.recorder import Recorder
from dycl.frontend.state.heap import Heap, Overlay
from dycl.frontend.values.scalar import RtScalar


def new_recorder() -> Recorder:
    heap = Heap()
    heap.activate(Overlay())
    recorder = Recorder(heap)
    recorder.block = Block(name="entry")
    return recorder


class _Routed(TorchFunctionMode):
    """`symbolic`: runtime scalars come back as torch's symbolic numbers, which plain Python can compute with."""

    def __init__(self, recorder: Recorder, symbolic: bool):
        super().__init__()
        self.recorder = recorder
        self.symbolic = symbolic

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if isinstance(func, FunctionType) and func.__module__ == "torch.nn.functional":
            with self, _plain_functional():
                return func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") == "__get__":
            result = self.recorder.attribute(args[0], func.__self__.__name__)
        else:
            result = self.recorder.call(func, args, kwargs)
        if self.symbolic:
            result = tuple(result) if isinstance(result, RtSize) else result
            result = tree_map_only(RtScalar, self.recorder.symbols.to_symbolic, result)
        return result


@contextlib.contextmanager
def _plain_functional():
    """torch.nn.functional asks these whether to hand itself over; it must not."""
    names = ["has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"]
    kept = {name: getattr(functional, name) for name in names}
    for name in names:
        setattr(functional, name, lambda *args: False)
    try:
        yield
    finally:
        for name in names:
            setattr(functional, name, kept[name])


class Recorded:
    """A recorded program: its block, inputs, result tree and the values written back to the inputs."""

    def __init__(self, program: Callable, examples: list[torch.Tensor], dynamic: list[dict] | None = None,
                 recorder: Recorder | None = None, symbolic: bool = False):
        self.recorder = recorder or new_recorder()
        pairs = [self.recorder.input_tensor(x, f"x{i}", dynamic[i] if dynamic else None)
                 for i, x in enumerate(examples)]
        self.handles = [handle for handle, _ in pairs]
        self.inputs = [value for _, value in pairs]
        with _Routed(self.recorder, symbolic):
            self.result = program(*self.handles)
        symbols = (torch.SymInt, torch.SymFloat, torch.SymBool)
        self.result = tree_map_only(symbols, self.recorder.symbols.from_symbolic, self.result)
        self.outputs = tree_map_only((torch.Tensor, RtScalar), self._value, self.result)
        self.written = [self.recorder.value_of(handle) for handle in self.handles]

    def _value(self, x: Any) -> Value:
        return x.value if isinstance(x, RtScalar) else self.recorder.value_of(x)

    def run(self, inputs: list[torch.Tensor]) -> tuple[Any, list[torch.Tensor]]:
        env = run_block(self.recorder.block, dict(zip(self.inputs, inputs)), symbols_of(self.inputs, inputs))
        return tree_map_only(Value, lambda v: look(env, v), self.outputs), [look(env, v) for v in self.written]

    @property
    def nodes(self) -> list[str]:
        return [str(getattr(n, "target", None) or n.op).removeprefix("aten.") for n in self.recorder.block.nodes]


def same(a: Any, b: Any) -> None:
    """Equal structure, types, dtypes, shapes and (nearly) values."""
    flat_a, spec_a = tree_flatten(a)
    flat_b, spec_b = tree_flatten(b)
    assert spec_a == spec_b, (spec_a, spec_b)
    for x, y in zip(flat_a, flat_b):
        if isinstance(x, torch.Tensor):
            torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-6, equal_nan=True)
        else:
            assert type(x) is type(y) and (x == y or x != x and y != y), (x, y)


def check(program: Callable, *examples: torch.Tensor, others: list[tuple] = (), dynamic: list[dict] | None = None):
    """Records on the examples and compares with eager on them, on fresh inputs of the same shapes, and on others."""
    recorded = Recorded(program, [x.clone() for x in examples], dynamic, symbolic=dynamic is not None)
    trials = [examples, *others, *(tuple(_fresh(x) for x in examples) for _ in range(2))]
    for trial in trials:
        eager_inputs = [x.clone() for x in trial]
        with torch.no_grad():
            expected = program(*eager_inputs)
        got, written = recorded.run([x.clone() for x in trial])
        same(got, expected)
        same(written, eager_inputs)
    return recorded


def _fresh(x: torch.Tensor) -> torch.Tensor:
    if x.dtype.is_floating_point:
        return torch.randn_like(x)
    if x.dtype == torch.bool:
        return torch.rand(x.shape) > 0.5
    low, high = (int(x.min()), int(x.max()) + 1) if x.numel() else (0, 1)
    return torch.randint(low, high, x.shape, dtype=x.dtype)
