# SPDX-License-Identifier: Apache-2.0
"""`python -m dycl compile model.py:factory --input 1,3,32,32 -o model.dycl` (also reached through `dycl compile`)."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
import torch

import dycl

from . import dtypes
from .runtime import checked_threads

_DTYPES = {name: dtypes.BY_NAME[name] for name in ("f32", "f64", "f16", "bf16", "i64", "i32", "bool", "u8")}

# docs/exit_codes.md; others: the model is wrong
_EXIT_CODES = {"invalid_input": 3, "invalid_package": 4, "missing": 5, "runtime_failure": 6, "write_failed": 8}

EXAMPLES = """examples:
  dycl compile model.py:make_model --input 1,3,32,32 -o model.dycl
  dycl compile package.module:Model --input 1,10:i64 --input x.npy -o model.dycl
  dycl compile model.py:net:generate --input 1,16:i64 -o generate.dycl     (a method)
  dycl compile model.py:net --input N,64 --range N=1,32 -o model.dycl      (a dynamic dim)
  dycl compile zoo:skipnet_rnn                      (a factory with an `inputs(seed)` of its own)
"""


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="dycl compile", description="Compiles a PyTorch module, function or method.",
                                epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=["compile"], help=argparse.SUPPRESS)
    p.add_argument("model", help="file.py:name or package.module:name; name is a module, class, function or factory; "
                   "a further :method names a method")
    p.add_argument("--input", action="append", default=[], metavar="SHAPE[:DTYPE]|FILE.npy",
                   help="an example input: a shape of random values, or an array; a letter is a dynamic dim")
    p.add_argument("--range", action="append", default=[], metavar="NAME=MIN,MAX", help="the range of a dynamic dim")
    p.add_argument("-o", "--output", help="the package; default: the name with .dycl")
    p.add_argument("--backend", default="ort", help="ort, openvino, tvm, or auto: chosen per sub-DNN by measuring")
    p.add_argument("--threads", type=threads_of, default=1,
                   help="threads of use, for what auto measures; 0: as many as there are cores")
    p.add_argument("--budget", type=float, default=20.0, help="seconds that auto may spend on measuring")
    p.add_argument("--tune", type=seconds_of, default=0.0, metavar="TIME",
                   help="time for better code, e.g. 60s or 5m; for tvm and auto")
    p.add_argument("--jobs", type=int, default=0, help="processes that compile at once; 0: by cores and memory")
    p.add_argument("--no-cache", action="store_true", help="let engines compile again what they compiled before")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--no-verify", action="store_true", help="do not compare with the model on the example")
    p.add_argument("--allow-raise", action="store_true", help="compile a model that raises on its own example, too")
    p.add_argument("--json", action="store_true", help="print a report as JSON")
    p.add_argument("--portable", action="store_true", help="no artifacts for this machine's CPU")
    p.add_argument("--strip", action="store_true", help="leave IR text and source lines out of the package")
    p.add_argument("--dump", metavar="FOLDER", help="write the IR after every pass into this folder")
    p.add_argument("--skip-passes", nargs="+", default=[], metavar="PASS", help="passes to leave out, by name")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress and no notices")
    args = p.parse_args(argv)
    try:
        return run(args)
    except dycl.Error as error:
        print(error, file=sys.stderr)
        return _EXIT_CODES.get(error.kind, 2)
    except (OSError, ImportError, AttributeError, ValueError) as error:
        print(f"dycl compile: {error}", file=sys.stderr)
        return 5


def seconds_of(text: str) -> float:
    """"60s", "5m", "60": seconds."""
    factor = 60.0 if text.endswith("m") else 1.0
    seconds = float(text[:-1] if text[-1:] in ("s", "m") else text) * factor
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 60s or 5m")
    return seconds


def threads_of(text: str) -> int:
    try:
        return checked_threads(int(text) if text.lstrip("-").isdigit() else text)
    except dycl.InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    torch.manual_seed(args.seed)
    model, own_inputs = load_model(args.model)
    args.output = args.output or args.model.rsplit(":", 1)[-1] + ".dycl"
    inputs, dims = list(own_inputs(args.seed)) if own_inputs and not args.input else [], {}
    for k, text in enumerate(args.input):
        tensor, dynamic = example(text)
        inputs.append(tensor)
        if dynamic:
            dims[k] = dynamic
    check_inputs(model, inputs)
    ranges = {}
    for text in args.range:
        name, _, bounds = text.partition("=")
        low, _, high = bounds.partition(",")
        ranges[name] = (int(low), int(high))
    shown = sys.stderr.isatty() and not args.quiet and not args.json
    started = time.perf_counter()

    def say(stage: str) -> None:
        if shown:
            print(f"  {time.perf_counter() - started:7.2f} s  {stage}", file=sys.stderr)

    warnings.simplefilter("ignore", dycl.CompileWarning)  # printed below
    program = dycl.compile(model, tuple(inputs), backend=args.backend, threads=args.threads, budget=args.budget,
                           tune=args.tune, jobs=args.jobs, use_cache=not args.no_cache,
                           dynamic_dims=dims, ranges=ranges, verify=not args.no_verify,
                           allow_raise=args.allow_raise, progress=say,
                           portable=args.portable, strip=args.strip, dump=args.dump, skip_passes=args.skip_passes)
    program.save(args.output)
    report = program.report()
    seconds = time.perf_counter() - started
    if args.json:
        print(json.dumps({"output": args.output, "seconds": seconds, **_plain(report)}))
    elif not args.quiet:
        size = os.path.getsize(args.output)
        print(f"{args.output}: {report['blocks']} blocks, {report['sub_dnns']} sub-DNNs, "
              f"{size:,} bytes, {seconds:.1f} s")
        for text in report["warnings"]:
            print(f"warning: {text}", file=sys.stderr)
        for text in report.get("notices", ()):
            print(text, file=sys.stderr)
    return 0


def _plain(report: dict) -> dict:
    return json.loads(json.dumps(report, default=str))


def check_inputs(model: Any, inputs: list) -> None:
    """Without this a forgotten --input would compile to a program that always raises a TypeError, as the model does."""
    try:
        signature = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*inputs)
    except TypeError as error:
        raise ValueError(f"{error}; the model takes {signature}, and {len(inputs)} inputs are "
                         "given (--input 1,3,32,32)") from None


def load_model(text: str) -> tuple[Any, Any]:
    """The model, and the `inputs(seed)` of the factory that made it, if it has one."""
    where, _, rest = text.partition(":")
    name, _, method = rest.partition(":")
    if not name:
        raise ValueError(f"'{text}' names no object; write file.py:name")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(where))[0], where)
        if spec is None or not os.path.exists(where):
            raise ValueError(f"there is no file {where}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(where)
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    own_inputs = None if method else getattr(found, "inputs", None)
    own_inputs = own_inputs if callable(own_inputs) and hasattr(found, "__code__") else None
    if isinstance(found, type):
        found = found()
    elif callable(found) and not isinstance(found, torch.nn.Module) and found.__code__.co_argcount == 0:
        found = found()
    if isinstance(found, torch.nn.Module):
        found.eval()
    return getattr(found, method) if method else found, own_inputs


def example(text: str) -> tuple[torch.Tensor, dict[int, str]]:
    if text.endswith(".npy"):
        return torch.from_numpy(np.load(text)), {}
    shape, _, kind = text.partition(":")
    if kind and kind not in _DTYPES:
        raise ValueError(f"--input {text}: the dtype {kind} is none of {', '.join(_DTYPES)}")
    dims, dynamic = [], {}
    for axis, part in enumerate(p for p in shape.split(",") if p):
        if part.isdigit():
            dims.append(int(part))
        elif part.isidentifier():
            dims.append(5)
            dynamic[axis] = part
        else:
            raise ValueError(f"--input {text}: '{part}' is neither a number nor a name")
    dtype = _DTYPES.get(kind, torch.float32)
    if dtype.is_floating_point:
        return torch.randn(dims, dtype=dtype), dynamic
    return torch.randint(0, 2, dims).to(dtype), dynamic


if __name__ == "__main__":
    sys.exit(main())
