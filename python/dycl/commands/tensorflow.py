# SPDX-License-Identifier: Apache-2.0
"""A model that TensorFlow saved becomes an ONNX file."""

from __future__ import annotations

import os
import subprocess

from ..errors import CompileError, Error, PackageError

NEWEST_OPSET = 18  # the newest that tf2onnx writes


def converted(folder: str, python: str | None, into: str) -> str:
    """The ONNX file that tf2onnx makes of a SavedModel, in a Python that the user named: TensorFlow and what compiles
    need not be in one."""
    help_ = "name a Python that has them, --tf-python PY; there: pip install tensorflow tf2onnx (docs/onnx.md)"
    if python is None:
        raise _missing(f"{folder} is a TensorFlow model, which TensorFlow and tf2onnx make an ONNX file of", help_)
    try:
        found = subprocess.run([python, "-c", "import tensorflow, tf2onnx"], capture_output=True, text=True)
    except OSError as error:
        raise _missing(f"cannot start {python}: {os.strerror(error.errno or 0)}", help_) from None
    if found.returncode != 0:
        raise _missing(f"{python} has no TensorFlow or no tf2onnx: {_last_line(found.stderr)}", help_)
    path = os.path.join(into, "model.onnx")
    made = subprocess.run([python, "-m", "tf2onnx.convert", "--saved-model", folder, "--output", path, "--opset",
                           str(NEWEST_OPSET)], capture_output=True, text=True)
    if made.returncode != 0 or not os.path.exists(path):
        raise CompileError(f"tf2onnx cannot convert {folder}: {_last_line(made.stderr)}", kind="unsupported")
    return path


def _missing(told: str, help_: str) -> Error:
    return PackageError(f"{told}\n  help: {help_}", message=told, help=help_, kind="missing")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"
