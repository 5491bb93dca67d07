# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE (the machine reads these programs as they are written). What must never be guessed: values known
only at run time that would escape, and hidden sources of change.

Each program here either is refused, with a diagnostic that points at the guilty line and says why, or (the
ones marked may_refuse) gives exactly what eager gives on inputs that differ from the example.
"""

import io
import json
import pickle
import random
import time

import numpy as np
import pytest
import torch
from torch import nn

from tests.frontend.support.harness import Cases, I, T, refused

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)


# ---------------------------------------------------------------- runtime values must not escape into static ones
@case(I(1), I(2), values=True, may_refuse="str|text|repr|format|run time")
def repr_of_a_runtime_value(n):
    return repr(int(n))


@case(I(1), I(2), values=True, may_refuse="str|text|format|run time")
def percent_format(n):
    return "%d" % int(n)


@case(I(1), I(2), values=True, may_refuse="str|text|format|run time")
def format_method(n):
    return "{:03d}".format(n.item())


@case(POS, NEG, values=True, may_refuse="str|text|repr|format|run time")
def str_of_a_tensor(x):
    return str(x)


@case(POS, NEG, values=True, may_refuse="json|run time|native|str|text")
def json_of_runtime_values(x):
    return json.dumps(x.tolist())


@case(POS, NEG, values=True, may_refuse="pickle|run time|native|bytes")
def pickled_tensor(x):
    return len(pickle.dumps(x.tolist())) + pickle.loads(pickle.dumps(x.tolist()))[0]


@case(POS, NEG, values=True, may_refuse="save|run time|native|bytes")
def saved_tensor(x):
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    return torch.load(buffer) + 1


@case(POS, NEG, refuse="share memory")
def write_to_an_expanded_tensor(x):
    y = x.sum().expand(4)
    try:
        y[0] = 0.5
    except RuntimeError:
        return x
    return y


@case(I(1), I(2), values=True, may_refuse="key|hash|dict|run time")
def dict_literal_with_a_runtime_key(n):
    return list({int(n): 1})


@case(I(1), I(2), values=True, may_refuse="key|hash|dict|run time|cache")
def memo_by_runtime_key(n):
    memo = {}

    def f(k):
        if k not in memo:
            memo[k] = k * 2
        return memo[k]

    return f(int(n)) + f(int(n))


@case(I(65), I(66), values=True, may_refuse="chr|run time|str|text")
def chr_of_a_runtime_int(n):
    return chr(int(n))


@case(I(3), I(2), values=True, may_refuse="str|text|run time|repeat")
def string_repeated(n):
    return "ab" * int(n)


@case(I(0), I(1), values=True, may_refuse="str|text|index|run time")
def string_indexed(n):
    return "ab"[int(n)]


@case(POS, NEG, values=True, may_refuse="numpy|run time|array")
def numpy_array_filled(x):
    a = np.zeros(4)
    for i in range(4):
        a[i] = x[i].item()
    return float(a.sum())


@case(POS, NEG, values=True, may_refuse="numpy|run time|array")
def numpy_array_from_items(x):
    return float(np.array([x[0].item(), 2.0]).sum())


@case(POS, NEG, values=True, may_refuse="numpy|run time|array")
def numpy_roundtrip(x):
    return torch.from_numpy(np.sort(x.numpy()))


@case(POS, NEG, values=True, may_refuse="numpy|run time|array")
def numpy_shares_memory(x):
    y = x.clone()
    a = y.numpy()
    y.add_(1)
    return float(a[0])


@case(POS, NEG, values=True, may_refuse="numpy|run time|array|write")
def numpy_writes_into_a_tensor(x):
    y = x.clone()
    y.numpy()[0] = 9.0
    return y


@case(I(2), I(3), values=True, may_refuse="run time|sequence|tuple")
def tuple_times_runtime_int(n):
    return (1,) * int(n)


@case(I(2), I(3), values=True, may_refuse="run time|bytes|native")
def bytes_of_a_runtime_int(n):
    return bytes(int(n))


@case(I(2), I(3), values=True, may_refuse="run time|native|isqrt|math|comb")
def integer_math_functions(n):
    import math

    return math.factorial(int(n)), math.comb(5, int(n)), math.gcd(int(n), 6)


@case(I(2), I(3), values=True, may_refuse="run time|native|complex")
def complex_of_a_runtime_float(n):
    return complex(int(n), 1).real


@case(I(2), I(3), paths=1, may_refuse="run time|isinstance")
def isinstance_of_runtime_values(n):
    k = int(n)
    return isinstance(k, int), isinstance(k, float), isinstance(k > 2, bool), type(k).__name__, type(k * 0.5) is float


@case(I(2), I(3), values=True, may_refuse="run time|is")
def identity_of_runtime_bool(n):
    flag = bool(n > 2)
    return flag is True, flag == True, (1 if flag is False else 0)  # noqa: E712


@case(I(2), I(3), may_refuse="run time|id", values=True)
def sorted_mixed_runtime_and_static(n):
    return sorted([int(n), 1, 5, 2])


@case(I(2), I(3), may_refuse="", values=True)
def torch_size_from_runtime(n):
    return torch.Size([int(n), 2]).numel()


@case(POS, NEG, may_refuse="slot|attribute|setattr|name")
def attribute_name_from_a_branch(x):
    class Bag:
        pass

    b = Bag()
    setattr(b, "p" if x.sum() > 0 else "q", 1)
    return hasattr(b, "p"), vars(b)


# ---------------------------------------------------------------- things that change from call to call
@case(POS, NEG, refuse="random")
def python_random(x):
    if x.sum() > 0:
        random.getstate()
        return x * random.random()
    return x


@case(POS, NEG, refuse="random")
def numpy_random(x):
    return x * float(np.random.gamma(2.0))


@case(POS, NEG, refuse="time|clock")
def clock(x):
    return x * time.time_ns()


@case(POS, NEG, paths=1, may_refuse="open|file|input")
def reads_a_file(x):
    with open("/dev/null") as f:
        return x, len(f.read())


@case(POS, NEG, paths=1, may_refuse="environ")
def reads_the_environment(x):
    import os

    return x if os.environ.get("SOME_SWITCH") else -x


@case(POS, NEG, refuse="autograd|backward|grad")
def gradients(x):
    y = x.clone().requires_grad_()
    with torch.enable_grad():
        (y * y).sum().backward()
    return y.grad


class Training(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)


def test_training_mode():
    import dycl

    with pytest.raises(dycl.CompileError, match="(?i)train"):
        dycl.compile(Training().train(), (POS,))


# ---------------------------------------------------------------- no bound, no end
def forever(t):
    if t.sum() > 1e9:
        return t
    return forever(t + 1)


def twice_forever(t):
    if t.sum() > 1e9:
        return t
    return twice_forever(t + 1) + twice_forever(t * 2)


@case(POS, NEG, refuse="recurs")
def branching_recursion_without_a_bound(x):
    return twice_forever(x) if x.sum() > 1e9 else twice_forever(x + 1e9)


@case(POS, NEG, refuse="recurs")
def recursion_too_deep_that_might_be_caught(x):
    try:
        return forever(x + 1e9)
    except Exception:
        return x


@case(POS, NEG, refuse="eval|exec|compile|input")
def asks_the_terminal(x):
    return x if input() else -x


@case(POS, NEG, values=True, may_refuse="thread")
def starts_a_thread(x):
    import threading

    out = []
    t = threading.Thread(target=lambda: out.append(x * 2 if x.sum() > 0 else x))
    t.start()
    t.join()
    return out[0]


@case(POS, NEG, may_refuse="eval|exec")
def evaluates_a_string(x):
    return eval("x * 2 if x.sum() > 0 else x", {"x": x})


@case(POS, NEG, may_refuse="exec")
def executes_a_string(x):
    scope = {"x": x}
    exec("y = x * 2 if x.sum() > 0 else x", scope)
    return scope["y"]


@case(POS, NEG, may_refuse="async|coroutine|await")
def coroutine_driven_by_hand(x):
    async def f():
        return x * 2 if x.sum() > 0 else x

    c = f()
    try:
        c.send(None)
    except StopIteration as stop:
        return stop.value


@case(POS, NEG, may_refuse="locals|globals|frame|sys")
def reads_locals(x):
    y = x * 2
    if x.sum() > 0:
        y = y + 1
    return sorted(locals())


@case(POS, NEG, may_refuse="id|run time")
def id_as_a_key(x):
    d = {id(x): 1}
    if x.sum() > 0:
        return d[id(x)]
    return 0


# ---------------------------------------------------------------- the text of a diagnostic
def diagnostic_example(x):
    limit = x.max().item()
    table = {}
    table[f"{limit}"] = x
    return table


def test_diagnostic_says_where_what_why_and_remedy():
    text = refused(diagnostic_example, [(POS,)], "key")
    line = diagnostic_example.__code__.co_firstlineno + 3
    assert f"test_refusals.py:{line}:" in text
    assert 'table[f"{limit}"] = x' in text and "^" in text
    assert f":{line - 2}" in text, "the diagnostic should name the line the value comes from"
    assert "help" in text.lower() or "remedy" in text.lower() or "instead" in text.lower()


test_refusals = case.test()
