# SPDX-License-Identifier: Apache-2.0
"""`for _ in range(n)` with an exit decided at run time becomes a loop, as nobody reads the counter."""

import torch
from torch import nn

from tests.frontend.support.harness import T, check, factory


def greedy(x):
    words, score = [], 0.0
    for _ in range(40):
        x = torch.roll(x, 1) * 0.9
        best = x.max()
        score += best.item()
        if x.argmax().item() == 2:
            break
        words.append(x.argmax().item())
    return words, score, x


def counted(x):
    """The number is counted by hand and used: as an index into a tensor."""
    place = 0
    for _ in range(30):
        x = x + x[place % 3]
        place += 1
        if x.sum() > 50:
            return x, place
    return x, place


def nested(x):
    rounds = 0
    for _ in range(12):
        for _ in range(12):
            x = x * 1.1 + 0.1
            rounds += 1
            if x.sum() > 40:
                break
        if x[0] > 60:
            break
    return x, rounds


def read_afterwards(x):
    """The number is read after the loop, so it stays what it is."""
    for step in range(20):
        x = x * 2
        if x.sum() > 100:
            break
    return x, step


def kept_in_a_closure(x):
    for step in range(20):
        x = x * 2
        if x.sum() > 100:
            break
    return x, (lambda: step)()


def never_left(x):
    for _ in range(12):
        x = x * 1.5
    return x


def generated(x):
    return sum(x.sum().item() > k for k in (1, 2)) + sum(1 for _ in range(12) if x.sum() > 2)


@factory
def layers_taken_in_turn():
    """What a number counted by hand picks is another module each time: the loop is not worth a back edge."""
    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(10))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            names = []
            rest = iter(self.layers)
            for _ in range(10):
                x = torch.tanh(next(rest)(x))
                names.append(len(names))
                if x.sum() > 1:
                    break
            return x, len(names)

    return Model().eval()


def blocks(program):
    return program.report()["blocks"]


def test_a_decode_loop_is_a_loop():
    program = check(greedy, [(T(3, 1, 2, 0, 1),), (T(1, 0, 2, 3, 9),), (T(-1, -3, -9, -2, -2),)])
    assert blocks(program) < 12 and not program.report()["warnings"]


def test_numbers_counted_by_hand():
    program = check(counted, [(T(1, 2, 3),), (T(0, 0, 0),), (T(90, 1, 1),)])
    assert blocks(program) < 20


def test_nested():
    program = check(nested, [(T(1, 2, 3),), (T(0, -900, 0),), (T(90, 1, 1),)])
    assert blocks(program) < 30


def test_numbers_that_are_read():
    for function in (read_afterwards, kept_in_a_closure):
        check(function, [(T(1, 2),), (T(90, 30),), (T(-1, 0),)])


def test_loops_that_the_run_does_not_leave_stay_unrolled():
    assert blocks(check(never_left, [(T(1, 2),), (T(0, 0),)], paths=1)) == 1
    check(generated, [(T(1, 2),), (T(0, 0),)])


def test_what_differs_from_iteration_to_iteration():
    check(layers_taken_in_turn, [(T(1, 2, 3),), (T(-3, 2, 0),), (T(90, -90, 1),), (T(0, 0, 0),)])


def long_range(x):
    for i in range(1000):
        x = x * 0.9
        if x.abs().max() < 0.1:
            break
    return x, i


def test_a_long_range_becomes_a_loop():
    program = check(long_range, [(T(1, 2),), (T(0.01, 0.02),)])
    assert program.report()["blocks"] < 20
