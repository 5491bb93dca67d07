# SPDX-License-Identifier: Apache-2.0
"""The compiling process of the TVM back end; src/backends/tvm/worker.h starts it and talks to it.

One line of JSON per request on standard input, one per answer on standard output:

    {"do": "compile", "model": "m.onnx", "weights": "m.weights", "out": "m", "features": "x86_64/avx2+fma",
     "blocks": {"in0": 16}, "records": {"<key of a kernel>": {"rows": 2, "columns": 8}}}
    {"weights": [{"from": 0}, {"dtype": 1, "shape": [3, 3, 16, 16]}], "shared": true}
    {"error": "TVM does not know the shape of a tensor"}

`weights` holds the elements of w0, w1, ... one after the other. Written are `out`.plan, `out`.so and `out`.weights:
the plan (plan.py), its kernels, and those of its weights that are not weights of the model themselves, one after
the other. Models of the same structure are compiled once. `blocks` names operands and results that cross in blocked
layout (ports.py). `records` are schedules that tuning has found (tune.py).

    {"do": "prepare"}: imports TVM
    {"do": "describe", "model": "m.onnx", "weights": "m.weights", "features": "x86_64/avx2+fma"}
    {"kernels": [{"key": "<what it computes, in which shapes>", "work": 147456, "tunable": true}]}

    {"do": "tune", ..., "kernel": "<key>", "seconds": 5.0, "start": {}}
    {"schedule": {"tile": [1, 16, 1]}, "before": 49.4, "after": 41.0, "tried": 31, "wrong": 0, "done": false}
"""

from __future__ import annotations

import hashlib
import json
import os
import sys


def start() -> int:
    """The real standard output; what TVM prints goes to standard error."""
    channel = os.dup(1)
    os.dup2(2, 1)
    return channel


def llvm_target(features: str) -> dict:
    names = features.split("/")[-1].split("+")
    target = {"kind": "llvm", "num-cores": 1}
    if features.startswith("x86_64"):
        wide, middle = "avx512core" in names, "avx2" in names and "fma" in names
        target["mcpu"] = "x86-64-v4" if wide else "x86-64-v3" if middle else "x86-64"
        if wide:
            target["mattr"] = ["-prefer-256-bit"]
    return target


class Compiler:
    def __init__(self):
        self.known = {}  # structures
        self.libraries = {}

    def lowered(self, model, request: dict, may_be_fast: bool = True):
        import tvm

        import lower
        import schedule

        blocks = request.get("blocks", {})
        content = model.SerializeToString(deterministic=True) + json.dumps(blocks, sort_keys=True).encode()
        key = hashlib.sha256(content).hexdigest() + ("" if may_be_fast else " exact")
        if key not in self.known:
            target = tvm.target.Target(llvm_target(request["features"]))
            machine = schedule.Machine.of(request["features"])
            self.known[key] = lower.Lowered(model, target, machine, blocks, may_be_fast)
        return key, self.known[key]

    def answer(self, request: dict) -> dict:
        return {"describe": self.describe, "compile": self.compile, "tune": self.tune,
                "prepare": self.prepare}[request.get("do", "compile")](request)

    def prepare(self, request: dict) -> dict:
        import lower  # and TVM with it

        return {"ready": lower.__name__}

    def describe(self, request: dict) -> dict:
        import onnx

        import lower
        import orders
        import schedule

        model = onnx.load(request["model"], load_external_data=False)
        lower.read_weights(model, request["weights"])
        _, one = self.lowered(model, request)
        machine, kernels = schedule.Machine.of(request["features"]), []
        for name, function in one.kernels.items():
            tunable = one.runs_always(name) and bool(orders.space(function, machine))
            kernels.append({"key": one.keys[name], "work": schedule.work(function), "tunable": tunable})
        return {"kernels": kernels}

    def tune(self, request: dict) -> dict:
        import onnx

        import lower
        import schedule
        import tune

        model = onnx.load(request["model"], load_external_data=False)
        lower.read_weights(model, request["weights"])
        _, one = self.lowered(model, request)
        name = next(name for name, key in one.keys.items() if key == request["kernel"])
        machine = schedule.Machine.of(request["features"])
        return tune.tuned(one.kernels[name], one.target, machine, request["seconds"], request["start"])

    def compile(self, request: dict) -> dict:
        import numpy as np
        import onnx

        import lower

        for may_be_fast in (True, False):
            model = onnx.load(request["model"], load_external_data=False)
            given = lower.read_weights(model, request["weights"])
            key, one = self.lowered(model, request, may_be_fast)
            try:
                weights = one.kernel_weights(given)
                break
            except lower.Immoderate:
                pass
        records = request.get("records", {})
        key += json.dumps(records, sort_keys=True)
        shared = key in self.libraries
        if not shared:
            self.libraries[key] = one.library(records)
        described, out = [], request["out"]
        with open(out + ".weights", "wb") as file:
            for value, array, source in weights:
                if source is not None:
                    described.append({"from": source})
                    continue
                described.append({"dtype": value.dtype, "shape": value.shape})
                file.write(np.ascontiguousarray(array).tobytes())
        for suffix, content in ((".plan", one.encoded()), (".so", self.libraries[key])):
            with open(out + suffix, "wb") as file:
                file.write(content)
        return {"weights": described, "shared": shared}


def describe(error: BaseException) -> str:
    """One line: what TVM says last is what went wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if type(error).__name__ == "Refused" and lines else " ".join(lines[-1:])
    return text[:300] if type(error).__name__ == "Refused" else f"{type(error).__name__}: {text}"[:300]


def main() -> None:
    channel = start()
    compiler = Compiler()
    for line in sys.stdin:
        try:
            reply = compiler.answer(json.loads(line))
        except Exception as error:  # whatever TVM raises is the sub-DNN's refusal
            reply = {"error": describe(error)}
        os.write(channel, (json.dumps(reply) + "\n").encode())


if __name__ == "__main__":
    main()
