# SPDX-License-Identifier: Apache-2.0
"""An image classifier that leaves at the first head that is sure."""

import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.conv = nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class EarlyExit(nn.Module):
    def __init__(self, classes=10, threshold=0.22):
        super().__init__()
        widths = (3, 16, 32, 64, 64)
        self.stages = nn.ModuleList(Stage(a, b, 2) for a, b in zip(widths, widths[1:]))
        self.heads = nn.ModuleList(nn.Linear(b, classes) for b in widths[1:])
        self.threshold = threshold

    def forward(self, image):
        scores = None
        for number, (stage, head) in enumerate(zip(self.stages, self.heads)):
            image = stage(image)
            scores = torch.softmax(head(image.mean(dim=(2, 3))), dim=1)
            if scores.max() > self.threshold:
                return {"scores": scores, "exit": number}
        return {"scores": scores, "exit": len(self.heads)}


def make():
    torch.manual_seed(1)
    model = EarlyExit().eval()
    with torch.no_grad():  # so that inputs leave at different exits, as those of a trained model do
        for factor, head in zip((1, 14, 30, 50), model.heads):
            head.weight *= factor
            head.bias.zero_()
    return model


def inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(1, 3, 32, 32, generator=generator) * (0.2 + 0.5 * seed),)


def after(model, program, folder):
    """The whole program as ONNX, in ONNX Runtime alone."""
    import numpy
    import onnxruntime

    program.emit_onnx(folder / "early_exit.onnx")
    session = onnxruntime.InferenceSession(str(folder / "early_exit.onnx"))
    taken = set()
    for seed in range(10):
        (image,) = inputs(seed)
        found = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"image": image.numpy()})))
        eager = model(image)
        assert int(found["exit"]) == eager["exit"], (found, eager)
        assert numpy.allclose(found["scores"], eager["scores"].detach().numpy(), atol=1e-5)
        taken.add(eager["exit"])
    return f"early_exit.onnx in ONNX Runtime: 10 inputs equal to eager, by exits {sorted(taken)}"
