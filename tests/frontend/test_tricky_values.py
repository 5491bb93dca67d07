# SPDX-License-Identifier: Apache-2.0
"""Values whose type, or whose error's type, was another than eager's: sizes cut from shapes, parameters made on the way, tensors of several
elements where one number is wanted, objects that say themselves which number they are, tensors that are not plain."""

import collections
import math

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import Cases, I, T, check, refused

case = Cases()
UP, DOWN = T(1.0, 2.0, -3.0), T(-1.0, -2.0, 3.0)


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
    return kinds_of((int, float, bool, torch.Tensor.item, math.floor, math.sqrt, round, math.trunc, range, lambda y: [1][y],
                     lambda y: [1][:y], lambda y: divmod(y, 2)), x), x


@case(UP, T(1.0, 2.0, 3.0), DOWN, values=True)
def errors_of_elements_found(x):
    found = x[x > 0]
    return kinds_of((int, float), found)


@case(UP, DOWN, T(1.0, 1.0, 1.0), T(-1.0, -1.0, -1.0), paths=1)
def number_of_elements_found(x):
    return float(x[x > 0])


@case(UP, DOWN, T(-1.0, -1.0, -1.0), paths=1)
def index_of_elements_found(x):
    return ["a", "b", "c", "d"][x[x > 0].long()]


@case(UP, DOWN, values=True)
def sizes_cut(x):
    shape = x[x > 0].unsqueeze(0).shape
    cut = shape[1:]
    return (shape[::-1], cut, shape * 2, shape[:1], cut.numel(), type(cut) is torch.Size, isinstance(shape[::-1], torch.Size),
            isinstance(shape, tuple), type(shape) is tuple)


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


class Place:
    def __init__(self, t):
        self.t = t

    def __index__(self):
        return 2 if self.t.sum() > 0 else 1


class Asked:
    def __init__(self, t):
        self.t = t

    def __index__(self):
        return int(self.t.argmax())


@case(T(1.0, 2.0, 3.0), -UP, DOWN)
def objects_as_indices(x):
    p = Place(x)
    return [4, 5, 6][p], list(range(p)), x[p], torch.zeros(p), int(p), float(p), ("a", "b", "c")[Asked(x)], x[Asked(x)]


@case(UP, DOWN, refuse="special method")
def objects_asked_by_native_code(x):
    return hex(Place(x)), x


@case((UP, I(1)), (UP, I(-4)), (UP, I(0)), values=True)
def rotated(x, n):
    ring = collections.deque([x, x + 1, x * 2])
    ring.rotate(int(n))
    empty = collections.deque()
    empty.rotate(int(n))
    one = collections.deque([n], maxlen=3)
    one.rotate(n)
    return [y * 1 for y in ring], len(empty), ring[n % 3] + 0, len(one)


@case((UP, I(1)), (UP, I(-2)), (UP, I(2)), (UP, I(3)), values=True)
def deques_by_place(x, n):
    ring = collections.deque([1, 2, 3])
    ring[int(n)] = 7
    if n > 1:
        del ring[int(n)]
    return list(ring), x


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


test_values = case.test()


class Own(torch.Tensor):
    pass


UNUSUAL = {
    "sparse": lambda: torch.eye(3).to_sparse(), "csr": lambda: torch.eye(3).to_sparse_csr(), "mkldnn": lambda: torch.eye(3).to_mkldnn(),
    "meta": lambda: torch.eye(3, device="meta"), "subclass": lambda: torch.eye(3).as_subclass(Own),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "quantized": lambda: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.quint8),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_tensors(kind):
    unusual = UNUSUAL[kind]()
    with pytest.raises(dycl.CompileError, match="argument x") as caught:
        dycl.compile(lambda x: x * 2, (unusual,))
    assert caught.value.kind == "tensor.input" and caught.value.help
    program = dycl.compile(lambda x: x * 2, (torch.eye(3),))
    with pytest.raises(dycl.InputError, match="x: "):
        program(unusual)
