# SPDX-License-Identifier: Apache-2.0
"""The options that name a model written in Python and its example."""

from __future__ import annotations

import argparse
import ast
from typing import Any


def add_model_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("model", help="file.py:name or package.module:name")
    p.add_argument("--input", action="append", default=[], metavar="SHAPE[:DTYPE[=LEAST..GREATEST]]|FILE.npy",
                   help="an example input; may be repeated")
    p.add_argument("--range", action="append", default=[], metavar="NAME=LEAST,GREATEST",
                   help="the range of a dynamic dim")
    p.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", type=pair_of,
                   help="a keyword argument that stays as it is: greedy=True, mode=fast")
    p.add_argument("--dynamic-arg", action="append", default=[], metavar="NAME=VALUE", type=pair_of,
                   help="a number that each run gives anew; VALUE (20, 0.5, True) is its example and says its type")
    p.add_argument("--eval", action="store_true", help="call eval() on the module first")
    p.add_argument("--allow-training", action="store_true", help="take a module that is in training mode")
    p.add_argument("--seed", type=int, default=0, help="of random values")


def pair_of(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, {"true": True, "false": False, "none": None}.get(value, value)
