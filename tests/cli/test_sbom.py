# SPDX-License-Identifier: Apache-2.0
"""scripts/sbom.py names every pin, every Debian package of scripts/setup, and all that is linked into the libraries."""

import json
import re
import subprocess
import sys

from tests.emit.done import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import sbom  # noqa: E402


def test_the_bill_is_whole(tmp_path):
    file = tmp_path / "sbom.json"
    subprocess.run([sys.executable, ROOT / "scripts" / "sbom.py", file], check=True, capture_output=True)
    bill = json.loads(file.read_text())
    assert bill["bomFormat"] == "CycloneDX" and bill["specVersion"] == "1.5"
    found = {each["name"]: each for each in bill["components"]}
    pins = (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-engines.txt").read_text()
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", pins, re.MULTILINE):
        assert found[name]["version"] == version
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(references) == len(set(references))
    assert bill["dependencies"][0]["dependsOn"] == references


def test_what_is_linked_statically_is_said():
    """Each library that CMake searches for is a Debian package here that is linked or compiled in."""
    of = {"sodium": "libsodium-dev", "openblas": "libopenblas-serial-dev", "zlib": "zlib1g-dev", "z": "zlib1g-dev",
          "flatbuffers": "libflatbuffers-dev", "xxhash": "libxxhash-dev", "protozero": "libprotozero-dev",
          "cli": "libcli11-dev", "nlohmann": "nlohmann-json3-dev"}
    files = [file for folder in ("src", "tools", "python") for file in (ROOT / folder).rglob("CMakeLists.txt")]
    texts = [file.read_text() for file in files]
    names = {name.lower().removeprefix("lib").removesuffix(".a") for text in texts
             for name in re.findall(r"find_(?:path|library)\(\w+(?: NAMES)? ([\w.]+)", text)}
    known = dict(sbom.debian_packages())
    for name in names:
        package = of[name.split(".")[0]]
        assert sbom.USE[package] in ("static", "dynamic", "headers") and package in known, name
