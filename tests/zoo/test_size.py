# SPDX-License-Identifier: Apache-2.0
"""States meet again: the graphs of the zoo's small models do not grow with the number of paths."""

import pytest

import dycl
import zoo
from dycl.frontend.graph.program import successors

BLOCKS = {"tree_lstm": 150, "adaptive_computation_time": 60, "skipnet_ff": 100}  # measured: 93, 35, 60


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_the_captured_graph(name):
    entry = zoo.MODELS[name]
    program = dycl.compile(entry.build(), entry.inputs(0), verify=False)
    seen, work = {}, [program._graph.entry]
    while work:
        block = work.pop()
        if id(block) not in seen:
            seen[id(block)] = block
            work += [edge.target for edge in successors(block)]
    assert 10 < len(seen) <= BLOCKS[name]
