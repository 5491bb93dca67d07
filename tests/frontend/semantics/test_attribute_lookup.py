# SPDX-License-Identifier: Apache-2.0
"""Attributes of modules, found the short way, are those that Python finds; functions that ask for overrides are
answered as torch does."""

import abc

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.support.harness import T, check, refused


class Base(nn.Module):
    scale = 2.0

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def act(self, x):
        return x + 1

    def forward(self, x):
        return self.act(self.inner(x) * self.scale) if x.sum() > 0 else self.act(x) - self.scale


class OwnAttribute(Base):
    """Attributes of the object before those of the class, a function too."""

    def __init__(self):
        super().__init__()
        self.scale, self.act = 3.0, torch.tanh


class Property(Base):
    scale = property(lambda self: float(self.inner.weight.shape[0]) + 1, lambda self, value: None)


class Descriptor:
    """Has both ways: it comes before the object's own attribute."""

    def __get__(self, obj, cls):
        return 7.0

    def __set__(self, obj, value):
        pass


class DataDescriptor(Base):
    scale = Descriptor()

    def __init__(self):
        super().__init__()
        self.__dict__["scale"] = 100.0


class Getattr(Base):
    def __getattr__(self, name):
        return 5.0 if name == "offset" else super().__getattr__(name)

    def forward(self, x):
        return super().forward(x) + self.offset


class Computed(nn.Module):
    scale = 1.0

    def __getattribute__(self, name):
        return 11.0 if name == "scale" else super().__getattribute__(name)


class Getattribute(Base):
    """A module that is asked for attributes alone: `forward` by way of __getattribute__ is refused."""

    def __init__(self):
        super().__init__()
        self.table = Computed()

    def forward(self, x):
        return super().forward(x) * self.table.scale


class Abstract(Base, abc.ABC):
    @property
    def scale(self):
        return 13.0

    @staticmethod
    def act(x):
        return x.exp()


class WrittenInForward(Base):
    def forward(self, x):
        if x.sum() > 0:
            self.scale = self.scale + 1.0  # the object's own from here on
        return self.act(x) * self.scale


class Replaced(Base):
    """The object's own attribute, another one from a call on."""

    def __init__(self):
        super().__init__()
        self.scale = 4.0
        self.other = nn.Linear(2, 2)

    def forward(self, x):
        result = super().forward(x)
        if x[0] > 5:
            self.scale = -1.0
        return result + self.other(x) * self.scale


@pytest.mark.parametrize("kind", [Base, OwnAttribute, Property, DataDescriptor, Getattr, Getattribute, Abstract,
                                  WrittenInForward, Replaced])
def test_found_as_python_finds_it(kind):
    check(kind, [T(1, 2), T(-1, -2), T(6, 3), T(-4, 1), T(1, 2)])


def test_class_changed_between_captures():
    class Patched(Base):
        pass

    inputs = [T(1, 2), T(-1, -2)]
    check(Patched, inputs)
    Patched.act = lambda self, x: x * 9
    Patched.scale = property(lambda self: 4.0)
    check(Patched, inputs)
    Patched.__getattribute__ = lambda self, name: 0.5 if name == "scale" else object.__getattribute__(self, name)
    refused(Patched, inputs, "computed attribute")




def test_overrides_asked_for():
    def asks(x):
        told = [torch.overrides.has_torch_function_unary(x), torch.overrides.has_torch_function_variadic(x, x * 2),
                torch.overrides.has_torch_function((x, None, 1))]
        y = F.relu(x) + F.layer_norm(x, (2,))
        return (y if x.sum() > 0 else -y) + len([t for t in told if t])

    check(asks, [T(1, 2), T(-1, -2)])
