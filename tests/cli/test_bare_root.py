# SPDX-License-Identifier: Apache-2.0
"""dycl-run in an empty root: only the runner, the plug-in, the engine's library and the C and C++ libraries."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest
import torch

import dycl

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")


def libraries(path):
    """What the loader would open for a program or library, itself left out."""
    out = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return {Path(found) for found in re.findall(r"(/\S+) \(0x", out)}


def copy_into(root, path, place=None):
    target = root / str(place or path).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)
    return target


def test_runs_without_python_torch_and_everything_else(tmp_path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Conv2d(3, 16, 3, padding=1)

        def forward(self, x):
            n = 0
            while x.abs().mean() > 0.1:
                x = x + 0.1 * torch.tanh(self.layer(x)[:, :3]) - 0.3 * x
                n += 1
            return x, n

    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(1, 3, 16, 16)
    root = tmp_path / "root"
    (root / "tmp").mkdir(parents=True)
    dycl.compile(model, (x,), threads=1).save(root / "m.dycl")
    numpy.save(root / "x.npy", x.numpy())
    runner = (BIN / "dycl-run").resolve()
    plugin = runner.parent.parent / "lib" / "dycl" / "libdycl_plugin_ort.so"
    engine = (ROOT / ".setup" / "onnxruntime" / "lib" / "libonnxruntime.so.1").resolve()
    (root / "dev").mkdir()
    os.mknod(root / "dev" / "null", 0o600 | 0o020000, os.makedev(1, 3))
    for piece, place in ((runner, "/bin/dycl-run"), (plugin, "/lib/dycl/libdycl_plugin_ort.so"),
                         (engine, "/lib/libonnxruntime.so.1")):
        copy_into(root, piece, place)
        for library in libraries(piece):
            copy_into(root, library)
    names = [path.name for path in root.rglob("*") if path.is_file()]
    assert not [name for name in names if re.search(r"python|torch|protobuf", name)]
    assert len(names) < 20, names
    done = subprocess.run([shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin"), root, "/bin/dycl-run", "/m.dycl",
                           "/x.npy", "--threads", "1", "--json"],
                          capture_output=True, text=True, env={"DYCL_ORT_LIBRARY": "/lib/libonnxruntime.so.1"})
    assert done.returncode == 0, done.stderr
    outputs = json.loads(done.stdout)["outputs"]
    with torch.no_grad():
        wanted, n = model(x)
    assert outputs["out1"] == n
    got = outputs["out0"]["data"]
    numpy.testing.assert_allclose(got, wanted.numpy().ravel()[: len(got)], rtol=1e-3, atol=1e-5)
