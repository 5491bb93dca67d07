# SPDX-License-Identifier: Apache-2.0
"""Where boxes and arrows go: Graphviz's `dot`, which sees sizes and numbers of nodes alone."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass

from ..errors import PackageError

_POINTS = 72.0  # to the inch, in which dot counts
_SECONDS = 120
_LARGE = 600  # nodes, from which on dot takes fewer rounds to untangle edges
Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    width: float
    height: float
    centers: list[Point]  # of each node
    routes: list[list[Point]]  # of each edge: a start, then three points to each Bezier curve


def has_dot() -> bool:
    return shutil.which("dot") is not None


def laid_out(sizes: list[Point], edges: list[tuple[int, int]]) -> Layout:
    """`sizes`: (width, height) of each node; `edges`: (from, to). Raises PackageError ("missing") without Graphviz."""
    dot = shutil.which("dot")
    if dot is None:
        raise PackageError("error: the drawing needs Graphviz's `dot`, which is not on the PATH\n"
                           "  help: apt-get install graphviz (or https://graphviz.org/download)",
                           message="the drawing needs Graphviz's `dot`, which is not on the PATH",
                           help="apt-get install graphviz", kind="missing")
    few = "nslimit=2 nslimit1=2 mclimit=0.3 searchsize=10" if len(sizes) >= _LARGE else ""
    lines = [f"digraph g {{ graph [nodesep=0.3 ranksep=0.45 {few}]; node [shape=box fixedsize=true label=\"\"];"]
    lines += [f"{k} [width={w / _POINTS:.4f} height={h / _POINTS:.4f}];" for k, (w, h) in enumerate(sizes)]
    lines += [f"{a} -> {b};" for a, b in edges]
    try:
        made = subprocess.run([dot, "-Tplain"], input="\n".join([*lines, "}"]), text=True, capture_output=True,
                              timeout=_SECONDS, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        why = f"takes longer than {_SECONDS} s" if isinstance(error, subprocess.TimeoutExpired) else "failed"
        told = f"Graphviz's `dot` {why} on a graph of {len(sizes)} blocks"
        raise PackageError(f"error: {told}\n  help: `dycl inspect` shows the program as text", message=told,
                           help="`dycl inspect` shows the program as text", kind="runtime_failure") from None
    return _read(made.stdout, len(sizes), edges)


def _read(text: str, count: int, edges: list[tuple[int, int]]) -> Layout:
    """dot's plain form; its y grows upwards."""
    rows = [line.split() for line in text.splitlines()]
    height = float(rows[0][3]) * _POINTS
    centers: list[Point] = [(0.0, 0.0)] * count
    found: dict[tuple[int, int], list] = defaultdict(list)
    for row in rows:
        if row[0] == "node":
            centers[int(row[1])] = (float(row[2]) * _POINTS, height - float(row[3]) * _POINTS)
        elif row[0] == "edge":
            numbers = [float(x) * _POINTS for x in row[4:4 + 2 * int(row[3])]]
            found[int(row[1]), int(row[2])].append(
                [(x, height - y) for x, y in zip(numbers[::2], numbers[1::2])])
    return Layout(float(rows[0][2]) * _POINTS, height, centers, [found[edge].pop(0) for edge in edges])
