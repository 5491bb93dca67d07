# SPDX-License-Identifier: Apache-2.0
"""The Recorder: numbers that leave tensors, native code that asks for them, and many states."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dycl.frontend.diagnostics import CaptureRefusal
from dycl.frontend.graph.interpret import ProgramRaised, look, run_block
from dycl.frontend.graph.program import Block, TensorType, Value
from dycl.frontend.values.escape import NeedDecision
from dycl.frontend.values.scalar import RtBool, RtFloat, RtInt
from tests.frontend.support.recording import Recorded, check, new_recorder, same

torch.manual_seed(0)
X = torch.randn(4, 6)
Y = torch.randn(4, 6)


# -- scalars -----------------------------------------------------------------------------------


def test_item_of_input_is_a_runtime_scalar():
    recorded = Recorded(lambda x: (x.sum().item(), (x > 0).any().item(), x.argmax().item()), [X])
    assert [type(s) for s in recorded.result] == [RtFloat, RtBool, RtInt]
    same(recorded.run([X])[0], (X.sum().item(), (X > 0).any().item(), X.argmax().item()))


def test_item_of_constants_is_static():
    def program(x):
        t = torch.tensor(3)
        t += 1
        u = torch.zeros(3)
        u[1] = 5
        return t.item(), bool((u > 1).any()), u.tolist(), torch.arange(4).sum().item(), int(t), float(t)

    assert Recorded(program, [X]).result == (4, True, [0.0, 5.0, 0.0], 6, 4, 4.0)


def test_random_is_never_static():
    recorded = Recorded(lambda x: (torch.rand(3).sum().item(), torch.randint(0, 5, (1,)).item()), [X])
    assert [type(s) for s in recorded.result] == [RtFloat, RtInt]


def test_static_reads_name_the_real_tensor():
    flag, other = torch.tensor(1), torch.tensor(2)
    recorded = Recorded(lambda x: ((flag + 1).item(), x * other), [X])
    assert recorded.result[0] == 2
    assert recorded.recorder.real.static_reads == {id(flag)}


def test_written_real_is_not_static():
    count = torch.zeros(())

    def program(x):
        count.add_(x.sum())
        return count.item()

    recorded = Recorded(program, [X])
    assert isinstance(recorded.result, RtFloat)
    (root,) = recorded.recorder.real.written()
    assert root.real is count and count.item() == 0


def test_declared_state_is_an_input():
    count = torch.zeros(())
    recorder = new_recorder()
    handle, value = recorder.real.declare_state(count, "count")
    x, xv = recorder.input_tensor(X, "x")
    scalar = recorder.call(torch.Tensor.item, (count,))
    assert isinstance(scalar, RtFloat) and value.constant is None
    recorder.call(torch.Tensor.add_, (count, 1))
    env = run_block(recorder.block, {value: torch.tensor(4.0), xv: X})
    assert look(env, scalar.value) == 4.0 and look(env, recorder.value_of(handle)) == 5.0


def test_tolist_and_truth():
    recorded = check(lambda x: (x[:2, :2].tolist(), torch.is_nonzero(x.sum() > 0), x[0, 1].item()), X)
    assert recorded.nodes.count("item") == 6


def test_tolist():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    rows = recorder.call(torch.Tensor.tolist, (x,))
    assert recorder.call(torch.Tensor.tolist, (torch.eye(2),)) == [[1.0, 0.0], [0.0, 1.0]]
    env = run_block(recorder.block, {value: Y})
    assert [[look(env, s.value) for s in row] for row in rows] == Y.tolist()
    with pytest.raises(CaptureRefusal):
        recorder.call(torch.Tensor.tolist, (recorder.call(torch.Tensor.repeat, (x, 1000, 1)),))
    with pytest.raises(CaptureRefusal):
        recorder.call(torch.Tensor.tolist, (recorder.call(torch.nonzero, (x,)),))
    assert recorder.numbers.tolist(recorder.call(torch.nonzero, (x,))) is None


def test_equal_and_allclose():
    check(lambda x, y: (torch.equal(x, y), torch.equal(x, x), torch.allclose(x, x + 1e-9), torch.equal(x, y[:2])), X, Y)


def _runtime(recorder, x):
    number = recorder.call(torch.Tensor.item, (recorder.call(torch.sum, (x,)),))
    index = recorder.call(torch.Tensor.item, (recorder.call(torch.argmax, (recorder.call(torch.sum, (x, 1)),)),))
    return number, index


def _with_runtime(body):
    """Runs body(recorder, x, float, int) on the recorder, and the same on eager values."""
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    number, index = _runtime(recorder, x)
    result = body(recorder.call, x, number, index)
    outputs = [recorder.value_of(r) for r in result]
    for trial in (X, Y, torch.randn(4, 6)):
        got = run_block(recorder.block, {value: trial})
        eager = body(lambda f, args, kwargs=None: f(*args, **(kwargs or {})), trial.clone(), trial.sum().item(),
                     trial.sum(1).argmax().item())
        same([look(got, v) for v in outputs], eager)
    return recorder


def test_runtime_floats_as_arguments():
    _with_runtime(lambda call, x, f, i: [
        call(torch.mul, (x, f)), call(torch.Tensor.__rsub__, (x, f)), call(torch.clamp, (x, f, None)),
        call(torch.full, ((2,), f)), call(torch.where, (call(torch.gt, (x, 0)), x, f)),
        call(torch.Tensor.masked_fill, (x, call(torch.gt, (x, f)), f)), call(torch.add, (x, x), {"alpha": f}),
        call(torch.tensor, ([f, 1.0],)), call(torch.tensor, ([[i, 2], [3, i]],)), call(torch.tensor, (f,)),
        call(torch.addcmul, (x, x, x), {"value": f}), call(torch.lerp, (x, x, f)),
    ])


def test_runtime_ints_as_indices_and_sizes():
    _with_runtime(lambda call, x, f, i: [
        call(torch.Tensor.__getitem__, (x, i)), call(torch.Tensor.__getitem__, (x, (slice(None), i))),
        call(torch.Tensor.__getitem__, (x, (i, slice(1, 3)))), call(torch.Tensor.__getitem__, (x, slice(i, None))),
        call(torch.Tensor.__getitem__, (x, slice(None, i))), call(torch.zeros, (i, 3)), call(torch.arange, (i,)),
        call(torch.Tensor.__getitem__, (x, (Ellipsis, i))), call(torch.Tensor.narrow, (x, 0, i, 1)),
        call(torch.mul, (x, i)), call(torch.roll, (x, i, 0)), call(torch.Tensor.repeat, (x, i, 1)),
        call(torch.linspace, (0, 1, i)), call(torch.linspace, (-1, f, i)), call(F.pad, (x, (0, i))),
        call(torch.Tensor.__getitem__, (x, (None, i, None))),
    ])


def test_runtime_index_assignment():
    def body(call, x, f, i):
        y = call(torch.clone, (x,))
        call(torch.Tensor.__setitem__, (y, i, 1.0))
        call(torch.Tensor.__setitem__, (y, (slice(None), i), f))
        call(torch.Tensor.__setitem__, (y, (i, slice(0, 2)), call(torch.Tensor.__getitem__, (x, (0, slice(0, 2))))))
        row = call(torch.Tensor.__getitem__, (y, i))
        call(torch.Tensor.add_, (row, 1))
        return [y, row]

    _with_runtime(body)


def test_tensor_index_is_a_view():
    def program(x, i):
        y = x.clone()
        y[i[0]] = 3
        y[i[1]].add_(2)
        return y, x[i[0], i[1]]

    check(program, X, torch.tensor([1, 2]))


# -- native decisions -------------------------------------------------------------------------------------


def test_native_truth_asks_for_a_decision():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    keep = recorder.call(torch.Tensor.item, (recorder.call(torch.any, (recorder.call(torch.gt, (x, 0)),)),))
    with pytest.raises(NeedDecision) as asked:
        recorder.call(torch.sum, (x, 0), {"keepdim": keep})
    assert asked.value.condition.value is keep.value
    entry = recorder.block
    for answer in (True, False):
        recorder.block = Block(entry)
        recorder.path.decide = lambda expression, answer=answer: answer
        assert recorder.call(torch.sum, (x, 0), {"keepdim": keep}).dim() == (2 if answer else 1)


def test_decision_inside_native_code_keeps_the_condition():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    fn = lambda t: t.add_(1) if bool((t * 2).sum() > 0) else t
    fn.__name__ = "user"
    with pytest.raises(NeedDecision) as asked:
        recorder.call(fn, (x,))
    env = run_block(recorder.block, {value: X})
    assert look(env, asked.value.condition.value) == bool((X * 2).sum() > 0)
    assert recorder.real.written() == []


def test_failed_call_leaves_no_trace():
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    before = recorder.value_of(x)

    def broken(t):
        t.add_(1)
        t[0].mul_(2)
        raise KeyError("user")

    with pytest.raises(KeyError):
        recorder.call(broken, (x,))
    assert recorder.block.nodes == [] and recorder.value_of(x) is before
    with pytest.raises(RuntimeError):
        recorder.call(torch.add, (x, torch.randn(3, 7)))
    assert recorder.block.nodes == []
    view = recorder.call(torch.Tensor.__getitem__, (x, 0))
    with pytest.raises(KeyError):
        recorder.call(broken, (view,))
    recorder.call(torch.mul, (view, 2))
    assert [n.target for n in recorder.block.nodes] == [torch.ops.aten.select.int, torch.ops.aten.mul.Tensor]


def test_what_was_checked_is_known_below():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    n = recorder.call(torch.Tensor.item, (recorder.call(torch.Tensor.long, (recorder.call(torch.sum, (x,)),)),))
    entry = recorder.block
    for _ in range(2):  # what one arm has checked, the other must check again
        recorder.block = Block(entry)
        recorder.call(torch.zeros, (n,))
        recorder.call(torch.ones, (n,))
        recorder.block = Block(recorder.block)
        recorder.call(torch.zeros, (n,))
        checks = [sum(getattr(node, "op", "") == "check" for node in b.nodes)
                  for b in (recorder.block.idom, recorder.block)]
        assert checks == [1, 0]


def test_negative_size_is_checked_at_run_time():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    n = recorder.call(torch.Tensor.item, (recorder.call(torch.Tensor.long, (recorder.call(torch.sum, (x,)),)),))
    recorder.call(torch.zeros, (n,))
    run_block(recorder.block, {value: torch.ones(4, 6)})
    with pytest.raises((ProgramRaised, RuntimeError)):
        run_block(recorder.block, {value: -torch.ones(4, 6)})


# -- many states ----------------------------------------------------------------------------------------------------


def test_states_see_their_own_contents():
    """Two arms write one storage; views made before the fork read what their own arm wrote."""
    recorder = new_recorder()
    heap = recorder.heap
    x, value = recorder.input_tensor(X, "x")
    y = recorder.call(torch.clone, (x,))
    row = recorder.call(operator.getitem, (y, 1))
    recorder.call(torch.add, (row, 0))
    entry, trunk = recorder.block, heap.active
    heap.save()
    arms = []
    for factor in (2.0, 5.0):
        heap.activate(trunk.fork())
        recorder.block = Block(entry)
        recorder.call(torch.Tensor.mul_, (y, factor))
        arms.append((heap.active, recorder.block, recorder.value_of(row)))
    for (overlay, block, seen), factor in zip(arms, (2.0, 5.0)):
        heap.activate(overlay)
        recorder.block = block
        again = recorder.value_of(row)
        recorder.call(torch.Tensor.zero_, (row,))
        env = run_block(block, run_block(entry, {value: X}))
        same(look(env, seen), X[1] * factor)
        same(look(env, again), X[1] * factor)
        expected = X * factor
        expected[1] = 0
        same(look(env, recorder.value_of(y)), expected)
    heap.activate(trunk)
    recorder.block = entry
    same(look(run_block(entry, {value: X}), recorder.value_of(y)), X)


def test_a_views_value_is_not_used_where_it_was_not_computed():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    row = recorder.call(operator.getitem, (x, 1))
    entry = recorder.block
    for _ in range(2):
        recorder.block = Block(entry)
        recorder.call(torch.mul, (row, 2))
        assert len(recorder.block.nodes) == 2  # the select is recorded in each arm
        recorder.call(torch.mul, (row, 3))
        assert len(recorder.block.nodes) == 3


def test_merged_handle_with_unknown_extent():
    recorder = new_recorder()
    block = Block(recorder.block)
    param = Value(TensorType(torch.float32, (None, 6)), block)
    block.params.append(param)
    recorder.block = block
    t = recorder.new_handle(torch.float32, (None, 6), param)
    y = recorder.call(torch.mul, (t, recorder.numbers.extent(t, 0)))
    z = recorder.call(operator.getitem, (y, slice(1, None)))
    total = recorder.value_of(recorder.call(torch.sum, (z,)))
    for n in (1, 3):
        data = torch.randn(n, 6)
        same(look(run_block(block, {param: data}), total), (data * n)[1:].sum())


RANDOM = {
    "multinomial_one": lambda x: torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 1),
    "multinomial_distinct": lambda x: torch.multinomial(torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0]]), 2).sort(1)[0],
    "multinomial_replacement": lambda x: torch.multinomial(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), 5, replacement=True),
    "permutation": lambda x: torch.randperm(7).sort()[0],
    "constant_normal": lambda x: torch.normal(torch.tensor([1.0, 2.0]), torch.zeros(2)),
    "categorical": lambda x: torch.distributions.Categorical(probs=torch.tensor([0.0, 1.0]),
                                                             validate_args=False).sample(),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_ops_with_one_possible_result(name):
    recorded = check(RANDOM[name], X)
    assert any(node.startswith("rand.") for node in recorded.nodes)


# -- native code that looks inside -----------------------------------------------------------------------------------


def test_decisions_survive_torchscript():
    """TorchScript makes a RuntimeError of every exception; the decision must not be lost in it."""

    @torch.jit.script
    def scripted(x):
        if bool(x.sum() > 0):
            return x * 2
        return x

    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(NeedDecision):
        recorder.call(scripted, (x,))
    recorder.path.decide = lambda expression: True
    assert "mul" in str(recorder.call(scripted, (x,)) is not x and recorder.block.nodes[-1].target)


def test_a_swallowed_decision_is_raised_again():
    def curious(t):
        try:
            return t * 2 if bool(t.sum() > 0) else t
        except BaseException:
            return t

    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(NeedDecision):
        recorder.call(curious, (x,))


ESCAPES = {
    "index": lambda x: list(range(x.argmax())),
    "int": lambda x: int(x.sum()),
    "float_format": lambda x: math.sqrt(x.sum()),
    "numpy": lambda x: x.numpy(),
    "array": lambda x: np.asarray(x),
    "gradient": lambda x: x.sum().backward(),
    "cond": lambda x: torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a, (x,)),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_native_code_cannot_bake_a_runtime_value(name):
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(CaptureRefusal):
        recorder.call(ESCAPES[name], (x,))


@pytest.mark.parametrize("name", ["data_ptr", "numpy", "__repr__", "untyped_storage", "__array__", "backward"])
def test_methods_that_look_inside_are_refused(name):
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(CaptureRefusal):
        recorder.call(getattr(torch.Tensor, name), (x,))


def test_operators_with_runtime_scalars():
    ops = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.gt, operator.eq]
    _with_runtime(lambda call, x, f, i: [call(op, pair) for op in ops
                                         for pair in ((call(torch.abs, (x,)), f), (call(torch.abs, (x,)), i))]
                  + [call(op, (i, call(torch.abs, (x,)))) for op in ops]
                  + [call(op, (f, x)) for op in ops[:4]]
                  + [call(operator.getitem, (x, i)), call(operator.matmul, (x, call(torch.t, (x,))))])


def test_operator_matmul_is_kept_whole():
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    recorder.call(operator.matmul, (x, recorder.call(torch.t, (x,))))
    assert "matmul" in str(recorder.block.nodes[-1].target)
