# SPDX-License-Identifier: Apache-2.0
"""What polyfills stand in for: each says it once, it is there, and no handler says it again."""

import ast
import inspect
import re
import types
from pathlib import Path

import pytest

from dycl.frontend import library, polyfills
from dycl.frontend.polyfills.registry import ITERATORS, POLYFILLS, WHEN, on_request, substitutes
from dycl.frontend.semantics import interpretation, registry

FILES = [vars(polyfills)[name] for name in polyfills.__all__]
METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def decorated():
    """(file, name) of every function of polyfills/ that is decorated."""
    return [(module, node.name) for module in FILES for node in ast.parse(inspect.getsource(module)).body
            if isinstance(node, ast.FunctionDef) and node.decorator_list]


def test_each_polyfill_says_what_it_stands_in_for_and_stays_as_it_is():
    found = [vars(module)[name] for module, name in decorated()]
    assert len(found) > 40 and len(set(found)) == len(found)
    assert WHEN.keys() == set(found)
    assert all(type(f) is types.FunctionType and interpretation.is_polyfill(f) for f in found)


def test_every_file_of_polyfills_that_says_so_is_imported_with_the_package():
    files = Path(polyfills.__file__).parent.glob("*.py")
    registers = re.compile(r"^(@substitutes\(|GROWING\[)", re.MULTILINE)
    assert {p.stem for p in files if registers.search(p.read_text())} == set(polyfills.__all__)


def test_what_polyfills_stand_in_for_is_answered():
    assert set(POLYFILLS.values()) <= WHEN.keys()
    for native, polyfill in POLYFILLS.items():
        assert callable(native)
        handler = registry.find(native)
        if WHEN[polyfill] is not on_request:
            assert handler.__module__ == library.interpreted.__name__, native
        else:
            assert handler is not None or isinstance(native, METHODS), native


def test_a_function_has_one_polyfill():
    with pytest.raises(AssertionError, match="two polyfills"):
        substitutes(enumerate)(lambda iterable, start=0: None)
    assert POLYFILLS[enumerate] is polyfills.itertools.enumerate_


def test_iterators_are_of_a_class_that_has_a_polyfill():
    for generator, example in ITERATORS.items():
        assert inspect.isgeneratorfunction(generator)
        assert generator.__name__ in POLYFILLS[type(example)].__code__.co_names


def only_calls_a_polyfill(source):
    """Handlers that say what a polyfill stands in for and nothing else: lines."""
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    called = [(n.lineno, n.body if isinstance(n, ast.Lambda) else n.body[0].value) for n in nodes
              if isinstance(n, ast.Lambda) or len(n.body) == 1 and isinstance(n.body[0], ast.Return)]
    return [line for line, call in called if isinstance(call, ast.Call) and len(call.args) == 4
            and ast.unparse(call.func) == "m.call" and "polyfills." in (name := ast.unparse(call.args[1]))
            and name.rpartition(".")[2].islower() and [ast.unparse(a) for a in call.args[2:]] == ["args", "kwargs"]]


def test_no_handler_only_calls_a_polyfill():
    files = Path(library.__file__).parent.rglob("*.py")
    wrong = [f"{path.name}:{line}" for path in files for line in only_calls_a_polyfill(path.read_text())]
    assert not wrong, "write @substitutes at the polyfill: " + ", ".join(wrong)
    assert only_calls_a_polyfill("def f(m, s, args, kwargs):\n    return m.call(s, polyfills.cond, args, kwargs)\n")
    assert only_calls_a_polyfill("handles(x)(lambda m, s, args, kwargs: m.call(s, polyfills.x, args, kwargs))\n")
