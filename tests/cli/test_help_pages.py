# SPDX-License-Identifier: Apache-2.0
"""Man pages and completions fit what `--help` says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARE = ROOT / "share"


def test_they_fit_the_options():
    """About 9 seconds: four commands are Python's, two of which import torch."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "help_pages.py", "--check"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr


def completed(line, cwd=ROOT):
    """What bash offers for the last word."""
    script = f"""
    source {SHARE}/completions/dycl.bash
    COMP_WORDS=({line}); COMP_CWORD=$(({len(line.split(' '))} - 1))
    [[ "{line}" == *" " ]] && COMP_WORDS+=("")
    _dycl "${{COMP_WORDS[0]}}"
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("line, offered", [
    ("dycl pro", ["profile"]),
    ("/usr/local/bin/dycl ke", ["keygen"]),
    ("dycl --ver", ["--version"]),
    ("dycl view --prof", ["--profile"]),
    ("dycl compile m.py:f --backend t", ["tvm"]),
    ("dycl bench --pee", ["--peers"]),
    ("dycl-run be", ["bench"]),
    ("dycl-run model.dycl --step", ["--step-limit"]),
    ("dycl inspect ARCHI", ["ARCHITECTURE.md"]),
    ("dycl frobnicate --x", []),
])
def test_bash_offers(line, offered):
    assert set(completed(line)) == set(offered)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize("line, offered", [
    ("dycl pro", ["profile"]),
    ("dycl view --prof", ["--profile"]),
    ("dycl compile m.py:f --backend t", ["tvm"]),
    ("dycl-run model.dycl --step", ["--step-limit"]),
    ("dycl ARCHI", []),
    ("dycl inspect ARCHI", ["ARCHITECTURE.md"]),
])
def test_fish_offers(line, offered):
    script = f"source {SHARE}/completions/dycl.fish; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert [told.split("\t")[0] for told in done.stdout.splitlines()] == offered


@pytest.mark.parametrize("shell, file", [("bash", "dycl.bash"), ("zsh", "_dycl"), ("fish", "dycl.fish")])
def test_the_shells_read_them(shell, file):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", SHARE / "completions" / file], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_man_pages_are_clean():
    pages = sorted((SHARE / "man").glob("*.1"))
    assert len(pages) > 12
    for page in pages:
        done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-z", page], capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", f"{page.name}: {done.stderr}"
