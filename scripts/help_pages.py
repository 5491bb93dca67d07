#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes share/: man pages and completions for bash, zsh and fish, from what `--help` says. `--check` compares alone.

`make install` puts them into PREFIX/share; tests/cli/test_help_pages.py says whether they still fit.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
SHARE = ROOT / "share"
ENGINES = ("ort", "openvino", "tvm", "auto")  # what --backend takes
_OPTION = re.compile(r"^ {2}(-[^ ].*?)(?: {2,}(.*))?$")


@dataclass
class Page:
    """One `--help`."""

    name: str  # "compile"; "" for the program itself
    words: tuple[str, ...]  # the command line that prints it
    text: str = ""
    options: dict[str, str] = field(default_factory=dict)  # name -> what it does
    summary: str = ""


def help_of(tool: str, *words: str) -> str:
    env = {**os.environ, "COLUMNS": "100", "PYTHONPATH": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([BIN / tool, *words, "--help"], capture_output=True, text=True, env=env, check=True)
    return done.stdout


def options_of(text: str) -> dict[str, str]:
    """The options of a help text, long names and short ones, with the first line that says what they do."""
    found: dict[str, str] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _OPTION.match(line)
        if match is None:
            continue
        told = match[2] or (lines[number + 1].strip() if number + 1 < len(lines) else "")
        for name in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", match[1]):
            found.setdefault(name, told)
    return found


def commands_of(text: str) -> dict[str, str]:
    part = text.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return dict(line.split(maxsplit=1) for line in part.splitlines() if line.strip())


def pages(tool: str) -> list[Page]:
    """That of the program and those of its commands; a command with two forms has both."""
    text = help_of(tool)
    commands = commands_of(text)
    first = text.splitlines()[0]
    made = [Page("", (), text, options_of(text), first.partition(": ")[2] or first)]
    for name, summary in commands.items():
        own = help_of(tool, name)
        other = {"compile": ("file.py:factory",), "bench": ("--peers",)}.get(name) if tool == "dycl" else None
        if other:
            own += f"\nWith {other[0]}:\n\n" + help_of(tool, name, *other)
        made.append(Page(name, (name,), own, options_of(own), summary))
    return made


# ---- man ------------------------------------------------------------------------------------------

def man_page(tool: str, page: Page, others: list[str]) -> str:
    name = "-".join([tool, *page.words])
    body = "\n".join(_roff(line) for line in page.text.rstrip().splitlines())
    see = ", ".join(f"\\fB{other}\\fR(1)" for other in others if other != name)
    return (f'.\\" Written by scripts/help_pages.py\n.TH {name.upper()} 1 "" "DyCL" "DyCL"\n.SH NAME\n'
            f"{_roff(name)} \\- {_roff(page.summary)}\n.SH DESCRIPTION\n.nf\n{body}\n.fi\n.SH SEE ALSO\n{see}\n")


def _roff(line: str) -> str:
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line[:1] in (".", "'") else line


# ---- completions ----------------------------------------------------------------------------------

BASH = """# Written by scripts/help_pages.py: completion of dycl and dycl-run for bash.
_dycl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words
  if [[ $before == --backend ]]; then
    COMPREPLY=($(compgen -W "@ENGINES@" -- "$word"))
    return
  fi
  if [[ $COMP_CWORD -eq 1 && $word != -* ]]; then
    COMPREPLY=($(compgen -W "$(_dycl_words "$1" commands)" -- "$word"))
    [[ ${1##*/} == dycl-run ]] && COMPREPLY+=($(compgen -f -- "$word"))
    return
  fi
  [[ $COMP_CWORD -eq 1 ]] && command=""
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_dycl_words "$1" "$command")" -- "$word"))
    return
  fi
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$word"))
}

_dycl_words() {
  case "${1##*/} $2" in
@CASES@
  esac
}

complete -F _dycl dycl dycl-run
"""

ZSH = """#compdef dycl dycl-run
# Written by scripts/help_pages.py: completion of dycl and dycl-run for zsh.
_dycl() {
  local -a found
  local command=""
  (( CURRENT > 2 )) && command=$words[2]
  if [[ $words[CURRENT-1] == --backend ]]; then
    compadd @ENGINES@
    return
  fi
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    case $service in
@COMMANDS@
    esac
    _describe command found
    [[ $service == dycl-run ]] && _files
    return
  fi
  if [[ $PREFIX == -* ]]; then
    case "$service $command" in
@CASES@
    esac
    _describe -o option found
    return
  fi
  _files
}
_dycl "$@"
"""


def bash(all_pages: dict[str, list[Page]]) -> str:
    cases = []
    for tool, made in all_pages.items():
        cases.append(f'    "{tool} commands") echo "{" ".join(p.name for p in made if p.name)}" ;;')
        # of the runner, a word that is no command is a package
        ends = [*(p for p in made if p.name), made[0]]
        for p in ends:
            label = f'"{tool} {p.name}"' + ("*" if p is made[0] else "")
            cases.append(f'    {label}) echo "{" ".join(sorted(p.options))}" ;;')
    return BASH.replace("@CASES@", "\n".join(cases)).replace("@ENGINES@", " ".join(ENGINES))


def _quoted(name: str, told: str) -> str:
    return "'" + f"{name}:{told}".replace("'", "'\\''") + "'"


def zsh(all_pages: dict[str, list[Page]]) -> str:
    commands, cases = [], []
    for tool, made in all_pages.items():
        listed = " ".join(_quoted(p.name, p.summary) for p in made if p.name)
        commands.append(f"      {tool}) found=({listed}) ;;")
        for p in [*(p for p in made if p.name), made[0]]:
            options = " ".join(_quoted(name, told) for name, told in sorted(p.options.items()))
            label = f'"{tool} {p.name}"' + ("*" if p is made[0] else "")
            cases.append(f"      {label}) found=({options}) ;;")
    return (ZSH.replace("@COMMANDS@", "\n".join(commands)).replace("@CASES@", "\n".join(cases))
            .replace("@ENGINES@", " ".join(ENGINES)))


def fish(all_pages: dict[str, list[Page]]) -> str:
    lines = ["# Written by scripts/help_pages.py: completion of dycl and dycl-run for fish."]
    for tool, made in all_pages.items():
        commands = [p.name for p in made if p.name]
        files = "" if tool == "dycl-run" else " -f"  # its first word is a command, never a file
        lines += [f"complete -c {tool} -n __fish_use_subcommand{files} -a {p.name} -d {_fish(p.summary)}"
                  for p in made if p.name]
        without = f"'not __fish_seen_subcommand_from {' '.join(commands)}'"
        for p in made:
            when = f"'__fish_seen_subcommand_from {p.name}'" if p.name else without
            for name, told in sorted(p.options.items()):
                kind = "l" if name.startswith("--") else "s"
                takes = f" -x -a {_fish(' '.join(ENGINES))}" if name == "--backend" else ""
                lines.append(f"complete -c {tool} -n {when} -{kind} {name.lstrip('-')}{takes} -d {_fish(told)}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def files() -> dict[Path, str]:
    """All that is written, by its place below share/."""
    all_pages = {tool: pages(tool) for tool in ("dycl", "dycl-run")}
    found = {Path("completions/dycl.bash"): bash(all_pages), Path("completions/_dycl"): zsh(all_pages),
             Path("completions/dycl.fish"): fish(all_pages)}
    names = sorted({"-".join([tool, *p.words]) for tool, made in all_pages.items() for p in made})
    written = {}
    for tool, made in all_pages.items():  # dycl-run is a program, and `dycl run` takes the same
        for p in made:
            written.setdefault("-".join([tool, *p.words]), man_page(tool, p, names))
    written["dycl-run"] = man_page("dycl-run", all_pages["dycl-run"][0], names)
    return {**found, **{Path(f"man/{name}.1"): text for name, text in written.items()}}


def main() -> int:
    made = files()
    if "--check" in sys.argv:
        old = {path.relative_to(SHARE) for path in SHARE.rglob("*") if path.is_file()}
        wrong = {p for p, text in made.items() if p not in old or (SHARE / p).read_text() != text} | (old - set(made))
        for path in sorted(wrong):
            print(f"share/{path} does not fit `--help`; run scripts/help_pages.py", file=sys.stderr)
        return 1 if wrong else 0
    for path, text in made.items():
        (SHARE / path).parent.mkdir(parents=True, exist_ok=True)
        (SHARE / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
