# SPDX-License-Identifier: Apache-2.0
"""Clocks are read when the program executes."""

import time

from tests.frontend.support.harness import T, check


def with_time_limit(x):
    start, rounds = time.time(), 0
    while x.sum() < 10:
        x = x * 2
        rounds += 1
        if time.time() - start > 60:
            break
    return x, rounds


def test_clocks_are_read_when_the_program_runs():
    program = check(with_time_limit, [(T(1, 2),), (T(9, 9),)])
    assert program.report()["blocks"] < 30
