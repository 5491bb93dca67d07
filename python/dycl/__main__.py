# SPDX-License-Identifier: Apache-2.0
"""`python -m dycl compile model.py:factory --input 1,3,32,32 -o model.dycl` (also reached through `dycl compile`)."""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import time
import traceback
import warnings
from typing import Any, Callable, NoReturn

import torch

import dycl

from .errors import unknown_name
from .example_inputs import DTYPES, Example
from .runtime import checked_threads

_USAGE = 64
# docs/exit_codes.md. Kinds of CompileError are finer: what is not here was refused.
_EXIT_CODES = {"invalid_model": 2, "example": 2, "invalid_input": 3, "argument": 3, "dims.example": 3,
               "invalid_package": 4, "missing": 5, "runtime_failure": 6, "write_failed": 8, "verify": 70,
               "internal": 70}
_REFUSED = 7
_STOPPED = 130  # by Ctrl-C, as shells have it

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


class Failure(dycl.Error):
    """The user's own code failed as the model was made."""

    kind = "invalid_model"


class Parser(argparse.ArgumentParser):
    """Wrong use ends with its exit code, and options that do not exist with those that might be meant."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(_USAGE, f"error: {message}\n  help: dycl compile file.py:name --help lists the options\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, extra = self.parse_known_args(args, namespace)
        if extra:
            options = [name for action in self._actions for name in action.option_strings]
            word = extra[0].partition("=")[0]
            near = difflib.get_close_matches(word, options, 1)
            self.error(f"there is no option {word}" + (f"; did you mean {near[0]}?" if near else "")
                       if word.startswith("-") else f"'{word}' is one argument too many")
        return found


def parser() -> argparse.ArgumentParser:
    p = Parser(prog="dycl compile", description=DESCRIPTION, epilog=EXAMPLES, allow_abbrev=False,
               formatter_class=argparse.RawDescriptionHelpFormatter,
               usage="dycl compile file.py:name[:method] [--input ...] [-o model.dycl] [options]")
    p.add_argument("command", choices=["compile"], help=argparse.SUPPRESS)
    p.add_argument("model", help="file.py:name or package.module:name")
    p.add_argument("--input", action="append", default=[], metavar="SHAPE[:DTYPE[=LEAST..GREATEST]]|FILE.npy",
                   help="an example input; may be repeated")
    p.add_argument("--range", action="append", default=[], metavar="NAME=LEAST,GREATEST",
                   help="the range of a dynamic dim")
    p.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", type=pair_of,
                   help="a keyword argument that stays as it is: greedy=True, mode=fast")
    p.add_argument("--dynamic-arg", action="append", default=[], metavar="NAME=VALUE", type=pair_of,
                   help="a number that each run gives anew; VALUE (20, 0.5, True) is its example and says its type")
    p.add_argument("-o", "--output", help="the package; default: the model's name with .dycl")
    p.add_argument("--eval", action="store_true", help="call eval() on the module first")
    p.add_argument("--allow-training", action="store_true", help="compile a module that is in training mode")
    p.add_argument("--allow-raise", action="store_true", help="compile a model that raises on its own example, too")
    p.add_argument("--backend", default="ort", help="ort, openvino, tvm, or auto: chosen per sub-DNN by measuring")
    p.add_argument("--threads", type=threads_of, default=1,
                   help="threads of use, for what auto measures; 0: as many as there are cores")
    p.add_argument("--budget", type=float, default=20.0, help="seconds that auto may spend on measuring")
    p.add_argument("--tune", type=seconds_of, default=0.0, metavar="TIME",
                   help="time for better code, e.g. 60s or 5m; for tvm and auto")
    p.add_argument("--jobs", type=int, default=0, help="processes that compile at once; 0: by cores and memory")
    p.add_argument("--no-cache", action="store_true", help="let engines compile again what they compiled before")
    p.add_argument("--seed", type=int, default=0, help="of random values")
    p.add_argument("--no-verify", action="store_true", help="do not compare with the model on the example")
    p.add_argument("--json", action="store_true", help="print the report, or the error, as JSON")
    p.add_argument("--portable", action="store_true", help="no artifacts for this machine's CPU")
    p.add_argument("--strip", action="store_true", help="leave IR text and source lines out of the package")
    p.add_argument("--dump", metavar="FOLDER", help="write the IR after every pass into this folder")
    p.add_argument("--skip-passes", nargs="+", default=[], metavar="PASS", help="passes to leave out, by name")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress and no notices")
    return p


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        return run(args)
    except dycl.Error as error:
        return fail(error, args.json)
    except KeyboardInterrupt:
        print("\nstopped; nothing was written", file=sys.stderr)
        return _STOPPED
    except Exception as error:
        traceback.print_exc()
        told = f"a defect of DyCL: {type(error).__name__}: {error}"
        return fail(dycl.Error(f"error: {told}\n  help: please report it, with the model", message=told,
                               kind="internal"), args.json)


def fail(error: dycl.Error, as_json: bool) -> int:
    text = str(error)
    print(text if "error: " in text else f"error: {text}", file=sys.stderr)
    if as_json:
        told: dict[str, Any] = {"kind": error.kind, "message": error.message}
        if error.help:
            told["help"] = error.help
        if error.span is not None:
            told["where"] = {"file": error.span.file, "line": error.span.line, "column": error.span.column}
        print(json.dumps({"error": told}, indent=2))
    return _EXIT_CODES.get(error.kind, _REFUSED)


def pair_of(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, {"true": True, "false": False, "none": None}.get(value, value)


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
    torch.manual_seed(args.seed)
    model, own_inputs = load_model(args.model, args.eval)
    output = args.output or default_output(args.model)
    example = Example(args.input, args.range)
    inputs = example.inputs
    if own_inputs and not args.input:
        inputs = list(_of_user("its inputs(seed)", lambda: own_inputs(args.seed)))
    kwargs = dict([*args.arg, *args.dynamic_arg])
    check_inputs(model, inputs, kwargs)
    shown = sys.stderr.isatty() and not args.quiet and not args.json
    started = time.perf_counter()

    def say(stage: str) -> None:
        """How far a stage is stands in one line, which the next one replaces."""
        if shown:
            end = "\r" if ":" in stage else "\n"
            print(f"\033[K  {time.perf_counter() - started:7.2f} s  {stage}", end=end, file=sys.stderr, flush=True)

    warnings.simplefilter("ignore", dycl.CompileWarning)  # printed below
    program = dycl.compile(model, tuple(inputs), kwargs, backend=args.backend, threads=args.threads,
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


def check_inputs(model: Any, inputs: list, kwargs: dict) -> None:
    """So that a forgotten --input is told as one."""
    try:
        signature = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
    except (TypeError, ValueError):
        return
    named = [name for name, p in signature.parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in kwargs:
        if name not in named and not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            raise dycl.InputError(unknown_name("argument", name, named))
    try:
        signature.bind(*inputs, **kwargs)
    except TypeError as error:
        given = f" and {', '.join(kwargs)}" if kwargs else ""
        raise dycl.InputError(f"{error}; the model takes {signature}, and {len(inputs)} inputs{given} are "
                              "given (--input 1,3,32,32)") from None


def load_model(text: str, evaluate: bool) -> tuple[Any, Any]:
    """The model, and the `inputs(seed)` of the factory that made it, if it has one."""
    where, _, rest = text.partition(":")
    name, _, method = rest.partition(":")
    module = _module(where)
    if not name:
        raise dycl.InputError(f"'{text}' names no object; write {where}:name. There are: {', '.join(_names(module))}")
    found = module
    for part in name.split("."):
        found = _attribute(found, part, where)
    own_inputs = None if method else getattr(found, "inputs", None)
    own_inputs = own_inputs if callable(own_inputs) and hasattr(found, "__code__") else None
    is_factory = getattr(getattr(found, "__code__", None), "co_argcount", 1) == 0
    if isinstance(found, type) or is_factory and not isinstance(found, torch.nn.Module):
        found = _of_user(f"{name}()", found)
    if evaluate and isinstance(found, torch.nn.Module):
        found.eval()
    return _attribute(found, method, name) if method else found, own_inputs


def _module(where: str) -> Any:
    if not where.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        try:
            missing = importlib.util.find_spec(where) is None
        except (ImportError, ValueError):
            missing = True
        if missing:
            raise dycl.PackageError(f"there is no module {where}", kind="missing")
        return _of_user(where, lambda: importlib.import_module(where))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(where))[0], where)
    if spec is None or spec.loader is None or not os.path.exists(where):
        raise dycl.PackageError(f"there is no file {where}", kind="missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
    _of_user(where, lambda: spec.loader.exec_module(module))
    return module


def _names(module: Any) -> list[str]:
    """What of a module may be meant as a model."""
    return [name for name, x in vars(module).items()
            if not name.startswith("_") and callable(x) and getattr(x, "__module__", None) == module.__name__]


def _attribute(owner: Any, name: str, where: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        known = _names(owner) if inspect.ismodule(owner) else [n for n in dir(type(owner)) if not n.startswith("_")]
        few = known if len(known) < 20 else []
        raise dycl.InputError(f"{where}: {unknown_name('object', name, few)}") from None


def _of_user(what: str, call: Callable) -> Any:
    """Code of the user's that fails is told with the lines that the user wrote."""
    try:
        return call()
    except Exception as error:
        own = os.path.dirname(os.path.abspath(__file__))
        frames = [f for f in traceback.extract_tb(error.__traceback__)
                  if not f.filename.startswith(own) and "importlib" not in f.filename]
        lines = traceback.format_list(frames) + traceback.format_exception_only(error)
        raise Failure(f"error: {what} raises {type(error).__name__}\n" + "".join(lines).rstrip(),
                      message=f"{what} raises {type(error).__name__}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
