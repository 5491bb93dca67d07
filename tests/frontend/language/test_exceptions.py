# SPDX-License-Identifier: Apache-2.0
"""Exceptions as control flow, try/finally/with, assert and raise.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import contextlib
import math
import warnings

import torch
from torch import nn

from tests.frontend.support.harness import Cases, I, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


class Found(Exception):
    def __init__(self, value):
        super().__init__("found")
        self.value = value


@case(POS, NEG)
def raise_in_one_arm(x):
    if x.sum() < 0:
        raise ValueError("negative input")
    return x * 2


@case(POS, NEG, MIX)
def assert_on_a_tensor(x):
    assert x.sum() > 0, "sum must be positive"
    return x * 2


@case(POS, NEG)
def bare_assert(x):
    assert (x > 0).all()
    return x


@case(POS, NEG)
def raise_from_a_call(x):
    def need(t):
        if t.sum() < 0:
            raise RuntimeError("bad")
        return t

    return need(x) + need(x + 1)


@case(POS, NEG)
def try_except(x):
    try:
        if x.sum() < 0:
            raise ValueError("no")
        y = x * 2
    except ValueError:
        y = x - 1
    return y + 1


@case(POS, NEG, MIX)
def except_by_type_order(x):
    try:
        if x[0] > 0:
            raise KeyError("a")
        if x[1] > 0:
            raise Found(x * 3)
        y = x
    except KeyError as e:
        return x + 1, e.args
    except (Found, TypeError) as e:
        return e.value, str(e)
    else:
        y = y + 10
    return y, None


@case(POS, NEG)
def try_finally(x):
    log = []
    try:
        if x.sum() > 0:
            return x, log
        log.append(1)
    finally:
        log.append(2)
    return x - 1, log


@case(POS, NEG)
def finally_on_a_raise(x):
    state = {"open": True}
    try:
        try:
            if x.sum() > 0:
                raise Found(x)
        finally:
            state["open"] = False
    except Found as f:
        return f.value * 2, state
    return x, state


@case(POS, NEG)
def return_in_finally(x):
    try:
        if x.sum() > 0:
            raise ValueError
        return x
    finally:
        return x + 100


@case(POS, NEG)
def break_through_finally(x):
    log = 0
    for i in range(4):
        try:
            if x[i] * (i - 1) > 1:
                break
            if x[i] < -1.5:
                continue
            log += 1
        finally:
            log += 10
    return log, i


@case(POS, NEG, MIX)
def exception_leaves_nested_loops(x):
    try:
        for i in range(4):
            for j in range(4):
                if x[i] * x[j] < 0:
                    raise Found((i, j))
    except Found as f:
        return f.value
    return None


@case(POS, NEG, MIX)
def exception_across_calls(x):
    def inner(t, depth):
        if t.sum() > 3:
            raise Found(depth)
        if depth == 3:
            return t
        return inner(t + 1, depth + 1)

    try:
        return inner(x, 0), -1
    except Found as f:
        return x, f.value


@case(POS, NEG)
def reraise(x):
    try:
        if x.sum() > 0:
            raise ValueError("one")
    except ValueError:
        raise
    return x


@case(POS, NEG)
def raise_from(x):
    try:
        if x.sum() > 0:
            raise ValueError("one")
    except ValueError as e:
        raise KeyError("two") from e
    return x


@case(POS, NEG)
def uncaught_user_exception(x):
    if x.sum() > 0:
        raise Found(3)
    return x


@case(POS, NEG)
def key_error_as_control_flow(x):
    cache = {"a": x}
    if x.sum() > 0:
        cache["b"] = x * 5
    try:
        return cache["b"]
    except KeyError:
        return cache["a"] - 1


@case(POS, NEG)
def index_error_as_control_flow(x):
    items = [x]
    if x.sum() > 0:
        items.append(x + 1)
    try:
        return items[1]
    except IndexError:
        return items[0] * 2


@case(POS, NEG)
def attribute_error_as_control_flow(x):
    class Bag:
        pass

    b = Bag()
    if x.sum() > 0:
        b.value = x * 2
    try:
        return b.value
    except AttributeError:
        return x


@case(I(0), I(2), may_refuse="")
def zero_division_caught(n):
    try:
        return 10 // int(n)
    except ZeroDivisionError:
        return -1


@case((POS, I(9)), (POS, I(1)), may_refuse="")
def native_index_error_caught(x, n):
    try:
        return x[int(n)]
    except IndexError:
        return x.sum()


class Recorder:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append("out" if kind is None else kind.__name__)
        return self.swallow


@case(POS, NEG)
def with_statement(x):
    log = []
    with Recorder(log) as r:
        y = x
        if x.sum() > 0:
            y = x * 2
            r.log.append("pos")
    return y, log


@case(POS, NEG)
def with_that_swallows(x):
    log = []
    y = x
    with Recorder(log, swallow=True):
        if x.sum() > 0:
            raise Found(1)
        y = x * 2
    return y, log


@case(POS, NEG)
def return_from_with(x):
    log = []

    def f(t):
        with Recorder(log):
            if t.sum() > 0:
                return t * 2
            t = t + 1
        return t

    return f(x), log


@case(POS, NEG)
def contextmanager_generator(x):
    log = []

    @contextlib.contextmanager
    def scope(name):
        log.append(name)
        try:
            yield name.upper()
        finally:
            log.append("/" + name)

    with scope("a") as upper, scope("b"):
        if x.sum() > 0:
            log.append(upper)
    return log


@case(POS, NEG)
def no_grad_and_friends(x):
    with torch.no_grad():
        if x.sum() > 0:
            y = x * 2
        else:
            y = x
    with torch.inference_mode():
        y = y + 1
    with torch.set_grad_enabled(False), contextlib.nullcontext():
        y = y + 1
    return y, torch.is_grad_enabled()


@torch.no_grad()
def decorated(x):
    if x.sum() > 0:
        return x * 2
    return x


@case(POS, NEG)
def no_grad_as_decorator(x):
    return decorated(x) + 1


@case(POS, NEG, may_refuse="autocast", rtol=1e-2, atol=1e-2)
def autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.nn.functional.linear(x, torch.ones(4, 4))
    if y.sum() > 0:
        return y.float()
    return -y.float()


@case(POS, NEG)
def suppress_and_exit_stack(x):
    y = x
    with contextlib.suppress(ValueError):
        if x.sum() > 0:
            raise ValueError("quiet")
        y = x * 2
    done = []
    with contextlib.ExitStack() as stack:
        stack.callback(done.append, 1)
        if x.sum() > 0:
            stack.callback(done.append, 2)
    return y, done


@case(POS, NEG)
def warning_in_one_arm(x):
    if x.sum() > 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("positive")
    return x + 1


class Checked(nn.Module):
    def forward(self, x):
        if x.dim() != 1:
            raise ValueError(f"expected one dimension, got {x.dim()}")
        torch._assert(x.numel() == 4, "size")
        if torch.isnan(x).any():
            raise RuntimeError("nan")
        return x


case(POS, T(float("nan"), 0.0, 0.0, 0.0))(Checked)


@case(POS, NEG)
def variables_that_inner_functions_use(x):
    if x.sum() > 0:
        y = 1

    def inner():
        return y  # noqa: F821

    told = []
    for ask in (0, 1):
        try:
            told.append(inner() if ask else y)
        except UnboundLocalError as error:
            told.append(("own", str(error)))
        except NameError as error:
            told.append(("free", str(error)))
    y = 2
    del y
    try:
        del y  # noqa: F821
    except UnboundLocalError:
        told.append("twice")
    return told


@case(*V)
def exceptions_as_control_flow(x):
    r = []
    try:
        if x[0] > 0:
            raise ValueError(int(x[0]))
    except ValueError as e:
        r.append(e.args[0] + 1)
    else:
        r.append(-1)
    finally:
        x = x + 1
    for i in range(3):
        try:
            if x[i] < 0:
                continue
            if x[i] == 0:
                break
        finally:
            r.append(i)
    else:
        r.append("else")
    try:
        r.append(10 // int(x[1]))
        r.append([1, 2, 3][int(x[0])])
        r.append({1: "a", 6: "b"}[int(x[0])])
    except (ZeroDivisionError, LookupError) as e:
        r.append(type(e).__name__)
    return r, x


@case(*V)
def raises_by_path(x):
    if x[0] < 0:
        raise IndexError("negative")
    if x[0] == 0:
        raise NotImplementedError
    assert x[1] > 0, "second"
    return math.sqrt(x[0].item())


@case(*V)
def unbound(x):
    for i in range(3):
        if x[i] < 0:
            w = i
    try:
        return w
    except UnboundLocalError:
        return -1


test_exceptions = case.test()
