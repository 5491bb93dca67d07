# SPDX-License-Identifier: Apache-2.0
"""Writes what DyCL is made of as CycloneDX 1.5 JSON (`make sbom`): build/sbom.json, or the file named.

Python packages are those of requirements.txt and requirements-engines.txt; Debian packages those that scripts/setup
installs, in the versions of this machine. The property `dycl:use` says what becomes of each: `static` is linked into
DyCL's own libraries, `dynamic` is linked by them, `headers` is compiled into them, `engine` is opened at run time,
`python` is imported, `tool` builds or tests and is not delivered.
"""

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What is in the libraries that are delivered; all else of its kind is imported, or a tool.
USE = {
    "libsodium-dev": "static", "libopenblas-serial-dev": "static", "zlib1g-dev": "dynamic", "nanobind": "static",
    "libprotozero-dev": "headers", "libflatbuffers-dev": "headers", "libxxhash-dev": "headers",
    "libcli11-dev": "headers", "nlohmann-json3-dev": "headers",
    "onnxruntime": "engine", "openvino": "engine", "apache-tvm": "engine", "apache-tvm-ffi": "engine",
    "torch": "python", "numpy": "python", "onnx": "python", "onnxscript": "python", "onnx-ir": "python",
    "ml_dtypes": "python", "typing_extensions": "python", "sympy": "python", "mpmath": "python", "networkx": "python",
    "filelock": "python", "fsspec": "python", "jinja2": "python", "markupsafe": "python", "protobuf": "python",
    "packaging": "python", "flatbuffers": "python",
}


def python_packages():
    """(name, version), as they are pinned."""
    text = "".join((ROOT / name).read_text() for name in ("requirements.txt", "requirements-engines.txt"))
    return re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)


def debian_packages():
    """(name, version here or None)."""
    lists = re.findall(r"^(?:packages|of_tests)=\(\n(.*?)^\)", (ROOT / "scripts" / "setup").read_text(),
                       re.MULTILINE | re.DOTALL)
    names = [name for text in lists for line in text.splitlines() for name in line.partition("#")[0].split()]
    return [(name, _version(name)) for name in names]


def _version(name):
    try:
        found = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], text=True, capture_output=True)
    except FileNotFoundError:  # no Debian
        return None
    return found.stdout.strip() or None


def component(kind, name, version):
    version = version or "unknown"
    place = f"pypi/{name.lower().replace('_', '-')}" if kind == "pypi" else f"deb/debian/{name}"
    url = f"pkg:{place}@{version}"
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url,
            "properties": [{"name": "dycl:use", "value": USE.get(name.lower(), "tool")}]}


def bill():
    version = re.search(r"project\(dycl VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True, capture_output=True).stdout.strip()
    components = [component("pypi", *each) for each in python_packages()]
    components += [component("deb", *each) for each in debian_packages()]
    own = {"type": "application", "bom-ref": "dycl", "name": "dycl", "version": version,
           "licenses": [{"license": {"id": "Apache-2.0"}}],
           "properties": [{"name": "dycl:commit", "value": commit or "unknown"}]}
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"timestamp": now, "component": own}, "components": components,
            "dependencies": [{"ref": "dycl", "dependsOn": [each["bom-ref"] for each in components]}]}


def main():
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "sbom.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    made = bill()
    file.write_text(json.dumps(made, indent=1) + "\n")
    print(f"{file}: {len(made['components'])} components")


if __name__ == "__main__":
    main()
