# SPDX-License-Identifier: Apache-2.0
"""Conversions of ATen ops to ONNX ops, by what the ops do. Importing this package registers them all."""

from . import (
    activations,
    gamma,
    indexing,
    layers,
    linear_algebra,
    pointwise,
    pooling,
    recurrent,
    reductions,
    shapes,
    torchvision,
)

__all__ = ["activations", "gamma", "indexing", "layers", "linear_algebra", "pointwise", "pooling", "recurrent",
           "reductions", "shapes", "torchvision"]
