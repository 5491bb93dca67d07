# SPDX-License-Identifier: Apache-2.0
"""Layers that capture keeps whole agree with torch and stay whole in ONNX."""

from __future__ import annotations

import pytest
import torch

from tests.frontend.support.lowering_harness import check_op, ops_of

aten = torch.ops.aten
CLOSE = {"rtol": 1e-4, "atol": 2e-5}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("shape", [(8,), (5, 8), (2, 3, 8), (2, 3, 4, 8), (0, 8), (2, 0, 8)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, bias):
    model = check_op(
        aten.linear.default, torch.randn(shape), torch.randn(6, 8), torch.randn(6) if bias else None, **CLOSE
    )
    assert set(ops_of(model)) <= {"Gemm", "MatMul", "Add", "Transpose"}


CONVS = [
    (aten.conv1d.default, (2, 4, 9), (6, 4, 3), {}),
    (aten.conv1d.default, (2, 4, 9), (6, 2, 3), {"groups": 2, "padding": [1]}),
    (aten.conv2d.default, (2, 4, 9, 7), (6, 4, 3, 3), {"stride": [2, 2], "padding": [1, 1]}),
    (aten.conv2d.default, (4, 9, 7), (6, 4, 3, 2), {"dilation": [2, 2]}),
    (aten.conv2d.default, (1, 4, 9, 7), (8, 1, 3, 3), {"groups": 4}),
    (aten.conv2d.padding, (2, 4, 9, 7), (6, 4, 3, 2), {"padding": "same"}),
    (aten.conv2d.padding, (2, 4, 9, 7), (6, 4, 4, 2), {"padding": "same", "dilation": [2, 2]}),
    (aten.conv2d.padding, (2, 4, 9, 7), (6, 4, 3, 2), {"padding": "valid", "stride": [2, 2]}),
    (aten.conv3d.default, (1, 2, 5, 6, 7), (3, 2, 2, 3, 3), {"stride": [1, 2, 2], "padding": [0, 1, 1]}),
]


@pytest.mark.parametrize("target, shape, kernel, options", CONVS)
@pytest.mark.parametrize("bias", [True, False])
def test_convolution(target, shape, kernel, options, bias):
    model = check_op(
        target, torch.randn(shape), torch.randn(kernel), torch.randn(kernel[0]) if bias else None, **options, **CLOSE
    )
    assert set(ops_of(model)) <= {"Conv", "Unsqueeze", "Squeeze"}


@pytest.mark.parametrize(
    "options", [{}, {"stride": [2, 2], "padding": [1, 1], "output_padding": [1, 1]}, {"groups": 2, "dilation": [2, 2]}]
)
def test_transposed_convolution(options):
    weight = torch.randn(4, 6 // options.get("groups", 1), 3, 3)
    check_op(aten.conv_transpose2d.input, torch.randn(2, 4, 5, 6), weight, torch.randn(6), **options, **CLOSE)


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 5), (2, 6, 4, 5), (2, 6, 3, 4, 5)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(shape, affine):
    w, b = (torch.randn(6), torch.randn(6)) if affine else (None, None)
    model = check_op(
        aten.batch_norm.default,
        torch.randn(shape),
        w,
        b,
        torch.randn(6),
        torch.rand(6) + 0.1,
        False,
        0.1,
        1e-5,
        False,
        **CLOSE,
    )
    assert "BatchNormalization" in ops_of(model)


@pytest.mark.parametrize("shape, normal", [((4, 6), [6]), ((2, 3, 6), [6]), ((2, 3, 6), [3, 6]), ((0, 6), [6])])
@pytest.mark.parametrize("affine", ["both", "weight", "none"])
def test_layer_norm(shape, normal, affine):
    w = None if affine == "none" else torch.randn(normal)
    b = torch.randn(normal) if affine == "both" else None
    ops = ops_of(check_op(aten.layer_norm.default, torch.randn(shape), normal, w, b, 1e-5, **CLOSE))
    assert ops == (["LayerNormalization"] if 0 not in shape else [])


@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 5), (2, 6, 4, 5), (0, 6, 3)])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(shape, groups):
    if shape == (2, 6) and groups == 6:
        pytest.skip("a variance of one element")
    x = torch.randn(shape) * 3 + 100  # a large mean shows a poor variance
    check_op(aten.group_norm.default, x, groups, torch.randn(6), torch.randn(6), 1e-5, rtol=1e-3, atol=1e-3)
    check_op(aten.group_norm.default, torch.randn(shape), groups, None, None, 1e-5, **CLOSE)
    if len(shape) > 2:
        check_op(
            aten.group_norm.default,
            torch.randn(shape),
            groups,
            torch.randn(6),
            torch.randn(6),
            1e-5,
            unknown=True,
            **CLOSE,
        )


@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 4, 5)])
def test_instance_norm(shape):
    check_op(
        aten.instance_norm.default,
        torch.randn(shape),
        torch.randn(6),
        torch.randn(6),
        None,
        None,
        True,
        0.1,
        1e-5,
        False,
        **CLOSE,
    )
    check_op(
        aten.instance_norm.default,
        torch.randn(shape),
        None,
        None,
        torch.randn(6),
        torch.rand(6) + 1,
        False,
        0.1,
        1e-5,
        False,
        **CLOSE,
    )


@pytest.mark.parametrize("eps", [None, 1e-5])
def test_rms_norm(eps):
    model = check_op(aten.rms_norm.default, torch.randn(2, 3, 8), [8], torch.randn(8), eps, **CLOSE)
    assert ops_of(model) == ["RMSNormalization"]
    check_op(aten.rms_norm.default, torch.randn(2, 3, 8), [3, 8], None, eps, **CLOSE)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate):
    model = check_op(aten.gelu.default, torch.randn(5, 40) * 4, approximate=approximate, **CLOSE)
    assert ops_of(model) == ["Gelu", "Add", "Sub"][: 3 if approximate == "none" else 1]


ATTENTIONS = [
    ((2, 3, 5, 8), (2, 3, 7, 8), {}),
    ((2, 3, 5, 8), (2, 3, 5, 8), {"is_causal": True}),
    ((3, 5, 8), (3, 7, 8), {"scale": 0.3}),
    ((2, 3, 5, 8), (2, 3, 7, 8), {"attn_mask": "bool"}),
    ((2, 3, 5, 8), (2, 3, 7, 8), {"attn_mask": "float"}),
    ((2, 4, 5, 8), (2, 2, 5, 8), {"enable_gqa": True}),
    ((2, 3, 1, 8), (2, 3, 1, 8), {}),
]


@pytest.mark.parametrize("query, key, options", ATTENTIONS)
@pytest.mark.parametrize("unknown", [False, True])
def test_attention(query, key, options, unknown):
    options = dict(options)
    if options.get("attn_mask") == "bool":
        options["attn_mask"] = torch.rand(query[-2], key[-2]) > 0.4
        options["attn_mask"][1] = False  # nothing to attend to
    elif options.get("attn_mask") == "float":
        options["attn_mask"] = torch.randn(query[-2], key[-2])
    check_op(
        aten.scaled_dot_product_attention.default,
        torch.randn(query),
        torch.randn(key),
        torch.randn(key),
        unknown=unknown,
        **options,
        **CLOSE,
    )


RECURRENT = [("lstm", 4, 2), ("gru", 3, 1), ("rnn_tanh", 1, 1), ("rnn_relu", 1, 1)]


@pytest.mark.parametrize("kind, gates, states", RECURRENT)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("batch_first, biases", [(False, True), (True, False)])
def test_recurrent_layers(kind, gates, states, layers, both, batch_first, biases):
    size, hidden, steps, batch, d = 5, 4, 6, 3, 2 if both else 1
    shape = (batch, steps, size) if batch_first else (steps, batch, size)
    params = []
    for layer in range(layers):
        for _ in range(d):
            wide = size if layer == 0 else hidden * d
            params += [torch.randn(gates * hidden, wide) * 0.4, torch.randn(gates * hidden, hidden) * 0.4]
            params += [torch.randn(gates * hidden), torch.randn(gates * hidden)] if biases else []
    start = [torch.randn(layers * d, batch, hidden) for _ in range(states)]
    target = getattr(aten, kind).input
    model = check_op(
        target,
        torch.randn(shape),
        start if states == 2 else start[0],
        params,
        biases,
        layers,
        0.0,
        False,
        both,
        batch_first,
        **CLOSE,
    )
    assert ops_of(model).count(kind.split("_")[0].upper()) == layers


def test_embedding():
    table = torch.randn(10, 4)
    for index in (
        torch.tensor([[1, 9], [0, 1]]),
        torch.tensor(3),
        torch.zeros(0, dtype=torch.int64),
        torch.tensor([2], dtype=torch.int32),
    ):
        ops = ops_of(check_op(aten.embedding.default, table, index))  # an index that may be negative is checked
        assert [op for op in ops if op != "Cast"] == (["BitwiseAnd", "Gather"] if index.numel() else [])


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_embedding_bag(mode, last):
    index, starts = torch.tensor([1, 9, 0, 1, 4]), torch.tensor([0, 2, 2, 5] if last else [0, 2, 2])
    check_op(
        aten._embedding_bag_forward_only.default,
        torch.randn(10, 4),
        index,
        starts,
        False,
        mode,
        False,
        None,
        last,
        read=(True, False, False, False),
        **CLOSE,
    )


SMALL = [
    (aten.prelu.default, ((2, 3, 4),), [torch.rand(3)], {}),
    (aten.prelu.default, ((2, 3),), [torch.rand(1)], {}),
    (aten.prelu.default, ((5,),), [torch.rand(1)], {}),
    (aten.cosine_similarity.default, ((2, 5, 3), (2, 5, 3)), [1, 1e-8], {}),
    (aten.cosine_similarity.default, ((2, 5), (1, 5)), [-1, 1e-8], {}),
    (aten.cosine_similarity.default, ((4, 5), (5,)), [-1, 1e-8], {}),
    (aten.cosine_similarity.default, ((5,), (4, 5)), [1, 1e-8], {}),
    (aten.cosine_similarity.default, ((2, 1), (2, 5)), [1, 1e-8], {}),
    (aten.silu.default, ((4, 5),), [], {}),
    (aten.mish.default, ((4, 5),), [], {}),
    (aten.softmax.int, ((4, 5),), [-1], {}),
    (aten.softmax.int, ((4, 5),), [0, torch.float32], {}),
    (aten.log_softmax.int, ((4, 5),), [1], {}),
    (aten.softmax.int, ((),), [0], {}),
    (aten.matmul.default, ((2, 1, 3, 4), (5, 4, 2)), [], {}),
    (aten.matmul.default, ((4,), (4,)), [], {}),
    (aten.matmul.default, ((2, 3, 4), (4,)), [], {}),
    (aten.pixel_shuffle.default, ((2, 8, 3, 4),), [2], {}),
    (aten.adaptive_avg_pool1d.default, ((2, 3, 7),), [[3]], {}),
    (aten.adaptive_avg_pool2d.default, ((2, 3, 7, 6),), [[3, 2]], {}),
    (aten.adaptive_avg_pool2d.default, ((1, 3, 8, 8),), [[14, 14]], {}),
    (aten.adaptive_avg_pool2d.default, ((3, 5, 40),), [[8, 3]], {}),
    (aten.adaptive_avg_pool2d.default, ((3, 8, 6),), [[1, 1]], {}),
    (aten.adaptive_avg_pool3d.default, ((1, 2, 4, 5, 6),), [[2, 2, 2]], {}),
    (aten.adaptive_max_pool2d.default, ((2, 3, 8, 6),), [[4, 3]], {}),
    (aten.adaptive_max_pool1d.default, ((2, 3, 8),), [[4]], {}),
    (aten.max_pool1d.default, ((2, 3, 9),), [[3], [2], [1]], {}),
    (aten.max_pool2d.default, ((2, 3, 9, 8),), [[3, 2], [2, 2], [1, 0], [1, 1], True], {}),
    (aten.max_pool2d.default, ((3, 9, 8),), [[3]], {}),
    (aten.max_pool2d.default, ((1, 1, 5, 5),), [[2], [2], [1], [2], True], {}),
    (aten.max_pool2d_with_indices.default, ((2, 3, 9, 8),), [[3], [2], [1]], {}),
    (aten.max_pool3d.default, ((1, 2, 5, 6, 7),), [[2]], {}),
    (aten.avg_pool1d.default, ((2, 3, 9),), [[3], [2], [1]], {}),
    (aten.avg_pool2d.default, ((2, 3, 9, 8),), [[3], [2], [1], True, False], {}),
    (aten.avg_pool2d.default, ((2, 3, 9, 8),), [[3], [2], [1], True, True], {}),
    (aten.avg_pool2d.default, ((2, 3, 9, 8),), [[3], [2], [1], False, True, 5], {}),
    (aten.avg_pool3d.default, ((1, 2, 5, 6, 7),), [[2], [1]], {}),
    (aten.pad.default, ((2, 3, 4, 5),), [[1, 2, 0, 1], "reflect"], {}),
    (aten.pad.default, ((2, 3, 4, 5),), [[1, 2, 0, 1], "replicate"], {}),
    (aten.pad.default, ((2, 3, 4, 5),), [[1, 2, 0, 1], "circular"], {}),
    (aten.pad.default, ((2, 3, 4, 5),), [[1, -2, 0, 1, -1, 1], "constant", 0.5], {}),
    (aten.upsample_nearest2d.vec, ((2, 3, 4, 5),), [None, [2.0, 3.0]], {}),
    (aten.upsample_nearest2d.vec, ((2, 3, 4, 5),), [[7, 3], None], {}),
    (aten.upsample_nearest1d.vec, ((2, 3, 5),), [None, [1.7]], {}),
    (aten.upsample_bilinear2d.vec, ((2, 3, 4, 5),), [[7, 3], True, None], {}),
    (aten.upsample_bilinear2d.vec, ((2, 3, 4, 5),), [[7, 3], False, None], {}),
    (aten.upsample_bilinear2d.vec, ((2, 3, 4, 5),), [None, False, [2.0, 2.0]], {}),
    (aten.upsample_bilinear2d.vec, ((2, 3, 4, 5),), [None, False, [1.7, 0.6]], {}),
    (aten.upsample_bicubic2d.vec, ((2, 3, 4, 5),), [[8, 10], False, None], {}),
    (aten.upsample_linear1d.vec, ((2, 3, 5),), [[9], True, None], {}),
    (aten.upsample_trilinear3d.vec, ((1, 2, 3, 4, 5),), [[6, 8, 10], False, None], {}),
    (aten.grid_sampler_2d.default, ((2, 3, 5, 6), (2, 4, 3, 2)), [0, 0, False], {}),
    (aten.grid_sampler_2d.default, ((2, 3, 5, 6), (2, 4, 3, 2)), [0, 1, True], {}),
    (aten.grid_sampler_2d.default, ((2, 3, 5, 6), (2, 4, 3, 2)), [1, 2, False], {}),
    (aten.grid_sampler_3d.default, ((1, 2, 4, 5, 6), (1, 3, 4, 5, 3)), [0, 0, True], {}),
]


@pytest.mark.parametrize("target, shapes, args, options", SMALL)
def test_small_layers(target, shapes, args, options):
    check_op(target, *[torch.randn(s) for s in shapes], *args, **options, **CLOSE)
