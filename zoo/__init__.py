# SPDX-License-Identifier: Apache-2.0
"""Dynamic neural networks of the literature, written from their papers, with calibrated random weights.

`zoo.MODELS` is the table: name -> Entry(build, inputs(seed), family, note). Each name is also a builder here, so
`dycl compile zoo:skipnet_rnn` works. docs/zoo.md says which paper each comes from and which paths it takes.
"""

from zoo.act import adaptive_computation_time
from zoo.blockdrop import blockdrop, blockdrop_32, blockdrop_110
from zoo.captioning import caption_googlenet, caption_resnext50
from zoo.early_exit_decoder import early_exit_decoder
from zoo.mixture import mixture_of_experts
from zoo.nmt import nmt
from zoo.ranet import ranet
from zoo.registry import MODELS, Entry
from zoo.shallow_deep import sdn_mobilenet, sdn_resnet56, sdn_vgg16, sdn_wideresnet32_4
from zoo.skipnet import skipnet, skipnet_ff, skipnet_rnn
from zoo.tree_lstm import tree_lstm

__all__ = [
    "MODELS", "Entry", "adaptive_computation_time", "blockdrop", "blockdrop_110", "blockdrop_32", "caption_googlenet",
    "caption_resnext50", "early_exit_decoder", "mixture_of_experts", "nmt", "ranet", "sdn_mobilenet", "sdn_resnet56",
    "sdn_vgg16", "sdn_wideresnet32_4", "skipnet", "skipnet_ff", "skipnet_rnn", "tree_lstm",
]
