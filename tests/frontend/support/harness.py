# SPDX-License-Identifier: Apache-2.0
"""Eager against compiled, for hand-written programs.

`check(make, inputs)` compiles one instance of a program on the first inputs and runs it beside another
instance in eager on all of them, in order, so that what the program remembers between calls is
compared as well: results, raised exceptions, written inputs, module state. Unless told otherwise the
inputs must take different paths: a test whose inputs all execute the same instructions proves nothing about
control flow, so that is an error of the test (`paths=1` for programs without any).

`refused(make, inputs, match)` asserts that the front end refuses, with a diagnostic that names the
user's file and line and matches `match`.

`make` is a function (used as it is, if it keeps no state), an nn.Module class or a function without
parameters that builds the program (marked by `@factory`).
"""

from __future__ import annotations

import contextlib
import copy
import io
import re
import sys
from typing import Any, Callable, Sequence

import pytest
import torch

from tests.frontend.support.compare import copy_value, differences, state_of

# Tests are also about what a model raises, with their first input, too.
COMPILE_OPTIONS: dict[str, Any] = {"allow_raise": True}


def factory(build: Callable) -> Callable:
    """Marks a function without parameters that returns a fresh program."""
    build.__is_factory__ = True
    return build


def instantiate(make: Any) -> Any:
    """A fresh instance; two instances hold equal weights and share nothing mutable."""
    if isinstance(make, type) or getattr(make, "__is_factory__", False) is True:
        torch.manual_seed(0)
        made = make()
    elif isinstance(make, torch.nn.Module):
        made = copy.deepcopy(make)
    else:
        made = make
    return made.eval() if isinstance(made, torch.nn.Module) else made


def T(*values: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A tensor from numbers: T(1, -2.5); T(3) has no dimension."""
    data = values[0] if len(values) == 1 else list(values)
    if dtype is None and not _any_float(data) and not isinstance(data, bool):
        dtype = torch.float32
    return torch.tensor(data, dtype=dtype)


def I(*values: Any) -> torch.Tensor:
    """An integer tensor; I(3) has no dimension."""
    return torch.tensor(values[0] if len(values) == 1 else list(values), dtype=torch.int64)


def _any_float(data: Any) -> bool:
    return any(map(_any_float, data)) if isinstance(data, (list, tuple)) else isinstance(data, (float, bool))


class Call:
    """Inputs of one call when there are keyword arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.args, self.kwargs = args, kwargs


def as_call(given: Any) -> Call:
    if isinstance(given, Call):
        return given
    return Call(*given) if isinstance(given, tuple) else Call(given)


def outcome(target: Callable, args: tuple, kwargs: dict) -> tuple[str, Any]:
    """("returned", value) or ("raised", exception)."""
    try:
        with torch.no_grad():
            return "returned", target(*args, **kwargs)
    except Exception as error:
        return "raised", error


def executed_path(target: Callable, args: tuple, kwargs: dict) -> tuple[tuple[str, Any], frozenset]:
    """The outcome and how often each instruction of the user's code ran: what tells paths apart."""
    ran: dict = {}

    def tracer(frame, event, _):
        name = frame.f_code.co_filename
        if "site-packages" in name or "/lib/python" in name or name.startswith("<frozen"):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            key = (frame.f_code, frame.f_lasti)
            ran[key] = ran.get(key, 0) + 1
        return tracer

    old = sys.gettrace()
    sys.settrace(tracer)
    try:
        result = outcome(target, args, kwargs)
    finally:
        sys.settrace(old)
    return result, frozenset(ran.items())


def check(make: Any, inputs: Sequence[Any], *, paths: int = 2, by_result: bool = False, rtol: float = 1e-5,
          atol: float = 1e-6, kwargs: dict | None = None, **options: Any) -> Any:
    """Compiles on the first inputs, compares on all of them; returns the compiled program.

    `paths`: how many different paths the inputs must take in eager. `by_result`: the choice is made inside
    native code (any, min, ...), where paths can't be seen: distinct results are asked for instead.
    """
    import dycl

    calls = [as_call(given) for given in inputs]
    eager, subject = instantiate(make), instantiate(make)
    example = copy_value((calls[0].args, calls[0].kwargs))
    before = copy_value(state_of(subject))
    compiled = dycl.compile(subject, example[0], example[1] or None, **{**COMPILE_OPTIONS, **options})
    problems = differences(before, state_of(subject), "state after compile")
    problems += differences((calls[0].args, calls[0].kwargs), example, "example inputs after compile")

    traces, results = set(), []
    for number, call in enumerate(calls):
        ours, theirs = copy_value((call.args, call.kwargs)), copy_value((call.args, call.kwargs))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            expected, trace = executed_path(eager, *ours)
        traces.add(trace)
        with contextlib.redirect_stdout(io.StringIO()) as printed_too:
            actual = outcome(compiled, *theirs)
        where = f"call {number}"
        problems += differences(printed.getvalue(), printed_too.getvalue(), f"{where}: printed")
        problems += compare_outcomes(expected, actual, where, rtol, atol)
        problems += differences(ours, theirs, f"{where}: inputs after", rtol, atol)
        problems += differences(state_of(eager), state_of(subject), f"{where}: state after", rtol, atol)
        if not any(not differences(expected[1], old) for old in results):
            results.append(copy_value(expected[1]) if expected[0] == "returned" else expected[1])
    assert not problems, "\n".join(problems)
    distinct = len(results) if by_result else len(traces)
    assert distinct >= paths, f"the inputs take {distinct} path(s); this test promises {paths}"
    return compiled


def compare_outcomes(expected: tuple, actual: tuple, where: str, rtol: float = 1e-5, atol: float = 1e-6) -> list[str]:
    if expected[0] != actual[0]:
        told = [f"{kind} {type(v).__name__}: {v}" if kind == "raised" else f"returned {v!r}"[:200]
                for kind, v in (expected, actual)]
        return [f"{where}: eager {told[0]}, compiled {told[1]}"]
    if expected[0] == "raised":
        if type(expected[1]).__qualname__ != type(actual[1]).__qualname__:
            return [f"{where}: eager raised {expected[1]!r}, compiled raised {actual[1]!r}"]
        return []
    return differences(expected[1], actual[1], f"{where}: result", rtol, atol)


class Cases:
    """A table of programs: `@case(inputs of call 0, inputs of call 1, ...)` over a function, a module class or a
    factory; `test_x = case.test()` at the end of the file runs each through `check`, `refused` or `either`.

    An input that is not a tuple or Call is the only argument. `paths`: see check. `values`: the choice is
    made in native code, so distinct results count instead of distinct paths. `refuse`: the front end must refuse, with
    a text that matches. `may_refuse`: it may, with a text that matches; never a wrong result.
    """

    def __init__(self):
        self.table: list[tuple] = []

    def __call__(self, *inputs: Any, paths: int | None = None, values: bool = False, refuse: str | None = None,
                 may_refuse: str | None = None, **options: Any) -> Callable:
        def register(make):
            self.table.append((make, inputs, paths, values, refuse, may_refuse, options))
            return make

        return register

    def test(self) -> Callable:
        @pytest.mark.parametrize("row", self.table, ids=[row[0].__name__ for row in self.table])
        def run(row):
            make, inputs, paths, values, refuse, may_refuse, options = row
            if refuse is not None:
                refused(make, inputs, refuse, **options)
                return
            options = {"paths": min(2, len(inputs)) if paths is None else paths, "by_result": values, **options}
            if may_refuse is not None:
                either(make, inputs, may_refuse, **options)
            else:
                check(make, inputs, **options)

        assert len({row[0].__name__ for row in self.table}) == len(self.table), "two programs of one name"
        return run


def refused(make: Any, inputs: Sequence[Any], match: str, **options: Any) -> str:
    """Asserts a refusal whose text points into this test's file; returns the text."""
    import dycl

    call = as_call(inputs[0])
    # The program itself must be sound: a refusal of a broken program proves nothing.
    for given in inputs:
        again = as_call(given)
        ours = copy_value((again.args, again.kwargs))
        outcome(instantiate(make), *ours)
    subject = instantiate(make)
    example = copy_value((call.args, call.kwargs))
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(subject, example[0], example[1] or None, **{**COMPILE_OPTIONS, **options})
    text = str(caught.value)
    assert re.search(match, text, re.IGNORECASE | re.DOTALL), f"diagnostic does not match {match!r}:\n{text}"
    assert re.search(r"[\w./-]+\.py:\d+:\d+", text), f"diagnostic names no file:line:col:\n{text}"
    assert "^" in text, f"diagnostic has no caret:\n{text}"
    assert "/dycl/frontend/" not in text.split("\n", 1)[0], f"diagnostic points into the compiler:\n{text}"
    return text


def either(make: Any, inputs: Sequence[Any], match: str = "", **options: Any) -> Any:
    """For constructs that may be supported or refused, never wrong: `check`, unless the front end refuses."""
    import dycl

    try:
        return check(make, inputs, **options)
    except dycl.CompileError as error:
        text = str(error)
        assert "verification failed" not in text, text  # a wrong program that was caught, not a refusal
        assert re.search(match, text, re.IGNORECASE | re.DOTALL), f"diagnostic does not match {match!r}:\n{text}"
        pytest.skip("refused: " + text.strip().splitlines()[0][:150])
