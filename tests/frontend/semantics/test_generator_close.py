# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE. generator.close() inside try, with and yield; Counter of values known only at run time."""

import collections

from tests.frontend.support.harness import Cases, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)


def running_sum(out):
    total = 0.0
    try:
        while True:
            given = yield total
            if given is None:
                return
            total += given
    finally:
        out.append(total)


@case(POS, NEG, MIX)
def closed_after_some_steps(x):
    out = []
    sums = running_sum(out)
    next(sums)
    for v in x.tolist():
        if v < -1.25:
            break
        sums.send(v)
    sums.close()
    sums.close()
    return out


@case(POS, NEG, MIX)
def closed_before_it_began(x):
    out = []
    sums = running_sum(out)
    if x.sum() > 0:
        next(sums)
    sums.close()
    return out


def stubborn(x):
    try:
        yield x
    except GeneratorExit:
        if x.sum() > 0:
            yield x + 1


@case(POS, NEG, MIX)
def that_goes_on(x):
    values = stubborn(x)
    next(values)
    try:
        values.close()
    except RuntimeError:
        return "ignored"
    return "closed"


@case(POS, NEG, MIX)
def counted(x):
    count = collections.Counter("above" if v > 0 else "below" for v in x)
    count.update(["above"] if x[0] > 1.5 else ["below", "zero"])
    return count["above"], count["below"], count["none"], count.most_common(1)[0][1], sorted(count)


test_closed_generators = case.test()
