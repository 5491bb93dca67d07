# SPDX-License-Identifier: Apache-2.0
"""Optical flow refined in iterations; depth by a head that a classifier chooses."""

from torch import nn

from tests.models.registry import model, rand, randomise


def residual_block():
    from torchvision.models.optical_flow.raft import ResidualBlock

    return ResidualBlock


@model("torchvision", "optical flow refined in iterations")
def raft():
    from torchvision.models.optical_flow.raft import _raft

    m = randomise(
        _raft(
            weights=None,
            progress=False,
            feature_encoder_layers=(8, 8, 8, 12, 16),
            feature_encoder_block=residual_block(),
            feature_encoder_norm_layer=nn.InstanceNorm2d,
            context_encoder_layers=(8, 8, 8, 12, 24),
            context_encoder_block=residual_block(),
            context_encoder_norm_layer=nn.BatchNorm2d,
            corr_block_num_levels=2,
            corr_block_radius=2,
            motion_encoder_corr_layers=(8,),
            motion_encoder_flow_layers=(8, 8),
            motion_encoder_out_channels=10,
            recurrent_block_hidden_state_size=8,
            recurrent_block_kernel_size=((3, 3),),
            recurrent_block_padding=((1, 1),),
            flow_head_hidden_size=8,
            use_mask_predictor=False,
        )
    )
    return (lambda a, b: m(a, b, num_flow_updates=2)[-1]), [
        (rand(1, 3, 32, 32, seed=s), rand(1, 3, 32, 32, seed=s + 4)) for s in range(2)
    ]


@model("transformers", "which metric head runs is decided by a classifier over the image")
def zoedepth_two_heads():
    from transformers.models.zoedepth import modeling_zoedepth as m

    config = m.ZoeDepthConfig(
        backbone_config=dict(
            model_type="beit",
            image_size=32,
            patch_size=8,
            hidden_size=16,
            num_hidden_layers=4,
            num_attention_heads=2,
            intermediate_size=24,
            out_features=["stage1", "stage2", "stage3", "stage4"],
            reshape_hidden_states=False,
        ),
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        bottleneck_features=8,
        num_relative_features=4,
        bin_embedding_dim=8,
        num_attractors=[2, 2, 2, 2],
        num_patch_transformer_layers=1,
        patch_transformer_hidden_size=8,
        patch_transformer_intermediate_size=12,
        patch_transformer_num_attention_heads=2,
        bin_configurations=[
            dict(n_bins=4, min_depth=0.001, max_depth=10.0, name="indoor"),
            dict(n_bins=4, min_depth=0.001, max_depth=80.0, name="outdoor"),
        ],
    )
    head = randomise(m.ZoeDepthMultipleMetricDepthEstimationHeads(config), scale=1.5)

    def run(bottleneck, *blocks):
        return head(
            outconv_activation=blocks[0],
            bottleneck=bottleneck,
            feature_blocks=list(blocks[1:5]),
            relative_depth=blocks[5],
        )

    def inputs(s):
        sizes = [4, 8, 16, 32]
        return (
            rand(1, 8, 2, 2, seed=s, scale=3),
            rand(1, 4, 32, 32, seed=s),
            *[rand(1, 8, k, k, seed=s) for k in sizes],
            rand(1, 1, 32, 32, seed=s),
        )

    return run, [inputs(s) for s in range(8)]
