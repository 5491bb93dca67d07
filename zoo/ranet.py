# SPDX-License-Identifier: Apache-2.0
"""RANet (Yang, Han, Chen, Song, Dai, Huang: "Resolution Adaptive Networks for Efficient Inference", CVPR 2020):
sub-networks of rising resolution, each of dense blocks that also read the features of the sub-network before;
classifiers along the way. Easy images exit at low resolution. The configuration for 32 x 32 images:
four scales, two exits each.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from zoo import data
from zoo.registry import model
from zoo.skipnet import image32
from zoo.weights import constants, keep_differences, seeded, set_exit_heads, settle


class ConvBasic(nn.Module):
    def __init__(self, nIn, nOut, kernel=3, stride=1, padding=1):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(nIn, nOut, kernel, stride=stride, padding=padding, bias=False),
                                 nn.BatchNorm2d(nOut), nn.ReLU(True))

    def forward(self, x):
        return self.net(x)


class ConvBottleneck(nn.Module):
    """1x1 to a narrow width, then 3x3, each with batch norm; `down` halves the resolution, `up` doubles it."""

    def __init__(self, nIn, nOut, bottleneck, down=False, up=False):
        super().__init__()
        inner = min(nIn, bottleneck * nOut)
        self.conv1 = ConvBasic(nIn, inner, kernel=1, padding=0)
        self.conv2 = ConvBasic(inner, nOut, stride=2 if down else 1)
        self.up = up

    def forward(self, x):
        x = self.conv2(self.conv1(x))
        if self.up:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        return x


class DenseBlock(nn.Module):
    """Layers that each see all before; answers (output, features of every layer)."""

    kind = "dense"

    def __init__(self, layers, nIn, growth, bottleneck, reduction, transition):
        super().__init__()
        self.layers = nn.ModuleList(ConvBottleneck(nIn + i * growth, growth, bottleneck) for i in range(layers))
        self.widths = [nIn + i * growth for i in range(layers + 1)]
        self.nOut = self.widths[-1]
        self.trans = None
        if transition:
            self.nOut = math.floor(reduction * self.nOut)
            self.trans = ConvBasic(self.widths[-1], self.nOut, kernel=1, stride=1, padding=0)

    def forward(self, x):
        output = [x]
        for layer in self.layers:
            x = torch.cat([x, layer(x)], dim=1)
            output.append(x)
        if self.trans is not None:
            x = self.trans(x)
            x = F.avg_pool2d(x, 2)
        return x, output


class FusionBlock(nn.Module):
    """A dense block whose layers also read the upsampled features of the sub-network of lower resolution."""

    kind = "fusion"

    def __init__(self, layers, nIn, low_widths, growth, bottleneck, reduction, transition, down, compress=0.25):
        super().__init__()
        low_growth = math.floor(growth * compress)
        self.layers, self.lows = nn.ModuleList(), nn.ModuleList()
        for i in range(layers):
            width = nIn + i * growth
            self.layers.append(ConvBottleneck(width, growth - low_growth, bottleneck))
            self.lows.append(ConvBottleneck(low_widths[i], low_growth, bottleneck, up=True))
        self.widths = [nIn + i * growth for i in range(layers + 1)]
        self.last_low = math.floor(self.widths[-1] * compress)
        self.fuse = ConvBottleneck(low_widths[-1], self.last_low, bottleneck, up=True)
        self.nOut = self.widths[-1] + self.last_low
        self.trans = None
        if transition:
            before = self.nOut
            self.nOut = math.floor(reduction * self.nOut)
            self.trans = ConvBasic(before, self.nOut, kernel=1, stride=1, padding=0)

    def forward(self, x, low_feat):
        output = [x]
        for i, layer in enumerate(self.layers):
            low = self.lows[i](low_feat[i])
            x = torch.cat([x, layer(x), _fit(low, x)], dim=1)
            output.append(x)
        x = torch.cat([x, _fit(self.fuse(low_feat[-1]), x)], dim=1)
        if self.trans is not None:
            x = self.trans(x)
            x = F.avg_pool2d(x, 2)
        return x, output


def _fit(low, like):
    """The features of the smaller network at the size of the larger one's, whatever transitions either made."""
    if low.shape[-2:] != like.shape[-2:]:
        low = F.interpolate(low, size=like.shape[-2:], mode="bilinear", align_corners=True)
    return low


class Classifier(nn.Module):
    def __init__(self, nIn, num_classes, inter=128):
        super().__init__()
        self.m = nn.Sequential(ConvBasic(nIn, inter, stride=2),
                               ConvBasic(inter, inter, stride=2), nn.AdaptiveAvgPool2d(1))
        self.linear = nn.Linear(inter, num_classes)

    def forward(self, x):
        res = self.m(x)
        res = res.view(res.size(0), -1)
        return self.linear(res)


class RANet(nn.Module):
    def __init__(self, channels=16, growth_rate=6, factors=(4, 2, 1, 1), transitions=(1, 2, 3, 3), block_step=2, step=4,
                 reduction=0.5, num_classes=10, threshold=0.6):
        super().__init__()
        self.nScales = len(factors)
        self.nBlocks = [0]
        for s in range(self.nScales):
            self.nBlocks.append(self.nBlocks[-1] + block_step)
        # base features from the finest scale down; the sub-networks run from the coarsest up
        self.first = nn.ModuleList()
        width = 3
        for s in reversed(range(self.nScales)):
            self.first.append(ConvBasic(width, channels * factors[s], stride=1 if s == self.nScales - 1 else 2))
            width = channels * factors[s]
        self.scale_flows = nn.ModuleList()
        self.classifier = nn.ModuleList()
        low_widths = []
        for s in range(self.nScales):
            growth, total = growth_rate * factors[s], self.nBlocks[s + 1]
            nIn, flow, widths = channels * factors[s], nn.ModuleList(), []
            for number in range(1, total + 1):
                trans = any(number == math.floor((i + 1) * total / transitions[s]) for i in range(transitions[s] - 1))
                if number > self.nBlocks[s]:
                    block = DenseBlock(step, nIn, growth, 2, reduction, trans)
                else:
                    block = FusionBlock(step, nIn, low_widths[number - 1], growth, 2, reduction, trans, False)
                nIn = block.nOut
                widths.append(block.widths)
                flow.append(block)
                if number > self.nBlocks[s]:
                    self.classifier.append(Classifier(nIn, num_classes))
            low_widths = widths
            self.scale_flows.append(flow)
        self.threshold = [threshold] * (len(self.classifier) - 1) + [-1.0]
        self.confidence_threshold = threshold
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, math.sqrt(2.0 / n))

    def pyramid(self, x):
        res = []
        for layer in self.first:
            x = layer(x)
            res.append(x)
        return res[::-1]

    def forward(self, x, threshold=None):
        """(logits of the exit taken, the logits seen on the way) of one image."""
        threshold = self.threshold if threshold is None else threshold
        inp = self.pyramid(x)
        res, low_ftrs = [], []
        classifier_idx = 0
        for ii in range(self.nScales):
            _x = inp[ii]
            _low_ftrs = []
            n_block_curr = 0
            for i in range(self.nBlocks[ii + 1]):
                if self.scale_flows[ii][i].kind == "dense":
                    _x, _low_ftr = self.scale_flows[ii][i](_x)
                else:
                    _x, _low_ftr = self.scale_flows[ii][i](_x, low_ftrs[i])
                _low_ftrs.append(_low_ftr)
                n_block_curr += 1

                if n_block_curr > self.nBlocks[ii]:
                    logits = self.classifier[classifier_idx](_x)
                    res.append(logits)
                    probs = F.softmax(logits, dim=-1)
                    if probs.max() > threshold[classifier_idx]:
                        return logits, res
                    classifier_idx += 1

            low_ftrs = _low_ftrs
        return res[-1], res

    def all_outputs(self, x):
        return self.forward(x, [math.inf] * len(self.classifier))[1]

    def exit_heads(self):
        return [c.linear for c in self.classifier]


@model("early exit", image32, "eight classifiers over four resolutions; the first confident one answers")
def ranet():
    net = seeded(RANet)
    keep_differences(net)
    batch = data.pictures(range(9000, 9032), 32)
    settle(net, lambda: net.all_outputs(batch))
    set_exit_heads(net.exit_heads(), constants("ranet"))
    return net
