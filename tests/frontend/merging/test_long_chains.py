# SPDX-License-Identifier: Apache-2.0
"""Long chains of decisions: the states that meet stay few and hold no more than what they can still reach."""

from __future__ import annotations

import pytest
import torch

import dycl
from dycl.frontend.machine import machine
from dycl.frontend.merging import merge
from dycl.frontend.state import heap

GATES = 60


def _chain(x, arms):
    """Runs `arms(taken, k, x)` at each of the gates."""
    for k in range(GATES):
        taken = bool((x.sum() * (k + 1)).sin() > 0)
        x = x * 1.01 + 0.01 if taken else x
        arms(taken, k, x)
    return x


def numbers(x):
    seen = []
    x = _chain(x, lambda taken, k, x: seen.append(k if taken else -1))
    return x, seen


def records(x):
    seen = []

    def arms(taken, k, x):
        if taken:
            seen.append((k, x))
        else:
            seen.append((-1, x * 2))

    x = _chain(x, arms)
    return x, sum(k for k, _ in seen), sum(y for _, y in seen)


def entries(x):
    seen = {}
    x = _chain(x, lambda taken, k, x: seen.__setitem__(f"gate{k}", 1.0 if taken else 0.0))
    return x, list(seen.values())


def written(x):
    """Elements that are written in place after the list has grown long."""
    seen = [torch.zeros_like(x) for _ in range(12)]
    for k in range(12):
        if (x.sum() * (k + 1)).sin() > 0:
            seen[k % 3].add_(x)
            seen.append(x + k)
        else:
            seen.append(x - k)
    return torch.stack(seen)


def shared(x):
    """Tuples in tuples: many more paths to what they hold than there are objects."""
    pair = (x, 1.0)
    for k in range(40):
        pair = (pair, pair)
    seen = [pair] * 10
    for k in range(6):
        if (x.sum() * (k + 1)).sin() > 0:
            seen.append((x, k))
        else:
            seen.append((x * 2, -k))
    inner = seen[0]
    for _ in range(40):
        inner = inner[0]
    return [k for _, k in seen[10:]], inner[0]


@pytest.mark.parametrize("model", [numbers, records, entries, written, shared], ids=lambda f: f.__name__)
def test_results(model):
    program = dycl.compile(model, (torch.ones(2),), backend="reference", verify=False)
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        x = torch.randn(2, generator=generator)
        torch.testing.assert_close(program(x.clone()), model(x.clone()), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", [records, numbers], ids=lambda f: f.__name__)
def test_states_that_differ_in_integers_are_not_kept_apart_at_every_gate(model, monkeypatch):
    pairs = []
    plain = merge.Merger._union
    monkeypatch.setattr(merge.Merger, "_union", lambda *args, **how: pairs.append(1) or plain(*args, **how))
    dycl.compile(model, (torch.ones(2),), backend="reference", verify=False)
    assert len(pairs) < 8 * GATES


def test_a_state_does_not_reach_the_machine(monkeypatch):
    """A storage that was merged refers to the machine by its guard: the walk must not come to all objects that way."""
    monkeypatch.setattr(machine, "_WORTH_A_WALK", 0)
    monkeypatch.setattr(heap.Overlay.__init__, "__defaults__", (None, 0))
    sizes = []
    plain = heap.Heap.bury

    def bury(self, overlay, reached):
        sizes.append(len(reached))
        plain(self, overlay, reached)

    monkeypatch.setattr(heap.Heap, "bury", bury)
    blocks = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(200)).eval()

    def model(x):
        for block in blocks:
            if block(x).sum() > 0:
                x = x + 0.1
        return x

    dycl.compile(model, (torch.ones(2),), backend="reference", verify=False)
    assert sizes and max(sizes) < 1500
