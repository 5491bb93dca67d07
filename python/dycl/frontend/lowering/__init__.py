# SPDX-License-Identifier: Apache-2.0
"""The captured graph becomes IR.

Templates of ONNX ops for each ATen op, constants as weights, builders of the C++ IR. Knows the graph alone.
"""
