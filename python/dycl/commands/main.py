# SPDX-License-Identifier: Apache-2.0
"""Which command there is, and what becomes of its errors."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from typing import Any

from ..errors import Error
from ..runtime import printable
from .ctrl_c import STOPPED, ends_the_process, say_stopped
from .parser import USAGE

# docs/exit_codes.md. Kinds of CompileError are finer: what is not here was refused.
_EXIT_CODES = {"invalid_model": 2, "example": 2, "invalid_input": 3, "argument": 3, "dims.example": 3,
               "invalid_package": 4, "missing": 5, "runtime_failure": 6, "write_failed": 8, "verify": 70,
               "internal": 70}
_REFUSED = 7

# Modules with parser() and run(arguments), loaded when they are asked for: `view` needs no torch.
COMMANDS = {"bench": "commands.peers", "compile": "commands.compile", "explain": "commands.explain",
            "verify": "commands.verify", "view": "commands.view"}


def main(argv: list[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    name, as_json = words[0] if words else "", "--json" in words
    if name not in COMMANDS:
        print(f"error: there is no command {name!r} here\n  help: python -m dycl {{{','.join(COMMANDS)}}} --help",
              file=sys.stderr)
        return USAGE
    try:
        command = importlib.import_module(f"dycl.{COMMANDS[name]}")
        arguments = command.parser().parse_args(words[1:])
        with ends_the_process():
            return command.run(arguments)
    except Error as error:
        return fail(error, as_json)
    except KeyboardInterrupt:
        say_stopped()
        return STOPPED if not as_json else told_as_json({"kind": "interrupted", "message": "stopped"}, STOPPED)
    except Exception as error:
        traceback.print_exc()
        told = f"a defect of DyCL: {type(error).__name__}: {error}"
        return fail(Error(f"error: {told}\n  help: please report it, with the model", message=told,
                          kind="internal"), as_json)


def fail(error: Error, as_json: bool) -> int:
    text = str(error)
    print(printable(text if "error: " in text else f"error: {text}"), file=sys.stderr)
    code = _EXIT_CODES.get(error.kind, _REFUSED)
    if not as_json:
        return code
    told: dict[str, Any] = {"kind": error.kind, "message": error.message}
    if error.help:
        told["help"] = error.help
    if error.span is not None:
        where = error.span
        told["where"] = {"file": where.file, "line": where.line, "column": where.column}
    return told_as_json(told, code)


def told_as_json(told: dict, code: int) -> int:
    print(json.dumps({"error": told}, indent=2))
    return code
