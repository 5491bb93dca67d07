# SPDX-License-Identifier: Apache-2.0
"""How options are read: wrong use ends with its exit code and says what may be meant."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from typing import Any, NoReturn

USAGE = 64


class Parser(argparse.ArgumentParser):
    """Wrong use ends with its exit code, and options that do not exist with those that might be meant. Under --json
    it is told as JSON, too."""

    said: list[str] = []  # the words of this command line

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        help = f"{self.usage.partition('[')[0].strip() if self.usage else self.prog} --help lists the options"
        if "--json" in self.said:
            print(json.dumps({"error": {"kind": "usage", "message": message, "help": help}}, indent=2))
        self.exit(USAGE, f"error: {message}\n  help: {help}\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.said = list(sys.argv[1:] if args is None else args)
        found, extra = self.parse_known_args(args, namespace)
        if extra:
            options = [name for action in self._actions for name in action.option_strings]
            word = extra[0].partition("=")[0]
            near = difflib.get_close_matches(word, options, 1)
            self.error(f"there is no option {word}" + (f"; did you mean {near[0]}?" if near else "")
                       if word.startswith("-") else f"'{word}' is one argument too many")
        return found
