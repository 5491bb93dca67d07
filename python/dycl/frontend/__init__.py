# SPDX-License-Identifier: Apache-2.0
"""Capture: a PyTorch model with its unmodified `forward` becomes a graph of tensor ops and decisions,
and the graph becomes IR.

The packages, each importing only what stands before it: graph, values, polyfills, state, recording, semantics, library
and merging, machine, boundary; lowering needs the graph alone. capture.py drives one capture.
tests/frontend/test_layers.py keeps the order.
"""
