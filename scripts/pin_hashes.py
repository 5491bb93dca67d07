# SPDX-License-Identifier: Apache-2.0
"""Writes requirements-hashes.txt: the SHA-256 of each file that the pins of requirements.txt and
requirements-engines.txt may be installed from, as the index lists them. Run it after a change of a pin.

    pin_hashes.py --index URL

torch is left out: which build of it one installs (with or without a GPU) differs by index. Only wheels for Linux and
the Pythons that DyCL runs on are listed.
"""

import argparse
import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("requirements.txt", "requirements-engines.txt")
HASHES = ROOT / "requirements-hashes.txt"
LEFT_OUT = {"torch"}
HEAD = "# Written by scripts/pin_hashes.py: what scripts/setup lets pip install, file by file.\n"


def pins(name):
    """(name, version) of each line, as they are pinned."""
    return re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)


def fits(wheel):
    """Whether a file may be installed: a wheel for Linux (glibc) and Python 3.11 or 3.12."""
    parts = wheel.removesuffix(".whl").split("-")
    if not wheel.endswith(".whl") or len(parts) < 5:
        return False
    python, abi, platform = parts[-3:]
    limited = abi == "abi3" and any(int(tag[3:]) <= 12 for tag in python.split(".") if re.fullmatch(r"cp3\d+", tag))
    pure = abi == "none" and "py3" in python.split(".")
    fitting = limited or pure or (python in ("cp311", "cp312") and abi == python)
    return fitting and (platform == "any" or re.search(r"(many)?linux[\w.]*_(x86_64|aarch64)", platform) is not None)


def hashes(index, name, version):
    project = re.sub(r"[-_.]+", "-", name).lower()
    with urllib.request.urlopen(f"{index}/{project}/", timeout=60) as page:
        listed = re.findall(r'href="([^"#]+)#sha256=([0-9a-f]{64})"', page.read().decode())
    found = set()
    for url, digest in listed:
        file = urllib.parse.unquote(url.rsplit("/", 1)[-1])
        start = re.match(r"(.+?)-(\d[^-]*)-", file)
        of_project = start and re.sub(r"[-_.]+", "-", start[1]).lower() == project and start[2] == version
        if of_project and "musllinux" not in file and fits(file):
            found.add(digest)
    if not found:
        sys.exit(f"pin_hashes.py: {index} has no wheel of {name}=={version} for Linux")
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", required=True, metavar="URL", help="of a package index, as pip takes it")
    index = parser.parse_args().index.rstrip("/")
    lines = [f"{name}=={version} " + " ".join(f"--hash=sha256:{digest}" for digest in hashes(index, name, version))
             for file in FILES for name, version in pins(file) if name not in LEFT_OUT]
    HASHES.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
