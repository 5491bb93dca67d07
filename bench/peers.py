# SPDX-License-Identifier: Apache-2.0
"""The peers of RQ1 and RQ3: eager, torch.compile, a traced model, and ONNX Runtime on one file with If and Loop."""

from __future__ import annotations

import io
import statistics
import time
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch

from dycl.peers.measure import rounds
from dycl.peers.rivals import inductor


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


def median(values: list[float]) -> float:
    return statistics.median(values)


__all__ = ["if_loop", "inductor", "median", "rounds", "traced"]
