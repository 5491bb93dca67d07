# SPDX-License-Identifier: Apache-2.0
"""Each way to run a model, made ready, or the reason why it is not to be had."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import onnxruntime
import torch

import dycl

from ..frontend import torch_internals


@dataclass
class Rival:
    """`call` takes the arguments of one input; None: `why` says why there is none."""

    name: str
    call: Callable[[tuple], Any] | None = None
    why: str = ""
    seconds: float | None = None  # until it is ready, warm-up included
    bytes: int | None = None  # of the file to deploy
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Case:
    """A model and what it is called with; each input is the example of nobody but the first."""

    model: Any
    inputs: list[tuple]
    kwargs: dict[str, Any]
    threads: int
    limit: float  # seconds that a warm-up may take
    folder: Path  # for what is written
    options: dict[str, Any] = field(default_factory=dict)  # of dycl.compile


def eager(case: Case) -> Rival:
    def call(args: tuple) -> Any:
        with torch.no_grad():
            return case.model(*args, **case.kwargs)

    return Rival("eager", call, seconds=0.0)


def torch_compile(case: Case) -> Rival:
    run, facts = inductor(case.model, case.inputs, case.limit, kwargs=case.kwargs)
    known = {"graphs": facts["graphs"], "breaks": facts["breaks"],
             "skipped_frames": facts["skipped_frames"], "recompile_limit": facts["recompile_limit"]}
    return Rival("torch.compile", run, facts.get("raised", ""), facts["seconds"], None, known)


def exported(case: Case) -> Rival:
    """torch.export and AOTInductor: the model as it is, not rewritten with torch.cond."""
    name, path, started = "torch.export, AOTInductor", case.folder / "aoti.pt2", time.perf_counter()
    model = case.model if isinstance(case.model, torch.nn.Module) else _AsModule(case.model)
    try:
        with torch.no_grad(), _silence():
            program = torch.export.export(model, copy.deepcopy(case.inputs[0]), dict(case.kwargs), strict=False)
            run = torch_internals.compiled_ahead_of_time(program, str(path))
    except Exception as problem:
        return Rival(name, None, in_short(problem), time.perf_counter() - started)
    return Rival(name, lambda args: run(*args, **case.kwargs), "", time.perf_counter() - started, _size(path))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """torch.export prints the graph of what it refuses; the table has the reason."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()),
              contextlib.redirect_stderr(io.StringIO())):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


class _AsModule(torch.nn.Module):
    """torch.export takes modules alone."""

    def __init__(self, function: Callable):
        super().__init__()
        self._function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def ours(case: Case, backend: str) -> tuple[Rival, Any]:
    """And the program, for what is written from it."""
    name, started = f"DyCL, {backend}", time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dycl.CompileWarning)
            program = dycl.compile(case.model, case.inputs[0], case.kwargs, backend=backend, threads=case.threads,
                                   **case.options)
    except dycl.Error as error:
        return Rival(name, None, in_short(error), time.perf_counter() - started), None
    path = case.folder / f"{backend}.dycl"
    program.save(path)
    return Rival(name, lambda args: program(*args, **case.kwargs), "", time.perf_counter() - started, _size(path),
                 {"decisions": len(program._engine.program.decisions)}), program


def if_loop(case: Case, program: Any) -> Rival:
    """The whole program as one ONNX file with If and Loop (`dycl emit --onnx`) in plain ONNX Runtime. torch.onnx.export
    writes such a file only of a model that was rewritten with torch.cond."""
    name, path, started = "ONNX If/Loop, ONNX Runtime", case.folder / "whole.onnx", time.perf_counter()
    if program is None:
        return Rival(name, None, "DyCL writes it, and refuses the model")
    if program.states:
        return Rival(name, None, "the model keeps states between calls, which are inputs and outputs of the file")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = case.threads, 1, 4
    try:
        program.emit_onnx(path)
        session = onnxruntime.InferenceSession(str(path), options)
    except Exception as problem:
        return Rival(name, None, in_short(problem), time.perf_counter() - started)
    names, kinds = [i.name for i in session.get_inputs()], [kind for _, kind in program.outputs]

    def call(args: tuple) -> Any:
        flat, originals = program._interface.collect(args, case.kwargs)
        found = session.run(None, {n: _array(x) for n, x in zip(names, flat)})
        return program._interface.give_back([_value(x, kind) for x, kind in zip(found, kinds)], [], originals)

    return Rival(name, call, "", time.perf_counter() - started, _size(path))


def _array(x: Any) -> np.ndarray:
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def _value(x: Any, kind: str) -> Any:
    if isinstance(x, list):
        return [_value(one, kind.partition("<")[2][:-1]) for one in x]
    return x.item() if kind in ("bool", "int", "float") else torch.from_numpy(np.asarray(x))


def _size(path: Path) -> int:
    return sum(p.stat().st_size for p in path.parent.glob(path.name + "*"))


def in_short(problem: BaseException) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    said = lines[0] if lines else ""
    return f"{type(problem).__name__}: {said}"[:300]


def _counted(counters: Any) -> dict[str, int]:
    """What Dynamo says of the compilations since it was reset."""
    told = [(str(text), int(count)) for text, count in counters["unimplemented"].items()]
    limits = sum(count for text, count in told if "limit" in text)
    skipped = sum(count for text, count in told if "Skipping the frame" in text)
    breaks = sum(count for text, count in told) - limits - skipped  # what is skipped is told of twice
    return {"graphs": int(counters["stats"].get("unique_graphs", 0)),
            "breaks": max(breaks, int(sum(counters["graph_break"].values()))),
            "skipped_frames": skipped,  # functions that are left to Python whole
            "recompile_limit": int(sum(counters["recompile_limit"].values())) + limits}


def inductor(model: Any, inputs: list[tuple], limit: float, tell: Callable[[dict], None] = lambda facts: None, *,
             kwargs: dict | None = None) -> tuple[Callable | None, dict]:
    """torch.compile with its defaults, warmed on the inputs; what Dynamo counted and how long it took. No further input
    is warmed once `limit` seconds are spent; `tell` gets the facts after each."""
    counters = torch_internals.reset_dynamo()
    compiled, given = torch.compile(model), kwargs or {}
    start, cpu_start, warmed = time.perf_counter(), _processor_time(), 0

    def facts() -> dict:
        return {"seconds": time.perf_counter() - start, "cpu_seconds": _processor_time() - cpu_start,
                "warmed_inputs": warmed, **_counted(counters)}

    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for args in inputs:
                compiled(*args, **given)
                warmed += 1
                tell(facts())
                if time.perf_counter() - start > limit:
                    break
    except Exception as problem:
        return None, {**facts(), "raised": in_short(problem)}
    made = facts()

    def run(args: tuple) -> Any:
        with torch.no_grad():
            return compiled(*args, **given)

    return run, made


def _processor_time() -> float:
    """Of this process and of the compilers it started and waited for."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system
