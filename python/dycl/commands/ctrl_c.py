# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while an engine compiles: Python's own handler has to wait until C++ returns, which may take minutes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

STOPPED = 130  # as shells have it
_PATIENCE = 1.0  # seconds in which Python ends by itself, with what it has to put in order


def say_stopped() -> None:
    print("\nstopped; nothing was written", file=sys.stderr, flush=True)


@contextlib.contextmanager
def ends_the_process() -> Iterator[None]:
    """Inside, a Ctrl-C that Python does not get to ends the process with one line. Temporary files go with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    folder, others = tempfile.mkdtemp(prefix="dycl-"), (tempfile.tempdir, os.environ.get("TMPDIR"))
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    over = threading.Event()

    def watch() -> None:
        while (numbers := os.read(heard, 1)) and numbers[0] != signal.SIGINT:
            pass
        if numbers and not over.wait(_PATIENCE):
            for child in _children():  # engines' compilers, which would end their step first
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)
            say_stopped()
            os._exit(STOPPED)

    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(told)
        tempfile.tempdir = others[0]
        os.environ.pop("TMPDIR")
        if others[1] is not None:
            os.environ["TMPDIR"] = others[1]
        shutil.rmtree(folder, ignore_errors=True)


def _children() -> list[int]:
    return [int(number) for task in Path("/proc/self/task").glob("*/children") for number in task.read_text().split()]
