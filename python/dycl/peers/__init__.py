# SPDX-License-Identifier: Apache-2.0
"""A model beside the other ways to run it: torch.compile, torch.export, ONNX with If and Loop, and ours.

`rivals.py` makes each of them or says why it cannot be had, `measure.py` times and compares them. Nothing here knows
how a program is compiled; it asks as a user would.
"""
