# SPDX-License-Identifier: Apache-2.0
"""Models to measure: of the zoo by name, or any builder as `file.py:name` with an `inputs(seed)` beside it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
BUILD = Path(os.environ.get("DYCL_BUILD", ROOT / "build" / "release"))


@dataclass
class Workload:
    name: str
    build: Callable[[], Any]
    inputs: Callable[[int], tuple]


def find(name: str) -> Workload:
    if ":" in name:
        file, _, attribute = name.partition(":")
        spec = importlib.util.spec_from_file_location(Path(file).stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        build = getattr(module, attribute)
        return Workload(attribute, build, getattr(build, "inputs", None) or module.inputs)
    import zoo

    entry = zoo.MODELS[name]
    return Workload(name, entry.build, entry.inputs)


def tool(target: str) -> Path:
    """A program of the build folder, built if it is not there or stale."""
    if "DYCL_BUILD" not in os.environ:  # a build folder that was named is taken as it is
        subprocess.run(["cmake", "--build", str(BUILD), "--target", target, "-j2"], check=True,
                       stdout=subprocess.DEVNULL)
    return BUILD / "bin" / target


def flat_inputs(program: Any, args: tuple) -> list:
    return program._interface.collect(args, {})[0]


def save_inputs(program: Any, args: tuple, file: Path) -> None:
    arrays = [x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in flat_inputs(program, args)]
    np.savez(file, *arrays)


def captured(model: Any, args: tuple) -> tuple[Any, Any, dict]:
    """(interface, builder, seconds per stage): the program before the passes."""
    from dycl import _native
    from dycl.build import _weight_names
    from dycl.frontend.boundary.interface import interface_of
    from dycl.frontend.capture import capture
    from dycl.frontend.lowering.lower import lower_graph
    from dycl.frontend.options import Options

    start = time.perf_counter()
    graph = capture(model, args, {}, Options())
    middle = time.perf_counter()
    interface = interface_of(graph)
    builder = _native.ProgramBuilder()
    lower_graph(graph.graph, builder, names=_weight_names(model), initials=interface.initials)
    for name, (low, high) in interface.symbols.items():
        builder.add_symbol(name, low, high)
    return interface, builder, {"capture": middle - start, "lower": time.perf_counter() - middle}


def write(work: Workload, folder: Path, seeds: range) -> dict:
    """Captures the model and writes program.dyir (with weights) and x<seed>.npz; returns seconds per stage."""
    from dycl import _native

    folder.mkdir(parents=True, exist_ok=True)
    model = work.build()
    interface, builder, times = captured(model, work.inputs(seeds[0]))
    _native.write_program(builder, folder / "program.dyir")
    for seed in seeds:
        arguments = interface.collect(work.inputs(seed), {})[0]
        np.savez(folder / f"x{seed}.npz", *[x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
                                            for x in arguments])
    (folder / "capture.json").write_text(json.dumps(times))
    return times
