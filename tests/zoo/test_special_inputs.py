# SPDX-License-Identifier: Apache-2.0
"""Inputs with NaN and infinities: the DyNNs of the zoo answer, and so decide, as eager does. Half a minute."""

import os

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

import dycl
import zoo
from tests.frontend.lowering.test_special_values import same

NAN, INF = float("nan"), float("inf")
# Compiled within seconds; the others are tried where DYCL_TEST_LONG is set (`make test-long`).
CHEAP = ("adaptive_computation_time", "blockdrop_32")
NAMES = [name for name in zoo.MODELS
         if "DYCL_TEST_LONG" in os.environ or name in CHEAP]


def with_value(inputs, value, everywhere):
    """The inputs with the value in the first tensor of floats."""
    found = []

    def changed(x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or found:
            return x
        found.append(x)
        x = x.clone()
        x.view(-1)[slice(None) if everywhere else slice(x.numel() // 2, x.numel() // 2 + 1)] = value
        return x

    changed_inputs = tree_map(changed, inputs)
    return changed_inputs if found else None


def answer(function, inputs):
    try:
        with torch.no_grad():
            return tree_leaves(function(*inputs))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", NAMES)
def test_special_inputs(name):
    entry = zoo.MODELS[name]
    eager = entry.build()
    if with_value(entry.inputs(0), NAN, False) is None:
        pytest.skip("its inputs are integers")
    program = dycl.compile(entry.build(), entry.inputs(0), threads=1)
    for value in (NAN, INF, -INF):
        for everywhere in (False, True):
            inputs = with_value(entry.inputs(1), value, everywhere)
            wanted, given = answer(eager, inputs), answer(program, inputs)
            what = f"{name}, {value}{' everywhere' if everywhere else ''}"
            assert isinstance(wanted, str) == isinstance(given, str), f"{what}: {given} for {wanted}"
            if isinstance(wanted, str):
                continue
            assert len(given) == len(wanted), what
            for g, w in zip(given, wanted):
                g, w = torch.as_tensor(g), torch.as_tensor(w)
                if w.is_floating_point():
                    same(g, w, what)
                else:
                    assert torch.equal(g, w), what
