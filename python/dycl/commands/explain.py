# SPDX-License-Identifier: Apache-2.0
"""`dycl explain file.py:factory`: what the model decides at run time, and why."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import torch

from ..explain import Decision, Explanation, Place, explain, source_line
from .models import example_of, load_model
from .options import add_model_options
from .parser import Parser

DESCRIPTION = """What a model written in Python decides at run time, and why: the lines that decide, the chain of lines
that makes each depend on an input, loops, states between calls and, if it is refused, where. Nothing is compiled."""

EXAMPLES = """examples:
  dycl explain model.py:make_model --input 1,3,32,32
  dycl explain zoo:skipnet_rnn
"""
_REFUSED = 7
_SHOWN = 6  # modules, lines of a chain


def parser() -> argparse.ArgumentParser:
    p = Parser(prog="dycl explain", description=DESCRIPTION, epilog=EXAMPLES, allow_abbrev=False,
               formatter_class=argparse.RawDescriptionHelpFormatter,
               usage="dycl explain file.py:name[:method] [--input ...] [options]")
    add_model_options(p)
    p.add_argument("--json", action="store_true", help="print it, or the error, as JSON")
    return p


def run(args: argparse.Namespace) -> int:
    torch.manual_seed(args.seed)
    model, own_inputs = load_model(args.model, args.eval)
    example, inputs, kwargs = example_of(args, model, own_inputs, args.seed)
    found = explain(model, inputs, kwargs, dynamic_dims=example.dims, ranges=example.ranges,
                    dynamic_args={name: type(value) for name, value in args.dynamic_arg},
                    allow_training=args.allow_training)
    if args.json:
        print(json.dumps(as_json(found), indent=2))
    else:
        print(as_text(found))
    if found.refused is None:
        return 0
    print(found.refused, file=sys.stderr)
    return _REFUSED


def _short(place: Place) -> str:
    return f"{os.path.basename(place[0])}:{place[1]}" if place[1] else "a place that is not known"


def _with_line(place: Place) -> str:
    return f"{_short(place)}  {source_line(place)}".rstrip()


def as_text(found: Explanation) -> str:
    if found.refused is not None:
        return "It is refused; what lies behind the refusal is not known."
    count = sum(d.times for d in found.decisions)
    if not count:
        lines = ["Nothing is decided at run time: every condition was known while compiling."]
    else:
        several = len(found.decisions) > 1
        lines = [f"{len(found.decisions)} line{'s' if several else ''} decide{'' if several else 's'} at run time, in "
                 f"{count} branch{'es' if count > 1 else ''}; every other condition was known while compiling."]
    for decision in found.decisions:
        lines += ["", *_decision(decision)]
    lines += ["", *(f"loop       {' and '.join(map(_with_line, loop.places))}: as often as the data say"
                    + (f", at most {loop.limit} times" if loop.limit else "") for loop in found.loops)]
    lines += [f"raises     {_with_line(place)}: {kind}" for place, kind in found.raises]
    lines += [f"state      {name}: kept from call to call" for name in found.states]
    lines += [f"limit      {text}" for text in found.warnings]
    return "\n".join(lines).rstrip()


def _decision(decision: Decision) -> list[str]:
    times = f"  ({decision.times} branches: the line is reached in several ways)" if decision.times > 1 else ""
    lines = [_with_line(decision.place) + times]
    causes = decision.inputs + ["random numbers"] * decision.random
    why = f"  depends on {', '.join(causes) or 'how many rounds a loop has made'}"
    if decision.modules:
        more = len(decision.modules) - _SHOWN
        why += f" through {', '.join(decision.modules[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")
    lines.append(why)
    chain = decision.chain
    if len(chain) > 2 * _SHOWN:
        chain = [*chain[:_SHOWN], ("", -len(chain) + 2 * _SHOWN), *chain[-_SHOWN:]]
    return lines + [f"    {_with_line(p)}" if p[1] >= 0 else f"    ... {-p[1]} more lines ..." for p in chain]


def as_json(found: Explanation) -> dict[str, Any]:
    def place(of: Place) -> dict[str, Any]:
        return {"file": of[0], "line": of[1], "source": source_line(of)}

    told: dict[str, Any] = {
        "decisions": [{**place(d.place), "times": d.times, "inputs": d.inputs, "modules": d.modules, "random": d.random,
                       "chain": [place(p) for p in d.chain]} for d in found.decisions],
        "loops": [{"places": [place(p) for p in loop.places], "limit": loop.limit} for loop in found.loops],
        "raises": [{**place(where), "type": kind} for where, kind in found.raises],
        "ends": found.ends, "states": found.states, "warnings": found.warnings}
    if found.refused is not None:
        told["refused"] = {"kind": found.refused.kind, "message": found.refused.message, "help": found.refused.help}
    return told
