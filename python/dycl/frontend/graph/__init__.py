# SPDX-License-Identifier: Apache-2.0
"""The captured program as data.

Blocks, ATen nodes, host nodes, values and their types; its text form; its interpreter, which is the oracle of lowering;
values that are known while capturing, and ranges of elements by what computes them.
Knows neither states of Python nor ONNX.
"""
