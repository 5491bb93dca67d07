# SPDX-License-Identifier: Apache-2.0
"""Runs one generated program in eager and compiled, and says how they compare.

The source is executed twice under one file name, so that the two sides share nothing, and is kept in
`linecache`, so that positions and tracebacks work as for a file. Inputs are drawn until enough of them
take different paths in eager (told by the instructions executed); the program is compiled on the first.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import random
import signal
import traceback
import types
from dataclasses import dataclass, field
from typing import Any, Callable

import torch

from tests.frontend.generated import rounding
from tests.frontend.generated.seeds import drawn_so_far, seed_all
from tests.frontend.support.compare import copy_value, differences, state_of
from tests.frontend.support.harness import executed_path, outcome

DRAWS = 14  # inputs tried while looking for different paths
INPUTS = 6  # inputs compared, and as many calls of one compiled program
ENDED = ("ended", "", "")  # both failed in an operation, which leaves states as they were in one of them only


@dataclass
class Report:
    """`status`: equal, refused, mismatch, rounding (the last bit decides what eager gives), crash (anything else
    raised), slow, unusable (eager itself fails)."""

    seed: int
    status: str
    kind: str = ""  # what tells one failure or refusal from another
    detail: str = ""
    paths: int = 0
    calls: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


class Slow(BaseException):
    """The compiler or the program took too long. Not an Exception, so that nothing swallows it."""


@contextlib.contextmanager
def time_limit(seconds: int):
    """Raises Slow after so many seconds of processor time, so that a busy machine fails nothing."""

    def ring(*_):
        raise Slow()

    old = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def load(source: str, name: str) -> types.ModuleType:
    """The source as a module of its own, visible to inspect and tracebacks."""
    filename = f"{name}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    module = types.ModuleType(name.replace("/", "_"))
    module.__file__ = filename
    import sys

    sys.modules[module.__name__] = module  # dataclasses and pickling look classes up there
    exec(compile(source, filename, "exec"), module.__dict__)
    return module


def draw(signature: list[tuple[str, str]], r: random.Random) -> tuple:
    return tuple(_draw(kind, r) for _, kind in signature)


def _vec(r: random.Random, *shape: int) -> torch.Tensor:
    total = 1
    for n in shape:
        total *= n
    shift = r.choice([-4, -2, 0, 0, 2, 4])
    return torch.tensor([(r.randint(-6, 6) + shift) / 2 for _ in range(total)]).reshape(shape)


def _draw(kind: str, r: random.Random) -> Any:
    if kind == "vec":
        return _vec(r, 4)
    if kind == "mat":
        return _vec(r, 3, 4)
    if kind == "k":
        return torch.tensor(r.randint(-3, 6))
    if kind == "lvec":
        return [_vec(r, 4), _vec(r, 4)]
    if kind == "dvec":
        return {"a": _vec(r, 4), "b": _vec(r, 4)}
    raise AssertionError(kind)


def choose_inputs(source: str, seed: int) -> tuple[list[tuple], int, str]:
    """Inputs that take different paths, how many paths that is, and why the program is unusable, if it is."""
    module = load(source, f"fuzz/program_{seed}")
    r = random.Random(seed * 7919 + 1)
    by_path: dict[Any, list[tuple]] = {}
    failures = 0
    for _ in range(DRAWS):
        inputs = draw(module.SIGNATURE, r)
        target = module.make()  # fresh: the path should depend on the inputs alone
        seed_all(0)
        with contextlib.redirect_stdout(io.StringIO()):
            (status, value), trace = executed_path(target, copy_value(inputs), {})
        if status == "raised" and not is_users(value) and not may_fail(module):
            failures += 1
            if failures > 2:
                return [], 0, "".join(traceback.format_exception(value))[-600:]
            continue
        by_path.setdefault(trace, []).append(inputs)
    groups = list(by_path.values())
    chosen: list[tuple] = []
    while len(chosen) < INPUTS and any(groups):
        for group in groups:
            if group and len(chosen) < INPUTS:
                chosen.append(group.pop(0))
    return chosen, len(by_path), ""


def may_fail(module: types.ModuleType) -> bool:
    """The program's operations may fail: a failure of eager is one of what is compiled, too."""
    return getattr(module, "FAILS", False)


def is_users(error: BaseException) -> bool:
    """Raised by a raise or assert statement of the program, as opposed to by an operation that failed."""
    if isinstance(error, AssertionError) or type(error).__name__ == "Stop":
        return True
    return str(error) in ("too large", "stop")


def refusal_kind(error: BaseException) -> str:
    """The class of a refusal: its message without places, names and numbers."""
    code = getattr(error, "code", None) or getattr(error, "kind", None)
    if isinstance(code, str):
        return code
    import re

    text = str(error).strip().splitlines()
    first = next((line for line in text if "error" in line), text[0] if text else type(error).__name__)
    first = re.sub(r"^\S*?:\d+(:\d+)?:\s*", "", first)
    first = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"", "'_'", first)
    return re.sub(r"\d+", "N", first)[:140]


def crash_kind(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    inner = next((f for f in reversed(frames) if "/dycl/" in f.filename), frames[-1] if frames else None)
    where = f"{inner.filename.rsplit('/', 1)[-1]}:{inner.lineno} {inner.name}" if inner else "?"
    return f"{type(error).__name__} at {where}"


def run(seed: int, source: str, compiler: Callable | None = None, limit: int = 60, **options: Any) -> Report:
    """One program, both ways. `compiler(target, args)`; dycl.compile unless told otherwise."""
    import time

    inputs, paths, unusable = choose_inputs(source, seed)
    if not inputs:
        return Report(seed, "unusable", detail=unusable)
    import dycl

    compiler = compiler or (lambda target, args: dycl.compile(target, args, allow_raise=True, **options))
    ours, theirs = load(source, f"fuzz/program_{seed}"), load(source, f"fuzz/program_{seed}")
    eager, subject = ours.make(), theirs.make()
    report = Report(seed, "equal", paths=paths)
    start = time.perf_counter()
    try:
        with time_limit(limit):
            example, before = copy_value(inputs[0]), copy_value(state_of(subject))
            with contextlib.redirect_stdout(io.StringIO()):
                compiled = compiler(subject, example)
            report.seconds["compile"] = time.perf_counter() - start
            problems = differences(before, state_of(subject), "state after compile")
            problems += differences(inputs[0], example, "example after compile")
            if problems:
                return _failed(report, "mismatch", "compile changed the program's state", "\n".join(problems))
            for number, given in enumerate(inputs):
                problem = _compare_call(eager, subject, compiled, given, number, may_fail(ours))
                report.calls += 1
                if problem == ENDED:
                    break
                if problem:
                    by_rounding = problem[0] == "mismatch" and rounding.decides(ours.make, inputs[: number + 1])
                    return _failed(report, "rounding" if by_rounding else problem[0], *problem[1:])
            report.seconds["total"] = time.perf_counter() - start
            return report
    except dycl.CompileError as error:
        wrong = "verification failed" in str(error)  # a wrong program that was caught, not a refusal
        return _failed(report, "mismatch" if wrong else "refused", refusal_kind(error), str(error))
    except Slow:
        return _failed(report, "slow", f"over {limit} s", "")
    except Exception as error:
        return _failed(report, "crash", crash_kind(error), "".join(traceback.format_exception(error))[-3000:])


def _failed(report: Report, status: str, kind: str, detail: str) -> Report:
    report.status, report.kind, report.detail = status, kind, detail
    return report


def _compare_call(eager, subject, compiled, given, number, fails) -> tuple[str, str, str] | None:
    ours, theirs = copy_value(given), copy_value(given)
    printed_ours, printed_theirs = io.StringIO(), io.StringIO()
    seed_all(number)
    with contextlib.redirect_stdout(printed_ours):
        expected = outcome(eager, ours, {})
    drawn = drawn_so_far()
    seed_all(number)
    with contextlib.redirect_stdout(printed_theirs):
        actual = outcome(compiled, theirs, {})
    where = f"call {number}, inputs {given!r}\n"
    if expected[0] != actual[0]:
        told = [f"{k} {v!r}"[:300] for k, v in (expected, actual)]
        text = f"{where}eager {told[0]}\ncompiled {told[1]}"
        if actual[0] == "raised":
            tail = "".join(traceback.format_exception(actual[1]))[-1500:]
            return "crash", "at run time: " + crash_kind(actual[1]), f"{text}\n{tail}"
        return "mismatch", "compiled returned where eager raised", text
    if expected[0] == "raised" and fails and not is_users(expected[1]):
        return ENDED
    if expected[0] == "raised":
        if type(expected[1]).__qualname__ != type(actual[1]).__qualname__:
            return ("mismatch", f"exception type {type(expected[1]).__qualname__} / {type(actual[1]).__qualname__}",
                    f"{where}{expected[1]!r}\n{actual[1]!r}")
        after = "after a raise"
    else:
        found = differences(expected[1], actual[1])
        if found:
            return "mismatch", "result", where + "\n".join(found)
        after = "after return"
    found = differences(ours, theirs, "inputs")
    if found:
        return "mismatch", f"inputs {after}", where + "\n".join(found)
    found = differences(state_of(eager), state_of(subject), "state")
    if found:
        return "mismatch", f"state {after}", where + "\n".join(found)
    if drawn != drawn_so_far():
        return "mismatch", f"generators {after}", where
    if printed_ours.getvalue() != printed_theirs.getvalue():
        return ("mismatch", "printed text",
                f"{where}eager printed {printed_ours.getvalue()!r}, compiled {printed_theirs.getvalue()!r}")
    return None
