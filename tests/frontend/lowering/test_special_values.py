# SPDX-License-Identifier: Apache-2.0
"""NaN, infinities, denormals and the greatest numbers through compiled programs, against eager: NaN stays NaN, an
infinity keeps its sign, other numbers are equal within tolerance."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dycl

NAN, INF, MOST = float("nan"), float("inf"), 3e38
VALUES = torch.tensor([NAN, INF, -INF, MOST, -MOST, 1e-40, -1e-40, 0.0, -0.0, 1e-38, 88.8, -104.0, 1e4, -1e4, 0.5,
                       -2.5])


def _rows() -> torch.Tensor:
    """Each value in a row of its own, and rows of several infinities, of NaN beside them, of the greatest number."""
    generator = torch.Generator().manual_seed(0)
    count = len(VALUES)
    rows = torch.randn(count + 5, 8, generator=generator)
    rows[torch.arange(count), torch.arange(count) % 8] = VALUES
    rows[count, 0], rows[count, 1] = INF, -INF
    rows[count + 1, :2] = INF
    rows[count + 2, 0], rows[count + 2, 1] = INF, NAN
    rows[count + 3], rows[count + 4] = INF, -INF
    return rows


def same(given: torch.Tensor, wanted: torch.Tensor, what: str = "") -> None:
    assert torch.equal(given.isnan(), wanted.isnan()), (what, given, wanted)
    infinite = wanted.isinf()
    assert torch.equal(given.isinf(), infinite), (what, given, wanted)
    assert torch.equal(given[infinite], wanted[infinite]), (what, given, wanted)
    torch.testing.assert_close(given[wanted.isfinite()], wanted[wanted.isfinite()], rtol=1e-3, atol=1e-5, msg=what)


ELEMENTWISE = """relu sigmoid tanh silu softplus elu selu leaky_relu hardtanh hardsigmoid mish logsigmoid softsign
relu6 celu exp log sqrt rsqrt erf sin cos floor round sign abs log1p expm1 reciprocal trunc ceil square atan sinh cosh
tan asin acos erfc lgamma exp2 log2 log10 frac nan_to_num""".split()
ALONG_ROWS = "softmax log_softmax sum mean amax amin logsumexp cumsum prod".split()


def _function(name: str):
    return getattr(F, name, None) or getattr(torch, name)


def test_elementwise():
    functions = [_function(name) for name in ELEMENTWISE]
    program = dycl.compile(lambda x: [f(x) for f in functions], (torch.rand(16) * 0.5,))
    for name, given, wanted in zip(ELEMENTWISE, program(VALUES), [f(VALUES) for f in functions]):
        same(given, wanted, name)


POWERS = [0.5, -0.5, 1, -1, 2, -2, 3, -3]  # for most of them torch does not call pow


def test_of_two():
    def model(x):
        y = x.flip(0)
        return [torch.maximum(x, y), torch.minimum(x, y), x.clamp(-1, 1), torch.where(x > 0, x, -x), torch.atan2(x, y),
                torch.fmod(x, 3.0), torch.remainder(x, 3.0), x + y, x * y, x / y, x == y, x < y, x ** 2.5,
                *[x ** p for p in POWERS], torch.addcmul(x, x, y, value=2), torch.addcdiv(y, x, y, value=2)]

    program = dycl.compile(model, (torch.rand(16),))
    for k, (given, wanted) in enumerate(zip(program(VALUES), model(VALUES))):
        same(given.float(), wanted.float(), str(k))


def test_along_rows():
    functions = [_function(name) for name in ALONG_ROWS]
    program = dycl.compile(lambda x: [f(x, -1) for f in functions], (torch.rand(21, 8),))
    rows = _rows()
    for name, given, wanted in zip(ALONG_ROWS, program(rows), [f(rows, -1) for f in functions]):
        same(given, wanted, name)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "amax", "amin", "mean", "logsumexp"])
@pytest.mark.parametrize("backend", ["openvino", "tvm"])
def test_along_rows_on_other_engines(backend, name):
    """Each op alone: one that an engine refuses takes its neighbours to ONNX Runtime. 1 second each."""
    function = _function(name)
    program = dycl.compile(lambda x: function(x, -1), (torch.rand(21, 8),), backend=backend)
    same(program(_rows()), function(_rows(), -1))


def test_running_sums_and_products_are_kept_in_double_precision():
    x = torch.tensor([[3e38, 3e38, -3e38, 1.0], [1e-30, 1e-20, 1e30, 1e25], [1e-40, 1e-40, INF, 0.0]])
    for model in (lambda x: x.cumsum(-1), lambda x: x.cumprod(-1)):
        same(dycl.compile(model, (torch.rand(3, 4),))(x), model(x))


def test_the_norm_of_one_element():
    def model(x, y):
        return [n for p in (2, 3, 0.5, 0, INF) for n in (y.norm(p), y.norm(p, dim=0), x.norm(p, dim=1),
                                                         x[:1].norm(p), x.norm(p, dim=0))]

    program = dycl.compile(model, (torch.rand(3, 1), torch.rand(())))
    for value in (MOST, -MOST, NAN, -INF, 1e-40):
        x, y = torch.full((3, 1), value), torch.tensor(value)
        for k, (given, wanted) in enumerate(zip(program(x, y), model(x, y), strict=True)):
            same(given, wanted, f"{value}, {k}")


def test_norms():
    def model(x):
        return F.layer_norm(x, (8,)), F.rms_norm(x, (8,)), F.normalize(x), F.cosine_similarity(x, x.flip(0))

    program = dycl.compile(model, (torch.rand(21, 8),))
    for k, (given, wanted) in enumerate(zip(program(_rows()), model(_rows()))):
        same(given, wanted, str(k))


@pytest.mark.parametrize("shape", [(16,), (1,), (1, 1)])
def test_gelu(shape):
    """torch's kernel for several elements makes NaN of infinity, the one for a single element does not."""
    def model(x):
        return F.gelu(x), F.gelu(x, approximate="tanh")

    program = dycl.compile(model, (torch.rand(shape),))
    for value in VALUES.tolist():
        x = torch.full(shape, value)
        for given, wanted in zip(program(x), model(x)):
            same(given, wanted, str(value))


@pytest.mark.parametrize("rows", [1, 4])
def test_gelu_of_an_extent_known_at_run_time(rows):
    program = dycl.compile(lambda x: F.gelu(x), (torch.randn(3, 1),), dynamic_dims={"x": [0]})
    for value in VALUES.tolist():
        x = torch.full((rows, 1), value)
        same(program(x), F.gelu(x), str(value))


def test_means_beside_variances():
    def model(x):
        return [*torch.var_mean(x, -1), *torch.std_mean(x, (0, 1), keepdim=True), *torch.var_mean(x)]

    program = dycl.compile(model, (torch.rand(21, 8),))
    for at in (None, (0, 0), (3, 7), (20, 7)):
        for value in (NAN, INF, -INF):
            x = torch.rand(21, 8)
            if at:
                x[at] = value
            for k, (given, wanted) in enumerate(zip(program(x), model(x))):
                same(given, wanted, f"{value} at {at}: {k}")


def test_double_precision_along_rows():
    functions = [_function(name) for name in ALONG_ROWS]
    program = dycl.compile(lambda x: [f(x, -1) for f in functions], (torch.rand(21, 8, dtype=torch.float64),))
    rows = _rows().double()
    for name, given, wanted in zip(ALONG_ROWS, program(rows), [f(rows, -1) for f in functions]):
        same(given, wanted, name)


def test_margins_count_nothing_for_a_nan():
    labels, several = torch.tensor([0, 3, 1]), torch.tensor([[0, 2, -1, 1], [3, -1, 0, 0], [1, 2, 3, -1]])

    def model(x):
        return [F.multi_margin_loss(x, labels, reduction="none"), F.multi_margin_loss(x, labels, p=2),
                F.multilabel_margin_loss(x, several, reduction="none")]

    program = dycl.compile(model, (torch.rand(3, 4),))
    for value in (NAN, INF, -INF):
        for at in ((0, 0), (0, 1), (1, 3), (2, 2)):
            x = torch.rand(3, 4)
            x[at] = value
            for k, (given, wanted) in enumerate(zip(program(x), model(x))):
                same(given, wanted, f"{value} at {at}: {k}")


# ---- sampling: the engine makes integers of places, whatever they are --------------------------------------------


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_samples_at_places_far_away(mode, padding, align):
    def model(x, grid):
        return F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)

    places = [NAN, INF, -INF, 20.0, -20.0, 2.0, 1.5, -1.2, -1.0, 1.0, 0.25]
    if (mode, padding) != ("bicubic", "reflection"):  # the engine's, which rounds otherwise where f32 has few fractions
        places += [1e6, -1e6, 1e10, -1e10, MOST, -MOST]
    grid = torch.full((1, len(places), 4, 2), 0.3)
    for k, place in enumerate(places):
        grid[0, k, 0, 0] = grid[0, k, 1, 1] = grid[0, k, 2, 0] = grid[0, k, 2, 1] = place
    for shape in ((1, 1, 4, 4), (1, 2, 3, 1)):
        x = torch.rand(shape)
        same(dycl.compile(model, (x, torch.rand_like(grid)))(x, grid), model(x, grid), str(shape))


@pytest.mark.parametrize("reduce", ["amax", "amin", "sum", "mean"])
@pytest.mark.parametrize("include", [True, False])
def test_scattered_numbers(reduce, include):
    index = torch.tensor([[0, 1, 0, 2, 2]])

    def model(x, source):
        return x.scatter_reduce(1, index, source, reduce, include_self=include)

    program = dycl.compile(model, (torch.rand(1, 4), torch.rand(1, 5)))
    for value in (NAN, INF, -INF):
        for at in range(5):
            x, source = torch.rand(1, 4), torch.rand(1, 5)
            source[0, at] = value
            x[0, at % 4] = value if at % 2 else 0.5
            same(program(x, source), model(x, source), f"{value} at {at}")


# ---- pooling: the engine's kernels lose a NaN, and of -inf alone they make the lowest number -------------------------

POOLS = {
    "1d": (lambda x: F.max_pool1d(x, 3, 2, 1), (2, 3, 9)),
    "2d": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 7, 9)),
    "2d, rounded up": (lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), (1, 2, 5, 7)),
    "2d, dilated, without a batch": (lambda x: F.max_pool2d(x, (2, 3), (1, 3), (1, 1), (2, 1)), (3, 8, 9)),
    "3d": (lambda x: F.max_pool3d(x, 2, 1, 1), (1, 2, 3, 4, 5)),
    "with positions": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), (2, 3, 7, 9)),
    "1d with positions": (lambda x: F.max_pool1d(x, 2, return_indices=True), (1, 2, 8)),
    "adaptive, even windows": (lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True), (1, 2, 4, 6)),
    "adaptive, uneven windows": (lambda x: F.adaptive_max_pool2d(x, (2, 3)), (1, 2, 5, 7)),
}


def _planes(shape, dtype):
    """Numbers; among them each special value, alone and everywhere."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)
    yield x
    for value in (NAN, INF, -INF, MOST, -MOST):
        for step in (1, 3, x.numel()):
            given = x.clone()
            given.view(-1)[::step] = value
            yield given
    x.view(-1)[1::2] = NAN
    x.view(-1)[::4] = -INF
    yield x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", POOLS)
def test_max_pooling(name, dtype):
    model, shape = POOLS[name]
    program = dycl.compile(model, (torch.randn(shape, dtype=dtype),))
    for x in _planes(shape, dtype):
        for given, wanted in zip(*(torch.utils._pytree.tree_leaves(f(x)) for f in (program, model))):
            same(given, wanted, name)


@pytest.mark.parametrize("backend", ["ort", "openvino", "tvm"])
def test_max_pooling_between_convolutions(backend):
    """Where ONNX Runtime pools in its blocked layout, and where other engines do."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(32, 32, 1),
                          nn.MaxPool2d(3, 2, 1), nn.Conv2d(32, 40, 1), nn.MaxPool2d(2, ceil_mode=True),
                          nn.Conv2d(40, 8, 1)).eval()
    x = torch.randn(1, 3, 38, 39)
    program = dycl.compile(model, (x,), backend=backend)
    for value in (0.5, NAN, INF, -INF):
        x[0, 1, 10, 10] = value
        same(program(x), model(x).detach(), str(value))


def test_max_pooling_of_extents_known_at_run_time():
    program = dycl.compile(lambda x: F.max_pool2d(x, 2), (torch.randn(2, 3, 6, 8),),
                           dynamic_dims={"x": {0: "n", 3: "w"}})
    for shape in ((1, 3, 6, 2), (3, 3, 6, 11)):
        for x in _planes(shape, torch.float32):
            same(program(x), F.max_pool2d(x, 2))


# ---- recurrent layers: the engine's activations clamp what they are given ------------------------------------------

LAYERS = {
    "lstm": lambda: nn.LSTM(8, 5),
    "lstm of two layers, both ways": lambda: nn.LSTM(8, 5, num_layers=2, bidirectional=True),
    "lstm without biases, batch first": lambda: nn.LSTM(8, 5, bias=False, batch_first=True),
    "gru": lambda: nn.GRU(8, 5),
    "gru of two layers, both ways": lambda: nn.GRU(8, 5, num_layers=2, bidirectional=True),
    "gru without biases, batch first": lambda: nn.GRU(8, 5, bias=False, batch_first=True),
    "rnn": lambda: nn.RNN(8, 5),
}


def _sequences():
    generator = torch.Generator().manual_seed(0)
    for value in (NAN, INF, -INF, MOST):
        for step in (0, 2, 3):
            x = torch.randn(4, 4, 8, generator=generator)
            x[step, 1, 3] = value
            yield x
    x = torch.randn(4, 4, 8, generator=generator)
    x[1, 0, 3], x[1, 0, 4], x[2, 1] = INF, -INF, INF
    yield x
    yield torch.full((4, 4, 8), NAN)


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers(name):
    torch.manual_seed(0)
    layer = LAYERS[name]().eval()
    dtype = next(layer.parameters()).dtype
    program = dycl.compile(layer, (torch.randn(4, 4, 8, dtype=dtype),))
    for x in _sequences():
        given, wanted = (torch.utils._pytree.tree_leaves(f(x.to(dtype))) for f in (program, layer))
        for g, w in zip(given, wanted):
            same(g, w.detach(), name)


def test_states_and_weights():
    torch.manual_seed(0)
    layer = nn.LSTM(3, 4).eval()
    with torch.no_grad():
        layer.weight_ih_l0[2, 1] = NAN
    program = dycl.compile(layer, (torch.randn(2, 1, 3), (torch.randn(1, 1, 4), torch.randn(1, 1, 4))))
    for h, c in ((0.5, 0.5), (NAN, 0.5), (0.5, INF)):
        states = torch.full((1, 1, 4), h), torch.full((1, 1, 4), c)
        x = torch.randn(2, 1, 3)
        for g, w in zip(torch.utils._pytree.tree_leaves(program(x, states)),
                        torch.utils._pytree.tree_leaves(layer(x, states))):
            same(g, w.detach())


class Packed(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = kind(3, 4, bidirectional=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], total_length=x.shape[0])[0]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_sequences_of_several_lengths(kind):
    torch.manual_seed(0)
    model = Packed(kind).eval()
    program = dycl.compile(model, (torch.randn(5, 3, 3), torch.tensor([5, 2, 3])))
    for step in range(4):
        x = torch.randn(5, 3, 3)
        x[step, 1, 0] = NAN
        lengths = torch.tensor([4, 2, 5])
        same(program(x, lengths), model(x, lengths).detach())


def test_decisions_go_as_in_eager():
    torch.manual_seed(0)

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRU(8, 5)

        def forward(self, x):
            y, _ = self.cell(x)
            if y.sum() > -100:
                return y
            return x

    model = Gate().eval()
    program = dycl.compile(model, (torch.randn(2, 1, 8),))
    assert program(torch.full((2, 1, 8), NAN)).shape == (2, 1, 8)
    assert program(torch.randn(2, 1, 8)).shape == (2, 1, 5)


def test_emitted_onnx_has_the_layer_alone(tmp_path):
    onnx = pytest.importorskip("onnx")
    program = dycl.compile(nn.LSTM(3, 4).eval(), (torch.randn(2, 1, 3),))
    program.save(tmp_path / "model.dycl")
    dycl.load(tmp_path / "model.dycl")
    program.emit_onnx(tmp_path / "model.onnx")
    assert not any(node.domain == "mend" for node in onnx.load(tmp_path / "model.onnx").graph.node)
