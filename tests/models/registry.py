# SPDX-License-Identifier: Apache-2.0
"""What a catalogued model is, and where the packages are found.

The packages live in a folder of their own (DYCL_MODELS, default .setup/models), installed without their
dependencies so that none brings another torch; it is put last on the path. requirements.txt names them.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import math
import os
import shutil
import sys
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import torch

PACKAGES = Path(os.environ.get("DYCL_MODELS", Path(__file__).resolve().parents[2] / ".setup" / "models"))
CATALOG: dict[str, "Entry"] = {}


@dataclass(frozen=True)
class Entry:
    name: str
    package: str
    dynamic: str  # what depends on the data
    make: Callable[[], tuple[Any, list]]  # -> (module or function, inputs: tuples or harness.Call)
    rtol: float = 1e-4
    atol: float = 1e-5


def model(package: str, dynamic: str, **options: Any) -> Callable:
    """Registers a factory; its name is the entry's name."""

    def register(make):
        assert make.__name__ not in CATALOG, make.__name__
        CATALOG[make.__name__] = Entry(make.__name__, package, dynamic, make, **options)
        return make

    return register


def find_packages() -> None:
    """Makes the packages importable."""
    warnings.filterwarnings("ignore")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))
    # torchaudio's wheel is built for CUDA: without its library, which does not load beside torch for CPUs, its Python
    # part works.
    shutil.rmtree(PACKAGES / "torchaudio" / "lib", ignore_errors=True)
    # torchvision's wheel is built for CUDA and its library does not load beside torch for CPUs; its Python part does,
    # if the operators it decorates exist: these do what the library's do.
    global _operators
    try:
        torch.ops.torchvision.nms
    except (AttributeError, RuntimeError):
        _operators = torch.library.Library("torchvision", "DEF")
        _operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _operators.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _operators.define(
            "roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
            "int sampling_ratio, bool aligned) -> Tensor"
        )
        _operators.impl("nms", _nms, "CPU")
        _operators.impl("roi_align", _roi_align, "CPU")
        _operators.impl(
            "roi_align",
            lambda x, rois, scale, h, w, ratio, aligned: x.new_empty(rois.shape[0], x.shape[1], h, w),
            "Meta",
        )


_operators: Any = None


def stand_in(*names: str) -> None:
    """Empty modules for packages that another one imports and that nothing here calls."""
    for name in names:
        parent, _, own = name.rpartition(".")
        if name not in sys.modules and (
            parent
            and parent in sys.modules
            and not hasattr(sys.modules[parent], "__path__")
            or importlib.util.find_spec(name) is None
        ):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
            if parent:
                setattr(sys.modules[parent], own, sys.modules[name])


def with_torchvision_operators() -> None:
    """Detection models ask whether the library was loaded."""
    import torchvision.extension

    torchvision.extension._has_ops = sys.modules["torchvision.ops.roi_align"]._has_ops = lambda: True


def _nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    left = scores.sort(stable=True, descending=True).indices.tolist()
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    while left:
        k, left = left[0], left[1:]
        kept.append(k)
        others = boxes[left]
        corner = torch.minimum(boxes[k, 2:], others[:, 2:]) - torch.maximum(boxes[k, :2], others[:, :2])
        common = corner.clamp(min=0).prod(1)
        left = [j for j, o in zip(left, (common / (area[k] + area[left] - common)).tolist()) if not o > threshold]
    return torch.tensor(kept, dtype=torch.int64)


def _roi_align(x, rois, scale, height, width, ratio, aligned):
    """Sample by sample, as the library does it: what lies more than one place outside counts as zero."""
    offset, result = 0.5 if aligned else 0.0, torch.zeros(rois.shape[0], x.shape[1], height, width)
    for k, (image, *box) in enumerate(rois.tolist()):
        left, top, right, bottom = (b * scale - offset for b in box)
        across, down = (right - left, bottom - top) if aligned else (max(right - left, 1.0), max(bottom - top, 1.0))
        rows, columns = (ratio, ratio) if ratio > 0 else (math.ceil(down / height), math.ceil(across / width))
        for i in range(height):
            for j in range(width):
                points = [
                    (top + (i + (r + 0.5) / rows) * down / height, left + (j + (c + 0.5) / columns) * across / width)
                    for r in range(rows)
                    for c in range(columns)
                ]
                total = sum((_bilinear(x[int(image)], *p) for p in points), torch.zeros(x.shape[1]))
                result[k, :, i, j] = total / max(1, len(points))
    return result


def _bilinear(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return torch.zeros(image.shape[0])
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    i, j = min(int(y), height - 1), min(int(x), width - 1)
    below, beside, a, b = min(i + 1, height - 1), min(j + 1, width - 1), y - i, x - j
    return ((1 - a) * (1 - b) * image[:, i, j] + (1 - a) * b * image[:, i, beside] + a * (1 - b) * image[:, below, j]
            + a * b * image[:, below, beside])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rand(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    return torch.randn(*shape, generator=seeded(seed)) * scale


def ints(*shape: int, low: int = 0, high: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=seeded(seed))


def randomise(module: torch.nn.Module, seed: int = 0, scale: float = 1.0) -> torch.nn.Module:
    """Weights of a size at which decisions vary with the input; initialisers make them all but constant."""
    g = seeded(seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            if not p.is_floating_point():
                continue
            if p.dim() >= 2:
                fan_in = math.prod(p.shape[1:]) if p.dim() != 3 else p.shape[-1]
                p.copy_(torch.randn(p.shape, generator=g) * scale / math.sqrt(max(1, fan_in)))
            elif name.endswith("weight"):
                p.copy_(1 + 0.1 * torch.randn(p.shape, generator=g))
            else:
                p.copy_(0.1 * torch.randn(p.shape, generator=g))
    return module.eval()
