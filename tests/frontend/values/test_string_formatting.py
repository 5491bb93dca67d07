# SPDX-License-Identifier: Apache-2.0
"""Numbers known only at run time in strings: printed, raised, returned and kept, with and without formats."""

import logging
import warnings

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import Cases, T, check

case = Cases()
UP, DOWN, BOTH = T(1.0, 2.0, 3.0), T(-1.0, -2.0, -3.0), T(1.0, -2.25, 3.0)


@case(UP, DOWN, BOTH)
def returned(x):
    v, n = x[1].item(), int(x[2])
    first = f"v={v:.3f} n={n:>4d} {x[0].item()} {n}" if x[0] > 0 else f"neg {v:+.1e}"
    return (first, {"k": [f"{n:05d}", "%.2f|%d|%5.1f%%|%-6d|" % (v, n, v, n)], "z": "{:8.2f} {{}} {}".format(v, n)},
            str(n), str(v), repr(v), f"{x[0]:.2f}", f"{v:.1%}", f"{v!r}", f"{bool(x[0] > 0)}", f"{x.shape}",
            first + "!", f"{v:g}", f"{v:.3}", f"{v:10}", f"{n:x}")


@case(UP, DOWN, BOTH)
def printed(x):
    print(f"loss: {x[0].item():.4f} {int(x[1]):>5} |{x[2].item():<8.2f}|", "%5.1f" % x[1].item(), end=";\n")
    for i in range(3):
        if x[i] > 0:
            print("step {:02d} {:.1%}".format(i + int(x[2]), x[i].item()), x[i].item(), sep="|")
    return x


@case(UP, DOWN, values=True)
def a_format_that_is_none_for_floats(x):
    try:
        return f"{x[0].item():d}"
    except ValueError as e:
        return str(e), x


@case(UP, DOWN, values=True)
def a_format_that_is_none_for_tensors(x):
    try:
        return f"{x:.2f}"
    except TypeError as e:
        return str(e), x


@case(UP, DOWN, BOTH, values=True)
def joined(x):
    texts = [f"{v:.2f}" for v in x.tolist()]
    return ", ".join(texts), "-".join(str(int(v)) for v in x), texts


@case(UP, DOWN, T(2.0, 2.0, 3.0), values=True)
def texts_as_keys(x):
    n = int(x[0])
    found = {f"a{n}": x, "a2": x + 1}
    return found, len(found), {"last": f"a{n}"}


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.message, self.log = "", None

    def forward(self, x):
        self.message = f"last {x.sum().item():.2f}"
        if x[0] > 0:
            self.log = ["a", f"{int(x[1])}"]
        return x * 2


case(UP, DOWN, BOTH)(Kept)


@case(UP, DOWN, refuse="or of a number with an unusual format")
def grouped_zeros(x):
    print(f"{x[0].item():012,.2f}")
    return x if x[0] > 0 else -x


@case(UP, DOWN, refuse="an unusual format of a number")
def width_of_the_run(x):
    return f"{x[0].item():{int(x[2]) + 9}.2f}"


@case(UP, DOWN)
def logged(x):
    logger = logging.getLogger("tests.frontend")
    logger.debug("value %s", x[0].item())
    warnings.warn(f"value {x[0].item()}") if logger.getEffectiveLevel() < 0 or logger.isEnabledFor(-1) else None
    return x * 2 if x[0] > 0 else -x


@case(UP, DOWN, refuse="a gradient is assigned")
def gradient_assigned(x):
    y = x.clone()
    if x[0] < 0:
        y.grad = x
    return y.grad


@case(UP, DOWN, refuse="the body of a class")
def body_of_a_class(x):
    class Held:
        value = x.sum()

    return Held.value if x[0] > 0 else x


@case(UP, DOWN)
def methods_of_a_class(x):
    class Held:
        factor = 2

        def get(self):
            return x * self.factor

    return Held().get() if x[0] > 0 else x


test_texts = case.test()


def raising(x):
    if x[0] < 0:
        raise ValueError(f"bad {x[1].item():.2f} at {int(x[2]):3d}", 3)
    if not x[1] > 0:
        raise AssertionError(f"neg {x[1].item():.1f} {{}}")
    raise KeyError(f"{int(x[2]):03d}k")


@pytest.mark.parametrize("x", [UP, DOWN, BOTH])
def test_messages(x):
    program = dycl.compile(raising, (UP,), allow_raise=True)
    with pytest.raises(Exception) as eager:
        raising(x)
    with pytest.raises(type(eager.value)) as ours:
        program(x)
    assert ours.value.args == eager.value.args


def test_loaded(tmp_path):
    dycl.compile(returned, (UP,)).save(tmp_path / "m.dycl")
    program = dycl.load(tmp_path / "m.dycl")
    for x in (UP, DOWN, BOTH):
        assert program(x) == returned(x)


def test_every_path_prints():
    check(printed, [UP, DOWN, BOTH], paths=3)
    assert torch.equal(dycl.compile(printed, (UP,))(UP), UP)


def shapes_in_texts(x):
    kept = x[x > 0]
    if list(kept.shape) == [0]:
        raise AssertionError(f"{(kept.shape[0], 2)} but {kept.size()}")
    print(f"{(kept.shape[0],)} {list(kept.shape)} {kept.shape}")
    return kept


def test_containers_of_numbers_in_texts():
    check(shapes_in_texts, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, -3),)])


def failure_told_again(x):
    n = int(x.sum())
    try:
        if n > 3:
            raise ValueError(f"{n} is too much")
        return x * n
    except ValueError as error:
        raise RuntimeError(f"for {n}: {error}; {str(error)}") from None


def test_texts_of_exceptions_of_run_time():
    check(failure_told_again, [(T(1, 2),), (T(3, 4),)])


def test_nothing_between_printed_words():
    check(lambda n: print("a", n.item(), "b", sep="") if n.item() > 3 else print("a", n.item(), sep=None),
          [torch.tensor(3), torch.tensor(4)])


def quoted_texts(x):
    n = int(x.sum())
    text = f"it's {n} of é"
    return f"{text!r} {text!a} {text!s}", repr([n, text, 'a"b']), repr(f"{n}'\"\n"), f"{[text]!a}", str((text,))


def test_quotes_and_escapes_of_texts_that_hold_numbers():
    check(quoted_texts, [(T(1, 2),), (T(-1, -2),)], paths=1)


@pytest.mark.parametrize("show", [lambda x: f"{x.sum()!s}", lambda x: f"{x.sum()!r}", lambda x: str(x.sum())])
def test_a_tensor_of_one_number_shows_as_a_tensor(show):
    with pytest.raises(dycl.CompileError, match="text with a tensor"):
        dycl.compile(show, (T(1.0, 2.0),))


class Reflecting:
    def __init__(self, n):
        self.n = n

    def __rmod__(self, other):
        return f"{other} of {self.n}"

    def __str__(self):
        return f"<{self.n}>"


def test_a_format_goes_before_what_is_on_its_right():
    check(lambda x: ("%s!" % Reflecting(3), 5 % Reflecting(int(x[0]))), [(T(1, 2),), (T(3, 4),)], by_result=True)
