# SPDX-License-Identifier: Apache-2.0
"""The compiling process of the TVM back end; src/backends/tvm/worker.h starts it and talks to it.

One line of JSON per request on standard input, one per answer on standard output:

    {"model": "0.onnx", "weights": "0.weights", "out": "0", "features": "x86_64/avx2+fma"}
    {"weights": [{"from": 0}, {"dtype": 1, "shape": [3, 3, 16, 16]}], "shared": true}
    {"error": "TVM does not know the shape of a tensor"}

`weights` holds the elements of w0, w1, ... one after the other. Written are `out`.plan, `out`.so and `out`.weights:
the plan (plan.py), its kernels, and those of its weights that are not weights of the model themselves, one after
the other. Models of the same structure are compiled once.
"""

from __future__ import annotations

import json
import os
import sys
import time


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
        self.known = {}

    def compiled(self, model, features: str):
        import hashlib

        import tvm

        import lower
        import schedule

        key = hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()
        if key not in self.known:
            target = tvm.target.Target(llvm_target(features))
            one = lower.Compiled(model, target, schedule.Machine.of(features))
            library = one.exported()
            self.known[key] = (one, library)
            return one, library, False
        return *self.known[key], True

    def answer(self, request: dict) -> dict:
        import numpy as np
        import onnx

        import lower

        begun = time.perf_counter()
        model = onnx.load(request["model"], load_external_data=False)
        given = lower.read_weights(model, request["weights"])
        one, library, shared = self.compiled(model, request["features"])
        arrays, described = one.kernel_weights(given), []
        out = request["out"]
        with open(out + ".weights", "wb") as file:
            for array, value in zip(arrays, one.plan.weights):
                source = one.source_of(value.index)
                if source is not None:
                    described.append({"from": source})
                    continue
                described.append({"dtype": value.dtype, "shape": value.shape})
                file.write(np.ascontiguousarray(array).tobytes())
        for suffix, content in ((".plan", one.plan.encoded()), (".so", library)):
            with open(out + suffix, "wb") as file:
                file.write(content)
        return {"weights": described, "shared": shared, "seconds": time.perf_counter() - begun}


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
