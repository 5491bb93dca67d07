# SPDX-License-Identifier: Apache-2.0
"""The errors that users of dycl meet. Nothing is imported for them: neither torch nor the compiler."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any


class CompileWarning(UserWarning):
    """The program is right as far as it goes, but not for every input:
    a loop or a recursion was unrolled so many times."""


class Error(Exception):
    """What all errors of dycl are. The text says where, what and what to do; `kind` is a stable name
    (docs/exit_codes.md), `message` and `help` are parts of the text, `span` is a place in the model's source."""

    kind = ""

    def __init__(self, text: str = "", *, message: str = "", help: str = "", span: Any = None, kind: str = ""):
        super().__init__(text)
        self.message = message or text
        self.help = help
        self.span = span
        self.kind = kind or self.kind

    def is_kind(self, kind: str) -> bool:
        return self.kind == kind


class CompileError(Error):
    """The model cannot be compiled."""  # kind: the refusal's class, e.g. "escape.hash"


class InputError(Error, ValueError):
    """A call that does not fit the compiled program; the text names the argument."""

    kind = "invalid_input"


class RunError(Error, RuntimeError):
    """An execution that failed in an engine, or raised an exception whose class is not to be found; `type` names it."""

    kind = "runtime_failure"
    type = ""
    kept: dict = {}  # what the program had written when it raised, by name
    states: list | None = None  # and its new states, where the caller keeps them


class RunStopped(RunError):
    """An execution that its RunOptions ended; `type` says why: "DeadlineExceeded", "Cancelled", "StepLimitExceeded" or
    "MemoryLimitExceeded"."""

    kind = "stopped"


class PackageError(Error):
    """A package, or another file or library that was named, is not there ("missing"), damaged or of no use here
    ("invalid_package"), or cannot be written ("write_failed"). `section`: the part of a package that is not as
    specified (docs/package_format.md)."""

    kind = "invalid_package"

    def __init__(self, text: str = "", *, section: str = "", **known: Any):
        super().__init__(f"section {section}: {text}" if section else text, **known)
        self.section = section


def unknown_name(what: str, name: Any, known: Sequence[str]) -> str:
    """What to say of a name that does not exist, with those that do."""
    near = difflib.get_close_matches(str(name), known, 1)
    return (f"there is no {what} {name!r}{f'; did you mean {near[0]!r}?' if near else '.'} "
            f"There {'is' if len(known) == 1 else 'are'}: {', '.join(known) or 'none'}")


# Their names are dycl.InputError and so on, in tracebacks and in packages that raise them, wherever they are defined.
for _public in (CompileWarning, Error, CompileError, InputError, RunError, RunStopped, PackageError):
    _public.__module__ = "dycl"
