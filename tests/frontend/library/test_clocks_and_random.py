# SPDX-License-Identifier: Apache-2.0
"""Clocks and random numbers of the standard library and numpy are read when the program executes."""

import time

import torch

import dycl
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


def test_numbers_of_random_and_numpy_are_drawn_by_the_run():
    import random

    import numpy as np

    def dropped_only_in_training(x, training=False):  # the draw is made and not used
        skip = np.random.uniform(0, 1)
        return x if training and skip < 0.5 else x * 2

    def drawn(x):
        a, b = random.random(), random.uniform(2, 3)
        return (x if b < 2.5 else -x), a, b, np.random.uniform(-2, -1)

    x = torch.ones(2)
    torch.testing.assert_close(dycl.compile(dropped_only_in_training, (x,))(x), x * 2)
    program = dycl.compile(drawn, (x,), verify=False)
    results = [program(x) for _ in range(20)]
    assert len({r[1] for r in results}) == 20
    assert all(0 <= a < 1 and 2 <= b <= 3 and -2 <= c <= -1 for _, a, b, c in results)
    assert all((y[0].item() == 1) == (b < 2.5) for y, _, b,
               _ in results) and len({y[0].item() for y, *_ in results}) == 2
