# SPDX-License-Identifier: Apache-2.0
"""Instructions that only move values are executed without the preparations of others."""

from dycl.frontend.machine import opcode_table, opcodes


def test_every_instruction_that_only_moves_values_is_a_mover():
    """Keywords of a call are moved to the frame: `f(a, key=b)` is no reason to leave the fast path."""
    assert {"LOAD_FAST", "STORE_FAST", "LOAD_CONST", "LOAD_GLOBAL", "KW_NAMES"} <= set(opcodes.MOVERS)
    assert all(opcode_table.HANDLERS[name] is mover for name, mover in opcodes.MOVERS.items())
