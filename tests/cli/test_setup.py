# SPDX-License-Identifier: Apache-2.0
"""scripts/setup where it can't install: it names what is missing and the command, and changes nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    """The set-up script alone, in a checkout of its own."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup", tmp_path / "scripts" / "setup")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    (tmp_path / "bin").mkdir()
    return tmp_path


def tool(checkout, name, text):
    path = checkout / "bin" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def setup(checkout, path):
    return subprocess.run(["/bin/bash", checkout / "scripts" / "setup"], capture_output=True, text=True,
                          env={"PATH": path, "HOME": str(checkout)})


def test_not_root(checkout):
    tool(checkout, "id", "echo 1000")
    tool(checkout, "dpkg-query", 'for last; do :; done; test "$last" = ninja-build || echo installed')
    tool(checkout, "apt-get", "echo called >>called")
    done = setup(checkout, f"{checkout}/bin:{os.environ['PATH']}")
    assert done.returncode == 1
    assert "these Debian packages are missing: ninja-build" in done.stderr
    assert "sudo apt-get update && sudo apt-get install -y ninja-build" in done.stderr
    assert not (checkout / "called").exists() and not (checkout / ".venv").exists()


def test_root_installs_what_is_missing_and_says_when_apt_fails(checkout):
    tool(checkout, "id", "echo 0")
    tool(checkout, "dpkg-query", 'for last; do :; done; test "$last" = ccache || echo installed')
    tool(checkout, "apt-get", 'echo "$@" >>called; test "$1" = update || { echo no such package; exit 100; }')
    done = setup(checkout, f"{checkout}/bin:{os.environ['PATH']}")
    assert done.returncode == 1 and "apt-get failed" in done.stderr and "no such package" in done.stderr
    assert "install -y -qq --no-install-recommends ccache" in (checkout / "called").read_text()


def test_another_distribution(checkout):
    needed = ("bash", "dirname", "mkdir", "flock", "cat", "tr", "python3")
    for name in needed:
        (checkout / "bin" / name).symlink_to(shutil.which(name))
    done = setup(checkout, f"{checkout}/bin")
    assert done.returncode == 1
    assert "not a Debian system" in done.stderr and "your package manager" in done.stderr
    for missing in ("g++", "cmake", "ninja", "flatc", "<flatbuffers/flatbuffers.h>", "<nlohmann/json.hpp>"):
        assert missing in done.stderr
    assert "apt-get install g++ cmake" in done.stderr  # so that its own names can be guessed
