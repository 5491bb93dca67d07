# SPDX-License-Identifier: Apache-2.0
"""Files and command lines that ask for more than there is: clear errors, no crash, no wait."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
MADE = Path(os.environ.get("DYCL_BUILD", ROOT / "build" / "release")) / "tests" / "runtime"


def limited():
    """Of a program that would take all memory, this test must not be what takes it. Files in memory count as files."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def run(*words, code):
    ended = subprocess.run([str(w) for w in words], text=True, capture_output=True, timeout=60, preexec_fn=limited,
                           env={**os.environ, "DYCL_PLUGIN_PATH": str(MADE)})
    assert ended.returncode == code, f"{words}\n{ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout + ended.stderr


@pytest.fixture
def package(tmp_path):
    run(MADE / "make_c_api_package", tmp_path / "m.dycl", code=0)
    return tmp_path / "m.dycl"


def sparse(path, start=b"", size=1 << 40):
    path.write_bytes(start)
    os.truncate(path, size)
    return path


def test_a_file_larger_than_the_memory(package, tmp_path):
    """1 TB that takes no room on disk, as an array, an archive, a package, a key: refused before memory is asked for,
    which the system would give, and then end processes for want of it."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (274877906912,), }".ljust(117) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    for name in ("x.npy", "x.npz"):
        given = sparse(tmp_path / name, start)
        assert f"no memory for {given} of 1099511627776 bytes" in run(BIN / "dycl-run", package, given, code=6)
        told = run(BIN / "dycl-run", package, given, "--json", code=6)
        assert json.loads(told[told.index("{"):told.rindex("}") + 1])["error"]["kind"] == "runtime_failure"
    big = sparse(tmp_path / "big.dycl", package.read_bytes())
    for words in ((BIN / "dycl-run", big, "--random", 0), (BIN / "dycl", "inspect", big)):
        said = run(*words, code=4)
        assert "should have" in said or "cannot map" in said
    run(BIN / "dycl", "keygen", "--encryption", tmp_path / "mine", code=0)
    run(BIN / "dycl", "keygen", tmp_path / "signer", code=0)
    for words in (["dycl-run", big, "--random", 0, "--decryption-key", tmp_path / "mine.key"],
                  ["dycl-run", big, "--random", 0, "--require-signature", tmp_path / "signer.pub"],
                  ["dycl", "encrypt", big, "--key", tmp_path / "mine.key"],
                  ["dycl", "sign", big, "--key", tmp_path / "signer.key"]):
        assert "no memory for the package of 1099511627776 bytes" in run(BIN / words[0], *words[1:], code=6)
    key = sparse(tmp_path / "big.key", b"dycl-encryption-key:00")
    assert "64 hexadecimal digits" in run(BIN / "dycl", "encrypt", package, "--key", key, code=3)
    assert big.stat().st_size == 1 << 40


NUMBERS = ["nan", "inf", "-inf", "1e400", "-1", "0", "-0", "99999999999999999999", "0x10", "", " ", "1 ", "1e3", "+1"]


LIMITS = ("--deadline", "--step-limit", "--memory-limit")  # what was meant as one is one
WHOLE = ("--threads", "--repeat", "--seed", "--random", "--loop-limit", "--step-limit", "--spinning")


@pytest.mark.parametrize("option", ["--threads", "--repeat", "--deadline", "--step-limit", "--memory-limit", "--seed",
                                    "--loop-limit", "--tolerance", "--random", "--spinning"])
def test_any_number_is_taken_or_refused(package, option):
    """A number that cannot be is an error of the command line, or of the run it ends; nothing else happens."""
    for number in NUMBERS:
        words = [BIN / "dycl-run", package, f"{option}={number}", *([] if option == "--random" else ["--random=0"])]
        ended = subprocess.run([str(w) for w in words], text=True, capture_output=True, timeout=60,
                               env={**os.environ, "DYCL_PLUGIN_PATH": str(MADE)})
        said = f"{option}={number}: {ended.returncode} {ended.stderr}"
        assert ended.returncode in (0, 3, 9, 64), said
        assert "internal" not in ended.stderr and (ended.returncode == 0 or ended.stderr), said
        none = ("nan", "inf", "-inf", "", " ", "1e400", *(("99999999999999999999",) if option in WHOLE else ()),
                *(("-1", "0", "-0") if option in LIMITS else ()))
        assert number not in none or ended.returncode == 64, said


@pytest.mark.parametrize("words", [["--random=0"], ["--random=0", "--json"], ["--help"], ["--version"]])
def test_output_that_does_not_arrive_is_an_error(package, words):
    """On a full disk and on a stream that is closed."""
    command = [BIN / "dycl-run", package, *words] if words[0] == "--random=0" else [BIN / "dycl-run", *words]
    for to in (">/dev/full", ">&-"):
        ended = subprocess.run(["bash", "-c", f'"$@" {to}', "", *map(str, command)], text=True, capture_output=True,
                               env={**os.environ, "DYCL_PLUGIN_PATH": str(MADE)}, timeout=60)
        assert ended.returncode == 8 and "cannot write the output" in ended.stderr, (to, ended)


def test_what_is_printed_gets_into_no_file(package, tmp_path):
    """Whichever of the standard streams are closed, files do not take their place."""
    before = package.read_bytes()
    run(BIN / "dycl", "keygen", tmp_path / "signer", code=0)
    for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
        subprocess.run(["bash", "-c", f'"$@" {closed}', "", BIN / "dycl", "sign", package, "--key",
                        tmp_path / "signer.key", "-o", tmp_path / "signed.dycl"], timeout=60)
        run(BIN / "dycl", "check-signature", tmp_path / "signed.dycl", "--key", tmp_path / "signer.pub", code=0)
        assert len((tmp_path / "signed.dycl").read_bytes()) == len(before) + 104
    assert package.read_bytes() == before


def test_a_path_with_a_nul_names_no_other_file(package, tmp_path):
    lines = f"""
import dycl, dycl.runtime, os, torch
os.chdir({str(tmp_path)!r})
program = dycl.compile(torch.nn.Linear(3, 2).eval(), (torch.ones(1, 3),))
for what in (lambda: dycl.load("m.dycl\\0x"), lambda: dycl.runtime.load("m.dycl\\0x"),
             lambda: dycl.runtime.load("m.dycl", require_signature="x\\0y"), lambda: dycl.compile("m\\0x.onnx", ()),
             lambda: program.save("m.dycl\\0x"), lambda: program.emit("folder\\0x"),
             lambda: program.emit_onnx("m.onnx\\0x")):
    try:
        what()
    except dycl.InputError as error:
        assert "holds a NUL" in str(error)
    else:
        raise AssertionError
assert os.listdir() == ["m.dycl"]
"""
    run(sys.executable, "-c", lines, code=0)


def test_arguments_that_a_package_wants_large(tmp_path):
    """1 kB of a package that takes 32 GiB and more."""
    for extents, code, words in (("4294967296", 6, "no memory for the argument 'x'"), ("4294967296,2", 3, "too large")):
        kind = f"f64[{extents}]"
        (tmp_path / "m.dyir").write_text(f"func @main(%x: {kind}) -> ({kind}) {{\n^entry:\n  return %x\n}}\n")
        run(BIN / "dycl", "compile", tmp_path / "m.dyir", "-o", tmp_path / "m.dycl", code=0)
        assert words in run(BIN / "dycl-run", tmp_path / "m.dycl", "--random", 0, code=code)
