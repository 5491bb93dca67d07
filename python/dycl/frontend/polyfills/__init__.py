# SPDX-License-Identifier: Apache-2.0
"""Python that the machine interprets in place of native functions, a file per module that it stands for.

Everything in this folder is interpreted and never run, and hidden from the user's stack: the folder itself decides that
(semantics/interpretation.py). Only registry.py is run: by it a polyfill says what it stands in for. Importing this
package registers them all.
"""

from . import array, builtins, deque, fractions, functools, generators, itertools, numbers, torch

__all__ = ["array", "builtins", "deque", "fractions", "functools", "generators", "itertools", "numbers", "torch"]
