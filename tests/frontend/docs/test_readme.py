# SPDX-License-Identifier: Apache-2.0
"""README's example prints what stands there, its package is as large as it says, and the picture is of it."""

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import readme_example  # noqa: E402


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    return readme_example.executed(str(tmp_path_factory.mktemp("readme")))


def test_it_prints_what_stands_there(executed):
    assert executed[0] == readme_example.texts()[1]


def test_the_package_is_as_large_as_it_says(executed):
    (said,) = re.findall(r"`gate.dycl` is one file of (\d+) kB", (ROOT / "README.md").read_text())
    assert round(executed[1].stat().st_size / 1000) == int(said)


def test_the_picture_is_of_it(executed):
    """`python scripts/readme_example.py --write` draws it anew."""
    if not shutil.which("dot"):
        pytest.skip("Graphviz is not installed")
    assert readme_example.PICTURE.read_text() == readme_example.picture(executed[1])
