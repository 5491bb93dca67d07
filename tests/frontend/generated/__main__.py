# SPDX-License-Identifier: Apache-2.0
"""python -m tests.frontend.generated --count 2000 --seed 1 --jobs 2 --mixed

Runs programs `seed`, `seed+1`, ... in worker processes, prints failures as they come and a summary at
the end. Exit status 1 if any program mismatched, crashed or was too slow. Refusals are counted by class and
are not failures, nor are programs in which the last bit of a rounded number decides (rounding.py). With --log,
results are appended to a file of JSON lines, and a later run with the same log and the same code skips the seeds that
it holds. A worker that dies (a crash in native code) is a failure of the program it was running; the others go on.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

RENEWED = 1000  # programs after which a worker makes room for another: their modules stay in memory
FAILURES = ("mismatch", "crash", "slow", "died")


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    if args.worker:
        return worker(args)
    if args.show:
        return show(args)
    code = version()
    done = read_log(args.log, code)
    wanted = seeds_of(args)
    seeds = [s for s in wanted if s not in done]
    results = [done[s] for s in wanted if s in done]
    start = time.time()
    failures = 0
    if done:
        print(f"{len(results)} programs were run before", flush=True)
    log = open(args.log, "a") if args.log else None
    for result in run_all(seeds, args):
        results.append(result)
        if log:
            log.write(json.dumps(result | {"code": code}) + "\n")
            log.flush()
        if result["status"] in FAILURES:
            failures += 1
            if failures <= args.max_shown:
                print_failure(result)
        if len(results) % args.every == 0:
            print(f"[{time.time() - start:6.0f} s] {len(results)} programs: {counts(results)}", flush=True)
    return summary(results, time.time() - start, args)


def seeds_of(args) -> list[int]:
    """`--mixed`: each of the three generators in turn."""
    from tests.frontend.generated.idioms import IDIOMS
    from tests.frontend.generated.wild import WILD

    firsts = (0, WILD, IDIOMS) if args.mixed else (0,)
    return [firsts[n % len(firsts)] + args.seed + n // len(firsts) for n in range(args.count)]


def parse(argv):
    p = argparse.ArgumentParser(prog="python -m tests.frontend.generated", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--seed", type=int, default=1, help="the first seed")
    p.add_argument("--mixed", action="store_true",
                   help="a third each of plain programs, wilder ones (wild.py) and what models do (idioms.py)")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--backend", default=None)
    p.add_argument("--verify", action="store_true", help="let dycl.compile verify each program as well")
    p.add_argument("--limit", type=int, default=60, help="seconds of processor time a program may take")
    p.add_argument("--log", type=Path, help="JSON lines; seeds found there are not run again")
    p.add_argument("--every", type=int, default=200, help="print counts after so many programs")
    p.add_argument("--max-shown", type=int, default=10, help="failures printed in full")
    p.add_argument("--shrink", action="store_true", help="make the shown failures small first")
    p.add_argument("--show", action="store_true", help="print program --seed and how it runs; nothing else")
    p.add_argument("--json", type=Path, help="write the summary there")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    return p.parse_args(argv)


def options_of(args) -> dict:
    options = {"verify": args.verify}
    if args.backend:
        options["backend"] = args.backend
    return options


def worker(args) -> int:
    """Reads seeds from stdin, answers one JSON line each."""
    import torch

    torch.set_num_threads(1)
    from tests.frontend.generated.execute import run
    from tests.frontend.generated.generate import generate

    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what programs or libraries print must not mix with the answers
    for line in sys.stdin:
        seed = int(line)
        report = run(seed, generate(seed), limit=args.limit, **options_of(args))
        answer.write(json.dumps(dataclasses.asdict(report)) + "\n")
        answer.flush()
    return 0


class Worker:
    """A child process and the seed it is busy with."""

    def __init__(self, args):
        command = [sys.executable, "-m", "tests.frontend.generated", "--worker", "1", "--limit", str(args.limit)]
        if args.verify:
            command.append("--verify")
        if args.backend:
            command += ["--backend", args.backend]
        self.args, self.seed, self.since, self.given = args, None, 0.0, 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, cwd=root(), env=environment())

    def give(self, seed: int) -> None:
        self.seed, self.since, self.given = seed, time.time(), self.given + 1
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()

    def overdue(self) -> bool:
        return self.seed is not None and time.time() - self.since > self.args.limit * 20 + 600


def root() -> Path:
    return Path(__file__).resolve().parents[3]


def environment() -> dict:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def run_all(seeds, args):
    """Yields results in the order they come."""
    import selectors

    pending = list(reversed(seeds))
    poll = selectors.DefaultSelector()
    active: set[Worker] = set()

    def start():
        w = Worker(args)
        active.add(w)
        poll.register(w.process.stdout, selectors.EVENT_READ, w)
        w.give(pending.pop())

    for _ in range(min(args.jobs, len(pending))):
        start()
    while active:
        ready = [key.data for key, _ in poll.select(timeout=5)]
        for w in list(active):
            line = w.process.stdout.readline() if w in ready else ""
            if line:
                yield json.loads(line)
                w.seed = None
                if pending and w.given < RENEWED:
                    w.give(pending.pop())
                    continue
                w.process.kill()  # it has nothing to lose, and taking thousands of modules apart takes minutes
                w.process.wait()
                poll.unregister(w.process.stdout)
                active.discard(w)
                if pending:
                    start()
            elif w in ready or w.overdue():
                if w.process.poll() is None:
                    w.process.kill()
                code = w.process.wait()
                poll.unregister(w.process.stdout)
                active.discard(w)
                yield {"seed": w.seed, "status": "died", "kind": f"worker ended with {code}", "detail": "", "paths": 0,
                       "calls": 0, "seconds": {}}
                if pending:
                    start()


def version() -> str:
    """Of the compiler and of the generator: a result counts as long as both are the same."""
    text = hashlib.sha256()
    for folder in ("python/dycl", "tests/frontend/generated"):
        for file in sorted((root() / folder).rglob("*.py")) + sorted((root() / folder).glob("*.so")):
            text.update(str(file.relative_to(root())).encode() + file.read_bytes())
    return text.hexdigest()[:16]


def read_log(path, code: str) -> dict[int, dict]:
    if not path or not path.exists():
        return {}
    found = {}
    for line in path.read_text().splitlines():
        with contextlib.suppress(ValueError):  # a line that was cut off as the run was stopped
            result = json.loads(line)
            if result.get("code") == code:
                found[result["seed"]] = result
    return found


def counts(results) -> str:
    total = collections.Counter(r["status"] for r in results)
    return ", ".join(f"{n} {status}" for status, n in total.most_common())


def print_failure(result) -> None:
    print(f"--- seed {result['seed']}: {result['status']}: {result['kind']}\n{result['detail']}", flush=True)


def summary(results, seconds, args) -> int:
    print(f"\n{len(results)} programs in {seconds:.0f} s: {counts(results)}")
    used = [r for r in results if r["status"] == "equal"]
    if used:
        compiles = sorted(r["seconds"].get("compile", 0) for r in used)
        print(f"equal: {sum(r['calls'] for r in used)} calls compared, "
              f"{sum(r['paths'] > 1 for r in used)} programs with several paths, "
              f"compile median {compiles[len(compiles) // 2] * 1e3:.0f} ms, worst {compiles[-1]:.1f} s")
    classes = {status: collections.Counter() for status in ("refused", "rounding") + FAILURES}
    example: dict = {}
    for r in results:
        if r["status"] in classes:
            classes[r["status"]][r["kind"]] += 1
            example.setdefault((r["status"], r["kind"]), r["seed"])
    for status, kinds in classes.items():
        if kinds:
            print(f"\n{status}:")
            for kind, n in kinds.most_common():
                print(f"  {n:5}  {kind}  (seed {example[status, kind]})")
    bad = [r for r in results if r["status"] in FAILURES]
    if args.shrink:
        shrink_failures(bad, args)
    if args.json:
        args.json.write_text(json.dumps({"programs": len(results), "seconds": seconds,
                                         "status": dict(collections.Counter(r["status"] for r in results)),
                                         "classes": {s: dict(k) for s, k in classes.items()}}, indent=1))
    return 1 if bad else 0


def shrink_failures(bad, args) -> None:
    """The smallest program found for the first failure of each kind."""
    from tests.frontend.generated.execute import run
    from tests.frontend.generated.generate import generate
    from tests.frontend.generated.shrink import shrink

    seen = set()
    for r in bad:
        if r["status"] in ("died", "slow") or (r["status"], r["kind"]) in seen or len(seen) >= args.max_shown:
            continue
        seen.add((r["status"], r["kind"]))

        def fails(text, r=r):
            again = run(r["seed"], text, limit=args.limit, **options_of(args))
            return (again.status, again.kind) == (r["status"], r["kind"])

        small = shrink(generate(r["seed"]), fails)
        print(f"\n=== seed {r['seed']}: {r['status']}: {r['kind']}, made small\n{small}", flush=True)


def show(args) -> int:
    from tests.frontend.generated.execute import run
    from tests.frontend.generated.generate import generate
    from tests.frontend.generated.prelude import PRELUDE

    source = generate(args.seed)
    first = PRELUDE.count("\n")
    for number, line in enumerate(source[len(PRELUDE):].splitlines(), first + 1):
        print(f"{number:4} {line}")
    report = run(args.seed, source, limit=args.limit, **options_of(args))
    print(f"\n{report.status}: {report.kind}\n{report.detail}\npaths {report.paths}, "
          f"calls {report.calls}, {report.seconds}")
    return 1 if report.status in FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
