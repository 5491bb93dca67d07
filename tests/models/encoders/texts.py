# SPDX-License-Identifier: Apache-2.0
"""Encoders of text: padding asked for, sparse attention in blocks, sequences pooled, adapters per language."""

import torch

from tests.models.registry import ints, model, randomise


def padded(*lengths, length, high, seed=0):
    """Token ids with zeros for padding, and their mask."""
    mask = (torch.arange(length)[None] < torch.tensor(lengths)[:, None]).long()
    return ints(len(lengths), length, low=3, high=high, seed=seed) * mask, mask


@model("transformers", "lengths by counting what is no padding; the longest is checked")
def flaubert():
    from transformers import FlaubertConfig, FlaubertModel

    m = randomise(
        FlaubertModel(
            FlaubertConfig(vocab_size=30, emb_dim=8, n_layers=1, n_heads=2, pad_index=0, max_position_embeddings=12)
        )
    )
    return (lambda ids: m(ids)[0]), [
        (padded(*n, length=5, high=30, seed=i)[0],) for i, n in enumerate([(5, 3), (5, 5), (2, 4)])
    ]


@model("transformers", "causal attention by lengths; memory of past positions")
def xlm_with_lengths():
    from transformers import XLMConfig, XLMModel

    m = randomise(
        XLMModel(XLMConfig(vocab_size=30, emb_dim=8, n_layers=1, n_heads=2, pad_index=0, max_position_embeddings=12))
    )
    return (lambda ids, n: m(ids, lengths=n)[0]), [
        (padded(*n, length=5, high=30, seed=i)[0], torch.tensor(n)) for i, n in enumerate([(5, 3), (5, 5), (2, 4)])]


@model("transformers", "an adapter per language: runs of equal languages are split off and put together again")
def xmod_adapters():
    from transformers import XmodConfig, XmodModel

    config = XmodConfig(vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
                        languages=["en", "de", "fr"], max_position_embeddings=16)
    m = randomise(XmodModel(config))
    return (lambda ids, lang: m(ids, lang_ids=lang)[0]), [
        (ints(3, 4, low=3, high=30, seed=i), torch.tensor(l))
        for i, l in enumerate([[0, 0, 1], [2, 2, 2], [0, 1, 0], [1, 2, 2]])
    ]


@model("transformers", "relative positions and a permutation mask")
def xlnet():
    from transformers import XLNetConfig, XLNetModel

    m = randomise(XLNetModel(XLNetConfig(vocab_size=30, d_model=8, n_layer=1, n_head=2, d_inner=12)))
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [
        padded(*n, length=5, high=30, seed=i) for i, n in enumerate([(5, 3), (5, 5)])
    ]


@model("transformers", "the sequence is pooled between blocks")
def funnel():
    from transformers import FunnelConfig, FunnelModel

    m = randomise(
        FunnelModel(
            FunnelConfig(
                vocab_size=30, block_sizes=[1, 1], d_model=8, n_head=2, d_head=4, d_inner=12, num_decoder_layers=1
            )
        )
    )
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [
        padded(*n, length=6, high=30, seed=i) for i, n in enumerate([(6, 3), (6, 6)])
    ]


@model("transformers", "characters hashed into buckets, downsampled to molecules and back")
def canine():
    from transformers import CanineConfig, CanineModel

    m = randomise(
        CanineModel(
            CanineConfig(
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=12,
                num_hash_functions=2,
                num_hash_buckets=16,
                downsampling_rate=2,
                local_transformer_stride=8,
                max_position_embeddings=32,
            )
        )
    )
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [
        padded(*n, length=8, high=90, seed=i) for i, n in enumerate([(8, 3), (8, 8)])
    ]


@model("transformers", "local and global attention over padded blocks")
def pegasus_x_encoder():
    from transformers import PegasusXConfig
    from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXEncoder

    m = randomise(
        PegasusXEncoder(
            PegasusXConfig(
                vocab_size=30,
                d_model=8,
                encoder_layers=1,
                encoder_attention_heads=2,
                encoder_ffn_dim=12,
                num_global_tokens=2,
                block_size=4,
                max_position_embeddings=32,
            )
        )
    )
    return (lambda ids, mask: m(input_ids=ids, attention_mask=mask)[0]), [
        padded(*n, length=7, high=30, seed=i) for i, n in enumerate([(7, 3), (7, 7)])]


@model("transformers", "transient global tokens made from blocks of the sequence")
def long_t5_encoder():
    from transformers import LongT5Config, LongT5EncoderModel

    m = randomise(
        LongT5EncoderModel(
            LongT5Config(
                vocab_size=30,
                d_model=8,
                d_kv=4,
                d_ff=12,
                num_layers=1,
                num_heads=2,
                local_radius=2,
                global_block_size=2,
                encoder_attention_type="transient-global",
                dropout_rate=0.0,
            )
        )
    )
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [
        padded(*n, length=6, high=30, seed=i) for i, n in enumerate([(6, 3), (6, 6)])
    ]


@model("transformers", "state space layers; padding is zeroed only if there is a batch")
def mamba2():
    from transformers import Mamba2Config, Mamba2Model

    m = randomise(
        Mamba2Model(
            Mamba2Config(
                vocab_size=20,
                hidden_size=8,
                state_size=4,
                num_hidden_layers=1,
                num_heads=4,
                head_dim=4,
                n_groups=1,
                chunk_size=4,
            )
        )
    )
    return (lambda ids, mask: m(ids, attention_mask=mask, use_cache=False)[0]), [
        padded(*n, length=6, high=20, seed=i) for i, n in enumerate([(6, 3), (6, 6)])]


@model("transformers", "landmarks and an iterative inverse")
def nystromformer():
    from transformers import NystromformerConfig, NystromformerModel

    m = randomise(
        NystromformerModel(
            NystromformerConfig(
                vocab_size=30,
                hidden_size=8,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=12,
                num_landmarks=2,
                segment_means_seq_len=8,
                max_position_embeddings=16,
                conv_kernel_size=3,
            )
        )
    )
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [
        padded(*n, length=8, high=30, seed=i) for i, n in enumerate([(8, 3), (8, 8)])
    ]


@model("transformers", "sparse attention in blocks; the input padded to whole blocks")
def bigbird():
    from transformers import BigBirdConfig, BigBirdModel

    config = BigBirdConfig(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
        attention_type="block_sparse",
        block_size=2,
        num_random_blocks=1,
    )
    m = randomise(BigBirdModel(config))
    masks = [torch.ones(1, 22, dtype=torch.long), (torch.arange(22) < 15).long().unsqueeze(0)]
    return (lambda ids, mask: m(ids, attention_mask=mask).last_hidden_state), [
        (ints(1, 22, low=1, high=12, seed=s), masks[s]) for s in range(2)]


@model("transformers", "disentangled attention over a padded batch")
def deberta_v2():
    from transformers import DebertaV2Config, DebertaV2Model

    config = DebertaV2Config(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=32,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=4,
        type_vocab_size=0,
    )
    m = randomise(DebertaV2Model(config))
    masks = [torch.ones(2, 5, dtype=torch.long), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])]
    return (lambda ids, mask: m(ids, attention_mask=mask).last_hidden_state), [
        (ints(2, 5, low=1, high=12, seed=s), masks[s]) for s in range(2)]


@model("transformers", "local attention in chunks; the input padded to whole chunks")
def reformer_local():
    from transformers import ReformerConfig, ReformerModel

    config = ReformerConfig(
        vocab_size=12,
        hidden_size=16,
        attention_head_size=8,
        num_attention_heads=2,
        feed_forward_size=24,
        axial_pos_shape=(4, 4),
        axial_pos_embds_dim=(8, 8),
        attn_layers=["local", "local"],
        local_attn_chunk_length=4,
        max_position_embeddings=16,
        is_decoder=False,
        pad_token_id=0,
    )
    m = randomise(ReformerModel(config))
    masks = [torch.ones(1, 10, dtype=torch.long), (torch.arange(10) < 7).long().unsqueeze(0)]
    return (lambda ids, mask: m(ids, attention_mask=mask).last_hidden_state), [
        (ints(1, 10, low=1, high=12, seed=s), masks[s]) for s in range(2)]


@model("transformers", "global attention only if some token asks for it")
def longformer():
    from transformers import LongformerConfig, LongformerModel

    config = LongformerConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        attention_window=4,
        max_position_embeddings=32,
        pad_token_id=0,
    )
    m = randomise(LongformerModel(config, add_pooling_layer=False))
    marks = [
        torch.zeros(1, 8, dtype=torch.long),
        torch.tensor([[1, 0, 0, 0, 0, 0, 0, 0]]),
        torch.tensor([[1, 0, 0, 1, 0, 0, 0, 0]]),
    ]
    return (lambda ids, g: m(ids, global_attention_mask=g).last_hidden_state), [
        (ints(1, 8, low=1, high=40, seed=i), g) for i, g in enumerate(marks)]


@model("transformers", "global attention in an encoder-decoder, and padding")
def led_encoder():
    from transformers import LEDConfig, LEDModel

    config = LEDConfig(vocab_size=40, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                       decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, attention_window=4,
                       max_encoder_position_embeddings=32, max_decoder_position_embeddings=32, pad_token_id=0)
    m = randomise(LEDModel(config)).encoder
    marks = [torch.zeros(1, 8, dtype=torch.long), torch.tensor([[1, 0, 0, 0, 0, 1, 0, 0]])]
    return (lambda ids, g: m(ids, global_attention_mask=g).last_hidden_state), [
        (ints(1, 8, low=1, high=40, seed=i), g) for i, g in enumerate(marks)]


@model("transformers", "the padding mask decides whether a mask is built at all")
def llama_with_padding():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=40,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=32,
    )
    m = randomise(LlamaForCausalLM(config))
    masks = [torch.ones(2, 5, dtype=torch.long), torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])]
    return (lambda ids, mask: m(ids, attention_mask=mask, use_cache=False).logits), [
        (ints(2, 5, high=40, seed=i), mask) for i, mask in enumerate(masks)]


@model("pytorch-transformers", "a warning where no sentence begins with <s>")
def pytorch_transformers_roberta():
    from pytorch_transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(
        vocab_size_or_config_json_file=30,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=20,
    )
    with_start = ints(2, 6, low=3, high=30, seed=0)
    with_start[:, 0] = 0
    return randomise(RobertaModel(config)), [(with_start,), (ints(2, 6, low=3, high=30, seed=1),)]
