# SPDX-License-Identifier: Apache-2.0
"""Makes `tests.frontend...` importable wherever pytest is started from."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
