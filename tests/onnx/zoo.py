# SPDX-License-Identifier: Apache-2.0
"""The zoo's DyNNs as ONNX with If and Loop: ONNX Runtime on the file beside DyCL on the file, one thread.

    python -m tests.onnx.zoo skipnet_ff tree_lstm     # without names: all

Answers agree within 1e-4 of the largest; times are of the processor, rounds in turn over the same inputs, the least of
two sessions and of two programs; package and file in bytes."""

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import dycl
import zoo
from dycl import runtime
from dycl.native import native
from dycl.verification.onnx_runtime import session_of
from tests.onnx.real_files import far, measure
from tests.onnx.suite import judged

INPUTS = 3


def inputs_of(program, args):
    return [x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
            for x in program._interface.collect(args, {})[0]]


def judge(name, seconds):
    entry = zoo.MODELS[name]
    captured = dycl.compile(entry.build(), entry.inputs(0), threads=1, verify=False)
    with tempfile.TemporaryDirectory() as folder:
        path, package = Path(folder) / "model.onnx", Path(folder) / "model.dycl"
        captured.emit_onnx(path)
        native().compile_program(native().read_program(str(path)), str(package), use_cache=False, jobs=1)
        sessions = [session_of(path) for _ in range(2)]
        programs = [runtime.load(package, threads=1) for _ in range(2)]
        names = [port.name for port in sessions[0].get_inputs()]
        calls = [dict(zip(names, inputs_of(captured, entry.inputs(seed)))) for seed in range(INPUTS)]
        worst, ours, theirs = 0.0, 0.0, 0.0
        for feeds in calls:
            values = list(feeds.values())
            apart = far(list(programs[0](*values).values()), sessions[0].run(None, feeds))
            if apart is None or apart > 1e-4:
                return {"verdict": "wrong", "why": f"apart by {apart}"}
            worst = max(worst, apart)
            a, b, c, d = measure([lambda f=feeds: sessions[0].run(None, f), lambda v=values: programs[0](*v),
                                  lambda f=feeds: sessions[1].run(None, f), lambda v=values: programs[1](*v)],
                                 seconds / INPUTS)
            theirs, ours = theirs + min(a, c), ours + min(b, d)
        return {"verdict": "right", "apart": worst, "ms": ours / INPUTS * 1e3, "ort_ms": theirs / INPUTS * 1e3,
                "ratio": ours / theirs, "file": path.stat().st_size, "package": package.stat().st_size}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=3.0, help="of measuring, per model")
    options = parser.parse_args()
    of = {name: name for name in options.names or zoo.MODELS}
    results = {}
    for name, result in judged(of, of, lambda n: judge(n, options.seconds), patience=600):
        results[name] = result
        print(f"{name}: {json.dumps(result)}", flush=True)
    ratios = [r["ratio"] for r in results.values() if "ratio" in r]
    if ratios:
        print(f"{len(results)} models, {len(ratios)} right: geometric mean "
              f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, largest {max(ratios):.3f}")
    return 0 if len(ratios) == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
