# SPDX-License-Identifier: Apache-2.0
"""`dycl view model.dycl`: writes the page."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from ..errors import InputError, PackageError
from ..native import native
from ..runtime import key_finder
from ..view.page import page
from .parser import Parser

DESCRIPTION = """Shows a package as one HTML page that loads nothing: its control-flow graph beside the
lines of the model, sub-DNNs with their ops, weights and engines and, with a profile, which paths
the inputs took and where the time went. The drawing is laid out by Graphviz (apt-get install
graphviz)."""

EXAMPLES = """examples:
  dycl view model.dycl
  dycl profile model.dycl --inputs recorded/ -o profile.json
  dycl view model.dycl --profile profile.json -o page.html
"""


def parser() -> Parser:
    p = Parser(prog="dycl view", description=DESCRIPTION, epilog=EXAMPLES, allow_abbrev=False,
               formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("package", help="model.dycl")
    p.add_argument("-o", "--output", help="the page; default: the package's name with .html")
    p.add_argument("--profile", metavar="FILE", help="what `dycl profile -o FILE` wrote of this package")
    p.add_argument("--require-signature", metavar="KEY", action="append", default=[],
                   help="the package must be signed by this public key (or one of several)")
    p.add_argument("--decryption-key", metavar="KEY", help="the package is encrypted: the key's file, or its text")
    p.add_argument("--json", action="store_true", help="print what was written, or the error, as JSON")
    return p


def run(args: argparse.Namespace) -> int:
    output = args.output or str(Path(args.package).with_suffix(".html").name)
    checked = _checked(args.package, args.require_signature, args.decryption_key)
    described = json.loads(native().package_to_json(checked.file if checked is not None else args.package))
    written = page(described, os.path.basename(args.package), _profile(args.profile))
    try:
        Path(output).write_text(written, encoding="utf-8")
    except OSError as error:
        raise PackageError(f"error: cannot write {output}: {error.strerror}", message=f"cannot write {output}",
                           kind="write_failed") from None
    if args.json:
        print(json.dumps({"output": output, "bytes": len(written.encode()), "blocks": len(described["blocks"])}))
    else:
        print(f"{output}: {len(described['blocks'])} blocks, {len(written.encode()):,} bytes")
    return 0


def _checked(package: str, keys: list[str], decryption_key: str | None) -> Any:
    """The program whose `file` is what was checked, while it lives; None where there is no key."""
    if not keys and decryption_key is None:
        return None
    return native().Program.load(package, threads=1, require_signature=keys, decryption_key=key_finder(decryption_key))


def _profile(path: str | None) -> dict | None:
    if path is None:
        return None
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PackageError(f"error: cannot read {path}: {error.strerror}", message=f"cannot read {path}",
                           kind="missing") from None
    except ValueError:
        raise InputError(f"{path} is no JSON; make it with: dycl profile model.dycl --random 20 -o {path}") from None
