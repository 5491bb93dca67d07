# SPDX-License-Identifier: Apache-2.0
"""ONNX's own test suite, which its wheel carries, through ONNX Runtime and through DyCL.

    python -m tests.onnx.suite                    # all of it; goes on where it was stopped (build/onnx-suite.json)
    python -m tests.onnx.suite --count 200 --seed 7
    python -m tests.onnx.suite --only loop --fresh

A case gets one word from each of the two: `right` (the suite's answer, within its tolerance), `refused` (with the
reason), `wrong`, `fails` (an error while it runs), `crash` or `hang`. Where ONNX Runtime gives an answer that is not
the suite's, ours is compared with ONNX Runtime's. Cases run in a process of their own that is begun anew where one ends
it.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

ROOT = Path(__file__).resolve().parents[2]
REFUSED = Path(__file__).with_name("refused.txt")
FILE = ROOT / "build" / "onnx-suite.json"
PATIENCE = 120.0  # seconds for one case


def cases():
    """(name, a function that gives model file and [(inputs, outputs)], rtol, atol), by name."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_nodes = collect_testcases(None)
    for case in of_nodes:
        found[case.name] = Case(case)
    for kind in ("simple", "pytorch-converted", "pytorch-operator", "real"):
        for case in load_model_tests(kind=kind):
            found[case.name + "." + kind] = Case(case)
    return dict(sorted(found.items()))


class Case:
    def __init__(self, case):
        self._case = case
        self.rtol, self.atol = case.rtol, case.atol

    def write(self, folder):
        """The path of the model, and pairs of inputs and outputs."""
        if self._case.model is not None:
            path = Path(folder) / "model.onnx"
            onnx.save(self._case.model, path)
            return path, [(list(map(plain, i)), list(map(plain, o))) for i, o in self._case.data_sets]
        if self._case.kind == "real":  # models whose weights are constants; the wheel holds the answers
            path = Path(onnx.__file__).parent.parent / self._case.url
            return path, [_of_folder(path.with_name(path.stem + "_output_0.pb"))]
        model_dir = Path(self._case.model_dir)
        return model_dir / "model.onnx", [_data_set(d) for d in sorted(model_dir.glob("test_data_set*"))]


def _of_folder(output):
    """The models of kind "real" take one image that is a ramp, as ONNX's runner makes it."""
    model = onnx.load(output.with_name(output.name.replace("_output_0.pb", ".onnx")))
    constants = {t.name for t in model.graph.initializer}
    inputs = []
    for value in model.graph.input:
        if value.name not in constants:
            dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
            count = int(np.prod(dims))
            inputs.append((np.arange(count, dtype=np.float32) / count).reshape(dims))
    return inputs, [numpy_helper.to_array(onnx.load_tensor(output))]


def _data_set(folder):
    model = onnx.load(folder.parent / "model.onnx", load_external_data=False)
    def values(of, kind):
        ports = {i: p for i, p in enumerate(of)}
        files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda f: int(f.stem.split("_")[1]))
        return [plain(_parsed(f.read_bytes(), ports[i].type)) for i, f in enumerate(files)]
    return values(model.graph.input, "input"), values(model.graph.output, "output")


def _parsed(text, kind):
    if kind.HasField("sequence_type"):
        made = onnx.SequenceProto()
    elif kind.HasField("optional_type"):
        made = onnx.OptionalProto()
    else:
        made = onnx.TensorProto()
    made.ParseFromString(text)
    return made


def plain(value):
    """Protos as arrays, lists and None."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SequenceProto):
        return [plain(x) for x in numpy_helper.to_list(value)]
    if isinstance(value, onnx.OptionalProto):
        return plain(numpy_helper.to_optional(value))
    if isinstance(value, list):
        return [plain(x) for x in value]
    return value if value is None else np.asarray(value)


# ---- one case ----------------------------------------------------------------------

class Refused(Exception):
    pass


def in_onnxruntime(path, data_sets):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Refused(str(error)) from None
    names = [i.name for i in session.get_inputs()]
    kinds = [o.type for o in session.get_outputs()]
    for inputs, _ in data_sets:
        feeds = dict(zip(names, inputs))
        if not any(map(_is_odd, [*inputs, *kinds])):
            yield session.run(None, feeds)
            continue
        given = {n: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(*_bits(v)) if _is_odd(v)
                 else onnxruntime.OrtValue.ortvalue_from_numpy(v) for n, v in feeds.items()}
        yield [_of_ort_value(v) for v in session.run_with_ort_values(None, given)]


ODD = {"bfloat16": (onnx.TensorProto.BFLOAT16, np.uint16), "float8_e4m3fn": (onnx.TensorProto.FLOAT8E4M3FN, np.uint8),
       "float8_e4m3fnuz": (onnx.TensorProto.FLOAT8E4M3FNUZ, np.uint8),
       "float8_e5m2": (onnx.TensorProto.FLOAT8E5M2, np.uint8),
       "float8_e5m2fnuz": (onnx.TensorProto.FLOAT8E5M2FNUZ, np.uint8),
       "float8_e8m0fnu": (onnx.TensorProto.FLOAT8E8M0, np.uint8)}
KINDS = {"tensor(bfloat16)": "bfloat16", "tensor(float8e4m3fn)": "float8_e4m3fn",
         "tensor(float8e4m3fnuz)": "float8_e4m3fnuz", "tensor(float8e5m2)": "float8_e5m2",
         "tensor(float8e5m2fnuz)": "float8_e5m2fnuz"}


def _is_odd(value):
    """An array or a type that numpy itself does not have."""
    return value in KINDS if isinstance(value, str) else isinstance(value, np.ndarray) and value.dtype.name in ODD


def _bits(value):
    code, bits = ODD[value.dtype.name]
    return np.ascontiguousarray(value).view(bits), code


def _of_ort_value(value):
    if value.data_type() not in KINDS:
        return value.numpy()
    import ctypes
    name = KINDS[value.data_type()]
    bits = np.dtype(ODD[name][1])
    shape = tuple(value.shape())
    count = int(np.prod(shape))
    raw = ctypes.string_at(value.data_ptr(), count * bits.itemsize) if count else b""
    return np.frombuffer(raw, bits).reshape(shape).view(getattr(ml_dtypes, name))


def in_dycl(path, data_sets, folder):
    from dycl import Error, load, runtime
    from dycl.native import native
    package = Path(folder) / "model.dycl"
    try:
        builder = native().read_program(str(path))
        native().compile_program(builder, str(package), use_cache=False, jobs=1)
    except Error as error:
        if error.kind == "internal":
            raise
        raise Refused(f"{error.kind}: {error}") from None
    program = runtime.load(package, threads=1)
    kinds = [kind for _, kind in (*program.inputs, *program.outputs)]
    if any("bf16" in kind or "f8e" in kind for kind in kinds):  # numpy has no such arrays, torch has
        program = load(package, threads=1)
        for inputs, _ in data_sets:
            yield [_of_torch(v) for v in program(*map(_to_torch, inputs)).values()]
        return
    for inputs, _ in data_sets:
        yield list(program(*inputs).values())


def _to_torch(value):
    if not _is_odd(value):
        return torch.from_numpy(np.array(value))
    bits = np.array(value).view(np.int8 if value.dtype.itemsize == 1 else np.int16)
    return torch.from_numpy(bits).view(getattr(torch, value.dtype.name))


def _of_torch(value):
    name = str(value.dtype).removeprefix("torch.")
    if name not in ODD:
        return value.numpy()
    bits = value.view(torch.int8 if value.element_size() == 1 else torch.int16)
    return bits.numpy().view(getattr(ml_dtypes, name))


def equal(got, wanted, rtol, atol):
    if wanted is None or got is None:
        return got is None and wanted is None
    if isinstance(wanted, (list, tuple)):
        return (isinstance(got, (list, tuple)) and len(got) == len(wanted)
                and all(equal(a, b, rtol, atol) for a, b in zip(got, wanted)))
    if isinstance(wanted, dict):
        return isinstance(got, dict) and got.keys() == wanted.keys() and all(
            equal(got[k], wanted[k], rtol, atol) for k in wanted)
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return False
    if wanted.dtype.kind in "OSU":
        return [_text(x) for x in got.flat] == [_text(x) for x in wanted.flat]
    if got.dtype != wanted.dtype:
        return False
    if wanted.dtype.kind in "biu":
        return bool(np.array_equal(got, wanted))
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    return bool(np.allclose(got.astype(wide), wanted.astype(wide), rtol=rtol, atol=atol, equal_nan=True))


def _text(x):
    return x.decode() if isinstance(x, bytes) else str(x)


def outcome(answers, data_sets, case):
    """One word, its reason, and the answers."""
    given = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for answer in answers:
                given.append(answer)
    except Refused as refused:
        return "refused", str(refused), None
    except Exception as error:
        return "fails", f"{type(error).__name__}: {error}", None
    expected = [outputs for _, outputs in data_sets]
    fine = all(equal(a, b, case.rtol, case.atol) for a, b in zip(given, expected))
    return ("right", "", given) if fine else ("wrong", "not the suite's answer", given)


def judge(case):
    """What both make of a case."""
    with tempfile.TemporaryDirectory() as folder:
        path, data_sets = case.write(folder)
        theirs, why_theirs, wanted = outcome(in_onnxruntime(path, data_sets), data_sets, case)
        ours, why, given = outcome(in_dycl(path, data_sets, folder), data_sets, case)
    if ours == "wrong" and theirs == "wrong" and equal(given, wanted, 1e-5, 1e-6):
        ours, why = "right", "as ONNX Runtime, not as the suite"
    if ours == "right" and theirs == "right" and not equal(given, wanted, 1e-4, 1e-6):
        why = "within the suite's tolerance, not ONNX Runtime's"
    return {"ort": theirs, "ort_why": why_theirs[:300], "dycl": ours, "why": why[:600]}


# ---- many --------------------------------------------------------------------------

def judged(names, of, judge_one=judge, patience=PATIENCE):
    """(name, result) of each; a process that dies or hangs (`patience` seconds) costs one case."""
    names = list(names)
    while names:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(names, of, writer, judge_one)
        os.close(writer)
        with os.fdopen(reader, "rb") as lines:
            while names:
                end = "hang" if not select.select([lines], [], [], patience)[0] else "crash"
                line = lines.readline() if end == "crash" else b""
                if not line:
                    break
                yield names.pop(0), json.loads(line)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if names:
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
            yield names.pop(0), {"ort": "?", "ort_why": "", "dycl": end, "why": how}


def _work(names, of, writer, judge_one):
    try:
        for name in names:
            try:
                result = judge_one(of[name])
            except Exception:
                result = {"ort": "?", "ort_why": "", "dycl": "?", "why": traceback.format_exc()[-600:]}
            os.write(writer, json.dumps(result).encode() + b"\n")
    finally:
        os._exit(0)


def bad(result):
    """What must not be, whatever ONNX Runtime says: a wrong answer, a crash, an error of DyCL's own; and a file that
    ONNX Runtime runs, called invalid."""
    return result["dycl"] in ("wrong", "crash", "hang", "?") or (
        result["dycl"] == "fails" and result["ort"] in ("right", "wrong")) or "internal" in result["why"][:40] or (
        result["ort"] == "right" and result["why"].startswith("invalid_model"))


def refused():
    """{case: why} of those that ONNX Runtime passes and DyCL refuses: refused.txt."""
    lines = [line.split(" ", 1) for line in REFUSED.read_text().splitlines() if not line.startswith("#")]
    return {name: why for name, why in lines}


def missed(result):
    return result["ort"] == "right" and result["dycl"] != "right"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=0, help="so many, drawn by --seed; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="those with this in their names")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results of these cases")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    of = cases()
    names = [n for n in of if options.only in n]
    if options.count:
        names = random.Random(options.seed).sample(names, min(options.count, len(names)))
    results = json.loads(options.file.read_text()) if options.file.exists() else {}
    waiting = [n for n in names if options.fresh or n not in results]
    start = saved = time.monotonic()
    for name, result in judged(waiting, of):
        results[name] = result
        if bad(result) or (options.only and missed(result)):
            print(f"{name}: {result}", flush=True)
        if time.monotonic() - saved > 5:
            saved = time.monotonic()
            options.file.write_text(json.dumps(results, indent=0))
    options.file.parent.mkdir(exist_ok=True)
    options.file.write_text(json.dumps(results, indent=0))
    chosen = [results[n] for n in names]
    for pair, count in sorted(collections.Counter((r["ort"], r["dycl"]) for r in chosen).items()):
        print(f"{count:5}  ONNX Runtime {pair[0]:8} DyCL {pair[1]}")
    print(f"{len(names)} cases, {sum(map(bad, chosen))} bad, {sum(map(missed, chosen))} that ONNX Runtime passes and "
          f"DyCL does not; {time.monotonic() - start:.0f} s")
    listed = refused()
    unlisted = [n for n in names if missed(results[n]) and n not in listed]
    answered = [n for n in names if n in listed and not missed(results[n])]
    for name in unlisted:
        print(f"not passed, and not in refused.txt: {name}: {results[name]}")
    for name in answered:
        print(f"passed, though in refused.txt: {name}")
    return 1 if any(map(bad, chosen)) or unlisted or answered else 0


if __name__ == "__main__":
    sys.exit(main())
