# SPDX-License-Identifier: Apache-2.0
"""docs/supported_ops.md is what scripts/supported_ops.py writes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_current():
    said = subprocess.run([sys.executable, ROOT / "scripts" / "supported_ops.py", "--check"],
                          capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_page_names_ops_and_limits():
    text = (ROOT / "docs" / "supported_ops.md").read_text()
    assert "| `index_select` |" in text and "IndexError" in text
    assert text.count("\n| `") > 200
