# SPDX-License-Identifier: Apache-2.0
"""Every example of torch/_export/db: compiled and equal to eager over 20 random inputs, or refused as listed.

The examples are torch.export's own catalogue of constructs. REFUSED names those the front end turns down, with
the reason; an example that is refused but not listed, or listed but compiled, fails, so the list stays true.
Each example is checked with its shapes as they are, and with its declared dynamic shapes where it has some.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch._export.db.examples import all_examples
from torch.utils import _pytree as pytree

from tests.frontend.support.compare import copy_value, differences, state_of
from tests.frontend.support.harness import compare_outcomes, outcome

CASES = all_examples()
INPUTS = 20

# name -> what the diagnostic must say
REFUSED: dict[str, str] = {"tensor_setattr": "attribute"}  # an attribute set on a tensor


def vary(value, seed: int):
    """Random inputs of the same structure; integers and flags stay in the range the example uses."""
    g = torch.Generator().manual_seed(seed)

    def leaf(v):
        if not isinstance(v, torch.Tensor):
            return v
        if v.dtype == torch.bool:
            return torch.rand(v.shape, generator=g) > 0.5
        if not v.is_floating_point():
            high = max(4, int(v.abs().max()) + 1) if v.numel() else 4
            return torch.randint(0, high, v.shape, generator=g).to(v.dtype)
        return torch.randn(v.shape, generator=g).to(v.dtype) * (1 + seed % 3)

    return pytree.tree_map(leaf, value)


def fresh(name):
    model = copy.deepcopy(CASES[name].model)
    return model.eval()


@pytest.mark.parametrize("name", sorted(CASES))
def test_example(name):
    import dycl

    example = CASES[name]
    eager, subject = fresh(name), fresh(name)
    args, kwargs = copy_value(example.example_args), copy_value(example.example_kwargs)
    try:
        program = dycl.compile(subject, args, kwargs or None)
    except dycl.CompileError as error:
        assert name in REFUSED, f"refused, and not listed:\n{error}"
        assert REFUSED[name].lower() in str(error).lower(), str(error)
        return
    assert name not in REFUSED, "listed as refused, but it compiles: take it off the list"

    problems = []
    for seed in range(INPUTS):
        given = (example.example_args, example.example_kwargs) if seed == 0 else vary(
            (example.example_args, example.example_kwargs), seed)
        ours, theirs = copy_value(given), copy_value(given)
        expected, actual = outcome(eager, *ours), outcome(program, *theirs)
        where = f"inputs {seed}"
        problems += compare_outcomes(expected, actual, where)
        problems += differences(ours, theirs, f"{where}: written inputs")
        problems += differences(state_of(eager), state_of(subject), f"{where}: state")
    assert not problems, "\n".join(problems)


def test_most_examples_compile():
    """The prototype compiled 30 of 36; fewer would be a step back."""
    assert len(CASES) - len(REFUSED) >= 30, sorted(REFUSED)


@pytest.mark.parametrize("name", sorted(n for n, c in CASES.items() if c.extra_args is not None))
def test_extra_arguments(name):
    """Examples that come with a second set of inputs: other values, or other sizes under their dynamic shapes."""
    import dycl

    example = CASES[name]
    if name in REFUSED:
        pytest.skip("refused")
    eager, subject = fresh(name), fresh(name)
    sizes = {i: {d: f"d{i}_{d}" for d, (m, n) in enumerate(zip(a.shape, b.shape)) if m != n}
             for i, (a, b) in enumerate(zip(example.example_args, example.extra_args))
             if isinstance(a, torch.Tensor) and a.shape != b.shape}
    program = dycl.compile(subject, copy_value(example.example_args), dynamic_dims=sizes or None)
    for given in (example.example_args, example.extra_args):
        expected, actual = outcome(eager, copy_value(given), {}), outcome(program, copy_value(given), {})
        assert not compare_outcomes(expected, actual, "extra")
