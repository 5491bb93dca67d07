# SPDX-License-Identifier: Apache-2.0
"""The tests that take hours, part by part (`make test-long`); goes on where it was stopped.

    test_long.py [--list] [--fresh] [PART...]

A part that passed or failed is not run again as long as the commit and the files changed since are the same; --fresh
runs it even so. Each result goes into build/test-long/done.json and into the table of docs/trust.md, with the commit,
the day, the time and what the part itself says last. Its whole output is in build/test-long/PART.log. The exit status
is the number of parts named (or of all) that have not passed.
"""

import argparse
import datetime
import hashlib
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "emit"))
from done import Done  # noqa: E402
from fuzz import targets  # noqa: E402

FOLDER = ROOT / "build" / "test-long"
PAGE = ROOT / "docs" / "trust.md"
BEGIN, END = "<!-- written by make test-long -->", "<!-- end of what make test-long writes -->"
PYTHON = ROOT / ".venv" / "bin" / "python"
JOBS = str(os.cpu_count())


@dataclass
class Part:
    name: str
    what: str
    cost: str  # by the order of magnitude; the table has what it took
    command: list
    environment: dict = field(default_factory=dict)
    result: str = r".*\S"  # the last line that matches says what came out


def _module(name, what, cost, *arguments, result=r".*\S"):
    return Part(name, what, cost, [PYTHON, "-m", *arguments], result=result)


PARTS = [
    *(Part(f"fuzz_{name}", f"tests/fuzz/{name}.cpp under ASan", "5 min",
           [PYTHON, ROOT / "scripts" / "fuzz.py", name, "--minutes", "5"]) for name in targets()),
    Part("differential", "5,000 generated programs: the runtime against the interpreter", "minutes",
         [ROOT / "build" / "release" / "tests" / "runtime" / "differential_test"], {"DYCL_TEST_PROGRAMS": "5000"},
         r"\[ +(PASSED|FAILED) +\].*"),
    Part("ir_fuzz", "100,000 generated texts of the IR, and damaged ones", "minutes",
         [ROOT / "build" / "release" / "tests" / "ir" / "ir_fuzz", "100000", "4"]),
    Part("soak", "64 threads for 10 minutes over one program, cancelled, late, out of steps or memory at random",
         "10 min", [ROOT / "build" / "release" / "tests" / "runtime" / "soak_test"], {"DYCL_TEST_SECONDS": "600"},
         r"\d+ finished.*"),
    Part("sanitizers", "the C++ tests under ASan/UBSan and under TSan, with ONNX Runtime too", "an hour",
         [PYTHON, ROOT / "scripts" / "test.py", "asan", "tsan", "asan_ort", "tsan_ort"]),
    _module("special", "NaN, infinities, extreme numbers through every op, three back ends", "hours",
            "tests.frontend.support.special_sweep", "--results", FOLDER / "special.json"),
    _module("linear_algebra", "torch's samples of linear algebra, and matrices of 1 x 1 to 200 x 200", "half an hour",
            "tests.frontend.support.linear_algebra_sweep"),
    _module("generated", "20,000 generated Python programs: eager against compiled", "hours",
            "tests.frontend.generated", "--count", "20000", "--seed", "1", "--mixed", "--jobs", JOBS, "--log",
            ROOT / "build" / "generated.jsonl"),
    _module("onnx_suite", "ONNX's own test suite", "an hour", "tests.onnx.suite"),
    _module("onnx_hostile", "1,000 models of each kind that are wrong", "an hour",
            "tests.onnx.hostile", "--count", "1000"),
    _module("mutations", "1,000 packages of each of five, changed with their structure in mind: refused, or run",
            "minutes", "tests.fuzz.mutations", "--count", "1000", result=r"\d+ packages, \d+ wrong"),
    Part("emitted", "500 generated programs and the zoo as C++ and as ONNX", "an hour",
         ["make", "--no-print-directory", "test-emit"]),
    Part("snippets", "what the guides of docs/ tell a reader to type, building C++ included", "minutes",
         [PYTHON, "-m", "pytest", "-q", "tests/test_doc_snippets.py"], {"DYCL_TEST_LONG": "1"}),
    Part("gallery", "the entries of examples/gallery/ against eager; installs transformers", "minutes",
         [PYTHON, "-m", "pytest", "-q", "tests/test_gallery.py"], {"DYCL_TEST_LONG": "1"}),
    Part("zoo_special", "NaN and infinities among the inputs of the zoo's DyNNs, against eager", "an hour",
         [PYTHON, "-m", "pytest", "-q", "tests/zoo/test_special_inputs.py"], {"DYCL_TEST_LONG": "1"}),
    Part("zoo", "the paper's DyNNs on every back end against eager, 100 inputs each", "hours",
         [PYTHON, ROOT / "bench" / "backends_correct.py"]),
]


# ---- one part ----------------------------------------------------------------------------


def _git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True, check=True).stdout


def state():
    """(what makes a result count, the commit as the table says it): documents do not change what is tested."""
    changed = _git("diff", "HEAD", "--", ".", ":!docs") + _git("ls-files", "--others", "--exclude-standard")
    commit = _git("rev-parse", "--short=10", "HEAD").strip()
    tree = _git("ls-tree", "HEAD")  # a commit of documents alone has the same entries but for theirs
    code = "\n".join(line for line in tree.splitlines() if not re.search(r"\t(docs|bench|.*\.md)$", line))
    mark = hashlib.sha256((code + changed).encode()).hexdigest()
    return mark, commit + (" and changes" if changed else "")


def execute(part):
    """(whether it passed, what it says, seconds)."""
    log = FOLDER / f"{part.name}.log"
    start = time.monotonic()
    with open(log, "w") as out:
        try:
            status = subprocess.run(part.command, cwd=ROOT, env=os.environ | part.environment, stdout=out,
                                    stderr=subprocess.STDOUT).returncode
        except OSError as error:
            return False, f"{part.command[0]}: {error.strerror}", 0.0
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if re.fullmatch(part.result, line)]
    return status == 0, (said or ["nothing"])[-1][:100], time.monotonic() - start


# ---- the table ---------------------------------------------------------------------------


def table(results, before=""):
    """Markdown: a row for each part, in their order; those that never ran say so. `before`: the table as it is, whose
    rows stay where only another checkout has run the part."""
    said_before = {name: row for row, name in re.findall(r"^(\| (\w+) \|.*)$", before, re.MULTILINE)}
    rows = ["| part | what | result | commit, day | time |", "|---|---|---|---|---|"]
    for part in PARTS:
        known = results.get(part.name)
        if not known and "not run yet" not in said_before.get(part.name, "not run yet"):
            rows.append(said_before[part.name])
            continue
        if not known:
            rows.append(f"| {part.name} | {part.what} | not run yet | | {part.cost} |")
            continue
        said = known["said"].replace("|", "\\|")
        rows.append(f"| {part.name} | {part.what} | {'passed' if known['passed'] else '**failed**'}: {said} | "
                    f"{known['commit']}, {known['day']} | {known['seconds'] / 60:.0f} min |")
    return "\n".join(rows)


def with_table(page, results):
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:begin] + "\n" + table(results, page[begin:end]) + "\n" + page[end:]


class Kept:
    """The last result of each part, whatever commit it is of (Done forgets other commits')."""

    def __init__(self, folder=FOLDER):
        self.now, self.ever = Done(folder / "done.json", state()[0]), Done(folder / "last.json", "")

    def get(self, name):
        return self.now.get(name)

    def put(self, name, result):
        self.now.put(name, result)
        self.ever.put(name, result)

    def all(self):
        return {part.name: found for part in PARTS if (found := self.ever.get(part.name))}


def run(parts, fresh):
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept, (mark, commit) = Kept(), state()
    failed = 0
    for part in parts:
        known = None if fresh else kept.get(part.name)
        if known is None:
            print(f"{part.name}: {part.what}: {part.cost}", flush=True)
            passed, said, seconds = execute(part)
            changed = "" if state()[0] == mark else ", changed meanwhile"  # who knows what was built when
            known = {"passed": passed, "said": said, "seconds": seconds, "commit": commit + changed,
                     "day": datetime.date.today().isoformat()}
            kept.put(part.name, known)
            PAGE.write_text(with_table(PAGE.read_text(), kept.all()))
        failed += not known["passed"]
        print(f"{part.name}: {'passed' if known['passed'] else 'FAILED'}, {known['said']}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PART")
    parser.add_argument("--list", action="store_true", help="the parts and what they cost")
    parser.add_argument("--fresh", action="store_true", help="run what has a result, too")
    options = parser.parse_args()
    unknown = set(options.names) - {part.name for part in PARTS}
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; --list shows them")
    chosen = [part for part in PARTS if not options.names or part.name in options.names]
    if options.list:
        for part in chosen:
            print(f"{part.name:14} {part.cost:>8}  {part.what}")
        return 0
    return run(chosen, options.fresh)


if __name__ == "__main__":
    sys.exit(main())
