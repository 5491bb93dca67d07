# SPDX-License-Identifier: Apache-2.0
"""Methods of strings that hold run-time integers: split, changed, counted, parsed back."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import Cases, T

case = Cases()
V = [(T(1.0, 2.0, 3.0),), (T(-12.0, 5.0, 0.0),), (T(120.0, -7.0, 4.0),), (T(0.0, 0.0, 0.0),), (T(9.0, 10.0, 11.0),)]


@case(*V, values=True)
def taken_apart_and_read_back(x):
    a, b = int(x[0]), int(x[1])
    left, right = f"{a}:{b}".split(":")
    head, _, tail = f"x {a} / y {b}".partition(" / ")
    return int(left) + 1, int(right) - a, float(left), head, tail, f" {a}  and {b} ".split(), int(f" {b} ")


@case(*V, values=True)
def changed(x):
    a = int(x[0])
    text = f"  Row {a}, col {int(x[1])}  "
    return (text.strip(), text.upper(), text.lower().strip(), text.replace(",", ";"), text.strip().removeprefix("Row "),
            text.rsplit(" ", 3))


@case(*V, values=True)
def counted(x):
    text = f"a{int(x[0])}-a{int(x[1])}"
    return text.count("a"), f"{int(x[2])},{int(x[0])},".count(","), int(x[0])


@case(*V, values=True)
def decided_by_what_was_read(x):
    fields = f"{int(x[0])}|{int(x[1])}|{int(x[2])}".split("|")
    if int(fields[2]) > 3:
        return x + len(fields)
    return x * int(fields[1])


@case(*V, values=True)
def lengths_and_counts_of_chosen_letters(x):
    text = "".join("xyzw"[i] for i in x.long().abs().clamp(max=3).tolist())
    words = "-".join(["no", "yes", ""][i % 3] for i in x.long().abs().tolist())
    return len(text), text.count("x"), len(words), words.count("e")


def _digits(x):
    return f"{int(x[0])}0".split("0")


def _between(x):
    return f"{int(x[0])}".replace("", ".")


def _length(x):
    return x + len(f"{int(x[0])}")


@pytest.mark.parametrize("f", [_digits, _between, _length])
def test_what_the_digits_decide_is_refused(f):
    with pytest.raises(dycl.CompileError, match="number known only at run time"):
        dycl.compile(f, (torch.tensor([1.0, 2.0]),))


test_cases = case.test()
