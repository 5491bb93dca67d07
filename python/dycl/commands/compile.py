# SPDX-License-Identifier: Apache-2.0
"""`dycl compile file.py:factory`: a model written in Python becomes a package."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from typing import Any

import torch

import dycl

from ..example_inputs import DTYPES
from ..runtime import checked_threads
from .models import example_of, load_model
from .options import add_model_options
from .parser import Parser
from .tensorflow import converted

DESCRIPTION = f"""Compiles a PyTorch module, function or method with its control flow.

The model: file.py:name or package.module:name. The name is a module, a class or a factory (called without
arguments), or a function; a further :method names a method of it. A factory may have a function `inputs(seed)` that
makes its example inputs. Give the others with --input, once for each argument:
  x.npy                    an array
  1,3,32,32                random values of this shape
  1,16:i64=0..999          with a dtype ({', '.join(DTYPES)}) and a range of values
  N,3,H=32..64,W=48        dynamic extents: any; 32 to 64; 48 in the example
"""

EXAMPLES = """examples:
  dycl compile model.py:make_model --input 1,3,32,32 -o model.dycl
  dycl compile package.module:Model --eval --input 1,10:i64=0..99 --input x.npy
  dycl compile model.py:net:generate --input 1,16:i64=0..999 --dynamic-arg max_new_tokens=20 --arg greedy=True
  dycl compile model.py:net --input N=1..32,64
  dycl compile zoo:skipnet_rnn                      (a factory with an `inputs(seed)` of its own)
"""


def parser() -> argparse.ArgumentParser:
    p = Parser(prog="dycl compile", description=DESCRIPTION, epilog=EXAMPLES, allow_abbrev=False,
               formatter_class=argparse.RawDescriptionHelpFormatter,
               usage="dycl compile file.py:name[:method] [--input ...] [-o model.dycl] [options]")
    add_model_options(p)
    p.add_argument("-o", "--output", help="the package; default: the model's name with .dycl")
    p.add_argument("--allow-raise", action="store_true", help="compile a model that raises on its own example, too")
    p.add_argument("--backend", default="ort", help="ort, openvino, tvm, or auto: chosen per sub-DNN by measuring")
    p.add_argument("--threads", type=threads_of, default=1,
                   help="threads of use, for what auto measures; 0: as many as there are cores")
    p.add_argument("--budget", type=float, default=20.0, help="seconds that auto may spend on measuring")
    p.add_argument("--tune", type=seconds_of, default=0.0, metavar="TIME",
                   help="time for better code, e.g. 60s or 5m; for tvm and auto")
    p.add_argument("--jobs", type=int, default=0, help="processes that compile at once; 0: by cores and memory")
    p.add_argument("--no-cache", action="store_true", help="let engines compile again what they compiled before")
    p.add_argument("--tf-python", metavar="PY",
                   help="of a TensorFlow model (a folder): a Python that has tensorflow and tf2onnx")
    p.add_argument("--no-verify", action="store_true", help="do not compare with the model on the example")
    p.add_argument("--json", action="store_true", help="print the report, or the error, as JSON")
    p.add_argument("--portable", action="store_true", help="no artifacts for this machine's CPU")
    p.add_argument("--strip", action="store_true", help="leave IR text and source lines out of the package")
    p.add_argument("--dump", metavar="FOLDER", help="write the IR after every pass into this folder")
    p.add_argument("--skip-passes", nargs="+", default=[], metavar="PASS", help="passes to leave out, by name")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress and no notices")
    return p


def seconds_of(text: str) -> float:
    """"60s", "5m", "60": seconds."""
    factor = 60.0 if text.endswith("m") else 1.0
    try:
        seconds = float(text[:-1] if text[-1:] in ("s", "m") else text) * factor
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 60s or 5m")
    return seconds


def threads_of(text: str) -> int:
    try:
        return checked_threads(int(text) if text.lstrip("-").isdigit() else text)
    except dycl.InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    if not os.path.isdir(args.model):
        if args.tf_python:
            raise dycl.InputError(f"--tf-python: {args.model} is no TensorFlow model (a folder)")
        return _compiled(args, *load_model(args.model, args.eval), default_output(args.model))
    if args.eval:
        raise dycl.InputError("--eval says nothing of a TensorFlow model")
    with tempfile.TemporaryDirectory() as folder:
        path = converted(args.model, args.tf_python, folder)
        return _compiled(args, path, None, os.path.basename(os.path.abspath(args.model)) + ".dycl")


def _compiled(args: argparse.Namespace, model: Any, own_inputs: Any, name: str) -> int:
    torch.manual_seed(args.seed)
    output = args.output or name
    example, inputs, kwargs = example_of(args, model, own_inputs, args.seed)
    shown = sys.stderr.isatty() and not args.quiet and not args.json
    started = time.perf_counter()

    def say(stage: str) -> None:
        """How far a stage is stands in one line, which the next one replaces."""
        if shown:
            end = "\r" if ":" in stage else "\n"
            print(f"\033[K  {time.perf_counter() - started:7.2f} s  {stage}", end=end, file=sys.stderr, flush=True)

    warnings.simplefilter("ignore", dycl.CompileWarning)  # printed below
    program = dycl.compile(model, inputs, kwargs, backend=args.backend, threads=args.threads,
                           budget=args.budget, tune=args.tune, jobs=args.jobs, use_cache=not args.no_cache,
                           dynamic_dims=example.dims, ranges=example.ranges,
                           dynamic_args={name: type(value) for name, value in args.dynamic_arg},
                           verify=not args.no_verify, allow_raise=args.allow_raise, allow_training=args.allow_training,
                           progress=say, portable=args.portable, strip=args.strip, dump=args.dump,
                           skip_passes=args.skip_passes)
    program.save(output)
    report = program.report()
    seconds = time.perf_counter() - started
    if args.json:
        print(json.dumps({"output": output, "seconds": seconds, **_plain(report)}))
    elif not args.quiet:
        size = os.path.getsize(output)
        print(f"{output}: {report['blocks']} blocks, {report['sub_dnns']} sub-DNNs, "
              f"{size:,} bytes, {seconds:.1f} s")
        for text in report["warnings"]:
            print(f"warning: {text}", file=sys.stderr)
        for text in report.get("notices", ()):
            print(text, file=sys.stderr)
    return 0


def _plain(report: dict) -> dict:
    return json.loads(json.dumps(report, default=str))


def default_output(model: str) -> str:
    """model.py:make_net -> make_net.dycl; model.py:net:generate -> net.generate.dycl"""
    _, name, *method = model.split(":")
    return ".".join([name.rpartition(".")[2], *method, "dycl"])
