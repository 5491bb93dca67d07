# SPDX-License-Identifier: Apache-2.0
"""Spiking networks: neurons that fire over time, are reset, stay silent, and keep their state between calls."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise


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

    return randomise(
        nn.Sequential(layer.Linear(4, 6), neuron.LIFNode(), layer.Linear(6, 3), neuron.IFNode()), scale=3.0
    ), [(rand(2, 4, seed=s, scale=1 + s),) for s in range(4)]


@model("spikingjelly", "convolutions and parametric neurons over all time steps at once")
def spikingjelly_multistep():
    from spikingjelly.activation_based import functional, layer, neuron

    net = randomise(
        nn.Sequential(
            layer.Conv2d(1, 4, 3, padding=1),
            layer.BatchNorm2d(4),
            neuron.ParametricLIFNode(),
            layer.MaxPool2d(2),
            layer.Flatten(),
            layer.Linear(64, 3),
            neuron.LIFNode(),
        ),
        scale=3.0,
    )
    functional.set_step_mode(net, "m")

    def run(x):
        functional.reset_net(net)
        return net(x).mean(0)

    return run, [(rand(4, 1, 1, 8, 8, seed=s, scale=1 + s),) for s in range(3)]


@model("snntorch", "spiking neurons over time, reset by threshold")
def snntorch_leaky():
    import snntorch as snn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.lif1 = nn.Linear(4, 6), snn.Leaky(beta=0.8)
            self.fc2, self.lif2 = nn.Linear(6, 3), snn.Leaky(beta=0.8)

        def forward(self, x):
            mem1, mem2 = self.lif1.init_leaky(), self.lif2.init_leaky()
            out = []
            for _ in range(4):
                spike, mem1 = self.lif1(self.fc1(x), mem1)
                spike, mem2 = self.lif2(self.fc2(spike), mem2)
                out.append(spike)
            return torch.stack(out), mem2

    return randomise(Net(), scale=3.0), [(rand(2, 4, seed=s, scale=2),) for s in range(3)]


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


@model("sinabs", "neurons that spike several times a step; state from call to call reset")
def sinabs_iaf():
    from sinabs.layers import IAF

    def run(x):
        return IAF(min_v_mem=-1.0)(x)

    return run, [(rand(2, 5, 3, seed=s, scale=1.5),) for s in range(4)]


@model("sinabs", "adaptive thresholds")
def sinabs_alif():
    from sinabs.layers import ALIF

    def run(x):
        return ALIF(tau_mem=10.0, tau_adapt=20.0, adapt_scale=1.8)(x)

    return run, [(rand(2, 5, 3, seed=s, scale=1.5),) for s in range(4)]


@model("norse", "neurons that stay silent after a spike")
def norse_lif_refractory():
    from norse.torch.module.lif_refrac import LIFRefracFeedForwardCell

    m = LIFRefracFeedForwardCell((3,)).eval()  # the recurrent cell can't make its first state

    def run(x):
        state, out = None, []
        for t in range(x.shape[0]):
            z, state = m(x[t], state)
            out.append(z)
        return torch.stack(out)

    return run, [(rand(6, 2, 3, seed=s, scale=8).abs(),) for s in range(4)]


@model("bindsnet", "leaky neurons with refractory periods; traces", rtol=1e-3, atol=1e-4)
def bindsnet_lif():
    from bindsnet.network.nodes import LIFNodes

    def run(x):
        nodes = LIFNodes(n=4, traces=True, thresh=-60.0)
        nodes.compute_decays(dt=1.0)
        nodes.set_batch_size(2)
        spikes = []
        for step in x:
            nodes.forward(step)
            spikes.append(nodes.s.clone())
        return torch.stack(spikes), nodes.v

    return run, [(rand(4, 2, 4, seed=s, scale=20).abs(),) for s in range(3)]
