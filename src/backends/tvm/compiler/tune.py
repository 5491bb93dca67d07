# SPDX-License-Identifier: Apache-2.0
"""Better schedules of one kernel, by trying: `--tune`.

The schedule of a kernel (orders.py) has a few choices (schedule.Choice). They are gone through one after the other,
each with the best values so far of the others, until nothing helps or the time is up. A candidate must give what the
kernel gives without any schedule, on numbers and on NaNs and infinities; it is timed by turns with the best so far, in
processor time, and the best of the rounds counts, because disturbances only add. In the end the winner is measured
against the default once more and must be MIN_GAIN faster, else the default stays.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import tvm

import orders
import schedule

MIN_GAIN = 0.03
ROUND = 3e-3  # seconds: much longer than what the timer itself takes


class Kernel:
    """One kernel with operands, and what it gives."""

    def __init__(self, function, target, machine: schedule.Machine):
        self.function, self.target, self.machine = function, target, machine
        self.shapes = [tuple(int(d) for d in b.shape) for b in schedule.operands(function)]
        results = schedule.results(function)
        self.inputs = [i for i in range(len(self.shapes)) if i not in results]
        self.outputs = results
        draw = np.random.default_rng(1)
        self.plain = [draw.standard_normal(s).astype(np.float32) for s in self.shapes]
        self.special = [a.copy() for a in self.plain]
        for i, a in enumerate(self.special):
            flat = a.reshape(-1)
            for k, value in enumerate((np.nan, np.inf, -np.inf, -0.0, 1e30)[: 1 + flat.size // 8]):
                flat[(i * 7 + k * (flat.size // 5 + 1)) % flat.size] = value
        naive = self.built(None)
        self.expected = [self.run(naive, given) for given in (self.plain, self.special)]
        self.tensors = [tvm.runtime.tensor(a) for a in self.plain]

    def built(self, choice: schedule.Choice | None):
        function = self.function if choice is None else orders.scheduled(self.function, self.machine, choice)
        with self.target:
            made = tvm.compile(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}), target=self.target)
        return made.jit()

    def run(self, module, given) -> list[np.ndarray]:
        tensors = [tvm.runtime.tensor(a) for a in given]
        module["main"](*tensors)
        return [tensors[i].numpy() for i in self.outputs]

    def is_right(self, module) -> bool:
        for given, expected in zip((self.plain, self.special), self.expected):
            for ours, theirs in zip(self.run(module, given), expected):
                good = np.isfinite(theirs)
                same_kind = np.array_equal(np.isnan(ours), np.isnan(theirs))
                if not same_kind or not np.array_equal(ours[~good], theirs[~good], equal_nan=True):
                    return False
                largest = float(np.abs(theirs[good]).max()) if good.any() else 0.0
                if np.any(np.abs(ours[good] - theirs[good]) > 1e-5 * largest + 1e-4 * np.abs(theirs[good])):
                    return False
        return True

    def roughly(self, module) -> float:
        """Seconds of a call on the wall."""
        return module.time_evaluator("main", tvm.cpu(), number=3, repeat=2)(*self.tensors).min

    def seconds(self, module, calls: int) -> float:
        """Processor time of a call; the timer itself calls once more than told."""
        timer = module.time_evaluator("main", tvm.cpu(), number=calls, repeat=1)
        begun = time.thread_time()
        timer(*self.tensors)
        return (time.thread_time() - begun) / (calls + 1)


def compare(kernel: Kernel, modules: list, rounds: int) -> list[float]:
    """The best seconds of each, by turns."""
    calls = [max(1, min(5000, int(ROUND / max(kernel.roughly(m), 1e-7)))) for m in modules]
    best = [float("inf")] * len(modules)
    for _ in range(rounds):
        for i, module in enumerate(modules):
            best[i] = min(best[i], kernel.seconds(module, calls[i]))
    return best


def tuned(function, target, machine: schedule.Machine, seconds: float, start: dict) -> dict:
    """The record of a kernel: {"schedule", "tried", "wrong", "before", "after", "done"}; times in microseconds."""
    end = time.monotonic() + seconds
    default = schedule.Choice()
    record = {"schedule": {}, "tried": 0, "wrong": 0, "before": 0.0, "after": 0.0, "done": True}
    space = orders.space(function, machine)
    if not space:
        return record
    kernel = Kernel(function, target, machine)
    first = kernel.built(default)
    choice, module = schedule.Choice.of(start), first
    if choice != default:
        module = kernel.built(choice)
    improved = True
    while improved:
        improved = False
        for field, values in space.items():
            for value in values:
                if time.monotonic() > end:
                    record["done"] = False
                    break
                candidate = dataclasses.replace(choice, **{field: value})
                if candidate == choice:
                    continue
                record["tried"] += 1
                try:
                    made = kernel.built(candidate)
                except Exception:  # a schedule that does not fit this kernel
                    continue
                now, new = compare(kernel, [module, made], 3)
                if new > now * 0.99:
                    continue
                now, new = compare(kernel, [module, made], 6)
                if new > now * 0.985:
                    continue
                if not kernel.is_right(made):
                    record["wrong"] += 1
                    continue
                choice, module, improved = candidate, made, True
    before, after = compare(kernel, [first, module], 12)
    record["before"], record["after"] = before * 1e6, before * 1e6
    if choice != default and after < before * (1 - MIN_GAIN):
        record["schedule"], record["after"] = choice.changes(), after * 1e6
    return record
