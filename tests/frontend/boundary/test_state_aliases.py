# SPDX-License-Identifier: Apache-2.0
"""Tensors that an attribute holds from call to call, and that another name holds in the example:
the other name keeps what it has."""

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import T, check, refused

UP, DOWN, BOTH = T(1.0, 2.0, 3.0), T(-1.0, -2.0, -3.0), T(1.0, -2.0, 3.0)
CALLS = [UP, BOTH, DOWN, UP, UP]


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(3)
        self.b = self.a


class OneAssigned(Two):
    def forward(self, x):
        self.a = self.a + x
        return (self.b + 1, self.a + 0) if x[0] > 0 else (self.b, self.a * 2)


class BackToTheFirst(Two):
    """A recurrent state and what it is reset to."""

    def forward(self, x):
        if x.sum() < 0:
            self.a = self.b
        self.a = torch.tanh(self.a + x)
        return self.a * 2


class Before(Two):
    def forward(self, x):
        self.b = self.a
        self.a = self.a + x if x[0] > 0 else self.a - x
        return self.b + 1


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(3)
        self.part = self.a[1:]

    def forward(self, x):
        before = self.part.sum()
        self.a = self.a + x
        return before, self.part + 1 if x[0] > 0 else self.part


class InAList(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(3)
        self.held = [self.a]

    def forward(self, x):
        self.a = self.a + x
        if x[0] > 0:
            self.held[0] = self.a
        return self.held[0] + 1, self.a + 0


@pytest.mark.parametrize("model", [OneAssigned, BackToTheFirst, Before, Part, InAList])
def test_the_other_name_keeps_its_tensor(model):
    check(model, CALLS)


class IsItTheFirst(Two):
    def forward(self, x):
        first = self.a is self.b
        self.a = self.a + x
        return self.a * 2 if first else self.a


class IsItTheLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.out = torch.zeros(3), torch.zeros(3)

    def forward(self, x):
        if x is self.last:
            return self.out
        self.last, self.out = x, x * 2
        return self.out


class WrittenByTheOtherName(Two):
    def forward(self, x):
        self.a = self.a + x
        self.b.mul_(2)
        return self.a * 2


@pytest.mark.parametrize("model, match", [(IsItTheFirst, "`is` between"), (IsItTheLast, "`is` between"),
                                          (WrittenByTheOtherName, "another name holds")])
def test_refused(model, match):
    refused(model, CALLS, match)


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.zeros(3)
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if x[0] > 0:
            self.h = self.h + x
        return self.h, self.w, self.w + x


def test_what_an_attribute_holds_is_given_back_itself():
    model, eager = Held(), Held()
    program = dycl.compile(model, (UP,))
    for x in CALLS:
        with torch.no_grad():
            (h, w, _), (wanted, _, _) = program(x), eager(x)
            assert h is model.h and w is model.w
            h.mul_(2)  # the caller's to do, and the next call sees it
            wanted.mul_(2)
        assert torch.equal(model.h, eager.h)


class NextMethod(nn.Module):
    """What to do next is one of the model's own methods."""

    def __init__(self):
        super().__init__()
        self.step, self.n, self.table = self.first, 0, {"f": self.first}

    def first(self, x):
        self.step, self.n = self.second, self.n + 1
        return x + 1

    def second(self, x):
        if x[0] > 0:
            self.step = self.first
        return x * 2

    def forward(self, x):
        y = self.step(x) + self.table["f"](x)
        self.table["f"] = self.second if x[0] > 0 else self.first
        return y, self.n


def test_methods_as_states():
    check(NextMethod, [UP, DOWN, UP, BOTH, DOWN])


def test_a_method_given_back():
    model = NextMethod()
    program = dycl.compile(lambda x: (model.second if x[0] > 0 else model.first, x + 1), (UP,))
    assert program(UP)[0] == model.second and program(DOWN)[0] == model.first


class WrittenParameter(nn.Module):
    """`self.p -= ...` assigns the parameter to itself, which nn.Module allows for parameters alone."""

    def __init__(self):
        super().__init__()
        self.p, self.rate = nn.Parameter(torch.ones(3), requires_grad=False), 0.1

    def forward(self, x):
        q = self.p
        self.p -= self.rate * x if x[0] > 0 else x
        if x.norm() > 3:
            self.rate *= 0.5
        r = self.p.add_(1)
        return (
            self.p * 1,
            self.rate,
            isinstance(q, nn.Parameter),
            type(r) is nn.Parameter,
            isinstance(q.detach(), nn.Parameter),
            r is self.p,
        )


def test_parameters_written_in_place():
    check(WrittenParameter, CALLS)


class Memory(nn.Module):
    """Attention between an argument and a state: torch asks whether they are one, to save work alone."""

    def __init__(self):
        super().__init__()
        self.read, self.write = nn.MultiheadAttention(4, 2, batch_first=True), nn.MultiheadAttention(4, 2)
        self.kept = torch.zeros(1, 3, 4)

    def forward(self, x):
        y, _ = self.read(x, self.kept, self.kept)
        z, _ = self.write(self.kept, x, x)
        self.kept = self.kept + y if x.sum() > 0 else z
        return y + z


def test_attention_to_a_state():
    x = torch.linspace(-1, 2, 12).view(1, 3, 4)
    check(Memory, [x, -x, x * 2, x])


class Appearing(nn.Module):
    """Attributes come in the order in which the model makes them, states between calls or not."""

    def forward(self, x):
        if x[0] > 0:
            self.first = None
        self.second = int(x.argmax())
        if x[1] > 0:
            self.third = 1.5
        return x + self.second if getattr(self, "third", None) is None else x


def test_attributes_in_their_order():
    check(Appearing, [UP, DOWN, BOTH])
    check(Appearing, [DOWN, UP, BOTH])


class OrderOfTheCall(torch.nn.Module):
    """The order in which attributes come depends on which of them earlier calls have made."""

    def forward(self, x):
        self.first = None
        if 0.0 < x.sum() < 3.5:
            self.second = x * 2
        found = getattr(self, "second", None)
        if x.max() > 4:
            self.third = 1
            self.fourth = x.sum()
        return x + (1 if found is None else found)


class OrderOfTwo(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            self.a = 1
        seen = getattr(self, "b", None)
        if x.max() > 2:
            self.b = x * 2
        if x.sum() <= 0:
            self.a = 2
        if x.min() < -4:
            raise ValueError("too small")
        return x if seen is None else x + seen


@pytest.mark.parametrize("cls", [OrderOfTheCall, OrderOfTwo])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 3, 2), (2, 1, 0, 3), (3, 2, 1, 0), (4, 0, 1, 2)])
def test_attributes_in_the_order_of_each_call(cls, order):
    calls = [torch.tensor([1.0, 1.0]), torch.tensor([5.0, 1.0]), torch.tensor([-4.0, 3.0]), torch.tensor([-1.0, -1.0]),
             torch.tensor([3.0, -5.0])]
    model, eager = cls(), cls()
    program = dycl.compile(model, (calls[order[0]],), verify=False, allow_raise=True)
    for k in order:
        results = []
        for f in (eager, program):
            try:
                results.append(f(calls[k]))
            except ValueError as error:
                results.append(str(error))
        assert str(results[0]) == str(results[1])
        assert [*vars(model)] == [*vars(eager)]


class NewParameter(torch.nn.Module):
    def __init__(self, always):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))
        self.always = always

    def forward(self, x):
        self.made = self.w if self.always or x.sum() > 0 else x * 2
        return x + 1


@pytest.mark.parametrize("always", [True, False])
def test_a_parameter_that_a_call_registers_is_refused(always):
    with pytest.raises(dycl.CompileError, match="becomes a parameter of the module"):
        dycl.compile(NewParameter(always), (torch.ones(2),))


def test_an_argument_that_would_be_registered():
    class Last(torch.nn.Module):
        def forward(self, x):
            self.last = x
            return x + 1

    model = Last()
    program = dycl.compile(model, (torch.ones(2),))
    program(torch.zeros(2))
    assert torch.equal(model.last, torch.zeros(2))
    with pytest.raises(dycl.InputError):
        program(torch.nn.Parameter(torch.ones(2)))
