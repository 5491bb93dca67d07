# SPDX-License-Identifier: Apache-2.0
"""The table of bytecode instructions: which there are, which are refused;
`op` registers what one does (opcodes*.py)."""

from __future__ import annotations

from ..state.signals import JUMPED, PUSHED

HANDLERS: dict = {}

# Instructions of CPython 3.11 and 3.12 that the machine meets and refuses: (what the program does, what to do instead).
ASYNC = ("a coroutine", "call plain functions")
_GROUPS = ("`except*`", "catch exceptions by `except`")
_NAMES = ("the body of a class or module", "define it outside the model's forward")
REFUSED: dict = {
    **dict.fromkeys(("GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR", "GET_AWAITABLE", "ASYNC_GEN_WRAP"),
                    ASYNC),
    **dict.fromkeys(("CHECK_EG_MATCH", "PREP_RERAISE_STAR"), _GROUPS),
    **dict.fromkeys(("STORE_NAME", "DELETE_NAME", "SETUP_ANNOTATIONS", "LOAD_LOCALS", "LOAD_FROM_DICT_OR_GLOBALS",
                     "LOAD_FROM_DICT_OR_DEREF", "IMPORT_STAR", "PRINT_EXPR", "PRINT"), _NAMES),
    "TYPEALIAS": ("a `type` statement", "define it outside the model's forward"),
    **dict.fromkeys(("TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS"),
                    ("a type parameter with a bound", "leave the bound out")),
    "DELETE_GLOBAL": ("`del` of a global variable", "set it to None"),
}
# Those that no code object given to `dis` has: pseudo-instructions of the compiler,
# and what the interpreter puts in their place.
UNSEEN = {"EXTENDED_ARG", "INTERPRETER_EXIT", "RESERVED", "SETUP_FINALLY", "SETUP_CLEANUP",
          "SETUP_WITH", "POP_BLOCK", "JUMP", "JUMP_NO_INTERRUPT", "LOAD_SUPER_METHOD", "LOAD_ZERO_SUPER_METHOD",
          "LOAD_ZERO_SUPER_ATTR", "STORE_FAST_MAYBE_NULL"}


def op(*names):
    def register(f):
        for name in names:
            HANDLERS[name] = f
        return f

    return register


def push_result(frame, result):
    """For handlers that end in a call: push an immediate result, or report the pushed frame."""
    if result is PUSHED or result is JUMPED:
        return result
    frame.stack.append(result)
    return None
