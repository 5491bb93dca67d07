# SPDX-License-Identifier: Apache-2.0
"""Networks over patches and windows: as many as the picture gives, kept by score, padded, blended."""

import torch

from tests.models.inputs import images
from tests.models.registry import model, rand, randomise


@model("vit-pytorch", "images of several sizes packed into sequences")
def na_vit():
    from vit_pytorch.na_vit import NaViT

    m = randomise(NaViT(image_size=16, patch_size=4, num_classes=5, dim=16, depth=1, heads=2, mlp_dim=24, dim_head=8))
    sizes = [((8, 8), (12, 4)), ((8, 8), (12, 4)), ((8, 8), (12, 4))]
    return (lambda a, b: m([a, b], group_images=True, group_max_seq_len=6)), [
        (rand(3, *p, seed=s), rand(3, *q, seed=s + 9)) for s, (p, q) in enumerate(sizes)]


@model("vit-pytorch", "memories per layer, masked between classes")
def vit_with_memories():
    from vit_pytorch.learnable_memory_vit import Adapter
    from vit_pytorch.learnable_memory_vit import ViT as MemoryViT

    v = MemoryViT(image_size=16, patch_size=8, num_classes=4, dim=16, depth=1, heads=2, mlp_dim=24)
    m = randomise(Adapter(vit=v, num_classes=3, num_memories_per_layer=2))
    return m, [(rand(1, 3, 16, 16, seed=s),) for s in range(3)]


@model("vit-pytorch", "adaptive token sampling: unique tokens kept, their number varies")
def vit_adaptive_tokens():
    from vit_pytorch.ats_vit import ViT

    m = randomise(
        ViT(
            image_size=16,
            patch_size=4,
            num_classes=3,
            dim=16,
            depth=2,
            max_tokens_per_depth=(8, 4),
            heads=2,
            mlp_dim=24,
            dim_head=8,
        )
    )
    return (lambda x: m(x)), images(1, 3, 16, 16)


@model("transformers", "patches kept by given noise: shuffled, masked, restored")
def vit_mae():
    from transformers import ViTMAEConfig, ViTMAEModel

    m = randomise(
        ViTMAEModel(
            ViTMAEConfig(
                hidden_size=8,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=12,
                image_size=8,
                patch_size=2,
                mask_ratio=0.5,
            )
        )
    )
    return (lambda x, n: tuple(m(x, noise=n).values())), [
        (rand(1, 3, 8, 8, seed=s), rand(1, 16, seed=s + 1)) for s in range(2)
    ]


@model("timm", "patches of different number per image, masked; positions by coordinates", rtol=1e-3, atol=1e-4)
def timm_naflexvit():
    import timm

    m = randomise(
        timm.create_model(
            "naflexvit_base_patch16_gap", embed_dim=8, depth=1, num_heads=2, num_classes=5, pretrained=False
        )
    )
    grid = torch.stack(torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"), -1).reshape(1, 6, 2)
    valid = [torch.ones(1, 6).bool(), torch.tensor([[1, 1, 1, 1, 0, 0]]).bool()]
    return (lambda p, c, v: m(p, patch_coord=c, patch_valid=v)), [
        (rand(1, 6, 768, seed=i), grid, v) for i, v in enumerate(valid)
    ]


@model("timm", "windows shifted, padded to a multiple of their size")
def timm_swin_dynamic():
    import timm

    m = randomise(
        timm.create_model(
            "swin_tiny_patch4_window7_224",
            img_size=32,
            window_size=4,
            embed_dim=8,
            depths=(2,),
            num_heads=(2,),
            num_classes=3,
            pretrained=False,
            strict_img_size=False,
        )
    )
    return m, [(rand(1, 3, 32, 32, seed=s),) for s in range(2)]


@model("monai", "sliding windows over a volume, blended")
def monai_sliding_window():
    from monai.inferers import SlidingWindowInferer
    from torch import nn

    net = randomise(nn.Conv2d(1, 2, 3, padding=1))
    inferer = SlidingWindowInferer(roi_size=(8, 8), sw_batch_size=2, overlap=0.25, progress=False)
    return (lambda x: inferer(x, net)), images(1, 1, 16, 12)


@model("monai", "architecture chosen by codes held in tensors")
def monai_dints():
    from monai.networks.nets import DiNTS, TopologyInstance

    space = TopologyInstance(
        channel_mul=0.25, num_blocks=2, num_depths=2, use_downsample=True, device="cpu", spatial_dims=2
    )
    m = randomise(DiNTS(space, in_channels=1, num_classes=2, use_downsample=True, spatial_dims=2))
    return (lambda x: m(x)), images(1, 1, 32, 32, n=2)
