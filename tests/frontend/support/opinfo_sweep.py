# SPDX-License-Identifier: Apache-2.0
"""Every sample of torch's OpInfo database through the lowering, against torch (slow; run by hand).

    python -m tests.frontend.support.opinfo_sweep [--ops REGEX] [--dtypes f32,i64,bool] [--special]
        [--table docs/supported_ops.md]

Each sample is recorded as ATen nodes, converted to ONNX, run by ONNX Runtime without and with
optimisation, and compared. A sample ends as ok, refused (a LoweringRefusal: fine), or as a failure:
mismatch, engine (ONNX Runtime does not load or run it), error (the lowering broke) or crash. The exit
status is the number of ops with failures. Each op runs in a process of its own.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import signal
import sys
import time
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from dycl.frontend.graph.text import op_name
from dycl.frontend.lowering.convert import LoweringRefusal
from tests.frontend.support.lowering_harness import Unsuitable, compare, record, run_onnx
from tests.frontend.support.onnx_model import nodes_to_onnx

DTYPES = {
    "f32": torch.float32,
    "i64": torch.int64,
    "bool": torch.bool,
    "i32": torch.int32,
    "u8": torch.uint8,
    "f64": torch.float64,
    "f16": torch.float16,
}
UNDEFINED = {
    "torch.empty_like",
    "torch.empty.memory_format",
    "torch.new_empty",
    "torch.empty_strided",
    "torch.new_empty_strided",
    "torch.empty_permuted",
}  # their contents are
FAILURES = ("mismatch", "engine", "error", "crash")
RTOL, ATOL = {torch.float16: 1e-2}, {torch.float16: 1e-2}


def run_sample(function, sample, symbolic: bool, levels=(False, True)) -> tuple[str, str, set[str], str]:
    """(status, note, ATen ops in it, the op refused)."""
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]

    def call(*given):
        rest = iter(given)
        first, args, kwargs = tree_unflatten([next(rest) if isinstance(x, torch.Tensor) else x for x in leaves], spec)
        return function(first, *args, **kwargs)

    try:
        recorder, expected = record(call, *tensors, symbolic=symbolic)
    except Unsuitable as reason:
        return "unsuitable", str(reason), set(), ""
    except Exception as error:  # the sample is invalid for plain torch, or the recorder is not for it
        return "unsuitable", f"{type(error).__name__}: {str(error)[:100]}", set(), ""
    outputs = [recorder.values.get(id(r)) for r in expected]
    if any(v is None for v in outputs) or not recorder.nodes:
        return "unsuitable", "no op recorded", set(), ""
    ops = {op_name(n.target) for n in recorder.nodes}
    if ops & UNDEFINED and len(ops - {"torch.detach"}) == 1:
        return "unsuitable", "its contents are undefined", set(), ""
    try:
        model = nodes_to_onnx(recorder.nodes, recorder.inputs, outputs)
    except LoweringRefusal as refusal:
        return "refused", refusal.why, ops, refusal.op
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}", ops, ""
    feeds = recorder.feeds
    if any(x.dtype == torch.bfloat16 for x in (*feeds, *expected)):
        return "unsuitable", "numpy has no bfloat16", set(), ""
    for optimise in levels:
        try:
            results = run_onnx(model, feeds, optimise)
        except Exception as error:
            return "engine", f"optimise={optimise}: {str(error)[:300]}", ops, ""
        for actual, wanted in zip(results, expected):
            try:
                f = wanted.is_floating_point()
                compare(
                    actual, wanted, RTOL.get(wanted.dtype, 1e-4) if f else 0, ATOL.get(wanted.dtype, 2e-5) if f else 0
                )
            except AssertionError as error:
                return "mismatch", f"optimise={optimise}: {str(error)[:400]}", ops, ""
    return "ok", "", ops, ""


def with_special_values(sample, generator: torch.Generator):
    """The sample with NaN, infinities and zeros among its floats; with extreme integers in its first tensor."""

    def changed(x, first: bool):
        if not isinstance(x, torch.Tensor) or not x.numel() or x.dtype == torch.bool or x.is_complex():
            return x
        if x.is_floating_point():
            values = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 0.5, -2.5, 1000.0]
        elif first:
            values = [0, 1, -1 % 256 if x.dtype == torch.uint8 else -1, torch.iinfo(x.dtype).max,
                      torch.iinfo(x.dtype).min + 1]
        else:
            return x
        x = x.detach().clone()
        chosen = torch.tensor(values, dtype=x.dtype)[torch.randint(0, len(values), x.shape, generator=generator)]
        return torch.where(torch.rand(x.shape, generator=generator) < 0.3, chosen, x)

    args, kwargs = tree_map(lambda x: changed(x, False), (sample.args, sample.kwargs))
    first = tree_map(lambda x: changed(x, True), sample.input)
    return type(sample)(first, args=args, kwargs=kwargs)


def describe(sample) -> str:
    def brief(x):
        if isinstance(x, torch.Tensor):
            return f"{str(x.dtype)[6:]}{list(x.shape)}"
        if isinstance(x, (list, tuple)):
            return f"[{', '.join(map(brief, x))}]"
        return repr(x)

    return (f"({brief(sample.input)}, {brief(sample.args)}, "
            f"{{{', '.join(f'{k}={brief(v)}' for k, v in sample.kwargs.items())}}})")


def run_op(op, dtype: torch.dtype, most: int, symbolic: bool, special: bool, report) -> None:
    torch.manual_seed(0)
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    if len(samples) > most:
        samples = samples[:: -(-len(samples) // most)]
    if special:
        generator = torch.Generator().manual_seed(0)
        samples = [with_special_values(s, generator) for s in samples]
    for sample in samples:
        report("begin", describe(sample))
        status, note, ops, refused = run_sample(op.op, sample, symbolic)
        report(
            "end",
            {
                "status": status,
                "note": note,
                "ops": sorted(ops),
                "refused": refused,
                "sample": describe(sample),
                "dtype": str(dtype)[6:],
            },
        )


def in_child(op, dtypes, most: int, symbolic: bool, limit: int, special: bool = False) -> list[dict]:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        out = os.fdopen(write, "w")

        def report(kind, what):
            out.write(json.dumps([kind, what]) + "\n")
            out.flush()

        code = 0
        try:
            warnings.simplefilter("ignore")
            signal.alarm(limit)
            for dtype in dtypes:
                if op.supports_dtype(dtype, "cpu"):
                    run_op(op, dtype, most, symbolic, special, report)
        except Exception as error:
            report(
                "end",
                {
                    "status": "unsuitable",
                    "note": f"samples: {error}",
                    "ops": [],
                    "refused": "",
                    "sample": "",
                    "dtype": "",
                },
            )
        finally:
            out.close()
            os._exit(code)
    os.close(write)
    results, open_sample = [], None
    with os.fdopen(read) as lines:
        for line in lines:
            kind, what = json.loads(line)
            if kind == "begin":
                open_sample = what
            else:
                results.append(what)
                open_sample = None
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kind = "unsuitable" if number == signal.SIGALRM else "crash"
        results.append(
            {
                "status": kind,
                "note": f"signal {number}",
                "ops": [],
                "refused": "",
                "sample": open_sample or "",
                "dtype": "",
            }
        )
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", default="", help="a regular expression over names of the database")
    parser.add_argument("--dtypes", default="f32,i64,bool")
    parser.add_argument("--most", type=int, default=60, help="samples per op and dtype")
    parser.add_argument("--limit", type=int, default=240, help="seconds per op")
    parser.add_argument("--symbolic", action="store_true", help="all extents known only at run time")
    parser.add_argument("--special", action="store_true", help="NaN, infinities and extreme integers among the values")
    parser.add_argument("--results", help="write every result to this JSON file")
    parser.add_argument("--table", help="write the table of ops to this Markdown file")
    parser.add_argument(
        "--merge", nargs="*", default=[], help="take these files of results (of --shard runs) instead of running"
    )
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--skip", type=int, default=0, help="leave out this many ops at the beginning")
    options = parser.parse_args()
    from torch.testing._internal.common_methods_invocations import op_db

    chosen = [op for op in op_db if re.search(options.ops, op.name)]
    part, parts = map(int, options.shard.split("/"))
    chosen = chosen[part::parts][options.skip :]
    dtypes = [DTYPES[d] for d in options.dtypes.split(",")]
    everything, failed = {}, 0
    start = time.time()
    for path in options.merge:
        with open(path) as file:
            everything |= json.load(file)
    for op in chosen if not options.merge else []:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        results = everything[name] = in_child(op, dtypes, options.most, options.symbolic,
                                              options.limit, options.special)
        if options.results:
            with open(options.results, "w") as out:
                json.dump(everything, out)
        counts = collections.Counter(r["status"] for r in results)
        bad = [r for r in results if r["status"] in FAILURES]
        failed += bool(bad)
        print(f"{name}: " + ", ".join(f"{n} {s}" for s, n in sorted(counts.items())), flush=True)
        for status in FAILURES:
            for r in [r for r in bad if r["status"] == status][:2]:
                print(
                    f"    {status} {r['sample'][:200]}: {' '.join(r['note'].split())[:300]} [{', '.join(r['ops'])}]",
                    flush=True,
                )
        for refused, why in sorted({(r["refused"], r["note"]) for r in results if r["status"] == "refused"})[:4]:
            print(f"    refused {refused}: {' '.join(why.split())[:200]}", flush=True)
    if options.table:
        from tests.frontend.support.opinfo_table import write_table

        write_table(options.table, everything, options.dtypes)
    print(f"{len(chosen)} ops, {failed} with failures, {time.time() - start:.0f} s", file=sys.stderr)
    return min(failed, 255)


if __name__ == "__main__":
    sys.exit(main())
