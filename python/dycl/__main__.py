# SPDX-License-Identifier: Apache-2.0
"""`python -m dycl compile model.py:factory --input 1,3,32,32`, `python -m dycl view model.dycl`: reached by `dycl`."""

from __future__ import annotations

import sys

from .commands.main import main

if __name__ == "__main__":
    sys.exit(main())
