# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE (the machine reads these programs as they are written). What differs between the Pythons that
are supported: every instruction of the running one is known, and constructs that 3.11 and 3.12 compile differently
(comprehensions inline or as functions, `super()`, slices, `yield from`, loop ends, generics) mean the same."""

import dis
import functools
import itertools
import math
import opcode
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch
from torch import nn

import dycl
from dycl.frontend.capture import capture
from dycl.frontend.machine import opcode_table, opcodes_calls
from dycl.frontend.options import Options
from dycl.frontend.state.code import CodeInfo
from tests.frontend.support.harness import Cases, I, T, check, refused

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
since_312 = pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")


# ---- instructions ------------------------------------------------------------------------------


def test_every_instruction_is_taken_refused_or_never_seen():
    known = set(opcode_table.HANDLERS) | set(opcode_table.REFUSED) | opcode_table.UNSEEN
    assert [name for name in dis.opmap if name not in known and not name.startswith("INSTRUMENTED_")] == []
    assert not set(opcode_table.HANDLERS) & set(opcode_table.REFUSED)
    assert not (set(opcode_table.HANDLERS) | set(opcode_table.REFUSED)) & opcode_table.UNSEEN


def test_every_intrinsic_has_its_place():
    for ours, theirs in ((opcodes_calls.INTRINSICS_1, "_intrinsic_1_descs"),
                         (opcodes_calls.INTRINSICS_2, "_intrinsic_2_descs")):
        names = getattr(opcode, theirs, None)  # from 3.12 on
        assert names is None or [name.removeprefix("INTRINSIC_") for name in names[1:]] == list(ours[1:])


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


@pytest.mark.parametrize("module", ["contextlib", "dataclasses", "functools", "statistics", "typing",
                                    "asyncio.tasks", "torch.nn.functional"])
def test_the_instructions_of_whole_modules_are_decoded(module):
    import importlib

    loaded = importlib.import_module(module)
    with open(loaded.__file__, encoding="utf-8") as file:
        top = compile(file.read(), loaded.__file__, "exec")
    seen = set()
    for code in _codes(top):
        info = CodeInfo(code)
        seen |= {ins.op for ins in info.instrs}
        assert all(ins.op != "FOR_ITER" or info.instrs[ins.target].op != "END_FOR" for ins in info.instrs)
    assert "LOAD_CONST" in seen and seen <= set(opcode_table.HANDLERS) | set(opcode_table.REFUSED)


def watched(x):
    total = x * 0
    for k in range(3):
        if x.sum() > k:
            total = total + x * k
    return total


def test_a_watched_function_is_read_as_it_was_compiled():
    """Tracers and debuggers put instructions of their own in place of the compiler's."""
    before = [(i.op, i.arg) for i in CodeInfo(watched.__code__).instrs]
    during = []

    def trace(frame, event, arg):
        frame.f_trace_opcodes = True
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        watched(POS)
        during += [(i.op, i.arg) for i in CodeInfo(watched.__code__).instrs]
    finally:
        sys.settrace(previous)
    assert during == before


# ---- versions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(3, 10), (3, 13), (3, 14)])
def test_another_python_is_refused_when_dycl_is_imported(version):
    program = f"import sys; sys.version_info = {(*version, 0, 'final', 0)}; import dycl"
    path = next(p for p in dycl.__path__).rsplit("/", 1)[0]
    run = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True,
                         text=True, env={"PYTHONPATH": path})
    assert run.returncode != 0
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: dycl needs Python 3.11 or 3.12") and f"{version[0]}.{version[1]}" in last


def test_a_module_built_for_another_python_is_named(tmp_path):
    package = tmp_path / "dycl"
    package.mkdir()
    for entry in Path(dycl.__path__[0]).iterdir():
        if not entry.name.startswith("_native"):
            (package / entry.name).symlink_to(entry)
    (package / "_native.cpython-300-x86_64-linux-gnu.so").touch()
    program = "import dycl; dycl.compile(lambda x: x, (__import__('torch').ones(1),))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         env={"PYTHONPATH": str(tmp_path)})
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert run.stderr.strip().splitlines()[-1].startswith("ImportError: dycl's native module is not built for "
                                                          f"Python {version}: PYTHON=")


# ---- comprehensions: 3.12 has them inline ------------------------------------------------------


@case(POS, NEG, MIX)
def decisions_in_a_comprehension(x):
    return sum([row * 2 if row > 0 else row - 1 for row in x], torch.zeros(()))


@case(POS, NEG, MIX)
def a_filter_that_depends_on_the_input(x):
    kept = [row for row in x if row > 0]
    return len(kept), sum(kept, torch.zeros(()))


@case(POS, NEG, MIX)
def the_variable_of_a_comprehension_is_its_own(x):
    k = 10 if x.sum() > 0 else 20
    parts = [k * row for k, row in enumerate(x)]
    return k, parts


@case(POS, NEG, MIX)
def a_variable_unbound_on_some_paths_is_used_in_a_comprehension(x):
    if x.sum() > 0:
        k = 5
    parts = [x * k for k in range(2)]
    try:
        return parts, k
    except UnboundLocalError:
        return parts, -1


@case(POS, NEG, MIX)
def closures_made_in_comprehensions(x):
    late = [lambda: x * k for k in range(3)]
    early = [lambda k=k: x * k for k in range(3)]
    scale = 2 if x.sum() > 0 else 3
    bound = {k: (lambda: x * k * scale) for k in range(2)}
    return [f() for f in late], [f() for f in early], [f() for f in bound.values()]


@case(POS, NEG, MIX)
def nested_comprehensions(x):
    table = [[a * b if a > 0 else a + b for b in x[:2]] for a in x[:2]]
    names = {f"{i}{j}": table[i][j] for i in range(2) for j in range(2) if i <= j}
    return names, {int(v > 0) for v in x}


@case(POS, NEG, MIX)
def an_exception_in_a_comprehension_restores_the_variable(x):
    k = 7
    try:
        parts = [1.0 / k for k in (1, 2, 0)] if x.sum() > 0 else [k for k in range(2)]
    except ZeroDivisionError:
        parts = []
    return x * k, parts


@case(POS, NEG, MIX)
def a_comprehension_inside_a_loop(x):
    total = x * 0
    for k in range(3):
        if x[k] > 0:
            total = total + sum(row for row in [x * j for j in range(k + 1)])
    return total, k


@case(POS, NEG, MIX)
def a_comprehension_in_a_loop_that_the_input_ends(x):
    while x.abs().sum() > 1:
        x = torch.stack([row * 0.5 if row > 0 else row * 0.25 for row in x])
    return x


def saved_and_dead(x, blocks):
    for block in blocks:
        x = block(x)
        if x.sum() > 0:
            break
    return [block(x) + k for block in blocks for k in range(2)]


def saved_and_read(x, blocks):
    for block in blocks:
        x = block(x)
        if x.sum() > 0:
            break
    parts = [block(x) for block in blocks]
    return parts, block(x)


def saved_and_read_after_an_exception(x, blocks):
    k = 2 if x[0] > 0 else 0
    try:
        return [x / (1 // k) for k in (1, 2)]
    except ZeroDivisionError:
        return blocks[k](x)


def test_a_dead_variable_does_not_keep_states_apart_over_a_comprehension():
    """`block` is another object on each path, and only one of these programs reads it after the comprehension."""
    torch.manual_seed(0)
    blocks = [nn.Linear(4, 4) for _ in range(3)]
    inputs = [(torch.randn(4),) for _ in range(8)]
    for program, dead in ((saved_and_dead, ["block", "k"]), (saved_and_read, []),
                          (saved_and_read_after_an_exception, [])):
        check(lambda x: program(x, blocks), inputs)  # noqa: B023
        info = CodeInfo(program.__code__)
        assert [info.instrs[i].value for i in sorted(info.dead_saves)] == (dead if sys.version_info >= (3, 12) else [])
    graph = capture(lambda x: saved_and_dead(x, blocks), inputs[0], {}, Options()).graph
    assert sum("linear" in str(getattr(node, "target", "")) for block in graph.reachable_blocks()
               for node in block.nodes) == 9


@case(POS, NEG, MIX, T(0.5, 0.25, 0.0, 0.0), paths=1)
def division_by_a_runtime_number_in_a_comprehension(x):
    n = int(x.sum())
    return [k // n for k in range(4)]


@case(POS, NEG, MIX)
def walrus_in_a_comprehension(x):
    last = None
    kept = [last for row in x if (last := row * 2) > 1]
    return kept, last


# ---- super, slices, calls ----------------------------------------------------------------------


class Base(nn.Module):
    scale = 2.0

    @property
    def offset(self):
        return 1.0

    @classmethod
    def named(cls):
        return len(cls.__name__)

    def forward(self, x):
        return x * self.scale + self.offset if x.sum() > 0 else x - self.offset


class Derived(Base):
    scale = 5.0

    @property
    def offset(self):
        return super().offset + 2.0

    @classmethod
    def named(cls):
        return super().named() + 1

    def forward(self, x):
        method = super().forward
        return super().forward(x) + super().scale, method(-x), super(Derived, self).forward(x), self.named()


def test_attributes_and_methods_of_super():
    check(Derived, [POS, NEG, MIX])


class OwnSuper(Base):
    def forward(self, x):
        super = lambda *args: types.SimpleNamespace(forward=lambda y: y * 3 if y.sum() > 0 else y)  # noqa: A001, E731
        return super().forward(x), super(1, 2).forward


def test_a_super_of_the_programs_own():
    class Plain(OwnSuper):
        def forward(self, x):
            return OwnSuper.forward(self, x)[0]

    check(Plain, [POS, NEG])


@case(POS, NEG, MIX)
def slices_read_and_written(x):
    n = int((x > 0).sum())
    items = [1, 2, 3, 4]
    items[1:3] = [9] if n > 1 else [7, 8, 9]
    y = x.clone()
    y[1:] = x[:-1] * 2
    y[:2] += 1
    del items[:1]
    return y, x[:n], x[n:], items, "abcd"[1:3], x[1:3][::1]


@case(POS, NEG, MIX)
def unary_plus_and_spread(x):
    parts = [x, +x]
    more = (*parts, *[x + 1] * 2)
    return more if x.sum() > 0 else (+x[0], *more)


# ---- numbers -----------------------------------------------------------------------------------


INF, NAN, D = float("inf"), float("nan"), torch.float64
SUMMANDS = [T(*values, dtype=D) for values in (
    (1e16, 1.0, -1e16), (0.1, 0.1, 0.1), (INF, 1.0, 2.0), (INF, -INF, 2.0), (NAN, 1.0, 2.0),
    (-0.0, -0.0, -0.0), (1e308, 1e308, -1e308), (1e-320, 3.0, -3.0), (-1e16, -1.0, 1e16), (2.0**53, 1.0, 1.0))]


def sums(x):
    """3.12 carries along what rounding loses in a sum of floats, 3.11 does not."""
    items = [row.item() for row in x]
    negative = sum(items, -0.0)
    tensors = sum([items[0], items[1], x[2]])
    return (sum(items), sum(items, 0.5), sum([0.1, 0.2, *items]), sum([1, *items, 2, True]),
            math.copysign(1.0, negative), tensors)


def test_sums_of_floats_are_those_of_the_running_python():
    check(sums, SUMMANDS, paths=1, rtol=0.0, atol=0.0)
    assert sum([1e16, 1.0, -1e16]) == float(sys.version_info >= (3, 12))


@case((T(1.0, 2.0, 3.0), I(2)), (T(0.1, 0.2, 0.3), I(3)), (T(-1.0, 5.0, 5.0), I(0)), values=True)
def a_sum_of_as_many_floats_as_the_input_says(x, n):
    return sum([x[k].item() * 1e16 ** (k % 2) for k in range(int(n))])


# ---- generators --------------------------------------------------------------------------------


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration("over")
        self.n -= 1
        return self.n


def delegate(x, n):
    left = yield from Countdown(n)
    yield len(left)
    got = yield from halves(x)
    yield got


def halves(x):
    yield x * 0.5
    if x.sum() > 0:
        return 1
    yield x * 0.25
    return 2


@case(POS, NEG, MIX)
def yield_from_classes_and_generators(x):
    return [part if isinstance(part, int) else part + 1 for part in delegate(x, 3)]


def failing(x):
    yield x
    if x.sum() > 0:
        raise ValueError("positive")
    yield x * 2


def passing_on(x):
    try:
        yield from failing(x)
    except ValueError:
        yield x * 3
    yield x * 4


@case(POS, NEG, MIX)
def an_exception_out_of_yield_from(x):
    return list(passing_on(x))


def stops_early(x):
    yield x
    if x.sum() > 0:
        raise StopIteration
    yield x * 2


@case(POS, NEG, MIX)
def stop_iteration_in_a_generator_is_a_runtime_error(x):
    try:
        return list(stops_early(x))
    except RuntimeError as error:
        return x * 3, str(error)


@case(POS, NEG, MIX)
def a_loop_left_by_break_within_a_generator(x):
    def rows():
        for row in x:
            if row < 0:
                return
            yield row

    total = torch.zeros(())
    for row in rows():
        if row > 2:
            break
        total = total + row
    else:
        total = total + 100
    return total


@dycl.host_function
def outside(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def test_host_functions_in_generators_and_comprehensions():
    """Neither is a `try` of the program, though 3.12 has a handler of its own around them."""

    def model(x):
        def rows():
            for k in range(2):
                yield outside(x) * k

        parts = [outside(row) for row in rows()]
        return parts[0] if x.sum() > 0 else parts[1]

    check(model, [POS, NEG])


@functools.lru_cache(None)
def program_312(name):
    """Programs in syntax that 3.11 cannot read."""
    source = '''
def generic_functions(x):
    def first[T](items: list[T]) -> T:
        return items[0]
    def both[*Ts, **P](*args: *Ts) -> int:
        return len(args)
    return first([x, x]) * 2 if x.sum() > 0 else first([x]) * both(x, x, x)

def generic_class(x):
    class Box[T]:
        def __init__(self, value: T):
            self.value = value
        def get(self) -> T:
            return self.value
    return Box(x).get() * 2 if x.sum() > 0 else Box(x + 1).get()

def alias(x):
    type Pair = tuple[int, int]
    return x * 2 if x.sum() > 0 else x

def nested_quotes(x):
    names = {"a": 1}
    return x * len(f"{names["a"]:>{4}}") if x.sum() > 0 else x
'''
    space = {"__name__": "program_312"}
    exec(compile(source, __file__, "exec"), space)
    return space[name]


@since_312
@pytest.mark.parametrize("name", ["generic_functions", "generic_class", "nested_quotes"])
def test_type_parameters(name):
    check(program_312(name), [POS, NEG])


def batches(x):
    def positive():
        for row in x:
            if row > 0:
                yield row

    try:
        itertools.batched(x, 0)
    except ValueError:
        pass
    return [(sum(batch), len(batch)) for batch in itertools.batched(positive(), 2)], list(itertools.batched("abc", 2))


@since_312
def test_batched():
    check(batches, [POS, NEG, MIX, T(1.0, 2.0, 3.0, -4.0)])


@since_312
def test_type_aliases_are_refused():
    refused(program_312("alias"), [POS], "not supported")


# ---- refused -----------------------------------------------------------------------------------


def test_exception_groups_are_refused():
    def model(x):
        try:
            if x.sum() > 0:
                raise ValueError("positive")
        except* ValueError:
            x = x * 2
        return x

    refused(model, [POS], "except\\*")


def test_coroutines_are_refused():
    async def later(x):
        return x

    def model(x):
        later(x).close()
        return x

    refused(model, [POS], "coroutine")


test_programs = case.test()
