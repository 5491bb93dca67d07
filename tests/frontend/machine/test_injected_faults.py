# SPDX-License-Identifier: Apache-2.0
"""A fault of ours, wherever it happens, never takes an `except` of the model: it is refused, or it does not matter.

Functions of the front end are made to fail at one of their calls, one after the other, while models that catch
everything are compiled. What is compiled all the same must compute what the model computes.
"""

import collections
import contextlib
import importlib
import inspect
import pkgutil
import random
import types
import zlib

import pytest
import torch

import dycl
from dycl.frontend.values import native_entries
from tests.frontend.support.compare import differences

PACKAGES = ("graph", "state", "recording", "semantics", "library", "merging", "machine", "values")
FAULTS = (KeyError("of a table of ours"), TypeError("of ours"), AttributeError("of ours"), IndexError("of ours"),
          RuntimeError("of ours"), ValueError("of ours"), StopIteration())
CALLS = (1, 2, 7)  # which of a function's calls fails
FEW = 30  # functions per package and model


class Record:
    def __init__(self, size):
        self.size, self.seen = size, {"first": 1}

    @property
    def double(self):
        return self.size * 2

    def __getitem__(self, key):
        return self.seen[key]


def numbers(x):
    """Numbers, strings, containers and attributes."""
    count = 0
    try:
        n = int(x.sum().item()) % 3
        record = Record(n)
        names = [f"{k}" for k in range(3)]
        table = {name: k for k, name in enumerate(names)}
        count = table["1"] + record["first"] + record.double + getattr(record, "missing", 2)
        if n > 0:
            names.append("more")
            table["more"] = n
        count = count + len(names) + sum(table.values())
        x = x * count + torch.relu(x)[:2].sum()
    except Exception:
        x = -x
    return x + count


def loops(x):
    """A loop that the input ends, a generator, and a merge."""
    rows, k = [], 0
    try:
        while x.sum() < 10 and k < 5:
            x = x + 1
            k = k + 1
        rows = [row * 2 for row in x if row > 0]
        y = torch.stack(list(rows)) if len(rows) > 1 else x
        x = x + y.mean()
    except Exception:
        x = -x
    return x, k


def shapes(x):
    """Views, writes, extents known only at run time."""
    kept = x[x > 0]
    try:
        if kept.shape[0] > 1:
            x = x.clone()
            x[:2] = x[1:3] * 2
        else:
            x = x.view(2, -1).t().reshape(-1)
        x = x.cumsum(0)[:3] * kept.shape[0] + kept.sum()
    except Exception:
        x = -x
    return x


class Pair(collections.namedtuple("Pair", "a b")):
    def total(self):
        return super().__getitem__(0) + self.b


class Layer:
    def __init__(self, scale):
        self.scale = scale

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return False

    def __call__(self, x):
        return x * self.scale


class Doubled(Layer):
    def __init__(self, scale):
        super().__init__(scale * 2)


def objects(x):
    """Classes, super(), closures, generators, `with`, sets, deques and slices."""
    def rows():
        for row in x:
            if row > 0:
                yield row

    try:
        pair = Pair(2, x.shape[0])
        with Doubled(pair.total()) as layer:
            x = layer(x)
        seen = collections.deque(maxlen=2)
        for row in rows():
            seen.append(row)
        if len(seen) > 1:
            x = x + seen[0]
        names = {"a", "b"} | {f"{len(seen)}"}
        del layer.scale
        x = x * len(names) + sum([1, 2, 3][:2])
        try:
            layer(x)
        except AttributeError:
            x = x + 1
    except Exception:
        x = -x
    return x


MODELS = (numbers, loops, shapes, objects)
INPUTS = tuple(map(torch.tensor, ([1.0, 2.0, -1.0, 0.5], [-1.0, -2.0, -1.0, 0.5], [3.0, 4.0, 5.0, 6.0])))


def functions_of(package):
    """All Python functions of its modules, but for those that say whose an exception is."""
    found = {}
    root = importlib.import_module(f"dycl.frontend.{package}")
    for info in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        module = importlib.import_module(info.name)
        spaces = [vars(module), *(vars(c) for c in vars(module).values()
                                  if isinstance(c, type) and c.__module__ == module.__name__)]
        for value in (v for space in spaces for v in space.values()):
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if (isinstance(function, types.FunctionType) and function.__module__ == module.__name__
                    and not function.__code__.co_freevars and module is not native_entries
                    and not inspect.isgeneratorfunction(function) and not function.__name__.startswith("__")):
                found[f"{module.__name__}.{function.__qualname__}"] = function
    return [found[name] for name in sorted(found)]


@contextlib.contextmanager
def watched(functions, on_call):
    """`on_call(function)` goes before each call of one of them, also where it was imported by name."""
    originals = []
    try:
        for k, function in enumerate(functions):
            code, space = function.__code__, function.__globals__
            inner = types.FunctionType(code, space, function.__name__, function.__defaults__, function.__closure__)
            inner.__kwdefaults__ = function.__kwdefaults__
            name = f"_injected_{k}"
            space[name] = (lambda function, inner: lambda args, kwargs: (on_call(function), inner(*args, **kwargs))[1])(
                function, inner)
            scope: dict = {}
            exec(f"def stub(*args, **kwargs):\n    return {name}(args, kwargs)", scope)
            function.__code__ = scope["stub"].__code__.replace(co_filename=code.co_filename, co_name=code.co_name)
            function.__defaults__ = function.__kwdefaults__ = None
            originals.append((function, code, inner, name))
        yield
    finally:
        for function, code, inner, name in originals:
            function.__code__, function.__defaults__ = code, inner.__defaults__
            function.__kwdefaults__ = inner.__kwdefaults__
            del function.__globals__[name]


def called(functions, model):
    """Those that compiling the model calls, and how often."""
    calls: dict = {}
    with watched(functions, lambda f: calls.__setitem__(f, calls.get(f, 0) + 1)):
        compiled(model)
    return calls


def compiled(model):
    return dycl.compile(model, (INPUTS[0],), verify=False)


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("model", MODELS)
def test_a_fault_of_ours_takes_no_arm_of_the_model(model, package):
    draw = random.Random(zlib.crc32(f"{model.__name__}{package}".encode()))
    calls = called(functions_of(package), model)
    assert calls
    chosen = draw.sample(sorted(calls, key=lambda f: (f.__module__, f.__qualname__)), min(FEW, len(calls)))
    refused = 0
    for function in chosen:
        refused += failing(model, function, draw.choice(FAULTS), min(draw.choice(CALLS), calls[function]))
    assert refused > 0


def failing(model, function, fault, which):
    """Compiles with this fault at this call. True if that was refused."""
    count = 0

    def fail(_):
        nonlocal count
        count += 1
        if count == which:
            raise type(fault)(*fault.args)

    with watched([function], fail):
        try:
            program = compiled(model)
        except dycl.CompileError:
            return True
        except Exception as error:  # after capture: nobody has taken it for the model's
            assert type(fault) in (type(error), type(error.__cause__))
            return True
    for x in INPUTS:
        wrong = differences(model(x.clone()), program(x.clone()))
        assert not wrong, (function.__module__, function.__qualname__, which, fault, wrong)
    return False
