# SPDX-License-Identifier: Apache-2.0
"""`dycl.compile`: capture, lowering, engines, package, and the check of the example."""

from __future__ import annotations

import dataclasses
import inspect
import os
import time
import warnings
from typing import Any, Callable, Sequence

import torch

from . import generators
from .build import build
from .calling.program import CompiledProgram
from .errors import CompileWarning, InputError, unknown_name
from .frontend import diagnostics
from .frontend.boundary.interface import interface_of
from .frontend.capture import capture
from .frontend.exported_program import ExportedProgram, opened
from .frontend.options import Options
from .objects import parameter_names
from .onnx_files import compile_file
from .runtime import checked_threads, path_of
from .verification.compare import check_example
from .verification.verify import verify as verify_program


def compile(model: Any, args: tuple = (), kwargs: dict | None = None, *, backend: str = "ort",
            dynamic_dims: dict | None = None, ranges: dict | None = None, dynamic_args: dict | None = None,
            max_iterations: int = 0, verify: bool | str = True, allow_training: bool = False,
            allow_raise: bool = False, threads: int = 0, budget: float = 20.0, tune: float = 0.0, jobs: int = 0,
            use_cache: bool = True, portable: bool = False, strip: bool = False,
            dump: str | os.PathLike | None = None, skip_passes: Sequence[str] = (),
            overridable: Sequence[str] = (), progress: Callable[[str], None] | None = None, **limits: Any) -> Any:
    """Compiles a module, function or bound method with its control flow, whatever the input decides. What
    torch.export.export gives is taken, too, with its example and its dynamic extents. The name of an ONNX file gives an
    OnnxProgram: docs/onnx.md.

    args, kwargs   example arguments: tensors (anywhere in nested containers) become inputs, other values
                   are fixed and checked at each call
    backend        the engine of the straight-line parts: "ort", "openvino", "tvm", or "auto": chosen for each part by
                   measuring with `threads` threads, for at most `budget` seconds
    threads        of the engine within one call, at most 1024; 0: as many as there are cores
    tune           seconds to look for better code ("tvm" and "auto"); what is found is kept for later compilations
    jobs           processes that compile at once; 0: as many as cores and memory allow
    use_cache      take what engines compiled before (DYCL_CACHE_DIR, ~/.cache/dycl)
    portable       no artifacts for this machine's CPU
    strip          leave IR text and source lines out: errors name no lines, `emit` does not work
    dump           a folder for the IR after every pass; skip_passes: names of passes to leave out
    dynamic_dims   {argument name: {axis: symbol}}: extents that may differ from call to call. Instead of a symbol,
                   (least, greatest) or a torch.export.Dim; instead of a dict, a list of axes
    ranges         {symbol: (least, greatest)}
    dynamic_args   {argument name: int, float or bool}: numbers that may differ from call to call
    overridable    of an ONNX file: names of inputs with a default value that calls may give; others are constants
    progress       is called with the name of each stage that begins and, once a second, with how far capture is
    verify         run model and program side by side on the example before returning; of an ONNX file, ONNX Runtime
                   and program on the example, or on random inputs where none is given
    allow_training compile a module that is in training mode
    allow_raise    compile a model that raises on its own example, too

    Raises CompileError, with the place in the user's code, the reason and a remedy, for what is refused.
    Warns with CompileWarning where a loop or a recursion is followed so far and raises beyond.
    """
    _check_keywords(limits)
    threads = checked_threads(threads)
    say = progress or (lambda stage: None)
    choices = dict(budget=budget, tune=tune, jobs=jobs, use_cache=use_cache, portable_only=portable,
                   debug_info=not strip, dump_folder=None if dump is None else path_of(dump),
                   skip_passes=list(skip_passes))
    if isinstance(model, (str, os.PathLike)):
        of_capture = _given(dynamic_dims=dynamic_dims, ranges=ranges, dynamic_args=dynamic_args,
                            max_iterations=max_iterations, allow_training=allow_training, allow_raise=allow_raise,
                            **limits)
        return compile_file(model, _as_tuple(args), dict(kwargs or {}), bool(verify), of_capture, overridable,
                            backend, threads, say, **choices)
    if overridable:
        raise InputError("overridable is for ONNX files; leave it out")
    args = _as_tuple(args)
    if isinstance(model, ExportedProgram):
        model, args, kwargs, dynamic_dims, ranges = opened(model, args, dict(kwargs or {}), dynamic_dims, ranges)
    kwargs = _with_numbers(model, args, dict(kwargs or {}), dynamic_args or {})
    options = Options(dynamic_dims=dict(dynamic_dims or {}), ranges=dict(ranges or {}),
                      dynamic_args=dict(dynamic_args or {}), allow_training=allow_training,
                      allow_raise=allow_raise,
                      max_iterations=max_iterations, heard=progress, **limits)
    times: dict[str, float] = {}
    started = time.perf_counter()
    say("capture")
    captured = capture(model, args, kwargs, options)
    times["capture"] = time.perf_counter() - started
    interface = interface_of(captured)
    interface.watch(model)
    engine, report = build(captured, interface, model, backend, threads, say, **choices)
    report["times"] = times | report.get("times", {})
    report["warnings"] = captured.warnings
    for text in captured.warnings:
        warnings.warn(text, CompileWarning, stacklevel=2)
    program = CompiledProgram(engine, interface, model, report, verify_program)
    program._graph = captured.graph
    if verify:
        say("verify")
        if interface.random and not generators.eager_draws_alike():
            warnings.warn(_OTHER_NUMBERS, CompileWarning, stacklevel=2)
        else:
            _run_example(program, model, args, kwargs, allow_raise)
    elif captured.outputs.raising and not allow_raise and backend != "reference":
        _run_program_alone(program, args, kwargs)
    return program


_OTHER_NUMBERS = ("on this processor torch draws bernoulli_ (dropout) and exponential_ (multinomial) from a generator "
                  "of the vendor's library: the program draws other numbers than eager, and was not compared with it")


def _run_example(program: CompiledProgram, model: Any, args: tuple, kwargs: dict, allow_raise: bool) -> None:
    """Model and program side by side; CompileError where the model itself raises."""
    raised = check_example(program, model, args, kwargs, allow_raise)
    if raised is not None:
        told = diagnostics.raised_on_example(type(raised).__name__, str(raised))
        raise diagnostics.report(told, diagnostics.stack_of(raised)) from raised


def _run_program_alone(program: CompiledProgram, args: tuple, kwargs: dict) -> None:
    """Without the model beside it: some path raises, and it may be the example's."""
    raised = program._raised_by(args, kwargs)
    if raised is not None and raised.type:
        told = diagnostics.raised_on_example(raised.type, raised.message)
        place = [(diagnostics.Span(*raised.span), "")] if raised.span else []
        raise diagnostics.report(told, place) from raised


def _given(**choices: Any) -> dict[str, Any]:
    """Those that say something."""
    return {name: value for name, value in choices.items() if value not in (None, False, 0, {})}


def _as_tuple(args: Any) -> tuple:
    if isinstance(args, tuple):
        return args
    return tuple(args) if isinstance(args, list) else (args,)


def _check_keywords(limits: dict) -> None:
    own = parameter_names(inspect.signature(compile).parameters, inspect.Parameter.KEYWORD_ONLY)
    known = sorted({*own, *(f.name for f in dataclasses.fields(Options))})
    for name in limits:
        if name not in known:
            raise TypeError(f"dycl.compile: {unknown_name('keyword', name, known)}")


def _with_numbers(model: Any, args: tuple, kwargs: dict, numbers: dict) -> dict:
    """Numbers that are to be inputs are arguments of the example, with their default values if they are not given."""
    try:
        signature = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
        given = signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return kwargs
    left_out = {name: signature.parameters[name].default for name in numbers
                if name in signature.parameters and name not in given}
    return {**kwargs, **{name: value for name, value in left_out.items() if value is not inspect.Parameter.empty}}
