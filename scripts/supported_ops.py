# SPDX-License-Identifier: Apache-2.0
"""Writes docs/supported_ops.md: the torch ops that capture lowers, from the registries that lower them.

    scripts/supported_ops.py            writes the page
    scripts/supported_ops.py --check    says whether it is current
"""

import ast
import inspect
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "supported_ops.md"
sys.path.insert(0, str(ROOT / "python"))

HEAD = """# Which torch ops are lowered

Written by `scripts/supported_ops.py` from the tables of `python/dycl/frontend/recording/functions.py` and
`python/dycl/frontend/lowering/`; a test says if it is out of date. What happens to one function, from the call to ONNX,
`python -m dycl.frontend.torch_functions torch.linspace` prints. Capture records ATen ops, so what a model calls is
often another name: `torch.nn.Linear` is `addmm`, `linear` or `mm`, and most of `torch.nn.functional` is made of the ops
below. In-place forms (`add_`) and views are taken back to these ops before lowering. An op that is not here, or a use
of one that is named under "refused", is a `CompileError` of kind `lowering` that names the op and the line. Complex,
quantised and sparse tensors are refused everywhere. An op that torch itself does not compute for bools or integers
(`argmax` of bools) is refused too, as eager would raise.
"""


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        current = PAGE.exists() and PAGE.read_text() == text
        print("docs/supported_ops.md is current" if current
              else "docs/supported_ops.md is out of date: run scripts/supported_ops.py")
        return 0 if current else 1
    PAGE.write_text(text)
    return 0


def page() -> str:
    from dycl.frontend import torch_functions
    from dycl.frontend.lowering import torchlib
    from dycl.frontend.lowering.conversions import torchvision
    from dycl.frontend.lowering.registry import CONVERSIONS, INDEX_ERRORS
    from dycl.frontend.recording.decompositions import NEEDS_DECOMPOSITION

    parts = [HEAD, functions(), "## Lowered by DyCL itself\n"]
    for title, rows in by_module(CONVERSIONS, INDEX_ERRORS):
        parts.append(f"### {title}\n\n| op | overloads | refused |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    parts.append("## Taken apart first\n\nBy torch's own decompositions; linear algebra into ops of our own "
                 "(`python/dycl/frontend/recording/linear_algebra.py`):\n\n"
                 + names(map(name_of, NEEDS_DECOMPOSITION)))
    parts.append("## Of torchvision\n\n" + names(sorted(torchvision.BY_NAME)))
    parts.append("## By onnxscript's torchlib\n\nReal numbers only; an argument that its function does "
                 "not take is refused:\n\n"
                 + names(map(name_of, torch_functions.lowered_by_torchlib(torchlib.names()))))
    parts.append("## Not lowered\n\nOps of functions of torch on real, dense tensors that nothing above takes. Of "
                 "tensors that are known when the program is compiled they are computed then:\n\n"
                 + names(map(name_of, torch_functions.not_lowered())))
    return "\n".join(parts)


def functions() -> str:
    """How functions are taken that are not just dispatched."""
    from dycl.frontend import torch_functions
    from dycl.frontend.recording.functions import FUNCTIONS

    by_handler = "answered by a handler of `python/dycl/frontend/library/`, or left to the next row that names it"
    rows: dict[str, list] = {by_handler: torch_functions.answered()}
    for name, row in sorted(FUNCTIONS.items()):
        if row.ways() != ["dispatched"]:
            rows.setdefault(", else ".join(row.ways()), []).append(name)
    return """## Functions that are not just dispatched

torch runs a function while recording, and what it dispatches is recorded op by op. These are taken before that: *built*
from Python data, *answered* by a number, *composed* of other functions where that is needed, *checked* for values that
torch rejects, *kept whole* as one op that engines know, or *refused*.

| taken | functions |
|---|---|
""" + "\n".join(f"| {how} | {', '.join(f'`{n}`' for n in found)} |" for how, found in rows.items()) + "\n"


def name_of(target) -> str:
    schema = target._schema
    return schema.name.removeprefix("aten::") + (f".{schema.overload_name}" if schema.overload_name else "")


def names(found) -> str:
    return "\n".join(textwrap.wrap(", ".join(f"`{n}`" for n in sorted(set(found))), 125, break_long_words=False,
                                   break_on_hyphens=False)) + "\n"


def by_module(conversions: dict, index_errors: dict):
    groups: dict[str, dict] = {}
    for target, function in conversions.items():
        name = target._schema.name.removeprefix("aten::")
        rows = groups.setdefault(function.__module__, {})
        overloads, limits = rows.setdefault(name, ([], []))
        overloads.append(target._schema.overload_name or "default")
        if target in index_errors:
            limits.append(f"a number that torch rejects: {index_errors[target]} at run time")
        limits += limits_of(function)
    for module, rows in sorted(groups.items()):
        sentence, _, _ = (sys.modules[module].__doc__ or module).partition("\n\n")
        title = " ".join(sentence.split()).rstrip(".")
        yield title, [f"| `{name}` | {', '.join(sorted(set(overloads)))} | {'; '.join(dict.fromkeys(limits))} |"
                      for name, (overloads, limits) in sorted(rows.items())]


def limits_of(function) -> list[str]:
    """The reasons for which a conversion refuses, as its source gives them."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, IndentationError):  # a lambda in the middle of an expression
        return []
    found = []
    for node in ast.walk(tree):
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                and node.func.id in ("ConversionError", "static")):
            text = node.args[-1] if node.func.id == "static" else node.args[0] if node.args else None
            said = literal(text)
            if said:
                found.append(f"{said} known only at run time" if node.func.id == "static" else said)
    return found


def literal(node) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("|", "\\|")
    if isinstance(node, ast.JoinedStr):
        return "".join(p.value if isinstance(p, ast.Constant) else "..." for p in node.values).replace("|", "\\|")
    return ""


if __name__ == "__main__":
    sys.exit(main())
