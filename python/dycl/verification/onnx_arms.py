# SPDX-License-Identifier: Apache-2.0
"""Arms of an ONNX file that no input takes: a copy of the file asks at each If whether to turn its condition over. ONNX
Runtime runs the copy, and the program that is compiled from it."""

from __future__ import annotations

import importlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error
from ..native import native
from .onnx_runtime import Beside, NotComparable, ends_within, inputs_of, session_of

_MOST_BYTES = 1_500_000_000  # a copy holds its weights itself
_MOST_TURNS = 256  # calls
_DEEPEST = 4  # Ifs around an If, all of whose ways are tried
_FIRST_OPSET = 7  # whose Xor broadcasts
_SECONDS = 5.0  # of one call: a loop around an If may never end where the If is turned over
_MOST_ENDLESS = 3  # calls; then the others are left out, too


class Turned:
    """A copy of a file, and the inputs that it has for its Ifs: names, and for each those of the Ifs around it."""

    def __init__(self, path: str | os.PathLike, folder: str, only: int | None = None):
        try:
            self._onnx = importlib.import_module("onnx")
        except ModuleNotFoundError:
            raise NotComparable("there is no Python package onnx") from None
        if sum(f.stat().st_size for f in Path(path).absolute().parent.iterdir() if f.is_file()) > _MOST_BYTES \
                and Path(path).stat().st_size < 100_000_000:
            raise NotComparable("the file's folder is too large for a copy")
        model = self._onnx.load(os.fspath(path))
        if any(o.version < _FIRST_OPSET for o in model.opset_import if o.domain in ("", "ai.onnx")):
            raise NotComparable(f"the file is of an opset before {_FIRST_OPSET}")
        self._only, self._count = only, 0
        self.around: dict[str, tuple[str, ...]] = {}
        self._turn(model.graph, ())
        helper = self._onnx.helper
        model.graph.input.extend(helper.make_tensor_value_info(name, self._onnx.TensorProto.BOOL, [])
                                 for name in self.around)
        self.path = os.path.join(folder, "turned.onnx")
        self._onnx.save(model, self.path)

    def _turn(self, graph: Any, around: tuple[str, ...]) -> None:
        nodes = []
        for node in graph.node:
            inside = around
            if node.op_type == "If" and node.domain in ("", "ai.onnx"):
                number, self._count = self._count, self._count + 1
                if self._only in (None, number):
                    name = f"dycl_turn_{number}"
                    self.around[name] = around
                    inside = (*around, name)
                    nodes.append(self._onnx.helper.make_node("Xor", [node.input[0], name], [f"{name}_condition"]))
                    node.input[0] = f"{name}_condition"
            for attribute in node.attribute:
                for body in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                    self._turn(body, inside)
            nodes.append(node)
        copies = [self._onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)

    def ways(self) -> Iterator[dict[str, Any]]:
        """Values for the inputs: each If turned and not, in all ways of those around it."""
        seen = set()
        for name, around in self.around.items():
            asked = (*around[-_DEEPEST:], name)
            for turned in itertools.product((False, True), repeat=len(asked)):
                chosen = frozenset(n for n, t in zip(asked, turned) if t)
                if chosen and chosen not in seen and len(seen) < _MOST_TURNS:
                    seen.add(chosen)
                    yield {n: np.array(n in chosen) for n in self.around}


def drive(path: str | os.PathLike, load: Callable[[str], Any], seed: int, rtol: float, atol: float) -> dict[str, Any]:
    """`load` makes a program of a package. What was found: calls that ONNX Runtime ran, differences, and why Ifs are
    left out."""
    found: dict[str, Any] = {"calls": 0, "differences": [], "left_out": []}
    with tempfile.TemporaryDirectory() as folder:
        turned = Turned(path, folder)
        count = len(turned.around)
        try:
            _drive(path, turned, folder, load, seed, rtol, atol, found)
            return found
        except Error as whole:
            refused = whole
        for number in range(count if count > 1 else 0):  # one of them may be decided by shapes: its arms fit no other
            try:
                _drive(path, Turned(path, folder, number), folder, load, seed, rtol, atol, found)
            except Error as error:
                found["left_out"].append(_line(error))
        if count == 1:
            found["left_out"].append(_line(refused))
    return found


def _drive(path: Any, turned: Turned, folder: str, load: Callable[[str], Any], seed: int, rtol: float, atol: float,
           found: dict[str, Any]) -> None:
    if not turned.around:
        return
    package = os.path.join(folder, "turned.dycl")
    native().compile_program(native().read_program(turned.path), package, use_cache=False)
    program = load(package)
    feeds, _ = inputs_of(session_of(path), seed)
    beside, session = Beside(turned.path, program, rtol, atol), session_of(turned.path)
    endless = 0
    for way in turned.ways():
        given = {**feeds, **way}
        said = ", ".join(name.removeprefix("dycl_turn_") for name, on in way.items() if on)
        try:
            ended = ends_within(_SECONDS, session, given)
        except Exception:  # an arm that this input does not fit
            continue
        if not ended:
            endless += 1
            found["left_out"].append(f"If {said} turned: ONNX Runtime does not end within {_SECONDS:.0f} s")
            if endless == _MOST_ENDLESS:
                return
            continue
        found["calls"] += 1
        try:
            found["differences"] += [f"If {said} turned: {text}" for text in beside.on(given)]
        except NotComparable:
            continue


def _line(error: Exception) -> str:
    return str(error).split("\n")[0][:200]
