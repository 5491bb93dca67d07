# SPDX-License-Identifier: Apache-2.0
"""What capture changes in torch lasts as long as a capture: also when captures overlap, or end in a refusal. Costs
5 s."""

import logging
import threading

import pytest
import torch
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.sym_node import SymNode

import dycl
from dycl.frontend.recording.symbolic_shapes import heard


def of_torch():
    return (SymNode.guard_bool, symbolic_shapes._static_eval_sym_bool,
            logging.getLogger("torch._subclasses.fake_tensor").level)


class Refused(torch.nn.Module):
    def forward(self, x):
        return {float(x.sum()): x}[hash(x.sum().item())]


class Gate(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


def test_importing_dycl_and_compiling_leave_torch_as_it_was():
    before = of_torch()
    dycl.compile(Gate().eval(), (torch.ones(2),))
    assert of_torch() == before
    with pytest.raises(dycl.CompileError):
        dycl.compile(Refused().eval(), (torch.ones(2),))
    assert of_torch() == before


def test_overlapping_captures_share_the_change():
    before = of_torch()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with heard():
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with heard():
        changed = of_torch()
        assert changed[0] is not before[0] and changed[1] is not before[1]
        thread.start()
        assert entered.wait(30)
    assert of_torch() == changed  # the other capture goes on
    leave.set()
    thread.join()
    assert of_torch() == before
