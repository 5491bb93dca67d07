# SPDX-License-Identifier: Apache-2.0
"""The table of operators' forms is what the pinned wheels say."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import onnx_operators  # noqa: E402


def test_the_table_is_of_these_wheels():
    assert onnx_operators.FILE.read_text() == onnx_operators.text(), "run scripts/onnx_operators.py"
