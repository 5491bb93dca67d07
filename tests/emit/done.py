# SPDX-License-Identifier: Apache-2.0
"""What `make test-emit` has done already, so that it goes on where it was stopped: build/test-emit/done.json. A result
counts as long as the programs, the sources of the front end, the zoo and these tests are the same; `make test-long` has
a mark of its own."""

import hashlib
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release"))


class Done:
    def __init__(self, file=ROOT / "build" / "test-emit" / "done.json", mark=None):
        self.file = Path(file)
        self.mark = _mark() if mark is None else mark

    def _read(self):
        try:
            found = json.loads(self.file.read_text())
        except (OSError, ValueError):
            return {}
        return found["results"] if found.get("mark") == self.mark else {}

    def get(self, name):
        """The result of an earlier run, or None."""
        return self._read().get(name)

    def put(self, name, result):
        results = self._read() | {name: result}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(json.dumps({"mark": self.mark, "results": results}, indent=1))
        os.replace(temporary, self.file)


def _mark():
    text = hashlib.sha256()
    programs = [BUILD / "bin" / "dycl", BUILD / "tests" / "emit" / "generated_cpp",
                BUILD / "tests" / "emit" / "generated_onnx", *sorted((BUILD / "lib" / "dycl").glob("*.so"))]
    sources = [f for folder in ("python/dycl", "zoo", "tests/emit")
               for f in sorted((ROOT / folder).rglob("*.py")) + sorted(
        (ROOT / folder).rglob("*.h"))]
    for file in (*programs, *sources):
        if file.exists():
            text.update(str(file).encode() + file.read_bytes())
    return text.hexdigest()
