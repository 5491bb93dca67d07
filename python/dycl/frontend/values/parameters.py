# SPDX-License-Identifier: Apache-2.0
"""Which run-time tensors eager has as nn.Parameter.

The stand-in of a tensor is none. Of one that the program makes (`nn.Parameter(x)`) torch itself notes it on the
stand-in; a tensor that stands for parameters of the model in all or some paths (`w = self.a if c else self.b`) has a
note of our own. Asking is answered, or refused where paths differ; a parameter that the program made and gives back or
keeps is refused: the run would make a plain tensor of it.
"""

from __future__ import annotations

from typing import Any

import torch

from ..diagnostics import CaptureRefusal

_NOTE = "_dycl_parameter"
_MADE = "_dycl_made_parameter"
_ASKED = "_dycl_asked_parameter"


def of(x: torch.Tensor) -> str:
    """"yes", "no", or "mixed": only in some paths."""
    return getattr(x, _NOTE, "") or ("yes" if isinstance(x, torch.nn.Parameter) else "no")


def note_merged(merged: torch.Tensor, *parts: torch.Tensor) -> None:
    kinds = {of(x) for x in parts}
    if kinds != {"no"}:
        made = any(map(_is_made, parts))
        setattr(merged, _NOTE, "yes" if kinds == {"yes"} else "mixed")
        setattr(merged, _MADE, made)
        merged._is_param = kinds == {"yes"}


def note_argument(handle: torch.Tensor, example: torch.Tensor) -> None:
    """`handle` stands for a tensor from outside."""
    if isinstance(example, torch.nn.Parameter):
        setattr(handle, _NOTE, "yes")
        handle._is_param = True  # what torch's own code asks


def was_asked(handle: torch.Tensor) -> bool:
    """Whether the model asked if this argument is one: then calls must pass the like."""
    return getattr(handle, _ASKED, False)


def ask(x: torch.Tensor) -> bool:
    setattr(x, _ASKED, True)
    found = of(x)
    if found == "mixed":
        raise CaptureRefusal("the model asks whether a tensor is an nn.Parameter, which it is in some paths only",
                             "ask before the branch", kind="type")
    return found == "yes"


def kind_of(x: torch.Tensor) -> type:
    """type(x) of a run-time tensor."""
    return torch.nn.Parameter if ask(x) else torch.Tensor


def is_one_of(x: torch.Tensor, kind: Any) -> bool:
    """isinstance(x, kind)."""
    if isinstance(kind, type) and issubclass(kind, torch.nn.Parameter):
        return ask(x) and kind is torch.nn.Parameter
    return isinstance(x, kind)


def _is_made(x: torch.Tensor) -> bool:
    return (getattr(x, _MADE, False) or isinstance(x, torch.nn.Parameter) and hasattr(x, "_dycl")
            and not hasattr(x, _NOTE))


def refuse_made(x: torch.Tensor, path: str) -> None:
    if _is_made(x):
        raise CaptureRefusal(f"the program returns or keeps an nn.Parameter that it makes ({path})",
                             "return the tensor itself, and make parameters in __init__", kind="output")
