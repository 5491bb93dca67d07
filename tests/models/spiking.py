# SPDX-License-Identifier: Apache-2.0
"""Spiking nets, face detectors, decoders of speech and parsing packages, agents."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise, with_torchvision_operators


@model("spikingjelly", "neurons that fire and reset over time; their membranes are reset between inputs")
def spikingjelly_lif():
    from spikingjelly.activation_based import functional, layer, neuron

    net = randomise(nn.Sequential(layer.Linear(4, 6), neuron.LIFNode(), layer.Linear(6, 3), neuron.IFNode()), scale=3.0)

    def run(x):
        functional.reset_net(net)
        total = 0
        for _ in range(3):
            total = total + net(x)
        return total

    return run, [(rand(2, 4, seed=s, scale=1 + s),) for s in range(3)]


@model("spikingjelly", "neurons whose membranes live from call to call")
def spikingjelly_stateful():
    from spikingjelly.activation_based import layer, neuron

    return randomise(nn.Sequential(layer.Linear(4, 6), neuron.LIFNode(), layer.Linear(6, 3), neuron.IFNode()), scale=3.0), [
        (rand(2, 4, seed=s, scale=1 + s),) for s in range(4)]


@model("facenet-pytorch", "the first net of a cascade: boxes above a threshold", rtol=1e-3, atol=1e-3)
def mtcnn_first_stage():
    from facenet_pytorch.models.mtcnn import PNet
    from facenet_pytorch.models.utils.detect_face import generateBoundingBox

    m = randomise(PNet(pretrained=False), scale=1.5)

    def run(x):
        reg, probs = m(x)
        return generateBoundingBox(reg, probs[:, 1], 1.0, 0.5)

    return run, [(rand(1, 3, 24, 24, seed=s, scale=1 + s),) for s in range(4)]


@model("retinaface-pytorch", "boxes decoded from priors")
def retinaface_decode():
    from retinaface.box_utils import decode

    priors = rand(6, 4, seed=9).sigmoid()
    return (lambda loc: decode(loc, priors, [0.1, 0.2])), [(rand(6, 4, seed=s),) for s in range(2)]


@model("supar", "projective trees by Eisner's algorithm")
def supar_eisner():
    from supar.structs.fn import mst  # noqa: F401
    from supar.structs.tree import DependencyCRF

    lens = torch.tensor([3])
    return (lambda s: DependencyCRF(s, lens).argmax), [(rand(1, 4, 4, seed=s, scale=2),) for s in range(3)]


@model("routing-transformer", "tokens attend within their cluster")
def routing_transformer():
    from routing_transformer import RoutingTransformerLM

    m = randomise(RoutingTransformerLM(num_tokens=12, dim=8, heads=2, depth=1, max_seq_len=16, causal=True, window_size=8, n_local_attn_heads=1))
    for name, buffer in m.named_buffers():
        if name.endswith("initted"):
            buffer.fill_(True)  # else the first call draws the means at random
    return (lambda x: m(x)[0]), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("sinkhorn-transformer", "buckets sorted by Sinkhorn iterations")
def sinkhorn_transformer():
    from sinkhorn_transformer import SinkhornTransformerLM

    m = randomise(SinkhornTransformerLM(num_tokens=12, dim=8, heads=2, depth=1, max_seq_len=16, bucket_size=4, causal=False))
    return (lambda x: m(x)), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("perceiver-pytorch", "latents attend to inputs again and again")
def perceiver():
    from perceiver_pytorch import Perceiver

    m = randomise(Perceiver(input_channels=3, input_axis=1, num_freq_bands=2, max_freq=4.0, depth=2, num_latents=4, latent_dim=8,
                            cross_heads=1, latent_heads=2, cross_dim_head=4, latent_dim_head=4, num_classes=3))
    masks = [torch.ones(1, 6, dtype=torch.bool), torch.tensor([[1, 1, 1, 0, 0, 0]]).bool()]
    return (lambda x, mask: m(x, mask=mask)), [(rand(1, 6, 3, seed=i), mask) for i, mask in enumerate(masks)]


@model("reformer-pytorch", "attention within buckets of a hash; the hash is drawn at random unless fixed")
def reformer_full_attention():
    from reformer_pytorch import ReformerLM

    m = randomise(ReformerLM(num_tokens=12, dim=8, depth=1, heads=2, max_seq_len=16, bucket_size=4, n_hashes=1, causal=True,
                             full_attn_thres=64))
    return (lambda x: m(x)), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("torchvision", "a detector's anchors matched to boxes, low-quality matches kept")
def torchvision_matcher():
    from torchvision.models.detection._utils import Matcher
    from torchvision.ops import box_iou

    with_torchvision_operators()
    match = Matcher(0.6, 0.3, allow_low_quality_matches=True)

    def run(a, b):
        return match(box_iou(torch.cat([a, a + 1], 1), torch.cat([b, b + 1], 1)))

    return run, [(rand(3, 2, seed=s, scale=0.7), rand(5, 2, seed=s + 9, scale=0.7)) for s in range(4)]


@model("snntorch", "synaptic neurons with hidden states in the module")
def snntorch_synaptic():
    import snntorch as snn
    from snntorch import utils

    net = randomise(nn.Sequential(nn.Linear(4, 6), snn.Synaptic(alpha=0.9, beta=0.8, init_hidden=True), nn.Linear(6, 3),
                                  snn.Leaky(beta=0.8, init_hidden=True, output=True)), scale=3.0)

    def run(x):
        utils.reset(net)
        return torch.stack([net(x)[0] for _ in range(3)])

    return run, [(rand(2, 4, seed=s, scale=1 + s),) for s in range(3)]


@model("snntorch", "spiking LSTM")
def snntorch_slstm():
    import snntorch as snn

    m = randomise(snn.SLSTM(4, 6, threshold=0.1), scale=3.0)

    def run(x):
        syn, mem = m.init_slstm()
        spikes = []
        for t in range(x.shape[0]):
            spike, syn, mem = m(x[t], syn, mem)
            spikes.append(spike)
        return torch.stack(spikes), mem

    return run, [(rand(4, 2, 4, seed=s, scale=1 + s),) for s in range(3)]


@model("spikingjelly", "convolutions and parametric neurons over all time steps at once")
def spikingjelly_multistep():
    from spikingjelly.activation_based import functional, layer, neuron

    net = randomise(nn.Sequential(layer.Conv2d(1, 4, 3, padding=1), layer.BatchNorm2d(4), neuron.ParametricLIFNode(),
                                  layer.MaxPool2d(2), layer.Flatten(), layer.Linear(64, 3), neuron.LIFNode()), scale=3.0)
    functional.set_step_mode(net, "m")

    def run(x):
        functional.reset_net(net)
        return net(x).mean(0)

    return run, [(rand(4, 1, 1, 8, 8, seed=s, scale=1 + s),) for s in range(3)]
