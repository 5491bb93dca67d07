# SPDX-License-Identifier: Apache-2.0
"""Loading and running a package imports nothing of the compiler, and dycl.runtime not even torch. Costs 15 s: each
test is a process."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch

import dycl

NO_TORCH = "import sys; sys.modules['torch'] = None\n"  # importing it raises


def python(code, *arguments):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x, scale):
        steps = 0
        while x.sum() < 10:
            x = x + torch.relu(self.layer(x)) + scale
            steps += 1
        print("steps", steps)
        return {"x": x, "steps": steps}


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.calls = 0

    def forward(self, x):
        self.seen += x
        self.calls += 1
        return self.seen * 2, self.calls


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    torch.manual_seed(0)
    gate, counter = Gate().eval(), Counter().eval()
    x, scale = torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor(2.0)
    dycl.compile(gate, (x, scale)).save(folder / "gate.dycl")
    dycl.compile(counter, (torch.ones(2),)).save(folder / "counter.dycl")
    with torch.no_grad():
        expected = gate(x, scale)
    np.savez(folder / "gate.npz", x=x.numpy(), scale=scale.numpy(), y=expected["x"].numpy(), steps=expected["steps"])
    return folder


FOUND = """
import sys
compiler = "dycl.frontend", "dycl.api", "dycl.build"
of_torch = "sympy", "torch._dynamo", "torch.fx.experimental.symbolic_shapes"
wrong = [m for m in sys.modules if m.startswith(compiler + of_torch)]
assert not wrong, wrong
"""


def test_asking_for_load_imports_no_compiler():
    python("import dycl; dycl.load" + FOUND)


def test_a_loaded_program_runs_without_the_compiler(packages):
    python("""
        import sys, numpy as np, torch, dycl
        data = np.load(sys.argv[1] + "/gate.npz")
        program = dycl.load(sys.argv[1] + "/gate.dycl")
        given = program(torch.from_numpy(data["x"]), torch.from_numpy(data["scale"]))
        assert given["steps"] == data["steps"] and np.allclose(given["x"].numpy(), data["y"], rtol=1e-6), given
    """ + textwrap.indent(FOUND, "        "), packages)


def test_the_runtime_takes_numpy_and_imports_no_torch(packages):
    printed = python(NO_TORCH + textwrap.dedent("""
        import numpy as np, dycl.runtime
        data = np.load(sys.argv[1] + "/gate.npz")
        program = dycl.runtime.load(sys.argv[1] + "/gate.dycl")
        (x, kind), (scale, _) = program.inputs
        assert kind == "f32[1,3]" and repr(program).startswith(f"Program({x}: f32[1,3], ")
        by_name = {scale: data["scale"], x: data["x"]}
        half = {scale: data["scale"]}
        for given in (program(data["x"], data["scale"]), program(data["x"], **half), program(**by_name)):
            y, steps = (given[name] for name, _ in program.outputs)
            assert type(y) is np.ndarray and np.allclose(y, data["y"], rtol=1e-6), given
            assert type(steps) is int and steps == data["steps"], given
        strided = np.repeat(data["x"], 2, axis=1)[:, ::2]
        assert np.array_equal(program(strided, data["scale"])[program.outputs[0][0]], y)
    """) + "assert not [m for m in sys.modules if m.startswith('torch.')]\n" + FOUND, packages)
    assert printed.count("steps") == 4


def test_the_runtime_keeps_states_between_calls(packages):
    python(NO_TORCH + textwrap.dedent("""
        import numpy as np, dycl.runtime
        program = dycl.runtime.load(sys.argv[1] + "/counter.dycl")
        names = [name for name, _ in program.states]
        assert len(names) == 2, names
        one = np.ones(2, np.float32)
        for n in (1, 2, 3):
            given = program(one)
            assert given["out1"] == n and np.array_equal(given["out0"], [2 * n, 2 * n])
        seen = next(name for name, kind in program.states if kind != "int")
        assert np.array_equal(program.state(seen), [3, 3])
        program.set_state(seen, np.zeros(2, np.float32))
        assert np.array_equal(program(one)["out0"], [2, 2])
        program.reset_states()
        assert program(one)["out1"] == 1
    """), packages)


@pytest.mark.parametrize("call, said", [
    ("program()", "InputError: the program takes "),
    ("program(x)", "given 1 by place; not given: "),
    ("program(x, 1.0, 2.0)", "given 3 by place"),
    ("program(x, wrong=x)", "and wrong by name"),
    ("program(np.zeros((1, 4), np.float32), np.float32(1))", "InputError: "),
    ("program(x.astype(np.float64), np.float32(1))", "InputError: "),
    ("dycl.runtime.load(sys.argv[1] + '/none.dycl')", "none.dycl"),
    ("dycl.runtime.load(sys.argv[1] + '/gate.npz')", "dycl.PackageError: "),
])
def test_wrong_use_of_the_runtime_is_an_error_with_a_remedy(packages, call, said):
    done = subprocess.run([sys.executable, "-c", NO_TORCH + textwrap.dedent(f"""
        import numpy as np, dycl.runtime
        program = dycl.runtime.load(sys.argv[1] + "/gate.dycl")
        x = np.ones((1, 3), np.float32)
        {call}
    """), str(packages)], capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stderr, done.stderr


@dycl.host_function(results=("f32[?]", int))
def kept(x):
    return x[x > 0], int((x > 0).sum())


class Filters(torch.nn.Module):
    def forward(self, x):
        rows, count = kept(x)
        if count > 1:
            return rows * 2
        return rows


def test_host_functions_of_the_runtime_take_numpy(tmp_path):
    dycl.compile(Filters().eval(), (torch.tensor([1.0, -1.0, 2.0]),)).save(tmp_path / "filters.dycl")
    python(NO_TORCH + textwrap.dedent("""
        import numpy as np, dycl.runtime
        def kept(x):
            assert type(x) is np.ndarray
            return x[x > 0], (x > 0).sum()
        program = dycl.runtime.load(sys.argv[1] + "/filters.dycl", host_functions={"kept": kept})
        for x, expected in (([1, -1, 2], [2, 4]), ([-1, 3, -1], [3])):
            (y,) = program(np.array(x, np.float32)).values()
            assert np.array_equal(y, expected), y
    """), tmp_path)
