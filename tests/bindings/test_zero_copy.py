# SPDX-License-Identifier: Apache-2.0
"""No copies on the way in or out: DLPack, numpy and torch, by address and by what a run sees and costs."""

import subprocess
import sys
import textwrap

import numpy
import pytest
import torch

from dycl import _native

N = 1 << 18  # 1 MiB of f32

# Looks at x only after the host function was called: what that wrote into the caller's memory shows in the result.
LATE_READER = f"""func @main(%x: f32[{N}]) -> (f32[{N}], int) {{
^entry:
  %n = host_call {{name="meanwhile"}} : int
  %y = Neg %x : f32[{N}]
  return %y, %n
}}
"""


class OnlyDLPack:
    """A tensor of a framework that nobody has heard of."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


ORIGINS = {
    "torch": torch.from_numpy,
    "torch that requires a gradient": lambda a: torch.from_numpy(a).requires_grad_(),
    "numpy": lambda a: a,
    "numpy, read-only": read_only,
    "DLPack alone": lambda a: OnlyDLPack(torch.from_numpy(a)),
    "a part of a larger tensor": lambda a: torch.from_numpy(a).reshape(1, N)[0],
}


def package(folder, text):
    (folder / "p.dyir").write_text(text)
    _native.compile_program(_native.read_program(folder / "p.dyir"), folder / "p.dycl")
    return folder / "p.dycl"


@pytest.mark.parametrize("origin", ORIGINS)
def test_dlpack_arguments_are_the_callers_memory(tmp_path, origin):
    memory = numpy.ones(N, numpy.float32)
    x = ORIGINS[origin](memory)

    def meanwhile():
        memory[:] = 5.0
        return 1

    program = _native.Program.load(package(tmp_path, LATE_READER), threads=1, host_functions={"meanwhile": meanwhile})
    y, _ = _native.Run(program).run([x])
    assert (y == -5.0).all(), "the run read a copy"


@pytest.mark.parametrize("framework", ["torch", "numpy"])
def test_dlpack_results_share_one_memory_between_frameworks(tmp_path, framework):
    path = package(tmp_path, f"func @main(%x: f32[{N}]) -> (f32[{N}]) {{\n^entry:\n  %y = Neg %x : f32[{N}]\n"
                             "  return %y\n}\n")
    run = _native.Run(_native.Program.load(path, threads=1))
    (y,) = run.run([torch.ones(N)], framework=framework)
    address = y.data_ptr() if framework == "torch" else y.ctypes.data
    as_torch, as_numpy = torch.from_dlpack(y), numpy.from_dlpack(y)
    assert as_torch.data_ptr() == address == as_numpy.ctypes.data
    as_torch[3] = 7.0
    assert y[3] == as_numpy[3] == 7.0
    del run, y
    assert as_numpy[3] == 7.0 and as_numpy[4] == -1.0, "the memory outlives the run and the first owner"
    (again,) = _native.Run(_native.Program.load(path, threads=1)).run([as_torch])  # and goes in again as it is
    assert again[3] == -7.0


@pytest.mark.parametrize("framework", ["torch", "numpy"])
def test_a_large_argument_and_its_result_cost_no_second_copy(tmp_path, framework):
    """By the peak of the process: 128 MiB in and 128 MiB out may cost one new buffer, not two."""
    count = 1 << 25
    path = package(tmp_path, f"func @main(%x: f32[{count}]) -> (f32[{count}]) {{\n^entry:\n"
                             f"  %y = Neg %x : f32[{count}]\n  return %y\n}}\n")
    script = textwrap.dedent(f"""
        import pathlib, re, numpy, torch
        from dycl import _native
        def kib(key):
            return int(re.search(key + r":\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
        run = _native.Run(_native.Program.load({str(path)!r}, threads=1))
        x = numpy.ones({count}, numpy.float32)
        x = torch.from_numpy(x) if {framework!r} == "torch" else x
        before = kib("VmRSS")
        (y,) = run.run([x], framework={framework!r})
        assert float(y[-1]) == -1.0
        print((kib("VmHWM") - before) // 1024)
    """)
    grown = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    assert 100 < grown < 192, f"{grown} MiB for a result of 128 MiB"
