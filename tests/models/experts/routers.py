# SPDX-License-Identifier: Apache-2.0
"""Routers of other packages: capacity and overflow, thresholds, product keys, soft slots, a network per species."""

import torch

from tests.models.inputs import blocks
from tests.models.registry import model, rand, randomise


@model("mixture-of-experts", "top-2 gating with capacity; overflow dropped")
def lucidrains_moe():
    from mixture_of_experts import MoE

    return randomise(MoE(dim=16, num_experts=4, hidden_dim=24, second_policy_eval="all")), blocks(2, 8, 16)


@model("st-moe-pytorch", "routing with threshold and capacity")
def st_moe():
    from st_moe_pytorch import MoE

    m = randomise(
        MoE(dim=16, num_experts=4, threshold_eval=1e-6)
    )  # at larger ones it draws random numbers even in eval
    return (lambda x: m(x)[0]), blocks(2, 8, 16)


@model("colt5-attention", "conditional routing: only chosen tokens take the heavy branch")
def colt5_feedforward():
    from colt5_attention import ConditionalRoutedFeedForward

    return (
        randomise(ConditionalRoutedFeedForward(16, light_ff_mult=0.5, heavy_ff_mult=2, num_heavy_tokens=3)),
        blocks(2, 8, 16)[:4],
    )


@model("torchani", "atoms of each species go to that species' network, if there are any")
def torchani_networks():
    from torchani.nn import ANINetworks, AtomicNetwork

    m = randomise(ANINetworks({symbol: AtomicNetwork((6, 5, 4, 1)) for symbol in ("H", "C", "N")}))
    species = [torch.tensor(v) for v in ([[0, 1, 2, 0]], [[0, 0, 0, 0]], [[2, 2, 1, -1]], [[1, 1, 1, 1]])]
    return (lambda s, a: m(s, a)), [(s, rand(1, 4, 6, seed=i)) for i, s in enumerate(species)]


@model("PEER-pytorch", "a million tiny experts: those whose product keys score best are gathered")
def peer():
    from PEER_pytorch import PEER

    return randomise(PEER(dim=16, heads=2, num_experts=64, num_experts_per_head=4, dim_key=8)), blocks(2, 5, 16)


@model("soft-moe-pytorch", "slots are convex combinations of tokens: no discrete routing")
def soft_moe():
    from soft_moe_pytorch import SoftMoE

    m = randomise(SoftMoE(dim=16, seq_len=6, num_experts=3))
    return (lambda x: m(x)), [(rand(1, 6, 16, seed=s),) for s in range(3)]


@model("labml-nn", "tokens routed to one expert each")
def labml_switch_feed_forward():
    from labml_nn.transformers.feed_forward import FeedForward
    from labml_nn.transformers.switch import SwitchFeedForward

    m = randomise(SwitchFeedForward(capacity_factor=1.0, drop_tokens=False, is_scale_prob=True, n_experts=3,
                                    expert=FeedForward(8, 12, 0.0), d_model=8), scale=2.0)
    return (lambda x: m(x)), [(rand(4, 2, 8, seed=s, scale=2),) for s in range(4)]
