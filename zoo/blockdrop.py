# SPDX-License-Identifier: Apache-2.0
"""BlockDrop (Wu, Nagarajan, Kumar, Rennie, Davis, Grauman, Feris: "BlockDrop: Dynamic Inference Paths in Residual
Networks", CVPR 2018): a small policy network looks at the image and names, in one go, the residual blocks to run; the
others are dropped. ResNet-32 (15 blocks) and ResNet-110 (54 blocks) on 32 x 32 images, an 8-layer policy network.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from zoo import data
from zoo.registry import model
from zoo.skipnet import conv3x3, image32
from zoo.weights import seeded, settle


class ResidualBranch(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return self.bn2(self.conv2(out))


class PadDownsample(nn.Module):
    """A shortcut without weights: pooled, and new channels of zeros."""

    def __init__(self, nIn, nOut, stride):
        super().__init__()
        self.avg = nn.AvgPool2d(stride)
        self.expand_ratio = nOut // nIn

    def forward(self, x):
        x = self.avg(x)
        return torch.cat([x] + [x.mul(0)] * (self.expand_ratio - 1), 1)


class FlatResNet(nn.Module):
    """A ResNet whose blocks stand in a flat list, so that a policy can number them."""

    def __init__(self, layers, num_classes=10):
        super().__init__()
        self.inplanes = 16
        self.conv1 = conv3x3(3, 16)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.avgpool = nn.AvgPool2d(8)
        self.blocks, self.ds = [], []
        for filt_size, num_blocks, stride in zip([16, 32, 64], layers, [1, 2, 2]):
            blocks, ds = self._make_layer(filt_size, num_blocks, stride)
            self.blocks.append(nn.ModuleList(blocks))
            self.ds.append(ds)
        self.blocks = nn.ModuleList(self.blocks)
        self.ds = nn.ModuleList(self.ds)
        self.fc = nn.Linear(64, num_classes)
        self.layer_config = layers
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, math.sqrt(2.0 / n))

    def _make_layer(self, planes, blocks, stride):
        downsample = nn.Sequential()
        if stride != 1 or self.inplanes != planes:
            downsample = PadDownsample(self.inplanes, planes, stride)
        layers = [ResidualBranch(self.inplanes, planes, stride)]
        self.inplanes = planes
        for _ in range(1, blocks):
            layers.append(ResidualBranch(self.inplanes, planes))
        return layers, downsample

    def seed(self, x):
        return self.relu(self.bn1(self.conv1(x)))

    def forward_single(self, x, policy):
        """One policy for the whole batch: policy is a vector with a 1 for every block that runs."""
        x = self.seed(x)
        t = 0
        for segment, num_blocks in enumerate(self.layer_config):
            for b in range(num_blocks):
                residual = self.ds[segment](x) if b == 0 else x
                if policy[t] == 1:
                    x = residual + self.blocks[segment][b](x)
                    x = F.relu(x)
                else:
                    x = residual
                t = t + 1
        return self.head(x)

    def forward_full(self, x):
        x = self.seed(x)
        for segment, num_blocks in enumerate(self.layer_config):
            for b in range(num_blocks):
                residual = self.ds[segment](x) if b == 0 else x
                x = F.relu(residual + self.blocks[segment][b](x))
        return self.head(x)

    def head(self, x):
        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        return self.fc(x)


class Policy(nn.Module):
    def __init__(self, num_blocks):
        super().__init__()
        self.features = FlatResNet([1, 1, 1])
        self.feat_dim = self.features.fc.weight.data.shape[1]
        self.features.fc = nn.Sequential()
        self.logit = nn.Linear(self.feat_dim, num_blocks)
        self.vnet = nn.Linear(self.feat_dim, 1)

    def forward(self, x):
        x = self.features.forward_full(x)
        value = self.vnet(x)
        probs = torch.sigmoid(self.logit(x))
        return probs, value


class BlockDrop(nn.Module):
    def __init__(self, layers, num_classes=10):
        super().__init__()
        self.agent = Policy(sum(layers))
        self.rnet = FlatResNet(layers, num_classes)

    def forward(self, inputs):
        """(logits, the policy) of one image."""
        probs, _ = self.agent(inputs)

        policy = probs.clone()
        policy[policy < 0.5] = 0.0
        policy[policy >= 0.5] = 1.0

        preds = self.rnet.forward_single(inputs, policy.data.squeeze(0))
        return preds, policy


def blockdrop(blocks, seed=0):
    """BlockDrop over 3 x `blocks` residual blocks, about half of which an image runs."""
    net = seeded(lambda: BlockDrop([blocks] * 3), seed)
    batch = data.pictures(range(9000, 9064), 32)
    for block in (b for group in net.rnet.blocks for b in group):
        nn.init.constant_(block.bn2.weight, 0.5)  # a branch is a correction; then any subset of them is sane
    settle(net, lambda: (net.agent(batch), net.rnet.forward_full(batch)))
    with torch.no_grad():
        logits = net.agent.logit(net.agent.features.forward_full(batch))
        net.agent.logit.weight.div_(logits.std(0)[:, None])
        logits = net.agent.logit(net.agent.features.forward_full(batch))
        net.agent.logit.bias.sub_(logits.quantile(0.4, 0))
    return net


@model("block dropping", image32, "a policy network names the blocks (of 15) that run")
def blockdrop_32():
    return blockdrop(5)


@model("block dropping", image32, "a policy network names the blocks (of 54) that run", paper=True)
def blockdrop_110():
    return blockdrop(18)
