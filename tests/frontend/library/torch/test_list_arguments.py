# SPDX-License-Identifier: Apache-2.0
"""torch functions given a list whose length is known only at run time, which may be empty."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import check


def counted(n, number):
    found = []
    for k in range(n.item()):
        found.append(number(k))
    return found


@pytest.mark.parametrize("number", [lambda k: k * 2, lambda k: k > 1, lambda k: k * 0.5, lambda k: (k, k + 1)],
                         ids=["int", "bool", "float", "pair"])
def test_a_tensor_of_no_numbers(number):
    check(lambda n: torch.tensor(counted(n, number)), [torch.tensor(n) for n in (3, 0, 5)])


def test_concatenations_that_torch_rejects():
    check(lambda n: torch.cat(counted(n, lambda k: torch.ones(k + 1))), [torch.tensor(n) for n in (3, 0)])
    check(lambda n: torch.stack(counted(n, lambda k: torch.ones(2))), [torch.tensor(n) for n in (3, 0)])
    check(lambda n: torch.cat(counted(n, lambda k: torch.ones(()))), [torch.tensor(n) for n in (3, 4)])


def check_exactly(f, *inputs):
    program = dycl.compile(f, inputs[0])
    for given in inputs:
        assert torch.equal(program(*given), f(*given))
    return program


def test_joining_an_empty_list_raises_as_torch_does():
    def f(x):
        parts = []
        if x.sum() > 0:
            parts.append(x)
        return torch.cat(parts, dim=0)

    program = check_exactly(f, (torch.ones(3),))
    for call in (f, program):
        with pytest.raises(ValueError):
            call(-torch.ones(3))


def test_new_of_a_list_is_what_the_tensor_s_class_makes_of_it():
    """Numbers known only at run time among those known, a list of run-time length, and a tuple, as beam searches do."""

    def f(x):
        scores = x.tolist()
        best = [(s, k) for k, s in enumerate(scores) if s > 0][:2]
        ids = torch.zeros(1, dtype=torch.long)
        return (x.new([s for s, _ in best]), ids.new([k for _, k in best]), x.new((scores[0], 2)),
                x.new([k for _, k in best] + [7]), x.double().new([[scores[0], 1], [2, 3]]))

    check(f, [torch.tensor(v) for v in ([1.0, 2.0, 3.0], [-1.0, 0.5, 0.25], [-1.0, -1.0, 0.5])])


def test_new_of_extents_is_a_shape():
    check(lambda x: (x[x > 0].new(x[x > 0].size()).zero_(), x.new(2, len(x[x > 0])).fill_(x[0].item())),
          [torch.tensor(v) for v in ([1.0, 2.0, 3.0], [-1.0, 0.5, 0.25])], by_result=True)


def test_new_integers_of_run_time_floats_are_refused():
    with pytest.raises(dycl.CompileError, match="integers made of floats known only at run time"):
        dycl.compile(lambda x: x.long().new([x.sum().item()]), (torch.ones(3),))
