# SPDX-License-Identifier: Apache-2.0
"""Adaptive matching of two sets of keypoints in the manner of LightGlue: after each layer it may stop, and points that
will find no partner are pruned. Small, with weights of its own."""

import subprocess

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.mix = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.LayerNorm(2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width))

    def split(self, x):
        return x.view(x.shape[0], self.heads, -1).transpose(0, 1)

    def forward(self, x, other):
        k, v = self.kv(other).chunk(2, dim=-1)
        seen = F.scaled_dot_product_attention(self.split(self.q(x))[None], self.split(k)[None], self.split(v)[None])[0]
        seen = self.out(seen.transpose(0, 1).reshape(x.shape[0], -1))
        return x + self.mix(torch.cat([x, seen], dim=-1))


class Matcher(nn.Module):
    def __init__(self, features=32, width=48, heads=4, layers=4):
        super().__init__()
        self.enter, self.place = nn.Linear(features, width), nn.Linear(2, width)
        self.own = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.cross = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.sure = nn.ModuleList(nn.Linear(width, 1) for _ in range(layers))
        self.matchable = nn.ModuleList(nn.Linear(width, 1) for _ in range(layers))
        self.project = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.stop_at, self.prune_below = 0.55, 0.45

    def forward(self, points0, features0, points1, features1):
        x0 = self.enter(features0) + self.place(points0)
        x1 = self.enter(features1) + self.place(points1)
        index0, index1 = torch.arange(x0.shape[0]), torch.arange(x1.shape[0])
        last = len(self.own) - 1
        layer = 0
        for layer in range(len(self.own)):
            x0, x1 = self.own[layer](x0, x0), self.own[layer](x1, x1)
            x0, x1 = self.cross[layer](x0, x1), self.cross[layer](x1, x0)
            if layer == last:
                break
            sure0 = torch.sigmoid(self.sure[layer](x0))[:, 0]
            sure1 = torch.sigmoid(self.sure[layer](x1))[:, 0]
            if (torch.cat([sure0, sure1]) > 0.5).float().mean() > self.stop_at:
                break
            keep0 = torch.sigmoid(self.matchable[layer](x0))[:, 0] > self.prune_below
            keep1 = torch.sigmoid(self.matchable[layer](x1))[:, 0] > self.prune_below
            if keep0.sum() < 2 or keep1.sum() < 2:
                break
            x0, index0 = x0[keep0], index0[keep0]
            x1, index1 = x1[keep1], index1[keep1]
        similar = self.project[layer](x0) @ self.project[layer](x1).T
        best0, best1 = similar.argmax(dim=1), similar.argmax(dim=0)
        mutual = best1[best0] == torch.arange(best0.shape[0])
        matches = torch.stack([index0[mutual], index1[best0[mutual]]], dim=1)
        return {"matches": matches, "layers": layer + 1, "left": x0.shape[0] + x1.shape[0]}


def make():
    torch.manual_seed(7)
    return Matcher().eval()


OPTIONS = {"dynamic_dims": {"points0": {0: "M"}, "features0": {0: "M"}, "points1": {0: "N"}, "features1": {0: "N"}},
           "ranges": {"M": (4, 512), "N": (4, 512)}}


def inputs(seed):
    g = torch.Generator().manual_seed(seed)
    m, n = 40 + 3 * seed, 50 + seed
    return (torch.rand(m, 2, generator=g), torch.randn(m, 32, generator=g),
            torch.rand(n, 2, generator=g), torch.randn(n, 32, generator=g))


def after(model, program, folder, prefix):
    """As C++ source, built against the runtime alone, on the same points."""
    import numpy

    program.emit(folder / "cpp", name="matcher")
    program.save(folder / "matcher.dycl")
    build = folder / "build"
    subprocess.run(["cmake", "-S", folder / "cpp", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    names = []
    for name, x in zip(("points0", "features0", "points1", "features1"), inputs(1)):
        numpy.save(folder / f"{name}.npy", x.numpy())
        names.append(folder / f"{name}.npy")
    said = subprocess.run([build / "matcher_example", folder / "matcher.dycl", *names], check=True, text=True,
                          capture_output=True).stdout
    eager = model(*inputs(1))
    assert f"layers: {eager['layers']}" in said and f"left: {eager['left']}" in said, (said, eager)
    return f"in C++: {' '.join(said.split())}"
