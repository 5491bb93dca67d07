#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the files of src/ include: each folder only those that LAYERS grants it, no cycle of headers, and no
engine named outside its own folder but in the tables of back ends, in tools/ and python/bindings/ neither.
`check_includes.py [src]` prints what is wrong and fails."""

import re
import sys
from pathlib import Path

ENGINES = ("ort", "openvino", "tvm")
# The table of back ends, and which of them is the one to start from: the two places that may name engines. The second
# is a header of its own because emit/ reads it, which links no back end.
TABLES = ("backends/backend.cpp", "backends/default_engine.h")
# Beside src/: what calls the driver.
CALLERS = ("tools", "python/bindings")

# Which folders the files of a folder may include, beside its own; a folder that is not named here belongs to the one
# around it. A name with a dot is a single header: data without code, which needs no library.
LAYERS = {
    "support": [],
    "ir": ["support"],
    "onnx/format": ["support", "ir"],
    "onnx/import": ["support", "ir", "onnx/format"],
    "onnx": ["support", "ir", "onnx/format"],
    "passes": ["support", "ir"],
    "runtime": ["support"],
    "backends/processes": ["support"],
    "backends/kernels": ["support", "ir"],
    "backends": ["support", "ir", "backends/processes"],
    "backends/choose": ["support", "ir", "onnx", "onnx/format", "passes", "runtime", "backends"],
    "backends/ort": ["support", "ir", "onnx", "onnx/format", "backends", "backends/kernels"],
    "backends/openvino": ["support", "ir", "onnx", "onnx/format", "backends", "backends/processes"],
    "backends/tvm": ["support", "ir", "onnx", "onnx/format", "backends", "backends/choose", "backends/processes"],
    "package": ["support", "ir", "runtime", "backends/artifact.h"],
    "emit": ["support", "ir", "passes", "onnx", "onnx/format", "package", "runtime", "backends/artifact.h",
             "backends/default_engine.h"],
    "driver": ["support", "ir", "passes", "onnx/import", "package", "runtime", "backends", "backends/choose"],
}

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"//.*")
ENGINE_NAME = re.compile(r'"(%s)"' % "|".join(ENGINES))


def folder_of(path):
    """The longest folder of LAYERS that holds `path`; None: no folder does."""
    return max((folder for folder in LAYERS if path.startswith(folder + "/")), key=len, default=None)


def engine_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "backends" and parts[1] in ENGINES else None


def texts_below(folder, names):
    """The C++ files below `folder`, by name below `names`."""
    return {str(file.relative_to(names)): file.read_text() for file in sorted(folder.rglob("*.[hc]*"))
            if file.suffix in (".h", ".cpp")}


def wrong_layers(path, included):
    folder = folder_of(path)
    if folder is None:
        return [f"{path}: its folder is not in LAYERS"]
    granted = {folder, *LAYERS[folder]}
    return [f"{path} includes {other}, which {folder}/ may not" for other in included
            if other not in granted and folder_of(other) not in granted and not (path in TABLES and engine_of(other))]


def wrong_names(path, text, included):
    if path in TABLES:
        return []
    named = [(other, engine_of(other)) for other in included if engine_of(other)]
    named += [(f'"{engine}"', engine) for engine in ENGINE_NAME.findall(COMMENT.sub("", text))]
    return [f"{path} names an engine that is not its own: {what}"
            for what, engine in named if engine != engine_of(path)]


def cycle_in(graph):
    """Files that include each other in a ring; empty if there are none."""
    done, open_ = set(), []

    def visit(path):
        if path in open_:
            return open_[open_.index(path):] + [path]
        if path in done:
            return []
        open_.append(path)
        for other in graph[path]:
            if ring := visit(other):
                return ring
        open_.pop()
        done.add(path)
        return []

    return next((ring for path in graph if (ring := visit(path))), [])


def check(src):
    """Sentences about what is wrong below `src`."""
    texts = texts_below(src, src)
    graph = {path: [other for other in INCLUDE.findall(text) if other in texts] for path, text in texts.items()}
    wrong = [what for path, text in texts.items()
             for what in wrong_layers(path, graph[path]) + wrong_names(path, text, graph[path])]
    for folder in CALLERS:
        for path, text in texts_below(src.parent / folder, src.parent).items():
            wrong += wrong_names(path, text, [other for other in INCLUDE.findall(text) if other in texts])
    if ring := cycle_in(graph):
        wrong.append("headers include each other: " + " -> ".join(ring))
    return wrong


def main():
    src = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "src"
    wrong = check(src)
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
