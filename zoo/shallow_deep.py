# SPDX-License-Identifier: Apache-2.0
"""Shallow-Deep networks (Kaya, Hong, Dumitras: "Shallow-Deep Networks: Understanding and Mitigating Network
Overthinking", ICML 2019): internal classifiers at about 15, 30, ..., 90 % of the work; the first confident one answers,
and if none is, the most confident one does. Four base networks, at 256 x 256.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from zoo import data
from zoo.registry import model
from zoo.weights import constants, keep_differences, seeded, set_exit_heads, settle, smooth


class InternalClassifier(nn.Module):
    """A linear classifier over a feature map, pooled by a learned mix of max and average to 4 x 4."""

    def __init__(self, size, channels, num_classes):
        super().__init__()
        kernel = size // 4 if size >= 4 else -1
        self.kernel = kernel
        if kernel == -1:
            self.linear = nn.Linear(channels * size * size, num_classes)
            self.forward = self.without_pooling
        else:
            reduced = size // kernel
            self.max_pool = nn.MaxPool2d(kernel)
            self.avg_pool = nn.AvgPool2d(kernel)
            self.alpha = nn.Parameter(torch.rand(1))
            self.linear = nn.Linear(channels * reduced * reduced, num_classes)
            self.forward = self.with_pooling

    def with_pooling(self, x):
        mixed = self.alpha * self.max_pool(x) + (1 - self.alpha) * self.avg_pool(x)
        try:
            return self.linear(mixed.view(mixed.size(0), -1))
        except RuntimeError as error:
            raise RuntimeError(f"an internal classifier made for {self.linear.in_features} features") from error

    def without_pooling(self, x):
        return self.linear(x.view(x.size(0), -1))


class BlockWithOutput(nn.Module):
    """A stage of the base network that may carry an internal classifier; answers (features, flag, logits or None)."""

    def __init__(self, layers, add_output, size, channels, num_classes):
        super().__init__()
        self.layers = layers
        self.output = InternalClassifier(size, channels, num_classes) if add_output else None
        if not add_output:
            self.forward = self.only_forward

    def forward(self, x):
        fwd = self.layers(x)
        return fwd, 1, self.output(fwd)

    def only_forward(self, x):
        return self.layers(x), 0, None


class SDN(nn.Module):
    def __init__(self, init_conv, blocks, end_layers, num_classes, confidence_threshold=0.8):
        super().__init__()
        self.init_conv = init_conv
        self.layers = nn.ModuleList(blocks)
        self.end_layers = end_layers
        self.num_classes = num_classes
        self.confidence_threshold = confidence_threshold
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels / m.groups
                m.weight.data.normal_(0, math.sqrt(2.0 / n))
                if m.bias is not None:
                    m.bias.data.zero_()
            elif isinstance(m, nn.BatchNorm2d):
                m.weight.data.fill_(1)
                m.bias.data.zero_()
            elif isinstance(m, nn.Linear):
                m.weight.data.normal_(0, 0.01)
                m.bias.data.zero_()

    def forward(self, x):
        """The early exit of one image: (logits, number of the exit, was it early)."""
        confidences = []
        outputs = []

        fwd = self.init_conv(x)
        output_id = 0
        for layer in self.layers:
            fwd, is_output, output = layer(fwd)

            if is_output:
                outputs.append(output)
                softmax = F.softmax(output[0], dim=0)

                confidence = torch.max(softmax)
                confidences.append(confidence)

                if confidence >= self.confidence_threshold:
                    is_early = True
                    return output, output_id, is_early

                output_id += is_output

        output = self.end_layers(fwd)
        outputs.append(output)

        softmax = F.softmax(output[0], dim=0)
        confidence = torch.max(softmax)
        confidences.append(confidence)
        max_confidence_output = np.argmax(confidences)
        is_early = False
        return outputs[max_confidence_output], max_confidence_output, is_early

    def all_outputs(self, x):
        """The logits of every exit, as in training."""
        outputs = []
        fwd = self.init_conv(x)
        for layer in self.layers:
            fwd, is_output, output = layer(fwd)
            if is_output:
                outputs.append(output)
        outputs.append(self.end_layers(fwd))
        return outputs

    def exit_heads(self):
        heads = [layer.output.linear for layer in self.layers if layer.output is not None]
        return heads + [[m for m in self.end_layers if isinstance(m, nn.Linear)][-1]]


class Flatten(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)


class DepthwiseSeparable(nn.Module):
    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        self.depthwise = nn.Conv2d(in_channels, in_channels, 3, stride=stride, padding=1,
                                   groups=in_channels, bias=False)
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.pointwise = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        x = F.relu(self.bn1(self.depthwise(x)))
        return F.relu(self.bn2(self.pointwise(x)))


class BasicBlock(nn.Module):
    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Sequential(nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False),
                                          nn.BatchNorm2d(channels))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.shortcut is None else self.shortcut(x)
        return self.relu(out)


class WideBlock(nn.Module):
    """The pre-activation block of wide ResNets, with dropout between the convolutions."""

    def __init__(self, in_channels, channels, stride, dropout=0.3):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.conv1 = nn.Conv2d(in_channels, channels, 3, padding=1)
        self.dropout = nn.Dropout(dropout)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=stride, padding=1)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Sequential(nn.Conv2d(in_channels, channels, 1, stride=stride))

    def forward(self, x):
        out = self.dropout(self.conv1(F.relu(self.bn1(x))))
        out = self.conv2(F.relu(self.bn2(out)))
        out += self.shortcut(x)
        return out


def _mobilenet(size=256, num_classes=10):
    plan = [64, (128, 2), 128, (256, 2), 256, (512, 2), 512, 512, 512, 512, 512, (1024, 2), 1024]
    outputs = [0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0]
    init_conv = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
    blocks, channels = [], 32
    for item, add_output in zip(plan, outputs):
        width, stride = item if isinstance(item, tuple) else (item, 1)
        size //= stride
        blocks.append(BlockWithOutput(DepthwiseSeparable(channels, width, stride), add_output,
                                      size, width, num_classes))
        channels = width
    end = nn.Sequential(nn.AdaptiveAvgPool2d(2), Flatten(), nn.Linear(channels * 4, num_classes))
    net = SDN(init_conv, blocks, end, num_classes)
    smooth(net)
    keep_differences(net)
    return net


def _vgg16(size=256, num_classes=10):
    widths = [64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    pools = [1, 2, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2]
    outputs = [0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0]
    blocks, channels = [], 3
    for width, pool, add_output in zip(widths, pools, outputs):
        layers = [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        if pool > 1:
            layers.append(nn.MaxPool2d(pool))
            size //= pool
        blocks.append(BlockWithOutput(nn.Sequential(*layers), add_output, size, width, num_classes))
        channels = width
    fc = nn.Sequential(Flatten(), nn.Linear(size * size * channels, 2048), nn.ReLU(), nn.Dropout(0.5))
    blocks.append(BlockWithOutput(fc, 0, 1, 2048, num_classes))
    end = nn.Sequential(nn.Linear(2048, 1024), nn.Dropout(0.5), nn.Linear(1024, num_classes))
    return SDN(nn.Sequential(), blocks, end, num_classes)


def _resnet56(size=256, num_classes=10):
    outputs = [[0, 0, 0, 1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 1, 0, 0, 0]]
    init_conv = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
    blocks, channels = [], 16
    for group, width in enumerate((16, 32, 64)):
        for number, add_output in enumerate(outputs[group]):
            stride = 2 if group > 0 and number == 0 else 1
            size //= stride
            blocks.append(BlockWithOutput(BasicBlock(channels, width, stride), add_output, size, width, num_classes))
            channels = width
    end = nn.Sequential(nn.AvgPool2d(8), Flatten(), nn.Linear(channels * (size // 8) ** 2, num_classes))
    return SDN(init_conv, blocks, end, num_classes)


def _wideresnet32_4(size=256, num_classes=10):
    outputs = [[0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 0]]
    init_conv = nn.Conv2d(3, 16, 3, padding=1)
    blocks, channels = [], 16
    for group, width in enumerate((64, 128, 256)):
        for number, add_output in enumerate(outputs[group]):
            stride = 2 if group > 0 and number == 0 else 1
            size //= stride
            blocks.append(BlockWithOutput(WideBlock(channels, width, stride), add_output, size, width, num_classes))
            channels = width
    end = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.AvgPool2d(8), Flatten(),
                        nn.Linear(channels * (size // 8) ** 2, num_classes))
    return SDN(init_conv, blocks, end, num_classes)


def _settled(name, make):
    net = seeded(make)
    # Statistics of the convolutions do not depend on the size of the picture; its quarter is sixteen times as fast.
    batch = data.pictures(range(9000, 9004), 64)

    def run():
        fwd = net.init_conv(batch)
        for layer in net.layers:
            if not any(isinstance(m, nn.Linear) for m in layer.layers.modules()):
                fwd = layer.layers(fwd)
        for m in net.end_layers:
            if isinstance(m, nn.BatchNorm2d):
                m(fwd)

    settle(net, run)
    set_exit_heads(net.exit_heads(), constants(name))
    return net


def image256(seed):
    return (data.picture(seed, 256),)


NOTE = "six internal classifiers; the first confident one answers, else the most confident of seven"


@model("early exit", image256, NOTE, paper=True)
def sdn_mobilenet():
    return _settled("sdn_mobilenet", _mobilenet)


@model("early exit", image256, NOTE, paper=True)
def sdn_vgg16():
    return _settled("sdn_vgg16", _vgg16)


@model("early exit", image256, NOTE, paper=True)
def sdn_resnet56():
    return _settled("sdn_resnet56", _resnet56)


@model("early exit", image256, NOTE, paper=True)
def sdn_wideresnet32_4():
    return _settled("sdn_wideresnet32_4", _wideresnet32_4)
