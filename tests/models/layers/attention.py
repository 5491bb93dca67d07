# SPDX-License-Identifier: Apache-2.0
"""Attention that looks where it matters: buckets, clusters, blocks, slots, nearest points."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise


@model("native-sparse-attention-pytorch", "blocks chosen by importance, attended to in full")
def native_sparse_attention():
    from native_sparse_attention_pytorch import SparseAttention

    m = randomise(SparseAttention(dim=16, dim_head=8, heads=2, sliding_window_size=2, compress_block_size=4,
                                  compress_block_sliding_stride=2, selection_block_size=4, num_selected_blocks=2))
    return (lambda x: m(x)), [(rand(1, 13, 16, seed=s),) for s in range(3)]


@model("routing-transformer", "tokens attend within their cluster")
def routing_transformer():
    from routing_transformer import RoutingTransformerLM

    m = randomise(
        RoutingTransformerLM(
            num_tokens=12, dim=8, heads=2, depth=1, max_seq_len=16, causal=True, window_size=8, n_local_attn_heads=1
        )
    )
    for name, buffer in m.named_buffers():
        if name.endswith("initted"):
            buffer.fill_(True)  # else the first call draws the means at random
    return (lambda x: m(x)[0]), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("sinkhorn-transformer", "buckets sorted by Sinkhorn iterations")
def sinkhorn_transformer():
    from sinkhorn_transformer import SinkhornTransformerLM

    m = randomise(
        SinkhornTransformerLM(num_tokens=12, dim=8, heads=2, depth=1, max_seq_len=16, bucket_size=4, causal=False)
    )
    return (lambda x: m(x)), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("reformer-pytorch", "attention within buckets of a hash; the hash is drawn at random unless fixed")
def reformer_full_attention():
    from reformer_pytorch import ReformerLM

    m = randomise(
        ReformerLM(
            num_tokens=12,
            dim=8,
            depth=1,
            heads=2,
            max_seq_len=16,
            bucket_size=4,
            n_hashes=1,
            causal=True,
            full_attn_thres=64,
        )
    )
    return (lambda x: m(x)), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("h-transformer-1d", "hierarchical attention: blocks of doubling size")
def h_transformer():
    from h_transformer_1d import HTransformer1D

    m = randomise(HTransformer1D(num_tokens=12, dim=8, depth=1, causal=False, max_seq_len=16, heads=2, dim_head=4,
                                 block_size=4))
    return (lambda x, k: m(x, mask=k)), [
        (ints(1, 16, high=12, seed=s), torch.arange(16)[None] < 16 - 5 * s) for s in range(3)]


@model("h-transformer-1d", "hierarchical causal attention")
def h_transformer_causal():
    from h_transformer_1d import HTransformer1D

    m = randomise(
        HTransformer1D(num_tokens=12, dim=8, depth=1, causal=True, max_seq_len=16, heads=2, dim_head=4, block_size=4)
    )
    return (lambda x: m(x)), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("perceiver-pytorch", "latents attend to inputs again and again")
def perceiver():
    from perceiver_pytorch import Perceiver

    m = randomise(
        Perceiver(
            input_channels=3,
            input_axis=1,
            num_freq_bands=2,
            max_freq=4.0,
            depth=2,
            num_latents=4,
            latent_dim=8,
            cross_heads=1,
            latent_heads=2,
            cross_dim_head=4,
            latent_dim_head=4,
            num_classes=3,
        )
    )
    masks = [torch.ones(1, 6, dtype=torch.bool), torch.tensor([[1, 1, 1, 0, 0, 0]]).bool()]
    return (lambda x, mask: m(x, mask=mask)), [(rand(1, 6, 3, seed=i), mask) for i, mask in enumerate(masks)]


@model("slot-attention", "iterative attention of slots; the starting slots are drawn, here of zero width")
def slot_attention():
    from slot_attention import SlotAttention

    m = randomise(SlotAttention(num_slots=3, dim=6, iters=3))
    with torch.no_grad():
        m.slots_logsigma.fill_(-60.0)
    return (lambda x: m(x)), [(rand(2, 5, 6, seed=s),) for s in range(3)]


@model("linear-attention-transformer", "attention without a softmax, padding masked")
def linear_attention_transformer():
    from linear_attention_transformer import LinearAttentionTransformerLM

    m = randomise(
        LinearAttentionTransformerLM(
            num_tokens=12, dim=16, heads=2, depth=1, max_seq_len=8, causal=False, n_local_attn_heads=0
        )
    )
    return (lambda x, mask: m(x, input_mask=mask)), [
        (ints(1, 8, high=12, seed=s), (torch.arange(8) < 8 - 2 * s)[None]) for s in range(3)
    ]


@model("mixture-of-attention", "queries and keys routed to experts of attention", rtol=1e-3, atol=1e-4)
def mixture_of_attention_lm():
    from mixture_of_attention.transformer import Transformer

    m = randomise(
        Transformer(
            dim=16,
            num_tokens=12,
            depth=1,
            seq_len=16,
            local_attn_window_size=4,
            num_routed_queries=2,
            num_routed_key_values=4,
            num_experts=2,
            dim_head=8,
            heads=2,
            use_triton=False,
        )
    )
    return m, [(ints(1, 16, high=12, seed=s),) for s in range(3)]


@model("muse-maskgit-pytorch", "a self-conditioned masked transformer with classifier-free guidance")
def muse_transformer():
    from muse_maskgit_pytorch.muse_maskgit_pytorch import TransformerBlocks

    m = randomise(TransformerBlocks(dim=8, depth=1, dim_head=4, heads=2))
    masks = [torch.ones(2, 3).bool(), torch.tensor([[1, 1, 0], [1, 0, 0]]).bool()]
    return (lambda x, c, k: m(x, context=c, context_mask=k)), [
        (rand(2, 4, 8, seed=i), rand(2, 3, 8, seed=i + 5), k) for i, k in enumerate(masks)]


@model("point-transformer-pytorch", "attention among the nearest points")
def point_transformer():
    from point_transformer_pytorch import PointTransformerLayer

    m = randomise(PointTransformerLayer(dim=6, pos_mlp_hidden_dim=8, attn_mlp_hidden_mult=2, num_neighbors=3))
    return (lambda x, p: m(x, p, mask=torch.ones(1, 6).bool())), [
        (rand(1, 6, 6, seed=s), rand(1, 6, 3, seed=s + 5)) for s in range(3)
    ]


@model("torch", "a padded batch through the encoder")
def transformer_encoder_with_padding():
    m = randomise(
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, enable_nested_tensor=False)
    )
    masks = [torch.zeros(2, 4, dtype=torch.bool), torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]).bool()]
    return (lambda x, mask: m(x, src_key_padding_mask=mask)), [
        (rand(2, 4, 8, seed=i), mask) for i, mask in enumerate(masks)
    ]


@model("labml-nn", "capsules routed by agreement, the longest of them read")
def labml_capsules():
    from labml_nn.capsule_networks import Router

    m = randomise(Router(6, 3, 4, 5, iterations=3), scale=2.0)

    def run(u):
        v = m(u)
        best = v.norm(dim=-1).argmax(-1)
        return v[torch.arange(len(v)), best], best

    return run, [(rand(2, 6, 4, seed=s),) for s in range(3)]
