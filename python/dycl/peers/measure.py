# SPDX-License-Identifier: Apache-2.0
"""Times side by side, and how far two answers are apart."""

from __future__ import annotations

import random
import time
from typing import Any, Callable

import torch

FAR = float("inf")


def _of_tensors(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return FAR
    if not theirs.is_floating_point():
        return 0.0 if torch.equal(ours, theirs) else FAR
    if theirs.numel() == 0:
        return 0.0
    if not torch.equal(torch.isfinite(ours), torch.isfinite(theirs)):
        return FAR
    good = torch.isfinite(theirs)
    scale = theirs[good].abs().max().item() if good.any() else 0.0
    worst = (ours[good].double() - theirs[good].double()).abs().max().item() if good.any() else 0.0
    return worst / scale if scale > 0 else (0.0 if worst == 0 else FAR)


def error(ours: Any, theirs: Any) -> float:
    """The largest relative difference of floating tensors; infinite where anything else differs."""
    if isinstance(theirs, torch.Tensor):
        return _of_tensors(ours, theirs) if isinstance(ours, torch.Tensor) else FAR
    if isinstance(theirs, float):
        return (0.0 if ours == theirs or ours != ours and theirs != theirs
                else abs(ours - theirs) / max(abs(theirs), 1e-30))
    if isinstance(theirs, (list, tuple)):
        if type(ours) is not type(theirs) or len(ours) != len(theirs):
            return FAR
        return max((error(a, b) for a, b in zip(ours, theirs)), default=0.0)
    if isinstance(theirs, dict):
        return FAR if list(ours) != list(theirs) else max((error(ours[k], theirs[k]) for k in theirs), default=0.0)
    if hasattr(theirs, "__dict__") and not callable(theirs):
        return error(vars(ours), vars(theirs)) if type(ours) is type(theirs) else FAR
    return 0.0 if type(ours) is type(theirs) and bool(ours == theirs) else FAR


def rounds(racers: dict[str, Callable[[tuple], Any]], inputs: list[tuple], seconds: float, clock: str) -> list[dict]:
    """Interleaved times in microseconds: one {racer: [times]} per input; each racer is warmed before it is timed."""
    now = time.process_time_ns if clock == "cpu" else time.perf_counter_ns
    results = []
    for args in inputs:
        times: dict[str, list[float]] = {name: [] for name in racers}
        names, batch = list(racers), {}
        for name in names:
            racers[name](args)
            start = time.perf_counter()
            racers[name](args)
            batch[name] = max(1, min(50, int(500e-6 / max(time.perf_counter() - start, 1e-6))))
        end, latest = time.process_time() + seconds, time.perf_counter() + 10 * seconds
        turn, last, generator = 0, None, random.Random(1)
        while turn < 3 or (time.process_time() < end and time.perf_counter() < latest):
            generator.shuffle(names)
            while len(names) > 1 and names[0] == last:  # who follows itself finds its caches warm
                generator.shuffle(names)
            last = names[-1]
            for name in names:
                racers[name](args)
                start = now()
                for _ in range(batch[name]):
                    racers[name](args)
                times[name].append((now() - start) / 1e3 / batch[name])
            turn += 1
        results.append(times)
    return results
