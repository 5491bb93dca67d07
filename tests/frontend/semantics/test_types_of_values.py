# SPDX-License-Identifier: Apache-2.0
"""Types of values and of the errors they raise: sizes, parameters, named tuples, tensors where one number is wanted."""

import collections
import math

import torch
from torch import nn

from tests.frontend.support.harness import Cases, T

case = Cases()
UP, DOWN = T(1.0, 2.0, -3.0), T(-1.0, -2.0, 3.0)
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


def kinds_of(wanted, x):
    found = []
    for ask in wanted:
        try:
            ask(x)
            found.append("none")
        except ValueError:
            found.append("value")
        except TypeError:
            found.append("type")
        except RuntimeError:
            found.append("runtime")
    return found


@case(UP, -UP, values=True)
def errors_of_several_elements(x):
    return kinds_of((int, float, bool, torch.Tensor.item, math.floor, math.sqrt, round, math.trunc, range,
                     lambda y: [1][y], lambda y: [1][:y], lambda y: divmod(y, 2)), x), x


@case(UP, T(1.0, 2.0, 3.0), DOWN, values=True)
def errors_of_elements_found(x):
    found = x[x > 0]
    return kinds_of((int, float), found)


@case(UP, DOWN, T(1.0, 1.0, 1.0), T(-1.0, -1.0, -1.0), paths=1)
def number_of_elements_found(x):
    return float(x[x > 0])


@case(UP, DOWN, values=True)
def sizes_cut(x):
    shape = x[x > 0].unsqueeze(0).shape
    cut = shape[1:]
    return (shape[::-1], cut, shape * 2, shape[:1], cut.numel(), type(cut) is torch.Size,
            isinstance(shape[::-1], torch.Size), isinstance(shape, tuple), type(shape) is tuple)


@case(T(1.0, 2.0, 3.0), DOWN - 5)
def parameter_on_the_way(x):
    p = nn.Parameter(x * 2, requires_grad=False)
    return type(p) is nn.Parameter, isinstance(p, nn.Parameter), p + 1 if p.sum() > 0 else p - 1


@case(UP, DOWN, refuse="nn.Parameter")
def parameter_returned(x):
    p = nn.Parameter(x)
    return p * 2 if p[0] > 0 else p


class ChosenParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(3))

    def forward(self, x):
        w = self.a if x.sum() > 0 else self.b
        return (w + x, isinstance(w, nn.Parameter), type(w) is nn.Parameter)


case(T(1.0, 2.0, 3.0), DOWN)(ChosenParameter)


@case(UP, DOWN, refuse="nn.Parameter, which it is in some paths")
@torch.no_grad()
def parameter_in_some_paths(x):
    w = nn.Parameter(x) if x[0] > 0 else x * 1
    return x + isinstance(w, nn.Parameter)


@case(UP, DOWN, T(1.0, -2.0, 3.0))
def classes_of_named_tuples(x):
    point = collections.namedtuple("Point", "x y", defaults=(0,))
    p = point(x[0].item())
    q = p._replace(y=x[1].item())
    match q:
        case point(x, y) if x > y:
            found = "greater"
        case point(y=found):
            pass
    return p, q, found, q > p, q + (1,), sum(q), q._asdict()


@case(*V)
def extents_as_a_size(x):
    return torch.Size([3, int(x[1])]) if x[1] > 0 else x[x > 0].shape


test_values = case.test()
