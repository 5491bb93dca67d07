# SPDX-License-Identifier: Apache-2.0
"""Which path a model takes on an input: the sequence of lines of the zoo's own code,
and of the modules that run them."""

from __future__ import annotations

import collections
import hashlib
import sys
from pathlib import Path

import torch

FOLDER = str(Path(__file__).parent)


def path_of(call, args: tuple, folder: str | None = None) -> str:
    """A digest of what eager executes of the code in a folder (the zoo's); equal for two inputs exactly if they take
    the same path. `call` is a module or a method of one."""
    model = getattr(call, "__self__", call)
    names = {id(m): name for name, m in model.named_modules()} if isinstance(model, torch.nn.Module) else {}
    folder = folder or FOLDER
    digest = hashlib.sha1()

    def lines(frame, event, _):
        if event == "line":
            digest.update(b"%d." % frame.f_lineno)
        return lines

    def calls(frame, event, _):
        if not frame.f_code.co_filename.startswith(folder):
            return None
        owner = names.get(id(frame.f_locals.get("self")), "")
        digest.update(f"({owner}:{frame.f_code.co_name}".encode())
        return lines

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        with torch.no_grad():
            call(*args)
    finally:
        sys.settrace(before)
    return digest.hexdigest()[:12]


def distribution(model: torch.nn.Module, inputs, seeds) -> collections.Counter:
    return collections.Counter(path_of(model, inputs(s)) for s in seeds)
