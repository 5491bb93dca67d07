# SPDX-License-Identifier: Apache-2.0
"""Quantisers and codecs: nearest codes, residual after residual, latents with their likelihoods."""

import torch

from tests.models.registry import model, rand, randomise


@model("vector-quantize-pytorch", "nearest codes; the codebook is initialised on the first call")
def vector_quantize():
    from vector_quantize_pytorch import VectorQuantize

    m = randomise(VectorQuantize(dim=8, codebook_size=12))
    return (lambda x: m(x)), [(rand(1, 6, 8, seed=s),) for s in range(3)]


@model("vector-quantize-pytorch", "residual quantisation, level by level")
def residual_vq():
    from vector_quantize_pytorch import ResidualVQ

    m = randomise(ResidualVQ(dim=8, num_quantizers=3, codebook_size=12))
    return (lambda x: m(x)), [(rand(1, 6, 8, seed=s),) for s in range(3)]


@model("vector-quantize-pytorch", "finite scalar quantisation")
def fsq():
    from vector_quantize_pytorch import FSQ

    m = FSQ([5, 4, 3]).eval()
    return (lambda x: m(x)), [(rand(1, 6, 3, seed=s, scale=2),) for s in range(3)]


@model("discrete-key-value-bottleneck-pytorch", "codes looked up by the nearest key")
def discrete_key_value_bottleneck():
    from discrete_key_value_bottleneck_pytorch import DiscreteKeyValueBottleneck

    m = randomise(DiscreteKeyValueBottleneck(dim=6, num_memories=8, num_memory_codebooks=2, dim_memory=4))
    return (lambda x: m(x)), [(rand(1, 4, 6, seed=s),) for s in range(3)]


@model("compressai", "latents quantised; likelihoods bounded below", rtol=1e-3, atol=1e-4)
def compressai_entropy_bottleneck():
    from compressai.entropy_models import EntropyBottleneck

    m = EntropyBottleneck(4).eval()
    return (lambda x: m(x)), [(rand(1, 4, 3, 3, seed=s, scale=3),) for s in range(3)]


@model("compressai", "context model: pixels decoded one by one in raster order", rtol=1e-3, atol=1e-4)
def compressai_joint_autoregressive():
    from compressai.models import JointAutoregressiveHierarchicalPriors

    m = randomise(JointAutoregressiveHierarchicalPriors(N=4, M=6))
    return (lambda x: m(x)), [(rand(1, 3, 64, 64, seed=s).sigmoid(),) for s in range(2)]


@model("encodec", "residual codebooks; the number of codebooks follows from the bandwidth", rtol=1e-3, atol=1e-4)
def encodec_quantizer():
    from encodec.quantization import ResidualVectorQuantizer

    m = randomise(ResidualVectorQuantizer(dimension=6, n_q=3, bins=8))
    for layer in m.vq.layers:
        layer._codebook.embed.copy_(rand(8, 6, seed=3))
        layer._codebook.inited.fill_(1)
    return (lambda x: tuple(m(x, 50, 0.4).__dict__[k] for k in ("quantized", "codes"))), [
        (rand(1, 6, 5, seed=s),) for s in range(3)
    ]


@model("transformers", "codes of audio with a padding mask; normalised by each frame's scale", rtol=1e-3, atol=1e-4)
def encodec_hf():
    from transformers import EncodecConfig, EncodecModel

    config = EncodecConfig(
        target_bandwidths=[1.5],
        sampling_rate=400,
        audio_channels=1,
        num_filters=4,
        num_residual_layers=1,
        upsampling_ratios=[2, 2],
        codebook_size=8,
        codebook_dim=8,
        hidden_size=8,
        num_lstm_layers=1,
    )
    m = randomise(EncodecModel(config))
    return (lambda x, mask: m.encode(x, mask).audio_codes), [
        (rand(1, 1, 16, seed=s), (torch.arange(16) < n)[None]) for s, n in enumerate([16, 10])]


@model("transformers", "audio codec: quantised residuals, attention over the frames")
def mimi():
    from transformers import MimiConfig, MimiModel

    m = randomise(
        MimiModel(
            MimiConfig(
                hidden_size=16,
                num_filters=4,
                upsampling_ratios=[4, 2],
                codebook_size=8,
                codebook_dim=8,
                num_quantizers=3,
                vector_quantization_hidden_dimension=8,
                upsample_groups=16,
                num_hidden_layers=1,
                intermediate_size=24,
                num_attention_heads=2,
                num_key_value_heads=2,
                sliding_window=6,
                sampling_rate=64,
                frame_rate=4,
            )
        )
    )
    for k, (name, buffer) in enumerate(sorted(m.named_buffers())):  # the codebooks, which begin as zeros
        if name.endswith("embed_sum"):
            buffer.copy_(rand(*buffer.shape, seed=k))

    def run(x):
        out = m(x)
        return out.audio_codes, out.audio_values

    return run, [(rand(1, 1, 64, seed=s),) for s in range(3)]


@model("transformers", "the nearest entries of a codebook, residual after residual")
def mimi_quantizer():
    from transformers import MimiConfig, MimiModel

    m = randomise(
        MimiModel(
            MimiConfig(
                hidden_size=16,
                num_filters=2,
                num_residual_layers=1,
                upsampling_ratios=[2, 2],
                codebook_size=8,
                codebook_dim=8,
                vector_quantization_hidden_dimension=8,
                num_quantizers=3,
                num_semantic_quantizers=1,
                num_hidden_layers=1,
                num_attention_heads=2,
                num_key_value_heads=2,
                intermediate_size=16,
                sliding_window=4,
                upsample_groups=16,
                frame_rate=1000.0,
                sampling_rate=8000,
            )
        )
    )
    return (lambda x: m.quantizer.encode(x)), [(rand(1, 16, 5, seed=s),) for s in range(3)]


@model("snac", "codes at several rates, residual after residual")
def snac_codes():
    from snac import SNAC

    m = randomise(
        SNAC(
            sampling_rate=8000,
            encoder_dim=4,
            encoder_rates=[2, 2],
            decoder_dim=16,
            decoder_rates=[2, 2],
            attn_window_size=None,
            codebook_size=8,
            codebook_dim=4,
            vq_strides=[2, 1],
            noise=False,
            depthwise=False,
        )
    )
    return (lambda x: m.decode(m.encode(x))), [(rand(1, 1, 32, seed=s),) for s in range(3)]


@model("descript-audio-codec", "as many codebooks as asked for, residual after residual")
def dac_quantizer():
    from dac.nn.quantize import ResidualVectorQuantize

    m = randomise(ResidualVectorQuantize(6, n_codebooks=3, codebook_size=8, codebook_dim=4))
    return (lambda z, n: m(z, n_quantizers=int(n))[:2]), [
        (rand(1, 6, 5, seed=s), torch.tensor(n)) for s, n in enumerate([3, 1, 2])
    ]


@model("TTS", "codes are replaced only in training; the code book by distances")
def xtts_quantize():
    from TTS.tts.layers.xtts.dvae import Quantize

    return randomise(Quantize(6, 10)), [(rand(2, 5, 6, seed=s),) for s in range(3)]
