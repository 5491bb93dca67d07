# SPDX-License-Identifier: Apache-2.0
"""What `make artifact` calls equal, broken and refused, without the artifact."""

import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import artifact


class Exits(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2, 0
        return x * 3, 1

    def rewritten(self, x, missing):
        return x

    def sparse(self, x):
        return x.to_sparse_csr().to_dense() * 2


def test_forwards_are_told_apart():
    model, calls = Exits(), [(torch.ones(3),), (-torch.ones(3),)]
    row = artifact.compare(model.forward, calls, str(Path(__file__).parent))
    assert row["result"] == "equal" and row["paths"] == 2 and row["inputs"] == 2
    row = artifact.compare(model.rewritten, calls, str(Path(__file__).parent))
    assert row["result"] == "broken" and "missing" in row["why"]


def test_what_cannot_be_compiled_is_refused():
    calls = [(torch.ones(3, 3),), (-torch.ones(3, 3),)]
    row = artifact.compare(Exits().sparse, calls, str(Path(__file__).parent))
    assert row["result"] == "refused" and row["why"]


def test_every_model_has_a_forward():
    assert list(artifact.MODELS) == list(range(len(artifact.MODELS)))
    assert all(artifact.forwards(number) for number in artifact.MODELS)


def test_another_folder_is_told(tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "artifact.py"), str(tmp_path)],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "no checkout of the artifact" in done.stderr
