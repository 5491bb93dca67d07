# SPDX-License-Identifier: Apache-2.0
"""dycl.RunOptions: calls that end when they are told to, and the program as good as before."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import torch

import dycl
import dycl.runtime


class Endless(torch.nn.Module):
    """Loops of few rounds within loops of few rounds: no loop passes its limit."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, n):
        self.calls += 1
        total = 0
        a = 0
        while a < n:
            b = 0
            while b < n:
                c = 0
                while c < n:
                    c += 1
                    total += 1
                b += 1
            a += 1
        return x + total


@pytest.fixture(scope="module")
def program():
    return dycl.compile(Endless(), (torch.zeros(2), torch.tensor(2)))


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


MANY = torch.tensor(100_000)


def test_a_deadline_ends_nested_loops_and_the_program_goes_on(program):
    before = program(torch.zeros(2), torch.tensor(3))[0].item()
    for _ in range(2):
        def late():
            with dycl.RunOptions(deadline=0.1), pytest.raises(dycl.RunStopped) as caught:
                program(torch.zeros(2), MANY)
            assert caught.value.type == "DeadlineExceeded" and caught.value.kind == "stopped"
            assert caught.value.span[0] == __file__ and "took longer than its 0.1 s" in str(caught.value)
        assert 0.1 <= seconds(late) < 0.5
    assert program(torch.zeros(2), torch.tensor(3))[0].item() == before == 27


def test_steps_are_those_of_the_whole_call(program):
    with dycl.RunOptions(step_limit=200):
        program(torch.zeros(2), torch.tensor(4))
        with pytest.raises(dycl.RunStopped, match="more than 200 steps"):
            program(torch.zeros(2), torch.tensor(6))
    program(torch.zeros(2), torch.tensor(6))


def test_another_thread_cancels(program):
    cancellation = dycl.Cancellation()
    timer = threading.Timer(0.1, cancellation.cancel)
    timer.start()
    with dycl.RunOptions(cancellation=cancellation), pytest.raises(dycl.RunStopped) as caught:
        program(torch.zeros(2), MANY)
    assert caught.value.type == "Cancelled" and cancellation.cancelled
    timer.join()


def test_options_hold_inside_with_alone_in_this_task_alone(program):
    async def late():
        with dycl.RunOptions(step_limit=5):
            await asyncio.sleep(0)
            with pytest.raises(dycl.RunStopped):
                program(torch.zeros(2), torch.tensor(3))

    async def both():
        waiting = asyncio.ensure_future(late())
        await asyncio.sleep(0)
        program(torch.zeros(2), torch.tensor(3))
        await waiting

    asyncio.run(both())
    options = dycl.RunOptions(step_limit=5)
    with options:
        with dycl.RunOptions():
            with options, pytest.raises(dycl.RunStopped):
                program(torch.zeros(2), torch.tensor(3))
            program(torch.zeros(2), torch.tensor(3))
        with pytest.raises(dycl.RunStopped):
            program(torch.zeros(2), torch.tensor(3))
    program(torch.zeros(2), torch.tensor(3))


def test_states_stay_as_they_were(tmp_path):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, n):
            self.count += 1
            i = 0
            while i < n:
                i += 1
            return self.count + 0, i

    dycl.compile(Counts(), (torch.tensor(2),)).save(tmp_path / "counts.dycl")
    program = dycl.load(tmp_path / "counts.dycl")
    with dycl.RunOptions(step_limit=10), pytest.raises(dycl.RunStopped):
        program(torch.tensor(100))
    assert program(torch.tensor(1))[0] == 1


class Grows(torch.nn.Module):
    def forward(self, x, n):
        kept = []
        i = 0
        while i < n:
            kept.append(x * 2)
            i += 1
        return torch.stack(kept)


@pytest.mark.parametrize("load", ["dycl", "runtime"])
def test_memory_of_a_loop_that_grows(load, tmp_path):
    dycl.compile(Grows(), (torch.zeros(1024), torch.tensor(2))).save(tmp_path / "grows.dycl")
    x, few, many = torch.ones(1024), torch.tensor(5), torch.tensor(900_000)
    if load == "dycl":
        program = dycl.load(tmp_path / "grows.dycl")
    else:
        x, few, many = x.numpy(), few.numpy(), many.numpy()
        program = dycl.runtime.load(tmp_path / "grows.dycl")
    for _ in range(3):
        with dycl.RunOptions(memory_limit=10_000_000), pytest.raises(dycl.RunStopped) as caught:
            program(x, many)
        assert caught.value.type == "MemoryLimitExceeded" and "may hold 10000000 bytes" in str(caught.value)
        program(x, few)


def test_a_deadline_ends_one_long_sub_dnn():
    class Long(torch.nn.Module):
        def forward(self, x):
            for _ in range(400):
                x = torch.tanh(x @ x)
            return x

    x = torch.randn(700, 700) / 30
    program = dycl.compile(Long(), (x,), threads=1)
    whole = seconds(lambda: program(x))
    if whole < 0.5:
        pytest.skip("this machine is too fast")

    def late():
        with dycl.RunOptions(deadline=0.1), pytest.raises(dycl.RunStopped) as caught:
            program(x)
        assert caught.value.type == "DeadlineExceeded"
    assert seconds(late) < 0.1 + whole / 4
    program(x)


@pytest.mark.parametrize("wrong", [
    {"deadline": "soon"}, {"deadline": float("nan")}, {"deadline": 10**400}, {"step_limit": 0}, {"step_limit": 1.5},
    {"memory_limit": -1}, {"memory_limit": 1 << 63}, {"cancellation": True}])
def test_impossible_options_are_refused(wrong):
    with pytest.raises(dycl.InputError, match=next(iter(wrong))):
        dycl.RunOptions(**wrong)


def test_ctrl_c_ends_nested_loops(tmp_path):
    dycl.compile(Endless(), (torch.zeros(2), torch.tensor(2))).save(tmp_path / "endless.dycl")
    script = textwrap.dedent(f"""
        import signal, torch, dycl
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may ignore it
        program = dycl.load({str(tmp_path / "endless.dycl")!r})
        print("ready", flush=True)
        try:
            program(torch.zeros(2), torch.tensor(100_000))
        except KeyboardInterrupt:
            print(int(program(torch.zeros(2), torch.tensor(3))[0]), flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "27\n"
        assert process.wait() == 0
