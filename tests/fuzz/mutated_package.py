# SPDX-License-Identifier: Apache-2.0
"""One package after another, each with a section changed with its structure in mind, checksums mended: numbers of
registers, types, weights and words of code by others that are nearly right, lists with parts twice or gone, names by
other names, models of engines with other attributes. Of each it is told what became of it; tests/fuzz/mutations.py
starts this, and reads what ended it.

    python -m tests.fuzz.mutated_package PACKAGE SEED FIRST LAST
"""

import contextlib
import copy
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

import dycl
from dycl import runtime
from tests.frontend.support.packages import checksum, sections_of, with_sections

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "src" / "runtime" / "plan.fbs"
ROOTS = {"plan": "Plan", "weights.index": "WeightIndex", "debug": "DebugInfo"}
NUMBERS = (0, 1, 2, 3, 7, 64, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, -1, -2, -2**63)
INTS = tuple(n for n in NUMBERS if n < 2**63)
TEXTS = ("", "x", "ort", "openvino", "tvm", "stub", "portable", "../../x", "@", "{}", "{:>999}", "a" * 5000, "\x1b[2J",
         "main", "\u0000", "ValueError", "SystemExit")
SECONDS, MEMORY = 10, 400_000  # that one may take; KiB more than before


# ---- flat buffers as data --------------------------------------------------------------------------------


def _flatc(folder, *arguments):
    done = subprocess.run(["flatc", "-o", folder, *arguments], capture_output=True, text=True)
    return done.returncode == 0


def decoded(name, content):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.bin").write_bytes(content)
        if not _flatc(folder, "--json", "--raw-binary", "--strict-json", "--root-type",
                      f"dycl.runtime.fb.{ROOTS[name]}", str(SCHEMA), "--", f"{folder}/x.bin"):
            raise ValueError(f"flatc cannot read section {name}")
        return json.loads((Path(folder) / "x.json").read_text())


def encoded(name, data):
    """The bytes again; None: no such buffer can be written."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.json").write_text(json.dumps(data))
        if not _flatc(folder, "--binary", "--root-type", f"dycl.runtime.fb.{ROOTS[name]}", str(SCHEMA),
                      f"{folder}/x.json"):
            return None
        return (Path(folder) / "x.bin").read_bytes()


# ---- mutations -------------------------------------------------------------------------------------------


def places(data, path=()):
    for key, part in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*path, key)
        yield from places(part, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def _another(value, data, fields, r):
    """Something else of the same kind, mostly one that is near or occurs elsewhere."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = [value + 1, value - 1, value ^ 1 << r.randrange(8), value ^ 1 << 31]
        same = [x for x in (at(data, r.choice(fields)) for _ in range(8)) if type(x) is int]
        return r.choice([*near, *same, *same, r.choice(NUMBERS)])
    return r.choice(TEXTS) if isinstance(value, str) else copy.deepcopy(value)


def change_data(data, r):
    data = copy.deepcopy(data)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        top = r.choice([key for key in data if data[key] not in (None, [], "")] or [*data])  # each table as often
        fields = [(top, *p) for p in places(data[top])] or [(top,)]
        *path, last = r.choice(fields)
        holder, how = at(data, path), r.randrange(6)
        if isinstance(holder, list) and how == 0:
            del holder[last]
        elif isinstance(holder, list) and how == 1:
            holder.insert(last, copy.deepcopy(r.choice(holder)))
        elif isinstance(holder, list) and how == 2:
            other = r.randrange(len(holder))
            holder[last], holder[other] = holder[other], holder[last]
        else:
            holder[last] = _another(holder[last], data, fields, r)
    return data


def change_bytes(content, r):
    data = bytearray(content)
    for _ in range(r.randrange(1, 5)):
        if not data:
            break
        where, how = r.randrange(len(data)), r.randrange(4)
        if how == 0:
            data[where] = r.randrange(256)
        elif how == 1:
            data[where] ^= 1 << r.randrange(8)
        elif how == 2:
            word = r.choice(NUMBERS) % 2**32
            data[where // 4 * 4:where // 4 * 4 + 4] = word.to_bytes(4, "little")[:max(0, len(data) - where // 4 * 4)]
        else:
            other = r.randrange(len(data))
            data[where:where + 8] = data[other:other + min(8, len(data) - where)]
    return bytes(data)


def change_model(content, r):
    """An engine's model with another attribute, op, operand or shape; None: it is none."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception:
        return None
    nodes = list(model.graph.node)
    if not nodes:
        return None
    for _ in range(r.choice((1, 1, 2, 3))):
        node, how = r.choice(nodes), r.randrange(6)
        if how == 0 and node.attribute:
            a = r.choice(node.attribute)
            a.i, a.f = r.choice(INTS), r.choice((0.0, -1.0, float("nan"), 1e38))
            if a.ints:
                a.ints[r.randrange(len(a.ints))] = r.choice(INTS)
            if a.s:
                a.s = r.choice(TEXTS).encode()
        elif how == 1 and node.attribute:
            del node.attribute[r.randrange(len(node.attribute))]
        elif how == 2 and node.input:
            node.input[r.randrange(len(node.input))] = r.choice([*r.choice(nodes).input, *r.choice(nodes).output, ""])
        elif how == 3:
            other = r.choice(nodes)
            node.op_type, node.domain = other.op_type, other.domain
        elif how == 4 and model.graph.initializer:
            dims = r.choice(model.graph.initializer).dims
            if dims:
                dims[r.randrange(len(dims))] = r.choice(INTS)
        elif model.graph.input:
            port = r.choice([*model.graph.input, *model.graph.output]).type.tensor_type
            if port.shape.dim:
                r.choice(port.shape.dim).dim_value = r.choice(INTS)
    return model.SerializeToString()


def change_artifact(sections, plan, r):
    """{section: its new content}: one artifact is another, and the plan says so."""
    functions = [f for f in plan.get("sub_dnns", []) if f.get("artifacts")]
    if not functions:
        return {}
    plan = copy.deepcopy(plan)
    artifact = r.choice(r.choice([f for f in plan["sub_dnns"] if f.get("artifacts")])["artifacts"])
    begin, size = artifact.get("offset", 0), artifact.get("size", 0)
    content = sections["artifacts"][begin:begin + size]
    changed = (change_model(content, r) if r.random() < 0.6 else None) or change_bytes(content, r)
    end = len(sections["artifacts"]) + -len(sections["artifacts"]) % 64
    artifact.update(offset=end, size=len(changed), checksum=checksum(changed))
    return {"plan": plan, "artifacts": sections["artifacts"].ljust(end, b"\0") + changed}


def mutated(path, sections, data, r, to):
    """Writes one; what was changed, or "" if it could not be."""
    what = r.choices(["plan", "weights.index", "debug", "artifact", "metadata", "bytes"], (8, 2, 1, 5, 2, 1))[0]
    if what == "artifact":
        changed = change_artifact(sections, data["plan"], r)
    elif what in data:
        changed = {what: change_data(data[what], r)}
    elif what == "metadata":
        whole = json.loads(sections["metadata"])
        changed = {"metadata": json.dumps(change_data(whole, r)).encode()}
    else:
        section = r.choice([*sections])
        changed = {section: change_bytes(sections[section], r)}
    changed = {name: encoded(name, x) if isinstance(x, dict) else x for name, x in changed.items()}
    if not changed or None in changed.values():
        return ""
    with_sections(path, lambda name, held: changed.get(name, held), to)
    return what


# ---- run -------------------------------------------------------------------------------------------------


_DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
           "i8": np.int8, "u8": np.uint8, "bool": np.bool_}


def argument(kind):
    """Of this type; extents that are not known are 2."""
    if kind in ("bool", "int", "float"):
        return {"bool": False, "int": 1, "float": 0.5}[kind]
    if kind.startswith(("list<", "optional<")):
        return [] if kind.startswith("list") else None
    dtype, _, extents = kind.partition("[")
    shape = [int(e) if e.isdigit() else 2 for e in extents.rstrip("]").split(",") if e]
    if dtype not in _DTYPES or np.prod(shape, dtype=float) > 1e6:
        return None
    return np.ones(shape, _DTYPES[dtype])


def tried(path):
    """What became of it."""
    try:
        program = runtime.load(path, threads=1)
    except dycl.Error as error:
        return f"refused ({error.kind})"
    with dycl.RunOptions(deadline=2, step_limit=200_000, memory_limit=64 << 20):
        said = "ran"
        for _ in range(2):
            try:
                program(*(argument(kind) for _, kind in program.inputs))
            except dycl.Error as error:
                said = f"failed ({error.kind})"
    repr(program), program.variants
    return said


@contextlib.contextmanager
def quiet():
    """What programs print is not shown."""
    with open("/dev/null", "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def work(path, seed, first, last):
    """Tells of each before and after it is tried, so that who reads knows which one ended this process."""
    sections = sections_of(path)
    data = {section: decoded(section, sections[section]) for section in ROOTS if sections.get(section)}
    out = sys.stdout
    with tempfile.TemporaryDirectory() as folder, quiet():
        for number in range(first, last):
            to = Path(folder) / "p.dycl"
            what = mutated(path, sections, data, random.Random(f"{seed}.{path.stem}.{number}"), to)
            if not what:
                continue
            print(number, what, "begins", file=out, flush=True)
            if os.environ.get("DYCL_TEST_END_AT") == str(number):  # of tests/fuzz/test_mutations.py: as a crash would
                os.abort()
            before, held = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            said = tried(to)
            if (took := time.monotonic() - before) > SECONDS:
                said = f"WRONG: it took {took:.0f} s"
            if (more := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) > MEMORY:
                said = f"WRONG: it took {more >> 10} MiB"
            print(number, what, said, file=out, flush=True)


if __name__ == "__main__":
    work(Path(sys.argv[1]), *map(int, sys.argv[2:]))
