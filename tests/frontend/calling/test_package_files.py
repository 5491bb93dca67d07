# SPDX-License-Identifier: Apache-2.0
"""Where packages are saved to and loaded from: links, full disks, folders that are not there, files that are none."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time

import pytest

import dycl
import dycl.runtime
from tests.frontend.support.harness import T

LOADERS = (dycl.load, dycl.runtime.load)


def twice(x):
    return x * 2


@pytest.fixture(scope="module")
def program():
    return dycl.compile(twice, (T(1, 2),))


@pytest.fixture(scope="module")
def package(program, tmp_path_factory):
    path = tmp_path_factory.mktemp("package") / "p.dycl"
    program.save(path)
    return path


@pytest.mark.parametrize("load", LOADERS)
def test_what_is_no_file_is_refused_at_once(load, tmp_path):
    """Opening the FIFO would wait for somebody who writes into it."""
    fifo, listener = tmp_path / "fifo", socket.socket(socket.AF_UNIX)
    os.mkfifo(fifo)
    listener.bind(os.path.relpath(tmp_path / "socket"))  # the name of a socket may have 107 bytes
    for path, what in ((fifo, "a FIFO"), (tmp_path / "socket", "a socket"), ("/dev/zero", "a device"),
                       (tmp_path, "a folder")):
        with pytest.raises(dycl.PackageError, match=f"{path} is {what}, not a file") as caught:
            load(path)
        assert caught.value.kind == "invalid_package" and caught.value.help
    listener.close()
    for path in ("a\0b", "half\ud800"):
        with pytest.raises(dycl.InputError, match="is no path"):
            load(path)


def test_a_link_is_replaced_and_not_followed(program, tmp_path):
    other, link = tmp_path / "other", tmp_path / "p.dycl"
    other.write_text("precious")
    link.symlink_to(other)
    program.save(link)
    assert not link.is_symlink() and other.read_text() == "precious"
    assert dycl.load(link)(T(1, 2)).tolist() == [2, 4]


def test_saving_where_nothing_can_be_written(program, tmp_path):
    for path, kind, help in ((tmp_path / "no" / "p.dycl", "missing", "make its folder first"),
                             (tmp_path, "write_failed", "name a file in it"),
                             ("/dev/null", "write_failed", "name a file"),
                             ("/sys/p.dycl", "write_failed", "name a place that this user may write")):
        with pytest.raises(dycl.PackageError, match=str(path)) as caught:
            program.save(path)
        assert (caught.value.kind, caught.value.help) == (kind, help)


def test_a_save_that_fails_leaves_the_old_package(program, tmp_path):
    """A limit of the file's size stands for a full disk."""
    path = tmp_path / "p.dycl"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(dycl.PackageError, match="File too large") as caught:
            program.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.kind == "write_failed"
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["p.dycl"]


def test_a_killed_save_leaves_the_old_package_and_the_next_cleans_up(package, tmp_path):
    path = tmp_path / "p.dycl"
    path.write_text("old")
    script = f"""if True:
        import os, resource, signal
        from dycl.native import native
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the first write ends the process
        native().copy_package({str(package)!r}, {str(path)!r})"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert ended.returncode == -signal.SIGXFSZ, ended.stderr
    (stray,) = set(os.listdir(tmp_path)) - {"p.dycl"}
    assert path.read_text() == "old"
    os.utime(tmp_path / stray, (time.time() - 3600,) * 2)
    dycl.load(package).save(path)
    assert os.listdir(tmp_path) == ["p.dycl"]
    assert dycl.load(path)(T(1, 2)).tolist() == [2, 4]


def test_a_full_disk_is_nothing_about_the_model(tmp_path):
    (tmp_path / "dump").symlink_to("/dev/full")
    with pytest.raises(dycl.PackageError, match="cannot make the folder") as caught:
        dycl.compile(twice, (T(1, 2),), dump=tmp_path / "dump")
    assert caught.value.kind == "write_failed"


def test_emitting_where_nothing_can_be_written(program, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(dycl.PackageError, match="cannot make the folder") as caught:
        program.emit(tmp_path / "taken")
    assert caught.value.kind == "write_failed"
    with pytest.raises(dycl.PackageError, match="/dev/full: No space left on device") as caught:
        program.emit_onnx("/dev/full")
    assert caught.value.kind == "write_failed"


@pytest.mark.parametrize("threads", (-1, 1025, 100_000, 2**70, "many", "4", 1.5, None))
def test_an_impossible_number_of_threads_is_refused(threads, package):
    said = "give 1 to 1024, or 0: as many as there are cores"
    for load in LOADERS:
        with pytest.raises(dycl.InputError, match=said):
            load(package, threads=threads)
    with pytest.raises(dycl.InputError, match=said):
        dycl.compile(twice, (T(1, 2),), threads=threads)


@pytest.mark.parametrize("threads", (0, 1, 2))
def test_possible_numbers_of_threads(threads, package):
    for load in LOADERS:
        assert load(package, threads=threads)
