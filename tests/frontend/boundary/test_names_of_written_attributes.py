# SPDX-License-Identifier: Apache-2.0
"""What a model leaves in its attributes is an output of the program under the attribute's name."""

import re

import torch
from torch import nn

import dycl


class Leaves(nn.Module):
    """A pair, one value per path, and a name that an argument has already."""

    def __init__(self):
        super().__init__()
        self.hidden = self.last = self.scale = None

    def forward(self, x, scale):
        self.hidden = (x * 2, x + 3)
        self.scale = x * scale
        if x.sum() > 0:
            self.last = x + 1
            return x.exp(), 3
        self.last = x - 1
        return x, 4


def test_attributes_name_outputs(tmp_path):
    model = Leaves().eval()
    program = dycl.compile(model, (torch.ones(3), torch.full((3,), 2.0)), threads=1)
    program.emit(tmp_path / "m", name="m")
    struct = re.search(r"struct Outputs \{(.*?)\n  \};", (tmp_path / "m" / "m.h").read_text(), re.S)[1]
    names = re.findall(r" (\w+)(?:\{\})?;", struct)
    assert {"hidden", "hidden_1", "last"} <= set(names) and "scale" not in names and len(names) == len(set(names)) == 6
    program(torch.ones(3), torch.full((3,), 5.0))
    assert torch.equal(model.hidden[1], torch.full((3,), 4.0)) and torch.equal(model.last, torch.full((3,), 2.0))
    assert torch.equal(model.scale, torch.full((3,), 5.0))


def test_the_onnx_export_has_them_too(tmp_path):
    import onnxruntime as ort

    program = dycl.compile(Leaves().eval(), (torch.ones(3), torch.full((3,), 2.0)), threads=1)
    program.emit_onnx(tmp_path / "m.onnx")
    session = ort.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    assert [i.name for i in session.get_inputs()] == ["x", "scale"]
    given = dict(zip((o.name for o in session.get_outputs()),
                     session.run(None, {"x": torch.ones(3).numpy(), "scale": torch.ones(3).numpy()})))
    assert (given["hidden"] == 2).all() and (given["hidden_1"] == 4).all() and (given["last"] == 2).all()
