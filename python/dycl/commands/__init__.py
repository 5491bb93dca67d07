# SPDX-License-Identifier: Apache-2.0
"""The commands of `dycl` that are written in Python: a file per command, `main.py` their table.

The program `dycl` (tools/dycl) hands them over to `python -m dycl`. A command reads its options, calls the library and
says what came of it; it knows no more than a user of the library does.
"""
