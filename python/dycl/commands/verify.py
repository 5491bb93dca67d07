# SPDX-License-Identifier: Apache-2.0
"""`dycl verify model.onnx model.dycl`: a package beside ONNX Runtime on the file that it was compiled from."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import numpy as np

from ..calling.onnx_program import OnnxProgram
from ..calling.program import load
from ..errors import CompileError, InputError, PackageError
from ..verification.onnx_arms import drive
from ..verification.onnx_runtime import Beside, NotComparable
from .parser import Parser


def parser() -> argparse.ArgumentParser:
    p = Parser(prog="dycl verify", allow_abbrev=False,
               description="Compares a package with ONNX Runtime on the file that it was compiled from.")
    p.add_argument("model", help="model.onnx")
    p.add_argument("package", help="model.dycl, which was compiled from it")
    p.add_argument("inputs", nargs="*", metavar="[NAME=]FILE.npy",
                   help="inputs, in the file's order or by its names; default: random ones")
    p.add_argument("--count", type=int, default=10, help="how many random inputs")
    p.add_argument("--seed", type=int, default=0, help="of random values")
    p.add_argument("--rtol", type=float, default=1e-3, help="relative to the largest of a result")
    p.add_argument("--atol", type=float, default=1e-4)
    p.add_argument("--no-drive", action="store_true", help="leave alone the arms that no input takes")
    p.add_argument("--json", action="store_true", help="print the report, or the error, as JSON")
    return p


def run(options: argparse.Namespace) -> int:
    """Prints what was compared; 1 where answers differ."""
    program = load(options.package, threads=1)
    if not isinstance(program, OnnxProgram):
        raise InputError(f"{options.package} was not compiled from an ONNX file")
    traced = _Traced(program)
    found: list[tuple[int, str]] = []
    given = _given(program, options.inputs) if options.inputs else None
    try:
        beside = Beside(options.model, traced, options.rtol, options.atol)
        if given is not None:
            found = [(0, text) for text in beside.on(given)]
        else:
            for number in range(options.count):
                found += [(number, text) for text in beside.on_random(options.seed + number)]
    except NotComparable as reason:
        raise CompileError(f"nothing to compare with: {reason}", kind="unsupported") from None
    report: dict[str, Any] = {
        "inputs": 1 if given is not None else options.count, "differences": found, "largest": beside.worst,
        "decisions": traced.decisions, "both_ways": traced.both_ways()}
    if not options.no_drive and traced.both_ways() < traced.decisions:
        report["driven"] = _driven(options)
    _tell(report, options.json)
    return 1 if found or report.get("driven", {}).get("differences") else 0


def _driven(options: argparse.Namespace) -> dict[str, Any]:
    """Arms that no input took, in a copy of the file whose Ifs can be turned over."""
    try:
        return drive(options.model, lambda package: load(package, threads=1), options.seed, options.rtol, options.atol)
    except NotComparable as reason:
        return {"calls": 0, "differences": [], "left_out": [str(reason)]}


def _tell(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(report))
        return
    for number, text in report["differences"][:20]:
        print(f"input {number}: {text}")
    count = len({number for number, _ in report["differences"]})
    print(f"{report['inputs']} inputs, {count} differ; largest difference {report['largest']:.3g}; "
          f"{report['both_ways']} of {report['decisions']} decisions went both ways")
    if "driven" in report:
        driven = report["driven"]
        for text in driven["differences"][:20]:
            print(text)
        print(f"with conditions turned over: {driven['calls']} calls, {len(driven['differences'])} differences"
              + "".join(f"\n  not driven: {why}" for why in driven["left_out"][:5]))


class _Traced:
    """A program that notes which way its decisions go."""

    def __init__(self, program: OnnxProgram):
        self._program = program
        self.decisions = len(program.decisions)
        self._arms: set[tuple[int, int]] = set()

    def __call__(self, *args: Any) -> dict[str, Any]:
        results, taken = self._program.traced(*args)
        self._arms.update(taken)
        return results

    def both_ways(self) -> int:
        return sum(len({arm for number, arm in self._arms if number == decision}) > 1
                   for decision in range(self.decisions))


def _given(program: OnnxProgram, words: list[str]) -> dict[str, Any]:
    places, names = [], {}
    for word in words:
        name, equals, path = word.partition("=")
        try:
            array = np.load(path if equals else word, allow_pickle=False)
        except OSError as error:
            raise PackageError(f"cannot read {path or word}: {os.strerror(error.errno or 0)}", kind="missing") from None
        except ValueError as error:
            raise InputError(f"{path or word} holds no array ({error})") from None
        if equals:
            names[name] = array
        else:
            places.append(array)
    return program.by_name(*places, **names)
