# SPDX-License-Identifier: Apache-2.0
"""Image captioning with attention (Xu et al.: "Show, Attend and Tell", ICML 2015) over a ResNeXt-50 (Xie et al., CVPR
2017) or GoogLeNet (Szegedy et al., CVPR 2015, with batch norm) encoder: an LSTM looks at parts of the image and writes
words until it writes the end token, at most ten. Images of 256 x 256; a vocabulary of the size of Flickr8k's.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from zoo import data
from zoo.registry import model
from zoo.shallow_deep import image256
from zoo.weights import constants, seeded, settle

VOCABULARY = 2633


class Bottleneck(nn.Module):
    """ResNeXt's: 32 groups of width 4 (times the stage)."""

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=32, base_width=4):
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2d(inplanes, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, planes * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


def resnext50():
    layers = [nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, stride=2, padding=1)]
    inplanes = 64
    for planes, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        group = []
        for number in range(blocks):
            downsample = None
            step = stride if number == 0 else 1
            if number == 0:
                downsample = nn.Sequential(nn.Conv2d(inplanes, planes * 4, 1, stride=step, bias=False),
                                           nn.BatchNorm2d(planes * 4))
            group.append(Bottleneck(inplanes, planes, step, downsample))
            inplanes = planes * 4
        layers.append(nn.Sequential(*group))
    return nn.Sequential(*layers)


class ConvBN(nn.Module):
    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return nn.functional.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj):
        super().__init__()
        self.branch1 = ConvBN(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(ConvBN(in_channels, ch3x3red, kernel_size=1),
                                     ConvBN(ch3x3red, ch3x3, kernel_size=3, padding=1))
        self.branch3 = nn.Sequential(ConvBN(in_channels, ch5x5red, kernel_size=1),
                                     ConvBN(ch5x5red, ch5x5, kernel_size=5, padding=2))
        self.branch4 = nn.Sequential(nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
                                     ConvBN(in_channels, pool_proj, kernel_size=1))

    def forward(self, x):
        branches = [self.branch1, self.branch2, self.branch3, self.branch4]
        return torch.cat([branch(x) for branch in branches], 1)


def googlenet():
    def pool(size=3):
        return nn.MaxPool2d(size, stride=2, ceil_mode=True)

    return nn.Sequential(
        ConvBN(3, 64, kernel_size=7, stride=2, padding=3), pool(),
        ConvBN(64, 64, kernel_size=1), ConvBN(64, 192, kernel_size=3, padding=1), pool(),
        Inception(192, 64, 96, 128, 16, 32, 32), Inception(256, 128, 128, 192, 32, 96, 64), pool(),
        Inception(480, 192, 96, 208, 16, 48, 64), Inception(512, 160, 112, 224, 24, 64, 64),
        Inception(512, 128, 128, 256, 24, 64, 64), Inception(512, 112, 144, 288, 32, 64, 64),
        Inception(528, 256, 160, 320, 32, 128, 128), pool(2),
        Inception(832, 256, 160, 320, 32, 128, 128), Inception(832, 384, 192, 384, 48, 128, 128))


class Encoder(nn.Module):
    def __init__(self, backbone, encoded_image_size=14):
        super().__init__()
        self.backbone = backbone
        self.adaptive_pool = nn.AdaptiveAvgPool2d((encoded_image_size, encoded_image_size))

    def forward(self, images):
        out = self.backbone(images)
        out = self.adaptive_pool(out)
        out = out.permute(0, 2, 3, 1)  # (batch, size, size, channels)
        return out


class Attention(nn.Module):
    def __init__(self, encoder_dim, decoder_dim, attention_dim):
        super().__init__()
        self.encoder_att = nn.Linear(encoder_dim, attention_dim)
        self.decoder_att = nn.Linear(decoder_dim, attention_dim)
        self.full_att = nn.Linear(attention_dim, 1)
        self.relu = nn.ReLU()
        self.softmax = nn.Softmax(dim=1)

    def forward(self, encoder_out, decoder_hidden):
        att1 = self.encoder_att(encoder_out)
        att2 = self.decoder_att(decoder_hidden)
        att = self.full_att(self.relu(att1 + att2.unsqueeze(1))).squeeze(2)
        alpha = self.softmax(att)
        attention_weighted_encoding = (encoder_out * alpha.unsqueeze(2)).sum(dim=1)
        return attention_weighted_encoding, alpha


class Decoder(nn.Module):
    def __init__(self, encoder_dim, vocab_size, attention_dim=512, embed_dim=512, decoder_dim=512):
        super().__init__()
        self.attention = Attention(encoder_dim, decoder_dim, attention_dim)
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.decode_step = nn.LSTMCell(embed_dim + encoder_dim, decoder_dim, bias=True)
        self.init_h = nn.Linear(encoder_dim, decoder_dim)
        self.init_c = nn.Linear(encoder_dim, decoder_dim)
        self.f_beta = nn.Linear(decoder_dim, encoder_dim)
        self.sigmoid = nn.Sigmoid()
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(decoder_dim, vocab_size)

    def init_hidden_state(self, encoder_out):
        mean_encoder_out = encoder_out.mean(dim=1)
        h = self.init_h(mean_encoder_out)
        c = self.init_c(mean_encoder_out)
        return h, c


class Captioner(nn.Module):
    def __init__(self, backbone, encoder_dim, vocab_size=VOCABULARY, max_length=10):
        super().__init__()
        self.encoder = Encoder(backbone)
        self.decoder = Decoder(encoder_dim, vocab_size)
        self.word_map = {"<pad>": 0, "<unk>": vocab_size - 3, "<start>": vocab_size - 2, "<end>": vocab_size - 1}
        self.max_length = max_length

    def forward(self, images, device=None):
        """(words with <start> and, if it was written, <end>; the attention of every step) of one image."""
        device = images.device if device is None else device
        encoder_out = self.encoder(images)
        batch_size = encoder_out.size(0)
        encoder_dim = encoder_out.size(3)
        encoder_out = encoder_out.view(batch_size, -1, encoder_dim)

        k_prev_words = torch.LongTensor([[self.word_map["<start>"]]] * batch_size).to(device)
        seqs = k_prev_words
        alphas = []
        h, c = self.decoder.init_hidden_state(encoder_out)

        step = 1
        while True:
            embeddings = self.decoder.embedding(k_prev_words).squeeze(1)
            awe, alpha = self.decoder.attention(encoder_out, h)
            gate = self.decoder.sigmoid(self.decoder.f_beta(h))
            awe = gate * awe
            h, c = self.decoder.decode_step(torch.cat([embeddings, awe], dim=1), (h, c))
            scores = self.decoder.fc(self.decoder.dropout(h))
            _, next_word_inds = scores.max(1)

            seqs = torch.cat([seqs, next_word_inds.unsqueeze(1)], dim=1)
            alphas.append(alpha)
            k_prev_words = next_word_inds.unsqueeze(1)

            if next_word_inds.item() == self.word_map["<end>"]:
                break
            if step >= self.max_length:
                break
            step += 1

        return seqs, torch.stack(alphas, dim=1)

    def end_margins(self, images):
        """How far the end token is behind the best other word, at each step of a caption that never ends."""
        end, margins = self.word_map["<end>"], []
        encoder_out = self.encoder(images).flatten(1, 2)
        word = torch.full((len(images), 1), self.word_map["<start>"])
        h, c = self.decoder.init_hidden_state(encoder_out)
        for _ in range(self.max_length):
            awe, _ = self.decoder.attention(encoder_out, h)
            awe = self.decoder.sigmoid(self.decoder.f_beta(h)) * awe
            h, c = self.decoder.decode_step(torch.cat([self.decoder.embedding(word).squeeze(1), awe], 1), (h, c))
            scores = self.decoder.fc(h).clone()
            own = scores[:, end].clone()
            scores[:, end] = -math.inf
            best, word = scores.max(1, keepdim=True)
            margins.append(own - best.squeeze(1))
        return torch.stack(margins, 1)

    def set_end_bias(self, value):
        self.decoder.fc.bias.data[self.word_map["<end>"]] = value


def _centre(decoder, features):
    """What all pictures have in common is taken out where the decoder reads them; the rest gets the size of one."""
    mean = features.mean((0, 1))
    with torch.no_grad():
        for linear, seen in ((decoder.init_h, features.mean(1)), (decoder.init_c, features.mean(1)),
                             (decoder.attention.encoder_att, features.flatten(0, 1))):
            linear.weight.div_((seen @ linear.weight.T).std(0).mean())
            linear.bias.copy_(-(linear.weight @ mean))
        cell, words = decoder.decode_step, decoder.embedding.embedding_dim
        reads = cell.weight_ih[:, words:]
        reads.div_((features.mean(1) @ reads.T).std(0).mean())
        cell.bias_ih.sub_(reads @ (0.5 * mean))  # the gate lets about half of it through


def _captioner(name, backbone, encoder_dim, end_gain=1.0):
    def make():
        net = Captioner(backbone(), encoder_dim)
        for m in net.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 1 / math.sqrt(m.in_features))
            elif isinstance(m, nn.LSTMCell):
                for p in m.parameters():
                    nn.init.normal_(p, 0, 1 / math.sqrt(m.hidden_size))
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.bias, 1.0)  # mostly linear, as trained layers are: rounding errors do not grow
        for m in net.modules():
            if isinstance(m, Bottleneck):
                nn.init.constant_(m.bn3.weight, 0.5)
                nn.init.zeros_(m.bn3.bias)
        return net

    net = seeded(make)
    batch = data.pictures(range(9000, 9004), 160)
    settle(net, lambda: net.encoder.backbone(batch))
    _centre(net.decoder, net.encoder(batch).detach().flatten(1, 2))
    net.decoder.fc.weight.data[net.word_map["<end>"]] *= end_gain  # pictures differ in when the end comes
    net.set_end_bias(constants(name).get("end", 0.0))
    return net


@model("captioning", image256, "a decode loop of at most 10 steps that stops at the end token", paper=True)
def caption_resnext50():
    return _captioner("caption_resnext50", resnext50, 2048)


@model("captioning", image256, "a decode loop of at most 10 steps that stops at the end token", paper=True)
def caption_googlenet():
    return _captioner("caption_googlenet", googlenet, 1024, end_gain=3.0)
