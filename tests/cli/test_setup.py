# SPDX-License-Identifier: Apache-2.0
"""scripts/setup where it can't install: it names what is missing and the command, and changes nothing."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = ("requirements.txt", "requirements-engines.txt", "requirements-hashes.txt")


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


def setup(checkout, path, *what):
    return subprocess.run(["/bin/bash", checkout / "scripts" / "setup", *what], capture_output=True, text=True,
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


def test_the_demo_needs_no_packages_of_tests(checkout):
    tool(checkout, "id", "echo 1000")
    tool(checkout, "dpkg-query", "exit 1")
    path = f"{checkout}/bin:{os.environ['PATH']}"
    of_demo, of_all = (setup(checkout, path, *what).stderr for what in (["demo"], []))
    for package, for_tests in (("g++", False), ("libprotozero-dev", False), ("qemu-user", True), ("clang-14", True),
                               ("libgtest-dev", True)):
        assert f" {package} " in of_all and (f" {package} " in of_demo) != for_tests


BUILD = """
if [ "$1" = --preset ]; then echo "$@" >>configured; mkdir -p build/release; touch build/release/build.ninja \
  build/release/CMakeCache.txt; exit; fi
echo "$@" >>built
echo "[1/4] one"; sleep 6; echo "[2/4] two"; echo "[4/4] four"
mkdir -p build/release/python build/release/bin; touch build/release/python/_native.x.so build/release/bin/dycl-run
"""


@pytest.fixture
def without_build(checkout):
    """Everything is there but the build, which only says what it was asked for."""
    for name in ("requirements-engines.txt", "requirements-hashes.txt", "CMakePresets.json"):
        shutil.copy(ROOT / name, checkout)
    tool(checkout, "dpkg-query", "echo installed")
    tool(checkout, "cmake", BUILD)
    (checkout / "python" / "dycl").mkdir(parents=True)
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(shutil.which("true"))
    pinned = b"".join((checkout / name).read_bytes() for name in PINNED)
    (checkout / ".setup").mkdir()
    (checkout / ".setup" / "venv").write_text(f"{hashlib.sha256(pinned).hexdigest()}  - {sys._base_executable}\n")
    (checkout / "scripts" / "fetch_ort_headers").write_text("#!/bin/sh\n")
    (checkout / "scripts" / "fetch_ort_headers").chmod(0o755)
    return checkout


def test_the_demo_builds_what_it_shows(without_build):
    path = f"{without_build}/bin:{os.environ['PATH']}"
    done = setup(without_build, path, "demo")
    assert done.returncode == 0, done.stderr
    assert (without_build / "built").read_text() == (
        "--build --preset release --target dycl dycl_native dycl_run dycl_plugin_ort\n")
    assert "-DDYCL_WITH_TVM=OFF -DDYCL_BUILD_TESTS=OFF" in (without_build / "configured").read_text()
    assert os.readlink(without_build / ".venv" / "bin" / "dycl-run") == "../../build/release/bin/dycl-run"


def test_a_checkout_keeps_the_most_that_it_was_set_up_for(without_build):
    path = f"{without_build}/bin:{os.environ['PATH']}"
    for what in (["demo"], ["install"], ["demo"], [], ["install"], ["demo"]):
        assert setup(without_build, path, *what).returncode == 0
    assert [line.split()[2:] for line in (without_build / "configured").read_text().splitlines()] == [
        ["-DDYCL_WITH_OPENVINO=OFF", "-DDYCL_WITH_TVM=OFF", "-DDYCL_BUILD_TESTS=OFF"],
        ["-DDYCL_BUILD_TESTS=OFF"], ["-DDYCL_BUILD_TESTS=ON"]]
    targets = [line.split()[4:] for line in (without_build / "built").read_text().splitlines()]
    assert targets[1] == targets[4] == ["dycl_installed", "dycl_native"] and targets[3] == []
    (without_build / "CMakePresets.json").write_text("{}")  # what it was set up for is another now
    setup(without_build, path, "demo")
    assert len((without_build / "configured").read_text().splitlines()) == 4


def test_progress_on_a_terminal(without_build):
    script = shutil.which("script")
    if script is None:
        pytest.skip("util-linux's script, which makes a terminal, is not there")
    done = subprocess.run([script, "-qec", f"/bin/bash {without_build}/scripts/setup demo", "/dev/null"], text=True,
                          capture_output=True, env={"PATH": f"{without_build}/bin:{os.environ['PATH']}",
                                                    "HOME": str(without_build)})
    assert done.returncode == 0 and "setup: building, 1 of 4" in done.stdout, done.stdout
    assert "setup: building, 2 of 4, about 7 s left" in done.stdout


def test_every_pin_but_torch_has_hashes():
    """scripts/pin_hashes.py writes them; pip takes nothing else, so a pin that changed without it is not installed."""
    lines = [line.split() for line in (ROOT / "requirements-hashes.txt").read_text().splitlines() if line[0] != "#"]
    pins = [line.split()[0] for name in PINNED[:2] for line in (ROOT / name).read_text().splitlines()
            if line.strip() and line[0] != "#"]
    assert [line[0] for line in lines] == [pin for pin in pins if not pin.startswith("torch==")]
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", word) for line in lines for word in line[1:])
    assert all(len(line) > 1 for line in lines)


def test_pip_gets_the_hashes_and_torch_comes_after(without_build):
    """What pip is asked for, in order; nothing is asked for a second time."""
    (without_build / ".setup" / "venv").unlink()
    (without_build / ".venv" / "bin" / "python").unlink()
    asked = without_build / "asked"
    tool(without_build, "pip-python", f"""case "$1" in
-c) exec {sys._base_executable} "$@" ;;
-m) echo "$@" >>{asked}; for last; do :; done; [ "$last" = requirements.txt ] || cat "$last" >>{asked} ;;
esac""")
    (without_build / ".venv" / "bin" / "python").symlink_to(without_build / "bin" / "pip-python")
    path = f"{without_build}/bin:{os.environ['PATH']}"
    done = setup(without_build, path)
    assert done.returncode == 0, done.stderr
    told = asked.read_text().splitlines()
    commands = [line.partition("-qq ")[2] for line in told if line.startswith("-m pip")]
    engines = (ROOT / "requirements-engines.txt").read_text().splitlines()
    assert commands[:2] == ["--require-hashes -r .setup/hashed.txt", "-r requirements.txt"]
    assert commands[2:] == ["--no-deps --require-hashes -r .setup/hashed.txt"] * \
        sum(bool(line) and line[0] != "#" for line in engines)
    assert [line for line in told if not line.startswith("-m pip")] == \
        (ROOT / "requirements-hashes.txt").read_text().splitlines()[1:]
    setup(without_build, path)
    assert asked.read_text().splitlines() == told
