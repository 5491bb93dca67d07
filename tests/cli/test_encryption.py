# SPDX-License-Identifier: Apache-2.0
"""Encrypted packages: nobody without the key reads one, and every change is found before anything is parsed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
MADE = Path(os.environ.get("DYCL_BUILD", ROOT / "build" / "release")) / "tests" / "runtime"
HEADER, PROOF = 64, 16  # bytes before and behind the encrypted package

LOAD = """import sys, dycl.runtime
keys = []
def find(name):
    keys.append(name)
    return sys.argv[2]
package = open(sys.argv[1], "rb").read() if sys.argv[3] == "bytes" else sys.argv[1]
program = dycl.runtime.load(package, decryption_key=find if sys.argv[3] == "function" else sys.argv[2])
print(program._program.decrypted, *keys)
"""


def done(*words, code=0):
    ended = subprocess.run([str(w) for w in words], text=True, capture_output=True,
                           env={**os.environ, "DYCL_PLUGIN_PATH": str(MADE)})
    assert ended.returncode == code, f"{ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout + ended.stderr


def dycl(*words, code=0):
    return done(BIN / "dycl", *words, code=code)


@pytest.fixture
def folder(tmp_path):
    done(MADE / "make_c_api_package", tmp_path / "plain.dycl")
    for name in ("mine", "other"):
        dycl("keygen", "--encryption", tmp_path / name)
    dycl("encrypt", tmp_path / "plain.dycl", "--key", tmp_path / "mine.key", "-o", tmp_path / "m.dycl")
    return tmp_path


def run(package, key=None, *words, code=0):
    given = ["--decryption-key", key] if key else []
    return done(BIN / "dycl-run", package, "--random", 0, *given, *words, code=code)


def test_with_the_key_it_is_the_package(folder):
    plain, package, key = folder / "plain.dycl", folder / "m.dycl", folder / "mine.key"
    assert package.stat().st_size == plain.stat().st_size + HEADER + PROOF
    assert run(package, key) == run(package, key.read_text().strip()) == run(plain)
    assert dycl("inspect", package, "--decryption-key", key, "--verify").splitlines()[1:] == \
        dycl("inspect", plain, "--verify").splitlines()[1:]
    dycl("view", package, "--decryption-key", key, "-o", folder / "page.html")
    dycl("decrypt", package, "--key", key, "-o", folder / "again.dycl")
    assert (folder / "again.dycl").read_bytes() == plain.read_bytes()


def test_no_byte_of_the_package_is_in_the_file(folder):
    plain, encrypted = (folder / "plain.dycl").read_bytes(), (folder / "m.dycl").read_bytes()
    assert not any(plain[i:i + 8] in encrypted for i in range(64, len(plain) - 8, 8) if plain[i:i + 8].strip(b"\0"))
    dycl("encrypt", folder / "plain.dycl", "--key", folder / "mine.key", "-o", folder / "second.dycl")
    second = (folder / "second.dycl").read_bytes()
    assert second[:40] == encrypted[:40] and second[40:64] != encrypted[40:64]  # another nonce
    assert sum(a == b for a, b in zip(second[64:], encrypted[64:])) < len(plain) / 50


@pytest.mark.parametrize("how", ["path", "bytes", "function"])
def test_python(folder, how):
    said = done(sys.executable, "-c", LOAD, folder / "m.dycl", folder / "mine.key", how).split()
    assert said[0] == "True" and (how != "function" or len(said) == 2 and len(said[1]) == 64)
    assert "another key" in done(sys.executable, "-c", LOAD, folder / "m.dycl", folder / "other.key", how, code=1)
    assert "not encrypted" in done(sys.executable, "-c", LOAD, folder / "plain.dycl", folder / "mine.key", how, code=1)


def test_without_the_key(folder):
    package = folder / "m.dycl"
    for said in (run(package, code=4), dycl("inspect", package, code=4), dycl("view", package, code=4),
                 dycl("emit", package, "-o", folder / "cpp", code=4),
                 dycl("compile", "--retarget", package, "-o", folder / "made.dycl", code=4)):
        assert "is encrypted, and no key is given" in said
    assert "encrypted with another key" in run(package, folder / "other.key", code=4)
    assert "is not encrypted, and a key is given" in run(folder / "plain.dycl", folder / "mine.key", code=4)
    dycl("keygen", folder / "signer")
    assert "holds no key of this kind" in run(package, folder / "signer.key", code=3)
    assert not (folder / "cpp").exists() and not (folder / "made.dycl").exists()


def test_every_change_is_found(folder):
    """In the header, in each byte of what it holds, and in the proof; however it is cut or grows."""
    good = (folder / "m.dycl").read_bytes()
    for place in [*range(0, 64, 3), *range(64, len(good) - PROOF, max(1, len(good) // 40)), len(good) - 1]:
        changed = bytearray(good)
        changed[place] ^= 1
        (folder / "changed.dycl").write_bytes(changed)
        said = run(folder / "changed.dycl", folder / "mine.key", code=4)
        assert "not encrypted" in said if place < 8 else "another key" in said if place < 40 else "was changed" in said
    for piece in (good[:-1], good + b"\0", good[:64], good[:79], good[:80], good[:8], good[:7], good[64:]):
        (folder / "changed.dycl").write_bytes(piece)
        run(folder / "changed.dycl", folder / "mine.key", code=4)


def test_signed_first_then_encrypted(folder):
    signed, both = folder / "signed.dycl", folder / "both.dycl"
    dycl("keygen", folder / "signer")
    dycl("sign", folder / "plain.dycl", "--key", folder / "signer.key", "-o", signed)
    dycl("encrypt", signed, "--key", folder / "mine.key", "-o", both)
    run(both, folder / "mine.key", "--require-signature", folder / "signer.pub")
    dycl("check-signature", both, "--key", folder / "signer.pub", "--decryption-key", folder / "mine.key")
    assert "not signed" in run(folder / "m.dycl", folder / "mine.key", "--require-signature", folder / "signer.pub",
                               code=4)
    assert "is encrypted" in run(both, None, "--require-signature", folder / "signer.pub", code=4)
    assert "is encrypted" in dycl("sign", both, "--key", folder / "signer.key", code=4)
    assert "encrypted already" in dycl("encrypt", both, "--key", folder / "mine.key", code=4)
    dycl("decrypt", both, "--key", folder / "mine.key")
    assert both.read_bytes() == signed.read_bytes()


def test_a_key_is_no_consent_to_machine_code(tmp_path):
    """Whoever has the key can make packages with it: that says nothing of who did."""
    (tmp_path / "marker.c").write_text(f"""#include <stdio.h>
__attribute__((constructor)) static void started(void) {{ fclose(fopen("{tmp_path / 'marker'}", "w")); }}
""")
    done("gcc", "-shared", "-fPIC", "-o", tmp_path / "marker.so", tmp_path / "marker.c")
    done(MADE / "make_native_package", tmp_path / "marker.so", tmp_path / "m.dycl", "native-1")
    dycl("keygen", "--encryption", tmp_path / "mine")
    dycl("encrypt", tmp_path / "m.dycl", "--key", tmp_path / "mine.key")
    run(tmp_path / "m.dycl", tmp_path / "mine.key", code=7)
    assert not (tmp_path / "marker").exists()


def test_keys(folder):
    assert stat.S_IMODE((folder / "mine.key").stat().st_mode) == 0o600
    assert "not overwritten" in dycl("keygen", "--encryption", folder / "mine", code=8)
    assert not (folder / "mine.pub").exists()
    (folder / "broken.dycl").write_bytes(b"no package at all" * 20)
    dycl("encrypt", folder / "broken.dycl", "--key", folder / "mine.key", code=4)
    dycl("decrypt", folder / "plain.dycl", "--key", folder / "mine.key", code=4)
    os.mkfifo(folder / "fifo")  # a test that waits for a writer does not end
    assert "is a FIFO, not a file" in run(folder / "m.dycl", folder / "fifo", code=3)


def test_a_function_that_fails_says_so(folder):
    lines = "import sys, dycl.runtime\ndef find(name): raise OSError('the store is away')\n"
    lines += "dycl.runtime.load(sys.argv[1], decryption_key=find)"
    assert "OSError: the store is away" in done(sys.executable, "-c", lines, folder / "m.dycl", code=1)
    lines = "import sys, dycl.runtime\ndycl.runtime.load(sys.argv[1], decryption_key=lambda name: None)"
    assert "decryption_key is no key" in done(sys.executable, "-c", lines, folder / "m.dycl", code=1)
    lines = "import sys, dycl.runtime\ndycl.runtime.load(sys.argv[1], decryption_key='')"
    assert "decryption_key is no key" in done(sys.executable, "-c", lines, folder / "m.dycl", code=1)


def test_a_decrypted_program_does_not_go_out_in_the_clear(tmp_path):
    lines = """
import io, pickle, sys, torch, dycl
torch.manual_seed(0)
model = torch.nn.Linear(3, 2).eval()
x = torch.ones(1, 3)
dycl.compile(model, (x,)).save("plain.dycl")
"""
    done(sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r}){lines}")
    dycl("keygen", "--encryption", tmp_path / "mine")
    dycl("encrypt", tmp_path / "plain.dycl", "--key", tmp_path / "mine.key", "-o", tmp_path / "m.dycl")
    lines = f"""
import os, pickle, torch, dycl
os.chdir({str(tmp_path)!r})
x = torch.ones(1, 3)
program = dycl.load("m.dycl", decryption_key="mine.key")
assert torch.equal(program(x), dycl.load("plain.dycl")(x))
for leave in (lambda: program.save("out.dycl"), lambda: program.emit("out"), lambda: program.emit_onnx("out.onnx"),
              lambda: pickle.dumps(program)):
    try:
        leave()
    except dycl.PackageError as error:
        assert error.kind == "write_failed" and "in the clear" in str(error)
    else:
        raise AssertionError
assert not [name for name in os.listdir() if name.startswith("out")]
"""
    done(sys.executable, "-c", lines)
