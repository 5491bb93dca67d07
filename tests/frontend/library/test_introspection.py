# SPDX-License-Identifier: Apache-2.0
"""Introspection: the exception being handled, frames, tracebacks, weak references, finalizers, the process."""

import contextlib
import gc
import io
import os
import sys
import traceback
import weakref

from tests.frontend.support.harness import Cases, T

case = Cases()
V = (T(1, 2, -3), T(-1, -2, 3), T(0, 0, 0), T(3, -1, 2))


@case(*V)
def exceptions_being_handled(x):
    try:
        if x[0] > 0:
            raise KeyError("a")
        if x[0] < 0:
            raise ValueError(f"{int(x[1])}")
    except Exception:
        kind, error, _ = sys.exc_info()
        traceback.print_exc(file=io.StringIO())
        return kind.__name__, error.args, sys.exception() is error
    gc.collect()
    return sys.exc_info()


@case(*V, refuse="frames, the exceptions' traces")
def texts_of_traces(x):
    try:
        if x[0] > 0:
            raise KeyError("a")
    except KeyError:
        return traceback.format_exc()
    return ""


@case(*V, refuse="frames, the exceptions' traces")
def own_frame(x):
    return sys._getframe().f_code.co_name if x[0] > 0 else ""


class Length:
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length


@case(*V, refuse="weak reference")
def weak_references(x):
    held = Length(3)
    seen = weakref.ref(held)
    if x[0] > 0:
        held = None
    return seen() is None


class Closing:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("closed")


@case(*V, refuse="__del__")
def finalizers(x):
    log = []
    held = Closing(log)
    if x[0] > 0:
        held = None  # noqa: F841
    return list(log)


@case(*V, refuse="sent elsewhere")
def prints_sent_elsewhere(x):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print("some" if x[0] > 0 else "none")
    return text.getvalue()


@case(*V, refuse="changes from run to run")
def numbers_of_the_process(x):
    return os.getpid() if x[0] > 0 else 0


test_program = case.test()
