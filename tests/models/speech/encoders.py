# SPDX-License-Identifier: Apache-2.0
"""Encoders of speech: lengths of each sample, streams in blocks, tokens that fire."""

import torch

from tests.models.registry import ints, model, rand, randomise


@model("transformers", "frames beyond each sample's length are masked; checked by any")
def hubert_with_mask():
    from transformers import HubertConfig, HubertModel

    m = randomise(
        HubertModel(
            HubertConfig(
                hidden_size=8,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=12,
                conv_dim=(8, 8),
                conv_stride=(5, 2),
                conv_kernel=(10, 3),
                num_feat_extract_layers=2,
                num_conv_pos_embeddings=4,
                num_conv_pos_embedding_groups=2,
                vocab_size=10,
            )
        )
    )
    return (lambda x, mask: m(x, attention_mask=mask)[0]), [
        (rand(2, 80, seed=i), (torch.arange(80)[None] < torch.tensor(n)[:, None]).long())
        for i, n in enumerate([(80, 50), (80, 80)])
    ]


@model("torchaudio", "lengths of each sample cut and mask the encoder")
def torchaudio_conformer():
    from torchaudio.models import Conformer

    m = randomise(Conformer(input_dim=8, num_heads=2, ffn_dim=12, num_layers=1, depthwise_conv_kernel_size=3))
    return m, [(rand(2, 6, 8, seed=s), torch.tensor(n)) for s, n in enumerate([[6, 4], [6, 6], [2, 6]])]


@model("torchaudio", "streaming encoder with memory; lengths of each sample")
def torchaudio_emformer():
    from torchaudio.models import Emformer

    m = randomise(
        Emformer(8, 2, 12, 1, segment_length=4, left_context_length=4, right_context_length=2, max_memory_size=2)
    )
    return m, [(rand(2, 10, 8, seed=s), torch.tensor(n)) for s, n in enumerate([[8, 5], [8, 8], [3, 7]])]


@model("torchaudio", "the CTC batch is masked by lengths; feature extractor and encoder")
def torchaudio_wav2vec2():
    from torchaudio.models import wav2vec2_model

    m = randomise(
        wav2vec2_model(
            extractor_mode="layer_norm",
            extractor_conv_layer_config=[(8, 10, 5), (8, 3, 2)],
            extractor_conv_bias=True,
            encoder_embed_dim=8,
            encoder_projection_dropout=0.0,
            encoder_pos_conv_kernel=4,
            encoder_pos_conv_groups=2,
            encoder_num_layers=1,
            encoder_num_heads=2,
            encoder_attention_dropout=0.0,
            encoder_ff_interm_features=12,
            encoder_ff_interm_dropout=0.0,
            encoder_dropout=0.0,
            encoder_layer_norm_first=True,
            encoder_layer_drop=0.0,
            aux_num_out=5,
        )
    )
    return m, [(rand(2, 80, seed=s), torch.tensor(n)) for s, n in enumerate([[80, 60], [80, 80], [40, 80]])]


@model("espnet", "blocks of a stream, each with a vector that carries what came before")
def espnet_contextual_block_encoder():
    from espnet2.asr.encoder.contextual_block_transformer_encoder import ContextualBlockTransformerEncoder

    m = randomise(
        ContextualBlockTransformerEncoder(
            6,
            8,
            attention_heads=2,
            linear_units=12,
            num_blocks=1,
            input_layer="linear",
            block_size=4,
            hop_size=2,
            look_ahead=1,
            dropout_rate=0.0,
            positional_dropout_rate=0.0,
            attention_dropout_rate=0.0,
        )
    )
    return (lambda x, n: m(x, n)[:2]), [
        (rand(2, 9, 6, seed=s), torch.tensor(n)) for s, n in enumerate([[9, 9], [9, 5], [9, 2]])
    ]


@model("speechbrain", "masks as long as the longest sample")
def speechbrain_masks():
    from speechbrain.lobes.models.transformer.Transformer import get_key_padding_mask, get_mask_from_lengths

    return (lambda n, x: (get_mask_from_lengths(n), get_key_padding_mask(x, 0))), [
        (torch.tensor(n), ints(2, 4, high=3, seed=s)) for s, n in enumerate([[4, 2], [3, 3], [1, 5]])]


@model("speechbrain", "whether query, key and value are equal")
def speechbrain_rope_mha():
    from speechbrain.nnet.attention import RoPEMHA

    net = randomise(RoPEMHA(8, 2))
    q = rand(2, 5, 8, seed=0)
    return net, [
        (q, rand(2, 5, 8, seed=1), rand(2, 5, 8, seed=2)),
        (q, q.clone(), q.clone()),
        (q, q.clone(), rand(2, 5, 8, seed=2)),
    ]


@model("funasr", "continuous integrate-and-fire: a token whenever the sum passes one")
def funasr_cif():
    from funasr.models.paraformer.cif_predictor import CifPredictor

    m = randomise(CifPredictor(8, 1, 1, dropout=0.0), scale=2.0)
    return (lambda h: m(h, mask=torch.ones(h.shape[0], 1, h.shape[1]))), [
        (rand(2, 9, 8, seed=s, scale=1.5),) for s in range(5)
    ]
