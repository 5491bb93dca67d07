# SPDX-License-Identifier: Apache-2.0
"""Who may import whom in python/dycl, and where imports may stand. Costs a second."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from dycl.frontend import torch_internals

ROOT = Path(__file__).resolve().parents[2] / "python" / "dycl"

LEAVES = ("objects", "errors", "dtypes", "native", "generators")  # beside the packages: they import nothing of ours
_VALUES = ("graph", "values", "polyfills", "source", "diagnostics", "torch_internals", *LEAVES)
_SEMANTICS = (*_VALUES, "state", "recording", "semantics")
LAYERS = {  # package or file -> what it may import
    **dict.fromkeys((*LEAVES, "source", "torch_internals"), ()),
    "options": ("errors",),
    "calling": (*LEAVES, "runtime", "view"),
    "view": ("errors",),
    "runtime": ("errors", "native"),
    "diagnostics": ("source", "errors"),
    "exported_program": ("errors", "torch_internals"),
    "graph": ("source", "diagnostics", "torch_internals", *LEAVES),
    "values": ("source", "diagnostics", "graph", "torch_internals", "calling", *LEAVES),
    "polyfills": ("values", "diagnostics", "torch_internals", "calling"),
    "state": (*_VALUES, "calling"),
    "recording": (*_VALUES, "state"),
    "semantics": (*_VALUES, "state", "recording"),
    "library": (*_SEMANTICS, "calling"),
    "merging": _SEMANTICS,
    "machine": (*_SEMANTICS, "library", "merging"),
    "boundary": (*_SEMANTICS, "library", "merging", "machine", "calling"),
    "torch_functions": (*_SEMANTICS, "library", "lowering"),
    "lowering": ("source", "diagnostics", "graph", "torch_internals", *LEAVES),
    "capture": (*_SEMANTICS, "machine", "boundary", "options"),
    "verification": ("calling", "graph", "torch_internals", *LEAVES),
    "build": ("calling", "diagnostics", "lowering", "verification", *LEAVES),
    "onnx_files": ("calling", "runtime", "verification", *LEAVES),
    "api": ("build", "calling", "capture", "boundary", "diagnostics", "exported_program", "onnx_files", "options",
            "runtime", "verification", *LEAVES),
    "__init__": (),
    "example_inputs": ("dtypes", "errors"),
    "explain": ("capture", "errors", "graph", "options", "source"),
    "commands": ("__init__", "calling", "errors", "example_inputs", "explain", "native", "peers", "runtime",
                 "verification", "view"),
    "peers": ("__init__", "torch_internals"),
    "__main__": ("commands",),
    "programs": (),
}
_PACKAGES_OF_DYCL = ("calling", "peers", "verification", "view", "frontend")


class Import:
    """One import statement: the module that it stands in, its line, and the modules of ours that it names."""

    def __init__(self, path: Path, node: ast.stmt, in_function: bool, below_code: bool, modules: set[str]):
        self.path, self.line = path, node.lineno
        self.in_function, self.below_code = in_function, below_code
        self.targets = [t for t in _targets(path, node) if t in modules]

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def package_of(module: str) -> str:
    """"dycl.frontend.graph.text" -> "graph"; "dycl.frontend.capture" -> "capture"; "dycl.api" -> "api"."""
    parts = module.split(".")[1:]
    if parts[:1] == ["frontend"]:
        parts = parts[1:] or ["frontend"]
    return parts[0] if parts else "__init__"


def _targets(path: Path, node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [a.name for a in node.names]
    base = module_of(path).split(".") if path.name == "__init__.py" else module_of(path).split(".")[:-1]
    base = base[:len(base) - node.level + 1] if node.level else []
    whole = ".".join(base + ([node.module] if node.module else []))
    return [name for a in node.names for name in (f"{whole}.{a.name}", whole)]


def imports_of(path: Path, source: str, modules: set[str]) -> list[Import]:
    found: list[Import] = []

    def visit(body: list[ast.stmt], in_function: bool, below_code: bool) -> None:
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found.append(Import(path, node, in_function, below_code, modules))
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            inner = in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for part in ("body", "orelse", "finalbody"):
                visit([n for n in getattr(node, part, []) if isinstance(n, ast.stmt)], inner, below_code)
            for handler in getattr(node, "handlers", []):
                visit(handler.body, inner, below_code)
            below_code = below_code or isinstance(node, (ast.FunctionDef, ast.ClassDef))

    visit(ast.parse(source).body, False, False)
    return found


def all_imports() -> dict[str, list[Import]]:
    files = sorted(ROOT.rglob("*.py"))
    modules = {module_of(p) for p in files}
    return {module_of(p): imports_of(p, p.read_text(), modules) for p in files}


IMPORTS = all_imports()


def edges() -> dict[str, set[str]]:
    """module -> modules; `from . import x` names the module x and not the package that holds it."""
    found: dict[str, set[str]] = {}
    for module, imports in IMPORTS.items():
        targets = found[module] = set()
        for one in imports:
            named = set(one.targets)
            targets |= {t for t in named if not any(o.startswith(f"{t}.") for o in named)} - {module}
    return found


def test_every_package_has_a_layer():
    assert {package_of(m) for m in IMPORTS} - {"frontend"} <= LAYERS.keys() | {"verification"}


def test_packages_import_only_what_they_may():
    wrong = []
    for module, targets in edges().items():
        mine = package_of(module)
        for target in targets:
            other = package_of(target)
            if other not in (mine, "frontend") and other not in LAYERS.get(mine, ()):
                wrong.append(f"{module} ({mine}) imports {target} ({other})")
    assert not wrong, "\n".join(sorted(wrong))


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(v: str) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(graph.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(part) > 1:
                found.append(sorted(part))

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return found


def test_there_are_no_import_cycles():
    assert cycles(edges()) == []


def test_imports_stand_at_the_top():
    wrong = [f"{one} imports inside a function" for imports in IMPORTS.values() for one in imports if one.in_function]
    wrong += [f"{one} imports below code" for imports in IMPORTS.values() for one in imports if one.below_code]
    assert not wrong, "\n".join(wrong)


_PRIVATE = re.compile(r"\btorch\.(?:\w+\.)*_[a-zA-Z]\w*")


def private_names(source: str) -> list[str]:
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.module]
    imported = [f"{node.module}.{a.name}" for node in imports for a in node.names
                if node.module.split(".")[0] == "torch" and a.name.startswith("_")]
    return _PRIVATE.findall(source) + imported


def test_private_names_of_torch_are_in_one_file():
    wrong = [f"{p.relative_to(ROOT)}: {names}" for p in sorted(ROOT.rglob("*.py"))
             if (names := private_names(p.read_text())) and p.name != "torch_internals.py"]
    assert not wrong, "\n".join(wrong)


def private_attributes() -> set[str]:
    """Of the classes of torch whose objects the front end works on."""
    of_classes = (torch.Tensor, torch.nn.Module, torch.SymInt, torch_internals.FakeTensor,
                  torch_internals.FakeTensorMode, torch_internals.OpOverload, torch_internals.OpOverloadPacket,
                  ShapeEnv, SymNode)
    of_objects = (torch.nn.Module(), torch.ops.aten.add.Tensor, torch.zeros(1).untyped_storage())
    found = {name for owner in of_classes for name in dir(owner)} | {name for x in of_objects for name in dir(x)}
    return {name for name in found if re.match("_[a-z]", name)}


def attributes_used(source: str, private: set[str]) -> set[str]:
    """Private attributes that the code reads, sets or overrides; of modules also as keys of their __dict__."""
    tree = ast.parse(source)
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
            and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))}
    used |= {node.name for cls in ast.walk(tree) if isinstance(cls, ast.ClassDef) and cls.bases
             for node in cls.body if isinstance(node, ast.FunctionDef) and node.name in vars(ShapeEnv)}
    kept = vars(torch.nn.Module())
    used |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in kept}
    return used & private


def test_private_attributes_of_torch_are_listed():
    private = private_attributes()
    files = [p for p in ROOT.rglob("*.py") if p.name != "torch_internals.py"]
    used = set().union(*(attributes_used(p.read_text(), private) for p in files))
    by_name = {"_grad", "_typed_storage"}  # among names that are refused or answered
    assert used - torch_internals.ATTRIBUTES.keys() == set(), "not in torch_internals.ATTRIBUTES"
    assert torch_internals.ATTRIBUTES.keys() - used - by_name == set(), "in torch_internals.ATTRIBUTES, but not used"
    assert torch_internals.ATTRIBUTES.keys() - private == set(), "this torch has it no more"
    assert attributes_used("x._base\nself._modules\n'_buffers'", private) == {"_base", "_buffers"}


def test_the_machine_is_imported_by_capture_alone():
    wrong = [str(one) for module, imports in IMPORTS.items() for one in imports
             if "dycl.frontend.machine.machine" in one.targets and module != "dycl.frontend.capture"]
    assert not wrong, "\n".join(wrong)


def test_assumptions_alone_begin_capture_anew():
    wrong = [str(p.relative_to(ROOT)) for p in sorted(ROOT.rglob("*.py"))
             if "raise Restart" in p.read_text() and p.name != "assumptions.py"]
    assert not wrong, wrong


@pytest.mark.parametrize("source, in_function, below_code", [
    ("def f():\n    from . import x\n", True, False),
    ("def f():\n    pass\n\nfrom . import x\n", False, True),
    ("if True:\n    import os\n", False, False),
    ("class A:\n    def f(self):\n        import os\n", True, False),
])
def test_the_walk_finds_imports_out_of_place(source, in_function, below_code):
    (one,) = imports_of(ROOT / "frontend" / "made_up.py", source, set())
    assert (one.in_function, one.below_code) == (in_function, below_code)


def test_the_search_finds_cycles_and_private_names():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert private_names("x = torch.fx._config\n")
    assert private_names("from torch.utils import (\n    data,\n    _pytree,\n)\n")
    assert not private_names("torch.nn.functional.relu(torch_internals.check)\n")
