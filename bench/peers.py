# SPDX-License-Identifier: Apache-2.0
"""The peers of RQ1 and RQ3: eager, torch.compile, a traced model, and ONNX Runtime on one file with If and Loop."""

from __future__ import annotations

import io
import os
import random
import statistics
import time
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch


def traced(model: Any, args: tuple) -> Callable | None:
    """torch.onnx of the path that `args` takes, run by ONNX Runtime; None where it cannot be exported.

    The answer has eager's structure where that is a plain tuple of tensors or a tensor; other parts are those of the
    traced call, as a deployed trace would have them.
    """
    import onnxruntime

    flat_in, _ = torch.utils._pytree.tree_flatten(args)
    if not all(isinstance(x, torch.Tensor) for x in flat_in):
        return None
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        example, shape = torch.utils._pytree.tree_flatten(model(*args))

        class Path(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, *xs):
                leaves = torch.utils._pytree.tree_flatten(self.model(*xs))[0]
                return tuple(x for x in leaves if isinstance(x, torch.Tensor))

        try:
            torch.onnx.export(Path().eval(), args, buffer, dynamo=False, opset_version=17)
        except Exception:
            return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(buffer.getvalue(), options)
    names = [i.name for i in session.get_inputs()]

    def run(given: tuple) -> Any:
        leaves = torch.utils._pytree.tree_flatten(given)[0]
        feeds = {n: x.numpy() for n, x in zip([f"{n}" for n in names], leaves)}
        made = iter([torch.from_numpy(y) for y in session.run(None, feeds)])
        return torch.utils._pytree.tree_unflatten(
            [next(made) if isinstance(x, torch.Tensor) else x for x in example], shape
        )

    def is_other(expected: Any) -> bool:
        """Is the answer wrong whatever the trace computes? A plain number in it is that of the traced call."""
        leaves = torch.utils._pytree.tree_flatten(expected)[0]
        plain = lambda x: isinstance(x, (bool, int, str, np.integer, type(None)))
        return len(leaves) != len(example) or any((type(a), a) != (type(b), b)
                                                  for a, b in zip(leaves, example) if plain(a) and plain(b))

    run.is_other = is_other
    return run


def rounds(racers: dict[str, Callable[[tuple], Any]], inputs: list[tuple], seconds: float, clock: str) -> list[dict]:
    """Interleaved times in microseconds: one {racer: [times]} per input; each racer is warmed before it is timed."""
    now = time.process_time_ns if clock == "cpu" else time.perf_counter_ns
    results = []
    for args in inputs:
        times: dict[str, list[float]] = {name: [] for name in racers}
        names, batch = list(racers), {}
        for name in names:
            racers[name](args)
            start = time.perf_counter()
            racers[name](args)
            batch[name] = max(1, min(50, int(500e-6 / max(time.perf_counter() - start, 1e-6))))
        end, latest = time.process_time() + seconds, time.perf_counter() + 10 * seconds
        turn, last, generator = 0, None, random.Random(1)
        while turn < 3 or (time.process_time() < end and time.perf_counter() < latest):
            generator.shuffle(names)
            while len(names) > 1 and names[0] == last:  # who follows itself finds its caches warm
                generator.shuffle(names)
            last = names[-1]
            for name in names:
                racers[name](args)
                start = now()
                for _ in range(batch[name]):
                    racers[name](args)
                times[name].append((now() - start) / 1e3 / batch[name])
            turn += 1
        results.append(times)
    return results


def if_loop(program: Any, file: Path, examples: list[tuple]) -> tuple[Callable | None, dict]:
    """The whole program as one ONNX file with If and Loop in plain ONNX Runtime;
    (None, {"refused"}) where that is not to be had.

    Its tensors are compared with our program's on the examples: `error` is the largest relative difference.
    """
    import numpy
    import onnxruntime

    import correctness

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 4
    try:
        program.emit_onnx(file)
        start = time.process_time()
        session = onnxruntime.InferenceSession(str(file), options)
    except Exception as problem:
        return None, {"refused": " ".join(str(problem).split())[:200]}
    facts = {"load_seconds": time.process_time() - start, "file_bytes": file.stat().st_size}
    names = [i.name for i in session.get_inputs()]

    def feeds(args: tuple) -> dict:
        flat = program._interface.collect(args, {})[0]
        return {n: x.detach().numpy() if isinstance(x, torch.Tensor) else numpy.asarray(x) for n, x in zip(names, flat)}

    def run(args: tuple) -> Any:
        return session.run(None, feeds(args))

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        # a float is a double
        return value if isinstance(value, torch.Tensor) else torch.as_tensor(numpy.asarray(value))

    worst = 0.0
    try:
        for args in examples:
            ours = program._engine.run_.run(program._interface.collect(args, {})[0])
            theirs = run(args)
            worst = max(
                [worst, *(correctness.error(plain(b), plain(a)) for a, b in zip(ours, theirs) if a is not None)]
            )
    except Exception as problem:
        return None, {**facts, "refused": " ".join(f"{type(problem).__name__}: {problem}".split())[:200]}
    return run, {**facts, "error": worst}


def inductor(model: Any, inputs: list[tuple], limit: float,
             tell: Callable[[dict], None] = lambda facts: None) -> tuple[Callable | None, dict]:
    """torch.compile with its defaults, warmed on the inputs; what Dynamo counted and how long it took. No further input
    is warmed once `limit` seconds are spent; `tell` gets the facts after each."""
    import torch._dynamo as dynamo
    from torch._dynamo.utils import counters

    dynamo.reset()
    counters.clear()
    compiled = torch.compile(model)
    start, cpu_start, warmed = time.perf_counter(), _processor_time(), 0

    def facts() -> dict:
        reasons = [(str(k), v) for k, v in counters["unimplemented"].items() if "limit" in str(k)]
        return {"seconds": time.perf_counter() - start,
                "cpu_seconds": _processor_time() - cpu_start, "warmed_inputs": warmed,
                "graphs": int(counters["stats"].get("unique_graphs", 0)),
                "breaks": int(sum(counters["graph_break"].values())),
                "recompile_limit": int(sum(counters["recompile_limit"].values())) + int(sum(v for _, v in reasons))}

    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for args in inputs:
                compiled(*args)
                warmed += 1
                tell(facts())
                if time.perf_counter() - start > limit:
                    break
    except Exception as problem:
        return None, {**facts(), "raised": f"{type(problem).__name__}: {str(problem)[:200]}"}
    made = facts()

    def run(args: tuple) -> Any:
        with torch.no_grad():
            return compiled(*args)

    return run, made


def _processor_time() -> float:
    """Of this process and of the compilers it started and waited for."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def median(values: list[float]) -> float:
    return statistics.median(values)
