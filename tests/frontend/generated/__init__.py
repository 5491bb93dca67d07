# SPDX-License-Identifier: Apache-2.0
"""Differential fuzzing of capture: random Python programs over small tensors, eager against compiled.

generate.py writes programs, execute.py runs one both ways and compares, shrink.py makes a failing one
small, __main__.py is the command line (`python -m tests.frontend.generated --help`).
"""
