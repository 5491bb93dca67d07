# SPDX-License-Identifier: Apache-2.0
"""Programs run on the CPU: what would move a tensor elsewhere is refused before torch says that it cannot."""

from __future__ import annotations

import torch

from ..diagnostics import CaptureRefusal

_ACCELERATORS = ("cuda", "xpu", "mps", "hpu")


def refuse_other(name: str, args: tuple, kwargs: dict) -> None:
    """A tensor that is moved to an accelerator, or made there."""
    moved = [torch.device(name)] if name in _ACCELERATORS else [
        torch.device(x) for x in (*(args if name == "to" else ()), kwargs.get("device"))
        if isinstance(x, torch.device) or isinstance(x, str) and x.split(":")[0] in _ACCELERATORS]
    found = next((device for device in moved if device.type not in ("cpu", "meta")), None)
    if found is not None:
        raise CaptureRefusal(f"a tensor on {found}: programs run on the CPU",
                             "leave the move out, or move to the device of an argument (x.device)", kind="device")
