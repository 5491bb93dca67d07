# SPDX-License-Identifier: Apache-2.0
"""SkipNet (Wang, Yu, Dou, Darrell, Gonzalez: "SkipNet: Learning Dynamic Routing in Convolutional Networks", ECCV 2018):
a gate after every block decides whether the next one runs or is skipped. ResNets of 6n+2 layers on 32 x 32 images, with
one recurrent gate shared by all blocks (an LSTM that remembers the path) or a small convolutional gate per block.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn

from zoo import data
from zoo.registry import model
from zoo.weights import seeded, settle


def conv3x3(in_planes, out_planes, stride=1):
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        out += residual
        return self.relu(out)


def repackage_hidden(h):
    """The state cut off from its history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


class RecurrentGate(nn.Module):
    """One LSTM for all blocks; its state lives in the module between two gates of one image."""

    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.rnn = nn.LSTM(input_dim, hidden_dim)
        self.hidden = None
        self.proj = nn.Linear(hidden_dim, 1)
        self.prob = nn.Sigmoid()

    def init_hidden(self, batch_size, device=None):
        return (torch.zeros(1, batch_size, self.hidden_dim, device=device),
                torch.zeros(1, batch_size, self.hidden_dim, device=device))

    def repackage_hidden(self):
        self.hidden = repackage_hidden(self.hidden)

    def forward(self, x):
        batch_size = x.size(0)
        self.rnn.flatten_parameters()
        out, self.hidden = self.rnn(x.view(1, batch_size, -1), self.hidden)
        prob = self.prob(self.proj(out.squeeze(0)))
        disc_prob = (prob > 0.5).float().detach() - prob.detach() + prob
        return disc_prob.view(batch_size, 1, 1, 1), prob


class FeedforwardGate(nn.Module):
    """Pooling and two convolutions over the block's output, and two logits: skip, run."""

    def __init__(self, pool_size, channel):
        super().__init__()
        self.maxpool = nn.MaxPool2d(2)
        self.conv1 = conv3x3(channel, channel)
        self.bn1 = nn.BatchNorm2d(channel)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(channel, channel, stride=2)
        self.bn2 = nn.BatchNorm2d(channel)
        self.relu2 = nn.ReLU(inplace=True)
        pool_size = math.floor(pool_size / 2)
        pool_size = math.floor(pool_size / 2 + 0.5)
        self.avg_layer = nn.AvgPool2d(pool_size)
        self.linear_layer = nn.Conv2d(channel, 2, kernel_size=1)
        self.prob_layer = nn.Softmax(dim=1)
        self.logprob = nn.LogSoftmax(dim=1)

    def forward(self, x):
        x = self.maxpool(x)
        x = self.relu1(self.bn1(self.conv1(x)))
        x = self.relu2(self.bn2(self.conv2(x)))
        x = self.avg_layer(x)
        x = self.linear_layer(x).squeeze(3).squeeze(2)
        softmax = self.prob_layer(x)
        logprob = self.logprob(x)
        x = (softmax[:, 1] > 0.5).float().detach() - softmax[:, 1].detach() + softmax[:, 1]
        return x.view(x.size(0), 1, 1, 1), logprob


class SkipNet(nn.Module):
    def __init__(self, layers, gate, num_classes=10, embed_dim=10, hidden_dim=10):
        super().__init__()
        self.inplanes = 16
        self.num_layers = layers
        self.gate_type = gate
        self.embed_dim = embed_dim
        self.conv1 = conv3x3(3, 16)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self._make_group(16, layers[0], group_id=1, pool_size=32)
        self._make_group(32, layers[1], group_id=2, pool_size=16)
        self._make_group(64, layers[2], group_id=3, pool_size=8)
        self.control = RecurrentGate(embed_dim, hidden_dim) if gate == "rnn" else None
        self.avgpool = nn.AvgPool2d(8)
        self.fc = nn.Linear(64, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, math.sqrt(2.0 / n))
            elif isinstance(m, nn.BatchNorm2d):
                m.weight.data.fill_(1)
                m.bias.data.zero_()
            elif isinstance(m, nn.Linear):
                m.weight.data.normal_(0, math.sqrt(2.0 / (m.weight.size(0) * m.weight.size(1))))
                m.bias.data.zero_()

    def _make_group(self, planes, blocks, group_id, pool_size):
        for i in range(blocks):
            stride = 2 if group_id > 1 and i == 0 else 1
            downsample = None
            if stride != 1 or self.inplanes != planes:
                downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes, kernel_size=1, stride=stride, bias=False),
                                           nn.BatchNorm2d(planes))
            layer = BasicBlock(self.inplanes, planes, stride, downsample)
            self.inplanes = planes
            if self.gate_type == "rnn":
                gate = nn.Sequential(nn.AvgPool2d(pool_size), nn.Conv2d(planes, self.embed_dim, kernel_size=1))
            else:
                gate = FeedforwardGate(pool_size=pool_size, channel=planes)
            setattr(self, f"group{group_id}_ds{i}", downsample)
            setattr(self, f"group{group_id}_layer{i}", layer)
            setattr(self, f"group{group_id}_gate{i}", gate)

    def decide(self, g, i, x):
        """The gate after block i of group g: (mask of the next block, its probability)."""
        gate = getattr(self, f"group{g}_gate{i}")
        if self.control is not None:
            return self.control(gate(x))
        return gate(x)

    def forward(self, x):
        """(logits, masks, probabilities of the gates) of one image."""
        if self.control is not None:
            self.control.hidden = self.control.init_hidden(x.size(0), x.device)
        x = self.relu(self.bn1(self.conv1(x)))

        masks = []
        gprobs = []
        # the first block always runs; a gate looks at the output of the block before
        x = getattr(self, "group1_layer0")(x)
        mask, gprob = self.decide(1, 0, x)
        gprobs.append(gprob)
        masks.append(mask.squeeze())
        prev = x

        for g in range(3):
            for i in range(0 + int(g == 0), self.num_layers[g]):
                if getattr(self, f"group{g + 1}_ds{i}") is not None:
                    prev = getattr(self, f"group{g + 1}_ds{i}")(prev)
                if mask.squeeze() > 0.5:
                    x = getattr(self, f"group{g + 1}_layer{i}")(x)
                else:
                    x = prev
                prev = x
                if not (g == 2 and i == self.num_layers[g] - 1):
                    mask, gprob = self.decide(g + 1, i, x)
                    gprobs.append(gprob)
                    masks.append(mask.squeeze())

        if self.control is not None:
            self.control.repackage_hidden()
        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        x = self.fc(x)
        return x, masks, gprobs

    def gates(self):
        """(group, number) of every gate in the order in which they decide."""
        return [(g, i) for g in (1, 2, 3) for i in range(self.num_layers[g - 1])][:-1]

    def calibrate(self, batch):
        """Sets the gates' biases so that on a batch of images about half of them run at every gate.

        The images go through in lock step, each on its own path, so a gate sees what it will see.
        """
        biases = []
        x = self.relu(self.bn1(self.conv1(batch)))
        if self.control is not None:
            self.control.hidden = self.control.init_hidden(len(batch))
        prev, mask = x, None
        for g in (1, 2, 3):
            for i in range(self.num_layers[g - 1]):
                downsample = getattr(self, f"group{g}_ds{i}")
                if downsample is not None:
                    prev = downsample(prev)
                run = getattr(self, f"group{g}_layer{i}")(x)
                x = run if mask is None else torch.where(mask > 0.5, run, prev)
                prev = x
                if (g, i) in self.gates():
                    biases.append(self._centre_gate(g, i, x))
                    mask = self.decide(g, i, x)[0]
        if self.control is not None:
            self.control.hidden = None
        return biases

    def _centre_gate(self, g, i, x):
        gate = getattr(self, f"group{g}_gate{i}")
        layer = gate[1] if self.control is not None else gate.linear_layer
        layer.weight.data.mul_(self._gain(gate, layer, x))
        seen = []
        hook = layer.register_forward_hook(lambda m, a, out: seen.append(out))
        gate(x)
        hook.remove()
        layer.bias.data.sub_(seen[0].flatten(2).mean(2).median(0).values)
        return layer.bias.tolist()

    def _gain(self, gate, layer, x):
        seen = []
        hook = layer.register_forward_hook(lambda m, a, out: seen.append(out))
        gate(x)
        hook.remove()
        # A larger gain would show rounding errors as large as a decision's margin.
        return (1.0 if self.control is not None else 0.5) / seen[0].std(0).mean()


def skipnet(depth=38, gate="rnn", num_classes=10, seed=0):
    """A SkipNet of 6n+2 layers (38, 74, 110, 152) with calibrated gates."""
    blocks = (depth - 2) // 6
    net = seeded(lambda: SkipNet([blocks] * 3, gate, num_classes), seed)
    if net.control is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 1)
            for p in net.control.rnn.parameters():
                p.data.normal_(0, 0.7)
            net.control.proj.weight.data.normal_(0, 1)
    batch = data.pictures(range(9000, 9064), 32)

    def run():
        x = net.relu(net.bn1(net.conv1(batch)))
        for g in (1, 2, 3):
            for i in range(net.num_layers[g - 1]):
                downsample = getattr(net, f"group{g}_ds{i}")
                if downsample is not None:
                    downsample(x)
                x = getattr(net, f"group{g}_layer{i}")(x)
                getattr(net, f"group{g}_gate{i}")(x)

    settle(net, run)
    with torch.no_grad():
        net.calibrate(batch)
    return net


def image32(seed):
    return (data.picture(seed, 32),)


@model("layer skipping", image32, "a recurrent gate before each of 17 blocks", paper=True)
def skipnet_rnn():
    return skipnet(38, "rnn")


@model("layer skipping", image32, "a convolutional gate before each of 17 blocks", paper=True)
def skipnet_ff():
    return skipnet(38, "ff")
