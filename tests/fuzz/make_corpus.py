# SPDX-License-Identifier: Apache-2.0
"""Writes tests/fuzz/corpus from the tree's own examples; after a change of a format, commit what it writes.

    ninja -C build/asan fuzz_corpus && .venv/bin/python tests/fuzz/make_corpus.py
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import dycl

ROOT = Path(__file__).resolve().parent.parent.parent
CORPUS = Path(__file__).resolve().parent / "corpus"


class Structured(torch.nn.Module):
    """Its interface for Python has strings, states, a named result and results of several forms."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x, scale: float = 2.0, names=("a", "b")):
        self.calls += 1
        if x.sum() > 0:
            return {"y": self.layer(x) * scale, names[0]: f"{self.calls} calls"}
        return x, self.calls


def packages(folder: Path) -> None:
    subprocess.run([ROOT / "build/asan/tests/fuzz/fuzz_corpus", folder / "everything.dycl"], check=True)
    torch.manual_seed(0)
    program = dycl.compile(Structured().eval(), (torch.ones(1, 3),), portable=True, verify=False)
    program.save(folder / "structured.dycl")
    for text in sorted((ROOT / "tests/ir/files/run").glob("*.dyir")):
        made = subprocess.run([ROOT / ".venv/bin/dycl", "compile", text, "-o", folder / f"{text.stem}.dycl",
                               "--portable"], capture_output=True)
        if made.returncode:  # files of several programs, or meant to fail
            (folder / f"{text.stem}.dycl").unlink(missing_ok=True)


def texts(folder: Path) -> None:
    files = sorted((ROOT / "tests/ir/files").rglob("*.dyir")) + sorted((ROOT / "tests/passes/sink").glob("*.dyir"))
    for text in files:
        shutil.copy(text, folder / f"{text.parent.name}_{text.name}")


def _value(name: str, dtype: int, shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def models(folder: Path) -> None:
    f32, node = TensorProto.FLOAT, helper.make_node
    weight = numpy_helper.from_array(np.arange(8, dtype=np.float32).reshape(2, 4), "w")
    branch = {way: helper.make_graph([node(op, ["x"], [way])], way, [], [_value(way, f32, [1, 4])])
              for way, op in (("then_branch", "Relu"), ("else_branch", "Neg"))}
    step = helper.make_graph([node("Identity", ["go"], ["go_on"]), node("Add", ["s", "x"], ["s_on"])], "step",
                             [_value("i", TensorProto.INT64, []), _value("go", TensorProto.BOOL, []),
                              _value("s", f32, [1, 4])], [_value("go_on", TensorProto.BOOL, []),
                                                         _value("s_on", f32, [1, 4])])
    x, y = _value("x", f32, [1, 4]), _value("y", f32, None)
    flag, count = _value("flag", TensorProto.BOOL, []), _value("n", TensorProto.INT64, [])
    graphs = {
        "product": ([node("Gemm", ["x", "w"], ["y"], transB=1)], [x], [weight]),
        "branch": ([node("If", ["flag"], ["y"], **branch)], [x, flag], []),
        "loop": ([node("Loop", ["n", "flag", "x"], ["y"], body=step)], [x, flag, count], []),
        "sequence": ([node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceLength", ["s"], ["y"])], [x], []),
        "windows": ([node("MaxPool", ["v"], ["y"], kernel_shape=[2, 2], ceil_mode=1)],
                    [_value("v", f32, [1, 1, "h", 5])], []),
    }
    for name, (nodes, inputs, weights) in graphs.items():
        graph = helper.make_graph(nodes, name, inputs, [y], weights)
        opset = [helper.make_opsetid("", 18)]
        (folder / f"{name}.onnx").write_bytes(helper.make_model(graph, opset_imports=opset).SerializeToString())


def arrays(folder: Path) -> None:
    for name in ("float32", "int64", "bool", "complex64", ">f8", "uint8"):
        np.save(folder / f"{name.strip('>')}.npy", np.ones((2, 3), name))
    np.save(folder / "fortran.npy", np.asfortranarray(np.ones((2, 3), np.float32)))
    np.save(folder / "empty.npy", np.ones((0, 3), np.float16))
    np.savez(folder / "several.npz", a=np.ones(3, np.float32), b=np.zeros((2, 2), np.int32))


def plans(folder: Path) -> None:
    """src/backends/tvm/plan.h: one operand, one result, scratch memory, and a plan behind a guard."""
    def tensor(place: int, index: int) -> bytes:
        return struct.pack("<IIqIqq", place, 1, index, 2, 2, 3)

    def step(kind: int, kernel: bytes, *tensors: int) -> bytes:
        head = struct.pack("<III", kind, len(kernel), len(tensors))
        return head + kernel + struct.pack(f"<{len(tensors)}I", *tensors)

    def plan(*steps: bytes) -> bytes:
        tensors = [tensor(0, 0), tensor(1, 0), tensor(3, 64)]
        return struct.pack("<IIIIIQ", 1, 1, 0, len(tensors), len(steps), 128) + b"".join((*tensors, *steps))

    plain = plan(step(0, b"add", 0, 0, 2), step(1, b"", 2, 1))
    for name, body in (("plain", plain), ("guarded", plan(step(2, b"", 0), step(0, b"exp", 0, 1)) + plain)):
        head = b"dycl.tvm.2".ljust(16, b"\0") + struct.pack("<Q", len(body))
        (folder / name).write_bytes(head + body + b"library")


def main() -> None:
    shutil.rmtree(CORPUS, ignore_errors=True)
    for name, write in {"package": packages, "dyir": texts, "onnx": models, "npy": arrays, "tvm_plan": plans}.items():
        (CORPUS / name).mkdir(parents=True)
        write(CORPUS / name)
    print(sum(f.stat().st_size for f in CORPUS.rglob("*") if f.is_file()), "bytes")


if __name__ == "__main__":
    main()
