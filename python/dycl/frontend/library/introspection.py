# SPDX-License-Identifier: Apache-2.0
"""What looks at the running program from outside: the exception being handled, frames, tracebacks,
weak references, streams."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import sys
import traceback
import weakref

from ..diagnostics import CaptureRefusal
from ..semantics.registry import handles, ignore


@handles(sys.exc_info)
def _exc_info(m, s, args, kwargs):
    error = s.being_handled()
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


if hasattr(sys, "exception"):
    handles(sys.exception)(lambda m, s, args, kwargs: s.being_handled())

# as logging
handles(traceback.print_exc, traceback.print_exception, traceback.print_stack, traceback.print_tb,
        traceback.print_last)(ignore)
handles(gc.collect)(lambda m, s, args, kwargs: 0)


@handles(traceback.format_exc, traceback.format_exception, traceback.format_stack,
         traceback.format_tb, traceback.extract_stack, traceback.extract_tb, traceback.TracebackException,
         traceback.StackSummary, inspect.currentframe, inspect.stack, inspect.trace,
         sys._getframe, sys.getrefcount, gc.get_objects, gc.get_referrers, gc.get_referents, gc.get_count)
def _frames(m, s, args, kwargs):
    raise CaptureRefusal("a function that looks at the frames, the exceptions' traces or the memory "
                         "of the running program",
                         "leave it out of the compiled code", kind="builtin")


@handles(os.urandom, os.getpid, os.getppid, os.times)
def _of_the_process(m, s, args, kwargs):
    raise CaptureRefusal("a number that the operating system gives: its result changes from run to run",
                         "compute it outside and pass it in", kind="nondeterministic")


@handles(contextlib.redirect_stdout, contextlib.redirect_stderr)
def _redirected(m, s, args, kwargs):
    raise CaptureRefusal("what the program prints is sent elsewhere", "build the string with f-strings", kind="print")


@handles(weakref.ref, weakref.proxy, weakref.finalize, weakref.WeakMethod)
def _weak(m, s, args, kwargs):
    """When an object goes is not followed; what the model holds from outside stays."""
    if args and m.is_born(args[0]):
        raise CaptureRefusal("a weak reference to an object that the compiled code makes",
                             "hold it, or set it to None yourself", kind="heap")
    return NotImplemented
