# SPDX-License-Identifier: Apache-2.0
"""Callables that torch and other libraries wrap: scripted, checkpointed, autograd functions, progress bars."""

import uuid

import pytest
import torch

from tests.frontend.support.harness import T, check


class Appended(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers[:2]:  # a ModuleList is built by its own `+=`
            if x.sum() > 0:
                x = layer(x)
        return x


def test_slices_of_module_lists():
    check(Appended, [(T(1, 2, 3, 4),), (T(-1, -2, -3, -4),)])


def test_modules_made_after_torch_compile_was_used():
    """torch.compile replaces nn.Module.__init__ by a wrapper of its own."""
    from torch._dynamo.mutation_guard import install_generation_tagging_init

    install_generation_tagging_init()
    test_slices_of_module_lists()


@torch.jit.script_if_tracing
def scripted_if_tracing(x):
    return x * 2 if x.sum() > 0 else x - 1


@torch.compiler.disable
def not_compiled(x):
    return x + 1 if x[0] > 0 else x


def wrapped_functions(x):
    y = torch.utils.checkpoint.checkpoint(scripted_if_tracing, x, use_reentrant=False)
    return not_compiled(y)


def test_functions_wrapped_by_torch():
    check(wrapped_functions, [(T(1, 2),), (T(-1, -2),), (T(-1, 2),)])


def with_progress_bars(x):
    from tqdm import tqdm, trange

    y = x * 0
    bar = tqdm(range(int(x.sum())), desc="steps", disable=True)
    for k in bar:
        y = y + k
        bar.set_postfix(step=k)
        if y.sum() > 7:
            break
    with tqdm(total=5, disable=True) as bar:
        while y.max() < 5:
            y = y + 1
            bar.update(1)
    for _ in trange(2, disable=True):
        y = y * 2
    return y


def test_progress_bars():
    pytest.importorskip("tqdm")
    check(with_progress_bars, [(T(1, 2),), (T(3, 4),), (T(0, 0),)])


class NamedByUuid(torch.nn.Module):
    """Unique names that nothing is computed from, as libraries make them."""

    def forward(self, x):
        names = {str(uuid.uuid4()): x + k for k in range(2)}
        return sum(names.values()) if x.sum() > 0 else len(names)


def test_unique_names():
    check(NamedByUuid, [(T(1, 2),), (T(-3, 1),)])


def positive(x):
    return x.sum() > 0


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


class DoubledToo(Doubled):
    pass


def test_functions_of_autograd_that_inherit_their_context():
    check(lambda x: DoubledToo.apply(x) if positive(x) else x, [T(1, 2), T(-1, -2)])
