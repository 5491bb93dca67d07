# SPDX-License-Identifier: Apache-2.0
"""verify: which arms the inputs took, and the others driven."""

import torch

import dycl
from dycl.verification import drive
from tests.frontend.support.harness import T


def branchy(x, y):
    if x.sum() > 0:
        a = x * 2
        if y.sum() > 3:
            a = a + y
        else:
            a = a - y
    else:
        a = x - 1
    k = 0
    while a.sum() < 50 and k < 100:
        a = a * 1.5 + 1
        k += 1
        if a[0] > 20:
            break
    if k == 77:
        return a * 0, k
    return a, k


def test_arms_are_counted_and_driven():
    x, y = T(1, 2), T(1, 1)
    program = dycl.compile(branchy, (x, y))
    free = program.verify([(x, y)])
    assert free["mismatches"] == [] and free["arms"]["driven"] == 0
    assert any(":26:" in text or ":27:" in text or "never true" in text for text in free["arms"]["never"])
    driven = program.verify([(x, y)], drive=True)
    assert driven["mismatches"] == [] and driven["arms"]["never"] == []
    assert driven["arms"]["taken"] + driven["arms"]["driven"] == driven["arms"]["total"]


def test_a_wrong_arm_is_found():
    """A fault in an arm that no input takes: the captured graph is changed behind the program's back."""
    x, y = T(1, 2), T(1, 1)
    program = dycl.compile(branchy, (x, y))
    broken = False
    for block in program._graph.reachable_blocks():
        for node in block.nodes:
            if getattr(node, "target", None) is torch.ops.aten.sub.Tensor and not broken and node.args[1] == 1:
                node.args = (node.args[0], 3)
                broken = True
    assert broken
    assert program.verify([(x, y)])["mismatches"] == []
    assert program.verify([(x, y)], drive=True)["mismatches"] != []


class Exits(torch.nn.Module):
    """Each round may answer; in the last one both arms give the same, and the compiled program does not ask."""

    def forward(self, x):
        seen = []
        for k in range(5):
            x = x * 1.5 + k
            seen.append(x)
            if x.max() > 100:
                return x, seen
        return seen[-1], seen


def test_a_decision_that_the_program_dropped():
    program = dycl.compile(Exits(), (T(1, 2),))
    graph = sum(hasattr(b.exit, "condition") for b in program._graph.reachable_blocks())
    assert len(program._engine.program.decisions) < graph == 5
    driven = program.verify([(T(1, 2),), (T(30, 2),)], drive=True)
    assert driven["mismatches"] == [] and driven["arms"]["never"] == []
    assert driven["arms"]["taken"] + driven["arms"]["driven"] == 10


def test_a_wrong_arm_beside_a_dropped_decision_is_found():
    program = dycl.compile(Exits(), (T(1, 2),))
    for block in program._graph.reachable_blocks():
        for node in block.nodes:
            if getattr(node, "target", None) is torch.ops.aten.add.Tensor and node.args[1] == 2:
                node.args = (node.args[0], 3)
    assert program.verify([(T(1, 2),)], drive=True)["mismatches"] != []


def chosen(x, a, b):
    if x.max() > 3:
        return a
    return b


class Chosen(torch.nn.Module):
    """Three decisions at one place; the program drops the second one."""

    def forward(self, x, y):
        a = chosen(x, x, y)
        b = chosen(a, y, y)
        return chosen(b + a, a * 2, b * 3)


def test_too_many_decisions_to_know_which_is_gone(monkeypatch):
    given = [(T(1, 2), T(5, 1)), (T(3, 6), T(5, 1))]
    program = dycl.compile(Chosen(), given[0])
    assert len(program._engine.program.decisions) == 2
    assert program.verify(given, drive=True)["arms"]["unmatched"] == 0
    monkeypatch.setattr(drive, "MOST_GUESSES", 1)  # that the last one is gone, which is wrong
    report = program.verify(given, drive=True)
    assert report["mismatches"] == [] and report["arms"]["unmatched"] > 0
    for block in program._graph.reachable_blocks():  # what inputs take is told all the same
        for node in block.nodes:
            if getattr(node, "target", None) is torch.ops.aten.mul.Tensor and node.args[1] == 2:
                node.args = (node.args[0], 4)
    assert program.verify(given, drive=True)["mismatches"] != []


def raising(x):
    if x[0] > 5:
        raise ValueError("large")
    if x[0] < -5:
        raise KeyError("small")
    if x[1] >= 9:
        raise ValueError(f"{int(x[1])} is too much")
    return x


def test_messages_of_exceptions_are_compared():
    program = dycl.compile(raising, (T(1, 2),))
    driven = program.verify([(T(1, 2),)], drive=True)
    assert driven["mismatches"] == [] and driven["arms"]["never"] == []
    for block in program._graph.reachable_blocks():
        if getattr(block.exit, "message", "") == "large":
            block.exit.message = "huge"
    texts = [text for _, text in program.verify([(T(1, 2),)], drive=True)["mismatches"]]
    assert len(texts) == 1 and "'huge' against 'large'" in texts[0]
