# SPDX-License-Identifier: Apache-2.0
"""Calls that no program makes, told by their arguments: it runs on the CPU, and it does not train.

What would move a tensor elsewhere is refused before torch says that it cannot. Layers that behave at random, or change
their own buffers, while training have a function each, which gives what they are called in a refusal.
"""

from __future__ import annotations

from typing import Any

import torch

from ..diagnostics import CaptureRefusal

_ACCELERATORS = ("cuda", "xpu", "mps", "hpu")


def refuse_other_device(name: str, args: tuple, kwargs: dict) -> None:
    """A tensor that is moved to an accelerator, or made there."""
    moved = [torch.device(name)] if name in _ACCELERATORS else [
        torch.device(x) for x in (*(args if name == "to" else ()), kwargs.get("device"))
        if isinstance(x, torch.device) or isinstance(x, str) and x.split(":")[0] in _ACCELERATORS]
    found = next((device for device in moved if device.type not in ("cpu", "meta")), None)
    if found is not None:
        raise CaptureRefusal(f"a tensor on {found}: programs run on the CPU",
                             "leave the move out, or move to the device of an argument (x.device)", kind="device")


# -- while training ----------------------------------------------------------------------------


def _argument(args: tuple, kwargs: dict, place: int, name: str, default: Any) -> Any:
    return args[place] if len(args) > place else kwargs.get(name, default)


def dropout(name: str, args: tuple, kwargs: dict) -> str | None:
    train = _argument(args, kwargs, 2, "train", False)
    return "dropout" if train and _argument(args, kwargs, 1, "p", 0.5) > 0 else None


def recurrent(name: str, args: tuple, kwargs: dict) -> str | None:
    if len(args) <= 6:
        return None
    share, train = (args[5], args[6]) if isinstance(args[3], bool) else (args[6], args[7])  # a packed one
    return "dropout between recurrent layers" if train and share > 0 else None


def running_statistics(name: str, args: tuple, kwargs: dict) -> str | None:
    given = dict(zip(("input", "weight", "bias", "running_mean", "running_var", "training"), args)) | kwargs
    train = given.get("training", given.get("use_input_stats", False))
    return f"{name}, which updates its running statistics," if train and given.get("running_mean") is not None else None
