# SPDX-License-Identifier: Apache-2.0
"""The errors that users of dycl meet. Nothing is imported for them: neither torch nor the compiler."""

from __future__ import annotations

from typing import Any


class CompileWarning(UserWarning):
    """The program is right as far as it goes, but not for every input:
    a loop or a recursion was unrolled so many times."""


class CompileError(Exception):
    """The model cannot be compiled; the text says where, what, why and what to do."""

    def __init__(self, text: str, *, message: str = "", help: str = "", span: Any = None, kind: str = ""):
        super().__init__(text)
        self.message = message or text
        self.help = help
        self.span = span
        self.kind = kind  # a stable name of the refusal's class, e.g. "escape.hash"


class InputError(ValueError):
    """A call that does not fit the compiled program; the text names the argument."""


# Their names are dycl.InputError and so on, in tracebacks and in packages that raise them, wherever they are defined.
for _public in (CompileWarning, CompileError, InputError):
    _public.__module__ = "dycl"
