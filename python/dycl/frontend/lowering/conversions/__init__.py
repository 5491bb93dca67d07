# SPDX-License-Identifier: Apache-2.0
"""Conversions of ATen ops to ONNX ops, by what the ops do. Importing this package registers them all."""

from . import gamma, indexing, layers, linear_algebra, pointwise, pooling, recurrent, reductions, shapes, torchvision

__all__ = ["gamma", "indexing", "layers", "linear_algebra", "pointwise", "pooling", "recurrent", "reductions", "shapes",
           "torchvision"]
