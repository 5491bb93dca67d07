# SPDX-License-Identifier: Apache-2.0
"""Operations on tensors: indexing, reductions, distinct elements, strided views, writes through `out=`."""

import collections

import pytest
import torch

import dycl
from tests.frontend.support.harness import I, T, check


def transposed_matrix_times_vector(x, u):
    if u.sum() > 0:
        return x.t() @ u
    return x.t() @ (u * 2)


def test_transposed_matrix_times_vector():
    """ONNX Runtime fuses the transpose into a product with a vector and gets it wrong."""
    x = torch.arange(20.0).reshape(5, 4)
    check(transposed_matrix_times_vector, [(x, torch.ones(5)), (x, -torch.arange(5.0))])


def running_extrema(x):
    if x[0, 0] > 0:
        return torch.cummax(x, 1), torch.cummin(x, 0)
    return torch.cummin(x, -1).values, torch.cumprod(x, 1), torch.cummax(x.long(), 1)


def test_running_extrema_and_products():
    nan = float("nan")
    check(running_extrema, [(T([1, 3, 2, 3], [0, -1, 5, 5]),), (T([-1, 3, 2, 3], [0, -1, -5, 5]),),
                            (T([1, nan, 2, nan], [0, 1, 2, 2]),)])


def scattered(i, x):
    kinds = [(r, own) for r in ("sum", "mean", "amax", "amin", "prod") for own in (True, False)]
    if x[1] > 0:
        return [torch.full((3,), 2.0).scatter_reduce(0, i, x, r, include_self=own) for r, own in kinds]
    return [torch.full((3,), 2).scatter_reduce(0, i, x.long(), r, include_self=own) for r, own in kinds]


def test_scatter_reduce():
    check(scattered, [(I(0, 1, 1, 0), T(1, 2, 3, 4)), (I(1, 1, 1, 0), T(1, -2, 2, -7))])


def diagonals(x):
    y = x.clone()
    y.fill_diagonal_(7.0)
    cube = torch.zeros(3, 3, 3).fill_diagonal_(2.0)
    return (y, cube) if x.sum() > 0 else y * 2


def test_fill_diagonal():
    check(diagonals, [(torch.ones(3, 4),), (-torch.ones(3, 4),)])


def distinct(x):
    u, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    if counts.max() > 1:
        return (u, inverse, counts, torch.unique_consecutive(x, return_inverse=True, return_counts=True),
                torch.unique_consecutive(x > 1))
    rows = torch.stack([x, x.flip(0), x], 0)
    return (torch.unique(rows, dim=0, return_inverse=True, return_counts=True), torch.unique_consecutive(x[x > 90]),
            x.mode())


def test_distinct_elements():
    check(distinct, [(T(1, 2, 2, 1, 1),), (T(-1, 2, 2.5, 1, 7),), (T(5, 5, 5, 5, 5),)])


def counted(x):
    i = x[x > 0].long()
    if x[0] > 0:
        return torch.bincount(i), torch.histc(x, 4), torch.histc(x, 3, -1, 2), torch.nn.functional.pdist(x.view(2, 2))
    return torch.bincount(i, minlength=6), x[x > -9].median()


def test_counts():
    check(counted, [(T(1, 2, 3, 4),), (T(-1, 2, 2, -1),), (T(-1, -2, -2, -1),)])


def neighbours(x):
    up, down = torch.nextafter(x, torch.tensor(torch.inf)), torch.nextafter(x, torch.tensor(-torch.inf))
    return (up, down) if x[0] > 0 else (torch.nextafter(x.double(), x.double() + 1), up, down)


def test_nextafter_is_exact():
    """Neighbours of powers of two, of numbers just below them, of zero and of subnormal numbers."""
    values = [1.0, 2.0, 0.5, 1.9999999, 3.3, 1e-38, 1.2e-38, 1e-45, 0.0, 3.4028235e38, 1234.567, 2.0**-126]
    x = torch.tensor(values + [-v for v in values])
    program = dycl.compile(neighbours, (x,))
    for given in (x, -x):
        for ours, theirs in zip(program(given), neighbours(given)):
            assert torch.equal(ours, theirs)


def overlapping(x):
    chunks = x.as_strided((2, 4, 3), (12, 2, 1))
    turned = x.clone().t().as_strided((3, 5), (2, 1), 1)
    return (chunks, turned) if x.sum() > 0 else x.as_strided((4,), (7,))


def strided_write(x):
    y = x.clone()
    y.as_strided((2,), (5,)).fill_(0)
    return y if x.sum() > 0 else x[1:].as_strided((2,), (1,))


def test_as_strided():
    x = torch.arange(24.0).reshape(4, 6) + 1
    check(overlapping, [(x,), (-x,)])
    with pytest.raises(dycl.CompileError, match="as_strided"):
        dycl.compile(strided_write, (x,))
    with pytest.raises(dycl.CompileError, match="as_strided"):
        dycl.compile(lambda x: x[1:].as_strided((2,), (1,)), (x,))
    with pytest.raises(dycl.CompileError, match="an offset in the memory of an argument"):
        dycl.compile(lambda x: x.t().as_strided((3, 5), (2, 1), 1), (x,))


def squeezed(x):
    i = (x > 0).nonzero().squeeze()  # no dim at all if there is one
    y = torch.zeros(3)
    y.index_fill_(0, i, 2.0)
    return i, i.dim(), x[i], y, torch.distributions.Categorical(logits=x).probs


def test_squeeze_of_an_extent_of_run_time():
    check(squeezed, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, 3),), (T(-1, -2, -3),)], by_result=True)


def checked_elements(x):
    torch._check_tensor_all_with(ValueError, x > 0, lambda: "positive, please")
    torch._check_tensor_all(x < 9)
    return x if x.sum() > 4 else x * 2


def test_checks_of_all_elements():
    check(checked_elements, [(T(1, 2),), (T(3, 4),), (T(-1, 2),), (T(1, 9),)])


def resized_to_itself(x):
    y = torch.zeros(2)
    y.resize_as_(x).copy_(x)
    return y.resize_(2) if x.sum() > 0 else y * 2


def test_resize_to_the_same_shape():
    check(resized_to_itself, [(T(1, 2),), (T(-1, -2),)])


def view_and_whole(x, y):
    stacked = torch.stack([x, x + y, y])
    if x.sum() > 0:
        stacked = torch.stack([y, x, x])
    row = stacked[0]
    if y.sum() > 0:
        row = stacked[1]
    return {"row": row, "stacked": stacked}


def test_a_view_met_before_its_whole():
    """A merge took the merged view for the merged whole."""
    check(view_and_whole, [(T(1, 2), T(1, 1)), (T(-1, 2), T(-1, 1)), (T(-3, 2), T(1, 1)), (T(3, 2), T(-1, -1))])


Pair = collections.namedtuple("Pair", "a b")


def shapes_compared(x, b):
    n = int(b.max()) + 1
    y = torch.zeros(n, 3).index_add_(0, b, x)
    r = 0
    if y.size() != (2, 3):
        r += 1
    if y.shape == (3, 3):
        r += 10
    return y, r, (n, 2) == Pair(n, 2), [n] == (n,), (2, n) < y.shape, (n,) != None  # noqa: E711


def test_sizes_compared_with_tuples():
    x = torch.arange(6.0).reshape(2, 3)
    check(shapes_compared, [(x, I(0, 1)), (x, I(0, 2)), (x, I(3, 0))])


def test_sparse_tensors_are_refused():
    """Made under recording, torch raises errors of its own that the model would not see."""

    def product(rows, columns, values, x):
        return torch.sparse_csr_tensor(rows, columns, values, (2, 2)) @ x

    with pytest.raises(dycl.CompileError, match="sparse tensors"):
        dycl.compile(product, (I(0, 1, 2), I(0, 1), T(1, 2), torch.ones(2, 2)))


def test_a_slice_whose_start_the_ranges_tell():
    """A bias of one row, cut to the last rows of as many as there are tokens: one row still, which is broadcast."""
    def f(ids, bias):
        while ids.sum() < 20:
            size = ids.shape[0]
            cut = bias[max(0, bias.shape[0] - size):, min(0, size - 1):]
            scores = ids.unsqueeze(1).float() + cut
            ids = torch.cat([ids, scores.sum(1)[-1:].long() % 7 + 1])
        return ids

    bias = torch.tensor([[0.5, -1.0]])
    check(f, [(I(2, 3, 1), bias), (I(-9, -9, -9), bias), (I(1, -1, 4), bias), (I(5, -8, 3), bias)])


OVERLAPPING = {
    "index": lambda w: w.__setitem__([3, 1], w[:2]),
    "one element": lambda w: w.__setitem__([1, 2], w[0]),
    "all of itself": lambda w: w.__setitem__(torch.arange(6), w[:]),
    "mask, one element": lambda w: w.__setitem__(torch.tensor([True, False, False, False, True, False]), w[0]),
    "mask": lambda w: w.__setitem__(torch.tensor([True, False, False, False, True, False]), w[:2]),
    "index_add": lambda w: w.index_add_(0, torch.tensor([1, 2]), w[:2]),
    "index_fill": lambda w: w.index_fill_(0, torch.tensor([1, 2]), w[0]),
    "scatter": lambda w: w.scatter_(0, torch.tensor([1, 2]), w[:2]),
    "put": lambda w: w.put_(torch.tensor([1, 2]), w[:2]),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_writes_by_index_of_what_they_read(name):
    """Torch raises where both lie in one memory; compiled programs answered."""

    def program(x):
        w = x + 1
        if x.sum() > 0:
            OVERLAPPING[name](w)
        return w

    check(program, [(torch.arange(6.0),), (-torch.arange(6.0),)])


def test_other_ops_that_overlap_are_refused():
    """Of w[[2, 1, 0]] = w[::2] eager reads the third element after it has written it."""
    with pytest.raises(dycl.CompileError, match="reads and writes overlapping parts"):
        dycl.compile(lambda x: (w := x + 1).__setitem__([2, 1, 0], w[::2]) or w, (torch.arange(6.0),))
    with pytest.raises(dycl.CompileError, match="reads and writes overlapping parts"):
        dycl.compile(lambda x: torch.cumsum((w := x + 0)[:4], 0, out=w[1:5]), (torch.arange(6.0),))


def runs_of_rows(x):
    rows = torch.unique_consecutive(x, dim=0, return_inverse=True, return_counts=True)
    columns = torch.unique_consecutive(x > 1, dim=1)
    if rows[0].shape[0] > 2:
        return rows, columns
    return rows[2], columns, torch.unique_consecutive(x[x[:, 0] > 5], dim=0)


def distinct_from_the_back(x):
    runs, inverse = torch.unique_consecutive(x, dim=-1, return_inverse=True)
    if runs.shape[1] > 1:
        return runs, inverse, torch.unique(x, dim=-1)
    return runs, torch.unique(x[None], dim=-2), torch.unique_consecutive((x > 3).view(-1), dim=-1)


def no_such_dim(x):
    try:
        return torch.unique(x, dim=2)
    except IndexError:
        return torch.unique_consecutive(x, dim=-2) if x.sum() > 5 else x


def test_distinct_slices_along_a_negative_dim():
    inputs = [[[1, 2], [1, 2], [3, 4]], [[1, 1], [3, 3], [2, 2]], [[0, 0], [0, 0], [0, 0]], [[5, 6], [7, 8], [7, 8]]]
    check(distinct_from_the_back, [(torch.tensor(rows),) for rows in inputs])
    check(no_such_dim, [(torch.tensor(rows),) for rows in inputs])


def test_runs_of_equal_slices():
    inputs = [[[1, 2], [1, 2], [3, 4]], [[1, 2], [1, 3], [1, 2]], [[0, 0], [0, 0], [0, 0]], [[5, 6], [7, 8], [7, 8]]]
    check(runs_of_rows, [(torch.tensor(i, dtype=torch.float32),) for i in inputs])


def one_matrix_by_chosen_ones(x):
    steps = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    chosen = x.view(-1, 2, 1)[x[::2] > 0]
    if x[-1] > 0:
        return steps @ chosen, chosen.mT @ steps.mT
    return (steps @ chosen).sum()


def test_one_matrix_by_a_batch_of_none():
    check(one_matrix_by_chosen_ones, [(T(1, 2, -3, 4),), (T(-1, 2, -3, 4),), (T(1, 2, 3, -4),), (T(-1, 2, -3, -4),)])


def test_new_tensors_written_to_out():
    """torch.eye and kin with out= (nn.init.eye_) take its dtype."""
    def f(x):
        a, b, c, d = (torch.empty(2, 3), torch.empty(4, dtype=torch.float64), torch.empty(3),
                      torch.empty(2, 2, dtype=torch.int64))
        torch.eye(2, 3, out=a), torch.arange(4, out=b), torch.linspace(0, 1, 3, out=c), torch.ones(2, 2, out=d)
        return (a * x[0], b, c, d) if x.sum() > 0 else (a, b * 2, torch.full((3,), 2.0, out=c),
                                                        torch.zeros(2, 2, out=d))

    check(f, [torch.tensor([2.0, 3.0]), torch.tensor([-2.0, -3.0])])


def test_sums_written_to_out():
    """torch.cumsum with out= has a dtype of its own."""
    def f(x):
        out = torch.zeros(4)
        torch.cumsum(x, 0, out=out[1:]), torch.sum(x, 0, out=out[0])
        return out if x.sum() > 0 else -out

    check(f, [torch.tensor([2.0, 3.0, 1.0]), torch.tensor([-2.0, -3.0, 1.0])])


def test_arange_to_a_float_in_a_tensor():
    """Masks of lengths that are sums of durations: torch.arange takes the number in a tensor of floats."""
    def f(x):
        steps = torch.arange(x.max(), dtype=x.dtype)
        mask = steps[None] < x[:, None]
        return torch.arange(x.min(), x.max()) if mask.sum() > 5 else (mask, torch.arange(0, x.max(), 0.5))

    check(f, [torch.tensor([1.0, 3.0]), torch.tensor([2.5, 4.5])])


class TurnedWeight(torch.nn.Module):
    """What is computed of weights alone is a number while compiling, however they lie in memory."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([1.0, -0.5, 4.0, 2.0]))

    def forward(self, x):
        turned = (self.w * 2).reshape(2, 2).t().flatten()
        if x.sum() > 0:
            return x * int((turned > 3.0).sum())
        return x + turned


def test_numbers_of_turned_weights():
    check(TurnedWeight, [torch.ones(4), -torch.ones(4)])


RESHAPED = {
    "squeeze_": lambda x: torch.nonzero(x > 0).squeeze_(-1),
    "t_": lambda x: torch.nonzero(x > 0).t_(),
    "unsqueeze_": lambda x: (torch.nonzero(x > 0)[:, 0] * 2).unsqueeze_(0) + 1,
    "transpose_": lambda x: torch.nonzero(x > 0).transpose_(0, 1).sum(1),
    "there and back": lambda x: x[x > 0].mul(2).unsqueeze_(1).squeeze_(1) * 2,
}


@pytest.mark.parametrize("name", RESHAPED)
def test_dims_changed_in_place_beside_extents_of_run_time(name):
    def f(x):
        found = RESHAPED[name](x)
        return found if x.sum() > 0 else found + 1

    check(f, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, 3),), (T(-1, -2, -3),)])


def aliased(x):
    found = torch.nonzero(x > 0)
    other = found
    found.squeeze_(1)
    return other.dim(), other + 1 if x.sum() > 0 else other


def test_dims_changed_in_place_under_two_names():
    check(aliased, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, -3),)])
