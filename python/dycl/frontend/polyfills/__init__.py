# SPDX-License-Identifier: Apache-2.0
"""Python that the machine interprets in place of native functions, a file per module that it stands for.

Everything in this folder is interpreted and never run, and hidden from the user's stack: the folder itself decides that
(semantics/interpretation.py).
"""
