# SPDX-License-Identifier: Apache-2.0
"""Signed packages: made, checked, required, and found out when they were changed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
MADE = Path(os.environ.get("DYCL_BUILD", ROOT / "build" / "release")) / "tests" / "runtime"

LOAD = "import sys, dycl.runtime; dycl.runtime.load(sys.argv[1], require_signature=sys.argv[2:])"


def done(*words, code=0):
    ended = subprocess.run([str(w) for w in words], text=True, capture_output=True,
                           env={**os.environ, "DYCL_PLUGIN_PATH": str(MADE)})
    assert code in (ended.returncode, None), f"{ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout + ended.stderr


@pytest.fixture
def signed(tmp_path):
    done(MADE / "make_c_api_package", tmp_path / "plain.dycl")
    for name in ("mine", "other"):
        done(BIN / "dycl", "keygen", tmp_path / name)
    done(BIN / "dycl", "sign", tmp_path / "plain.dycl", "--key", tmp_path / "mine.key", "-o", tmp_path / "m.dycl")
    return tmp_path / "m.dycl"


def run(package, *keys, code=0):
    words = [word for key in keys for word in ("--require-signature", key)]
    return done(BIN / "dycl-run", package, "--random", 0, *words, code=code)


def test_a_signature_is_checked_everywhere(signed, tmp_path):
    key = tmp_path / "mine.pub"
    run(signed)
    run(signed, key)
    run(signed, tmp_path / "other.pub", key.read_text().strip())
    done(BIN / "dycl", "check-signature", signed, "--key", key)
    done(sys.executable, "-c", LOAD, signed, key)
    done(BIN / "dycl", "inspect", "--verify", signed)
    for package, words in ((tmp_path / "plain.dycl", "is not signed"), (signed, "which is not trusted")):
        assert words in run(package, tmp_path / "other.pub", code=4)
        assert words in done(BIN / "dycl", "check-signature", package, "--key", tmp_path / "other.pub", code=4)
        assert words in done(sys.executable, "-c", LOAD, package, tmp_path / "other.pub", code=1)


def test_every_change_is_found(signed, tmp_path):
    """Wherever it is: in weights and bytes between sections, which have no checksum of their own, too."""
    good = signed.read_bytes()
    for place in [*range(0, len(good), max(1, len(good) // 60)), *range(len(good) - 104, len(good), 8)]:
        changed = bytearray(good)
        changed[place] ^= 1
        (tmp_path / "changed.dycl").write_bytes(changed)
        said = run(tmp_path / "changed.dycl", tmp_path / "mine.pub", code=4)
        assert "changed after it was signed" in said or "not signed" in said or "not trusted" in said
    for piece in (good[:-1], good + b"\0", good[:-104]):
        (tmp_path / "changed.dycl").write_bytes(piece)
        run(tmp_path / "changed.dycl", tmp_path / "mine.pub", code=4)


def test_signing_again_replaces_the_signature(signed, tmp_path):
    done(BIN / "dycl", "sign", signed, "--key", tmp_path / "other.key")
    run(signed, tmp_path / "other.pub")
    run(signed, tmp_path / "mine.pub", code=4)
    assert signed.stat().st_size == (tmp_path / "plain.dycl").stat().st_size + 104
    done(BIN / "dycl", "sign", signed, "--key", tmp_path / "mine.key")
    run(signed, tmp_path / "mine.pub")


def test_a_signature_is_consent_to_machine_code(tmp_path):
    (tmp_path / "marker.c").write_text(f"""#include <stdio.h>
__attribute__((constructor)) static void started(void) {{ fclose(fopen("{tmp_path / 'marker'}", "w")); }}
""")
    done("gcc", "-shared", "-fPIC", "-o", tmp_path / "marker.so", tmp_path / "marker.c")
    done(MADE / "make_native_package", tmp_path / "marker.so", tmp_path / "m.dycl", "native-1")
    done(BIN / "dycl", "keygen", tmp_path / "mine")
    run(tmp_path / "m.dycl", tmp_path / "mine.pub", code=4)
    done(BIN / "dycl", "sign", tmp_path / "m.dycl", "--key", tmp_path / "mine.key")
    run(tmp_path / "m.dycl", code=7)
    assert not (tmp_path / "marker").exists()
    run(tmp_path / "m.dycl", tmp_path / "mine.pub")
    assert (tmp_path / "marker").exists()


def test_keys(signed, tmp_path):
    assert stat.S_IMODE((tmp_path / "mine.key").stat().st_mode) == 0o600
    assert "not overwritten" in done(BIN / "dycl", "keygen", tmp_path / "mine", code=8)
    assert "holds no key" in run(signed, tmp_path / "mine.key", code=3)
    assert "holds no key" in done(BIN / "dycl", "sign", signed, "--key", tmp_path / "mine.pub", code=3)
    assert "64 hexadecimal digits" in run(signed, "dycl-public-key:12", code=3)
    assert "cannot open" in run(signed, tmp_path / "nowhere.pub", code=5)
    os.mkfifo(tmp_path / "fifo")  # a test that waits for a writer does not end
    assert "is a FIFO, not a file" in run(signed, tmp_path / "fifo", code=3)
    (tmp_path / "broken.dycl").write_bytes(b"no package at all" * 20)
    done(BIN / "dycl", "sign", tmp_path / "broken.dycl", "--key", tmp_path / "mine.key", code=4)


def test_commands_that_read_a_package_may_require_one(signed, tmp_path):
    """They read what was checked: the program, the weights, and all that they write from it."""
    mine, other = tmp_path / "mine.pub", tmp_path / "other.pub"
    commands = {
        "inspect": lambda p, *key: ["inspect", p, *key],
        "emit": lambda p, *key: ["emit", p, "-o", tmp_path / "cpp", *key],
        "view": lambda p, *key: ["view", p, "-o", tmp_path / "page.html", *key],
        "retarget": lambda p, *key: ["compile", "--retarget", p, "-o", tmp_path / "made.dycl", *key],
    }
    for name, words in commands.items():
        said = done(BIN / "dycl", *words(signed, "--require-signature", other), code=4)
        assert "which is not trusted" in said and str(signed) in said, name
        # The test's engine cannot be retargeted; that its signature is right is all that is seen here.
        said = done(BIN / "dycl", *words(signed, "--require-signature", mine), code=None if name == "retarget" else 0)
        assert "trusted" not in said and "not signed" not in said
    assert (tmp_path / "cpp" / "m.dycl").read_bytes() == signed.read_bytes()
    assert "requires" in done(BIN / "dycl", "compile", "x.onnx", "--require-signature", mine, code=64).lower()


def test_no_keys_are_no_requirement_that_holds(signed):
    assert "names no key" in done(sys.executable, "-c", LOAD, signed, code=1)
