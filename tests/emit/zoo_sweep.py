# SPDX-License-Identifier: Apache-2.0
"""zoo_sweep.py [MODEL ...]: models of the zoo as emitted C++ beside the walker, bit for bit, on real inputs and on
forced paths; as ONNX and in the reference interpreter beside the walker, within tolerance. `make test-emit` takes all
of them and
goes on where it was stopped, tests/emit/test_emitted_zoo.py small ones."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
BUILD = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release"))
INPUTS, ROUNDS, TOLERANCE = 3, 8, 1e-4


def flat(program, args):
    return [x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
            for x in program._interface.collect(args, {})[0]]


def save_inputs(program, inputs, folder):
    """(.npy files, how many per call)."""
    files = []
    for k, args in enumerate(inputs):
        arrays = flat(program, args)
        for i, array in enumerate(arrays):
            files.append(folder / f"in{k}_{i}.npy")
            np.save(files[-1], array)
    return files, len(arrays)


def build(package, folder, watch, optimize="-O0"):
    """The program of tests/emit/zoo_compare.h around a package."""
    subprocess.run([BUILD / "bin" / "dycl", "emit", package, "-o", folder, *(["--watch"] if watch else [])], check=True,
                   stdout=subprocess.DEVNULL)
    name = Path(package).stem
    header = (folder / f"{name}.h").read_text()
    kind = re.search(r"class (\w+) :", header)[1]
    parameters = re.search(r"Outputs operator\(\)\((.*?)\);", header, re.S)[1]
    call = []
    for i, parameter in enumerate(p for p in parameters.split(",") if p.strip()):
        if "Value&" in parameter:
            raise NotImplementedError(f"{name}: an input that is a list")
        number = re.search(r"std::int64_t|double|bool", parameter)
        call.append(f"zoo::number<{number[0]}>(a[{i}])" if number else f"a[{i}].view()")
    (folder / "zoo_main.cpp").write_text(
        f'#include "{name}.h"\n#include "zoo_compare.h"\n\nint main(int argc, char** argv) {{\n'
        f"  return zoo::main_of<{kind}>(argc, argv, {len(call)},\n"
        f"      []({kind}& m, [[maybe_unused]] const zoo::Arrays& a) {{ m({', '.join(call)}); }});\n}}\n")
    program = folder / "zoo_main"
    subprocess.run(["c++", "-std=c++20", optimize, "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", f"-I{folder}",
                    f"-I{ROOT}/tests/emit", f"-I{ROOT}/src", f"-I{ROOT}/include", folder / f"{name}.cpp",
                    folder / "zoo_main.cpp", BUILD / "src/support/libdycl_support.a", f"-L{BUILD}/src/runtime",
                    f"-Wl,-rpath,{BUILD}/src/runtime", "-ldycl_runtime", "-o", program], check=True)
    return program


def compile_model(name):
    import dycl
    import zoo

    entry = zoo.MODELS[name]
    return entry, dycl.compile(entry.build(), entry.inputs(0), threads=1, verify=False)


def check_compilers(package, folder):
    """The project as users get it, in the eyes of gcc and of clang."""
    subprocess.run([BUILD / "bin" / "dycl", "emit", package, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    sources = "".join(f'#include "{source.name}"\n' for source in sorted(folder.glob("*.cpp")))
    for compiler in ("g++", "clang++-14"):
        if not shutil.which(compiler):
            raise FileNotFoundError(f"{compiler} is missing: sudo apt-get install "
                                    f"{compiler.replace('clang++', 'clang')}")
        subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                        f"-I{folder}", f"-I{ROOT}/src", f"-I{ROOT}/include", "-x", "c++", "-"],
                       check=True, input=sources, text=True)


def check_cpp(name, program, entry, folder):
    package = folder / f"{name}.dycl"
    program.save(package)
    check_compilers(package, folder / "project")
    binary = build(package, folder, watch=True)
    files, _ = save_inputs(program, [entry.inputs(s) for s in range(INPUTS)], folder)
    done = subprocess.run([binary, package, "compare", str(ROUNDS), *files], capture_output=True, text=True,
                          env={**os.environ, "DYCL_PLUGIN_PATH": str(BUILD / "lib" / "dycl")})
    assert done.returncode == 0, f"{name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def check_onnx(name, program, entry, folder):
    """How far the ONNX export is from the program, relative to the largest element."""
    import onnxruntime as ort

    program.emit_onnx(folder / "model.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    worst = 0.0
    for seed in range(INPUTS):
        args = entry.inputs(seed)
        feed = dict(zip((i.name for i in session.get_inputs()), flat(program, args)))
        actual = [a for name_, a in zip(names, session.run(None, feed)) if not name_.endswith(".new")]
        worst = max(worst, apart(walker_results(program, args), actual, f"{name}, ONNX"))
    assert worst < TOLERANCE, f"{name}: the ONNX export is {worst} off"
    return {"onnx_off": worst}


def check_interpreter(name, program, entry):
    """How far the reference interpreter is, which runs the program as it was before the passes."""
    from dycl import _native

    interpreter = _native.Interpreter(program._engine.builder, "ort")
    worst = 0.0
    for seed in range(INPUTS):
        args = entry.inputs(seed)
        inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in program._interface.collect(args, {})[0]]
        states = dict(zip((n for n, _ in program._graph.states), program._interface.read_states() or []))
        actual = interpreter.run(inputs, states)[0]
        worst = max(worst, apart(walker_results(program, args), actual, f"{name}, interpreter"))
    assert worst < TOLERANCE, f"{name}: the reference interpreter is {worst} off"
    return {"interpreter_off": worst}


def walker_results(program, args):
    interface = program._interface
    return program._engine.run(interface.collect(args, {})[0], interface.read_states(), interface.exceptions)[0]


def apart(expected, actual, what):
    """The largest difference relative to the largest element."""
    assert len(expected) == len(actual), f"{what}: {len(actual)} results, not {len(expected)}"
    worst = 0.0
    for e, a in zip(expected, actual):
        e, a = np.asarray(e, np.float64), np.asarray(a, np.float64)
        assert e.shape == a.shape, f"{what}: {a.shape} is not {e.shape}"
        worst = max(worst, float(np.abs(e - a).max() / max(1e-6, np.abs(e).max())) if e.size else 0.0)
    return worst


def check(name):
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        entry, program = compile_model(name)
        return {**check_cpp(name, program, entry, Path(folder)), **check_onnx(name, program, entry, Path(folder)),
                **check_interpreter(name, program, entry)}


def main():
    import zoo

    sys.path.insert(0, str(ROOT / "tests" / "emit"))
    from done import Done

    done, failed = Done(), []
    for name in sys.argv[1:] or zoo.MODELS:
        try:
            if (result := done.get(name)) is None:
                result = check(name)
                done.put(name, result)
            print(name, json.dumps(result), flush=True)
        except Exception as error:
            failed.append(name)
            print(name, "FAILED", "".join(traceback.format_exception_only(error)).strip()[-2000:], flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
