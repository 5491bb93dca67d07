# SPDX-License-Identifier: Apache-2.0
"""How calls go: no copies of large tensors, the GIL free, many threads, Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest
import torch

import dycl
from dycl import _native

N = 1 << 18  # 1 MiB of f32


def load(tmp_path, text, name="p", **options):
    (tmp_path / f"{name}.dyir").write_text(text)
    _native.compile_program(_native.read_program(tmp_path / f"{name}.dyir"), tmp_path / f"{name}.dycl")
    return _native.Program.load(tmp_path / f"{name}.dycl", threads=1, **options)


def large(tmp_path):
    return load(tmp_path, f"""func @main(%x: f32[{N}]) -> (f32[{N}], f32[{N}]) {{
^entry:
  %y = Neg %x : f32[{N}]
  return %y, %x
}}
""")


SLOW = """func @main(%x: f32[], %n: int) -> (f32[], int) {
^entry:
  %zero = const 0
  goto ^head(%zero, %x)
^head(%i: int, %h: f32[]) limit 100000000:
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %one = const 1
  %i.1 = int.add %i, %one
  %h.1 = Sin %h : f32[]
  goto ^head(%i.1, %h.1)
^done:
  return %h, %i
}
"""

# The same without a tensor op.
SLOW_SCALARS = SLOW.replace("  %h.1 = Sin %h : f32[]\n", "").replace("%i.1, %h.1", "%i.1, %h")


@pytest.mark.parametrize("make", [lambda n: torch.randn(n), lambda n: numpy.random.rand(n).astype(numpy.float32)])
def test_arguments_are_read_in_place(tmp_path, make):
    """A host function sees the caller's own memory."""
    seen = []
    program = load(tmp_path, f"""func @main(%x: f32[{N}]) -> (int) {{
^entry:
  %n = host_call %x {{name="look"}} : int
  return %n
}}
""", host_functions={"look": lambda t: seen.append(t.sum().item()) or 1})
    x = make(N)
    run = _native.Run(program)
    run.run([x])
    x[:] = 2.0
    run.run([x])
    assert seen[1] == 2.0 * N and seen[0] != seen[1]


def test_large_results_are_handed_over_not_copied(tmp_path):
    run = _native.Run(large(tmp_path))
    x = torch.randn(N)
    address, kept = set(), []
    for framework in ("torch", "numpy", "torch"):
        y, passed = run.run([x], framework=framework)
        kept.append(y)
        array = numpy.asarray(y)
        address.add(array.ctypes.data)
        assert array.ctypes.data % 64 == 0, "not the runtime's memory"
        numpy.testing.assert_array_equal(array, -x.numpy())
        numpy.testing.assert_array_equal(numpy.asarray(passed), x.numpy())
        passed[:] = 0  # a copy: the caller's argument stays
        assert x.abs().sum() > 0
        array.flags.writeable and array.fill(1.0)
    assert len(address) == 3, "two results share memory"
    assert all((numpy.asarray(y) == 1.0).all() for y in kept)
    del run
    assert kept[0].sum() == N


def test_a_result_listed_twice_or_kept_as_state_is_nobodys_alone(tmp_path):
    builder = _native.ProgramBuilder()
    builder.add_weight("zero", torch.zeros(N))
    builder.add_state("s", f"f32[{N}]", "zero")
    main = builder.new_function("main")
    x, s = main.add_param("x", f"f32[{N}]"), main.add_param("s", f"f32[{N}]", "s")
    main.add_result(f"f32[{N}]")
    main.add_result(f"f32[{N}]")
    main.add_result(f"f32[{N}]", state="s")
    block = main.add_block("entry")
    (y,) = main.op(block, "Add", [x, s], [f"f32[{N}]"])
    main.return_(block, [y, y, y])
    _native.compile_program(builder, tmp_path / "s.dycl")
    run = _native.Run(_native.Program.load(tmp_path / "s.dycl", threads=1))
    for k in range(1, 4):
        a, b = run.run([torch.ones(N)])
        assert a.data_ptr() != b.data_ptr() and a[0] == b[0] == k
        a.fill_(-7)  # must not reach the state
    assert run.state("s")[0] == 3


def test_the_gil_is_free_while_a_program_runs(tmp_path):
    run = _native.Run(load(tmp_path, SLOW))
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    run.run([torch.tensor(1.0), 300_000])
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert sum(begin < t < end for t in ticks) >= 3, f"{end - begin:.3f} s without a tick"


def test_threads_run_at_once_and_a_shared_run_is_refused(tmp_path):
    program = load(tmp_path, SLOW)
    shared, refused, wrong = _native.Run(program), [], []
    # How far two threads are inside runs at the same time, whatever the number of cores.
    inside, together = [0], [0]
    lock = threading.Lock()

    def work(run, n):
        with lock:
            inside[0] += 1
            together[0] = max(together[0], inside[0])
        try:
            if run.run([torch.tensor(1.0), n])[1] != n:
                wrong.append(n)
        except RuntimeError as error:
            refused.append(str(error))
        with lock:
            inside[0] -= 1

    for runs in ([_native.Run(program) for _ in range(4)], [shared] * 4):
        threads = [threading.Thread(target=work, args=(run, 100_000 + k)) for k, run in enumerate(runs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if runs[0] is not shared:
            assert not refused and together[0] > 1
    assert not wrong and all("in use by another thread" in text and "one Run for each" in text for text in refused)


@pytest.mark.parametrize("text", [SLOW, SLOW_SCALARS], ids=["calls", "scalars"])
def test_ctrl_c_stops_a_run(tmp_path, text):
    load(tmp_path, text)
    script = textwrap.dedent(f"""
        import signal
        import torch
        from dycl import _native
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may ignore it
        run = _native.Run(_native.Program.load({str(tmp_path / "p.dycl")!r}, threads=1))
        assert run.run([torch.tensor(1.0), 3])[1] == 3
        print("ready", flush=True)
        try:
            run.run([torch.tensor(1.0), 99_999_999])
        except KeyboardInterrupt:
            assert run.run([torch.tensor(1.0), 3])[1] == 3
            print("stopped", flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
        assert process.wait() == 0
    if said == "" and text is SLOW_SCALARS:
        pytest.skip("the loop was over before the signal")
    assert said == "stopped\n"


def test_errors_of_engines_and_packages(tmp_path):
    with pytest.raises(dycl.CompileError, match="back end 'none'") as caught:
        dycl.compile(lambda x: x + 1, (torch.ones(2),), backend="none")
    assert caught.value.kind == "missing"
    (tmp_path / "broken.dycl").write_bytes(b"not a package" * 100)
    with pytest.raises(dycl.PackageError) as caught:
        dycl.load(tmp_path / "broken.dycl")
    assert caught.value.kind == "invalid_package" and not isinstance(caught.value, dycl.CompileError)
    with pytest.raises(dycl.PackageError, match="none.dycl") as caught:
        dycl.load(tmp_path / "none.dycl")
    assert caught.value.kind == "missing" and isinstance(caught.value, dycl.Error)


PRINTS = """state @seen: int = 0
func @main(%x: f32[4], %seen: int state @seen) -> (f32[4], int state @seen) {
^entry:
  %one = const 1
  %n = int.add %seen, %one
  print %n {format="{} "}
  %y = host_call %x {name="look"} : f32[4]
  print %n {format="{}\\n"}
  return %y, %n
}
"""

METHODS = {
    "run": lambda run: run.run([torch.ones(4)]), "state": lambda run: run.state("seen"),
    "set_state": lambda run: run.set_state("seen", 5), "reset_states": lambda run: run.reset_states(),
    "set_seed": lambda run: run.set_seed(1), "set_print": lambda run: run.set_print(None),
    "set_decider": lambda run: run.set_decider(None), "force": lambda run: run.force([1]),
    "set_trace": lambda run: run.set_trace(True), "trace": lambda run: run.trace,
    "set_profile": lambda run: run.set_profile(True), "profile": lambda run: run.profile,
    "set_timeline": lambda run: run.set_timeline(True), "timeline": lambda run: run.timeline,
    "set_loop_limit": lambda run: run.set_loop_limit(1)}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_in_use_is_nobody_elses(tmp_path, method):
    """Neither its own callbacks nor another thread changes or shows what a run is at work on."""
    refused, call = [], METHODS[method]

    def meddle(*_):
        for how in (lambda: call(run), in_a_thread):
            with pytest.raises(RuntimeError, match="in use by another thread, or by a call that its own callback"):
                how()
            refused.append(method)
        return torch.zeros(4)

    def in_a_thread():
        failures = []

        def work():
            try:
                call(run)
            except RuntimeError as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise failures[0]

    run = _native.Run(load(tmp_path, PRINTS, host_functions={"look": meddle}))
    run.set_print(meddle)
    for n in (1, 2):
        assert run.run([torch.ones(4)])[0].tolist() == [0] * 4 and run.state("seen") == n
        assert len(refused) == 6 * n


def test_an_exception_of_what_prints_ends_the_run_there(tmp_path):
    """As it ends eager's forward: what comes behind is not done, and states stay as they were."""
    looked = []
    run = _native.Run(load(tmp_path, PRINTS, host_functions={"look": lambda x: looked.append(1) or x}))

    def broken(text):
        raise BrokenPipeError(text)

    run.set_print(broken)
    with pytest.raises(BrokenPipeError, match="1 "):
        run.run([torch.ones(4)])
    assert not looked and run.state("seen") == 0
    run.set_print(lambda text: None)
    run.run([torch.ones(4)])
    assert looked and run.state("seen") == 1


def test_lists_that_hold_themselves_are_refused(tmp_path):
    """They were gone through until the stack was full: the process ended."""
    program = load(tmp_path, "func @main(%l: list<list<int>>) -> (int) {\n^entry:\n  %n = list.len %l\n"
                             "  return %n\n}\n")
    cyclic, deep = [], []
    cyclic.append(cyclic)
    for _ in range(100_000):
        deep = [deep]
    for given in (cyclic, (cyclic,), deep):
        with pytest.raises(dycl.InputError, match="lists nested too deeply"):
            _native.Run(program).run([given])
    with pytest.raises(dycl.InputError, match="lists nested too deeply"):
        _native.Run(program).set_state("l", cyclic)
    assert _native.Run(program).run([[[1], [2, 3]]]) == [2]


@pytest.mark.parametrize("kind, number, says", [
    ("int", 2**63, "more than 64 bits"), ("int", -2**63 - 1, "more than 64 bits"),
    ("float", 10**400, "no float can hold")])
def test_numbers_that_are_too_large_are_refused(tmp_path, kind, number, says):
    program = load(tmp_path, f"func @main(%n: {kind}) -> ({kind}) {{\n^entry:\n  return %n\n}}\n")
    with pytest.raises(dycl.InputError, match=f"argument 'n' is a number.*{says}"):
        _native.Run(program).run([number])
    assert _native.Run(program).run([2**62]) == [2**62]
