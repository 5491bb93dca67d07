# SPDX-License-Identifier: Apache-2.0
"""What Python requires of the results of special methods: lengths, truths, numbers, `__init__`, `__getattr__`."""

from torch import nn

from tests.frontend.support.harness import Cases, T

case = Cases()
V = (T(1, 2, -3), T(-1, -2, 3), T(0, 0, 0), T(3, -1, 2))


class Length:
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length


def told(ask):
    try:
        return ask()
    except (TypeError, ValueError) as error:
        return type(error).__name__, str(error)


@case(*V, values=True)
def lengths_below_0(x):
    length = Length(int(x[0]))
    return told(lambda: len(length)), told(lambda: "some" if length else "none"), told(lambda: bool(length))


@case(*V, values=True)
def lengths_of_other_kinds(x):
    found = Length((x > 0).sum())
    return (told(lambda: len(Length(x[0].item()))), len(found), bool(found), type(len(found)).__name__,
            len(Length(bool(x[0] > 0))))


class Truth:
    def __init__(self, truth):
        self.truth = truth

    def __bool__(self):
        return self.truth


@case(*V, values=True)
def truths_of_other_kinds(x):
    kinds = [Truth(x[0] > 0), Truth(int(x[0])), Truth(bool(x[0] > 0))]
    return ([told(lambda t=t: "yes" if t else "no") for t in kinds], [told(lambda t=t: bool(t)) for t in kinds],
            told(lambda: not kinds[0]))


@case(*V)
def truths_in_a_loop(x):
    count = 0
    while Truth(bool(x[0] > count)) and count < 5:
        count += 1
    return count


class Converted:
    def __init__(self, number):
        self.number = number

    def __int__(self):
        return self.number

    def __float__(self):
        return self.number


@case(*V, values=True)
def numbers_of_other_kinds(x):
    whole, part, truth = Converted(int(x[0])), Converted(x[1].item()), Converted(bool(x[0] > 0))
    return (told(lambda: int(whole)), told(lambda: float(whole)), told(lambda: int(part)), told(lambda: float(part)),
            told(lambda: int(truth)))


class Begun:
    def __init__(self, x):
        return None if x[0] > 0 else 5


class Made(Begun):
    def __new__(cls, x):
        return object.__new__(cls)


@case(*V)
def results_of_init(x):
    return told(lambda: "made" if Begun(x) else ""), told(lambda: "made" if Made(x) else "")


class Fallback:
    def __init__(self, x):
        self.x = x

    @property
    def computed(self):
        if self.x[0] > 0:
            raise AttributeError("inside")
        return 1

    def __getattr__(self, name):
        return name, self.x[1]


@case(*V)
def properties_that_raise_attribute_errors(x):
    return Fallback(x).computed, Fallback(x).other, hasattr(Fallback(x), "computed")


class Delegating(nn.Module):
    """As wrappers of other people's modules do."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    @property
    def gain(self):
        return self.absent if self.inner.in_features > 5 else self.known

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "known":
                raise
            return getattr(super().__getattr__("inner"), name, 7)

    def forward(self, x):
        return x * self.gain if x[0] > 0 else self.inner(x)


case(*V)(Delegating)


test_program = case.test()
