# SPDX-License-Identifier: Apache-2.0
"""Compiling and running through dycl._native, beside the reference interpreter."""

import gc
import json
import threading

import numpy
import pytest
import torch

from dycl import _native

from .test_builder import early_exit


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    path = tmp_path_factory.mktemp("package") / "early.dycl"
    program = early_exit()
    program.set_metadata("note", "kept")
    report = _native.compile_program(program, path, source_texts={"model.py": "a\nb\nh = x @ w\n"})
    assert report["sub_dnns"] >= 1 and report["package_bytes"] == path.stat().st_size
    return path


def counter(tmp_path):
    """A scalar and a tensor state, an optional, a list, a print, and an error."""
    program = _native.ProgramBuilder()
    program.add_weight("zero", torch.zeros(2))
    program.add_state("count", "int", 0)
    program.add_state("sum", "f32[2]", "zero")
    main = program.new_function("main")
    x = main.add_param("x", "f32[2]")
    limit = main.add_param("limit", "float")
    count = main.add_param("count", "int", "count")
    total = main.add_param("sum", "f32[2]", "sum")
    main.add_result("list<int>", "seen")
    main.add_result("optional<float>", "rest")
    main.add_result("int", state="count")
    main.add_result("f32[2]", state="sum")
    entry, fail, ok = (main.add_block(n) for n in ("entry", "fail", "ok"))
    (one,) = main.op(entry, "const", [], ["int"], {"value": 1})
    (next_count,) = main.op(entry, "int.add", [count, one], ["int"])
    (next_sum,) = main.op(entry, "Add", [x, total], ["f32[2]"])
    (seen,) = main.op(entry, "list.new", [one, next_count], ["list<int>"])
    main.op(entry, "print", [next_count], [], {"format": "run {}\n"})
    (rest,) = main.op(entry, "opt.some", [limit], ["optional<float>"])
    (as_float,) = main.op(entry, "int.to_float", [next_count], ["float"])
    (late,) = main.op(entry, "float.gt", [as_float, limit], ["bool"])
    main.branch(entry, late, fail, [], ok, [])
    main.raise_(fail, "StopIteration", "run {} is too many", [next_count])
    main.return_(ok, [seen, rest, next_count, next_sum])
    program.verify()
    return program


def test_both_arms_agree_with_the_interpreter(package):
    run = _native.Run(_native.Program.load(package))
    interpreter = _native.Interpreter(early_exit())
    run.set_trace(True)
    for x, arm in ((torch.ones(3, 2), 1), (-torch.ones(5, 2), 0)):
        (actual,) = run.run([x])
        ((expected,), _) = interpreter.run([x])
        assert torch.equal(actual, expected)
        assert run.trace == [(0, arm)]
        assert interpreter.decisions == [("entry", arm, False)]


def test_calls_by_their_places(package):
    """The timeline holds each call of the last run, in order; switched off, it is empty."""
    program = _native.Program.load(package)
    assert [block for _, block, _ in program.call_sites] == ["entry", "more"]
    assert [readable for *_, readable in program.sub_dnns] == ["MatMul to GreaterOrEqual", "Add"]
    assert [origin for *_, origin in program.decisions] == ["MatMul to GreaterOrEqual"]
    run = _native.Run(program)
    run.set_timeline(True)
    for x, sites in ((torch.ones(3, 2), [0]), (-torch.ones(5, 2), [0, 1])):
        run.run([x])
        assert [site for site, _, _ in run.timeline] == sites
        ends = [begin + spent for _, begin, spent in run.timeline]
        assert all(begin >= end for (_, begin, _), end in zip(run.timeline[1:], ends))
    run.set_timeline(False)
    run.run([x])
    assert run.timeline == []


def test_decisions_can_be_forced(package):
    run = _native.Run(_native.Program.load(package))
    interpreter = _native.Interpreter(early_exit())
    x = torch.ones(1, 2)
    run.force([0])
    (actual,) = run.run([x])
    ((expected,), _) = interpreter.run([x], forced=[0])
    assert torch.equal(actual, expected) and torch.equal(actual, x @ torch.arange(8.0).reshape(2, 4) + 1)
    run.force([])
    seen = []
    run.set_decider(lambda decision, arm: seen.append((decision, arm)) or 0)
    assert torch.equal(run.run([x])[0], expected) and seen == [(0, 1)]
    run.set_decider(None)
    assert not torch.equal(run.run([x])[0], expected)


def test_arguments_of_every_origin(package):
    run = _native.Run(_native.Program.load(package))
    expected = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) @ torch.arange(8.0).reshape(2, 4)
    base = torch.tensor([[1.0, 3.0], [2.0, 4.0]])
    for x in (base.t().contiguous(), base.t(), base.t().numpy(), base.t().contiguous().requires_grad_(),
              torch.nn.Parameter(base.t()), numpy.asfortranarray(base.t().numpy())):
        assert torch.equal(run.run([x])[0], expected)
    (array,) = run.run([base.t()], framework="numpy")
    assert isinstance(array, numpy.ndarray) and numpy.array_equal(array, expected.numpy())


def test_results_survive_the_next_run_and_the_run_itself(package):
    run = _native.Run(_native.Program.load(package))
    first = run.run([torch.ones(1, 2)])[0]
    copy = first.clone()
    run.run([2 * torch.ones(1, 2)])
    del run
    gc.collect()
    assert torch.equal(first, copy)
    first += 1  # our own memory: may be written


@pytest.mark.parametrize("arguments, message", [
    ([], "1"), ([torch.ones(1, 2)] * 2, "1"), ([torch.ones(1, 3)], "dim 1"), ([torch.ones(65, 2)], "N"),
    ([torch.ones(1, 2, dtype=torch.float64)], "f64"), ([3], "x"), ([None], "x"), ([[torch.ones(1, 2)]], "x"),
])
def test_bad_arguments_are_refused(package, arguments, message):
    run = _native.Run(_native.Program.load(package))
    with pytest.raises(_native.InputError) as caught:
        run.run(arguments)
    assert caught.value.kind == "invalid_input" and message in str(caught.value)
    with pytest.raises(TypeError):
        run.run(["text"])


def test_states_are_kept_or_passed(tmp_path):
    _native.compile_program(counter(tmp_path), tmp_path / "c.dycl")
    program = _native.Program.load(tmp_path / "c.dycl")
    assert sorted(program.states) == [("count", "int"), ("sum", "f32[2]")]
    run, printed = _native.Run(program), []
    run.set_print(printed.append)
    x = torch.tensor([1.0, 2.0])
    assert run.run([x, 9]) == [[1, 1], 9.0]
    assert run.run([x, 9.0]) == [[1, 2], 9.0]
    assert "".join(printed) == "run 1\nrun 2\n"
    assert run.state("count") == 2 and torch.equal(run.state("sum"), 2 * x)

    given = {"count": 4, "sum": torch.ones(2)}
    names = [name for name, _ in program.states]
    (outputs, states) = run.run([x, 9.0], [given[name] for name in names])
    new = dict(zip(names, states))
    assert outputs[0] == [1, 5] and new["count"] == 5 and torch.equal(new["sum"], x + 1)
    assert run.state("count") == 2, "the states kept in the Run are left alone"

    run.set_state("count", 8)
    with pytest.raises(_native.RunError) as caught:
        run.run([x, 8.5])
    assert caught.value.type == "StopIteration" and "run 9 is too many" in str(caught.value)
    assert run.state("count") == 8, "a failed run changes no state"
    run.reset_states()
    assert run.state("count") == 0


def test_interpreter_agrees_on_states_and_errors(tmp_path):
    interpreter = _native.Interpreter(counter(tmp_path))
    (results, states) = interpreter.run([torch.ones(2), 9.0], {"count": 4})
    assert results == [[1, 5], 9.0] and states["count"] == 5 and interpreter.printed == "run 5\n"
    with pytest.raises(_native.RunError) as caught:
        interpreter.run([torch.ones(2), 9.0], {"count": 20})
    assert caught.value.type == "StopIteration" and interpreter.printed == "run 21\n"


def test_exceptions_of_callbacks_reach_the_caller(tmp_path):
    _native.compile_program(counter(tmp_path), tmp_path / "c.dycl")
    run = _native.Run(_native.Program.load(tmp_path / "c.dycl"))

    def refuse(text):
        raise ZeroDivisionError(text)

    run.set_print(refuse)
    with pytest.raises(ZeroDivisionError):
        run.run([torch.ones(2), 9.0])
    run.set_print(None)


def test_host_functions(tmp_path):
    program = _native.ProgramBuilder()
    main = program.new_function("main")
    x = main.add_param("x", "f32[2]")
    main.add_result("f32[2]")
    main.add_result("int")
    block = main.add_block("entry")
    y, n = main.op(block, "host_call", [x], ["f32[2]", "int"], {"name": "mine"})
    main.return_(block, [y, n])
    _native.compile_program(program, tmp_path / "h.dycl")
    load = lambda f: _native.Run(_native.Program.load(tmp_path / "h.dycl", host_functions={"mine": f}))
    y, n = load(lambda t: (t * 2, 7)).run([torch.ones(2)])
    assert torch.equal(y, torch.full((2,), 2.0)) and n == 7

    def fails(t):
        raise KeyError("missing")

    with pytest.raises(KeyError, match="missing"):
        load(fails).run([torch.ones(2)])
    with pytest.raises(_native.RunError, match="another number of values"):
        load(lambda t: t).run([torch.ones(2)])
    with pytest.raises(_native.RunError, match="mine"):
        load(lambda t: (t, 1.5)).run([torch.ones(2)])
    with pytest.raises(_native.PackageError, match="mine, which is not registered"):
        _native.Program.load(tmp_path / "h.dycl")


def test_threads_share_a_program_but_not_a_run(package):
    program = _native.Program.load(package)
    failures = []

    def work(seed):
        run = _native.Run(program)
        generator = torch.Generator().manual_seed(seed)
        for _ in range(100):
            x = torch.randn(4, 2, generator=generator)
            hidden = x @ torch.arange(8.0).reshape(2, 4)
            expected = hidden if hidden.max() >= 0.5 else hidden + 1
            if not torch.allclose(run.run([x])[0], expected, atol=1e-5):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_program_tells_about_itself(package):
    program = _native.Program.load(package, verify_weights=True)
    assert program.inputs == [("x", "f32[N,2]")] and program.outputs == [("y", "f32[N,4]")]
    assert program.symbols == [("N", 1, 64)] and len(program.decisions) == 1
    assert json.loads(program.metadata)["metadata"]["note"] == "kept"
    assert "branch %c" in program.ir_text and program.sources == ["model.py"]


def test_failures_of_compile_are_compile_errors(tmp_path):
    with pytest.raises(_native.CompileError) as caught:
        _native.compile_program(early_exit(), tmp_path / "x.dycl", backend="nothing")
    assert caught.value.kind == "missing" and "ort" in str(caught.value)
    with pytest.raises(_native.CompileError):
        _native.compile_program(early_exit(), tmp_path / "no" / "folder" / "x.dycl")
    with pytest.raises(_native.CompileError):
        _native.compile_program(early_exit(), tmp_path / "x.dycl", skip_passes=["no_such_pass"])
    with pytest.raises(_native.PackageError) as caught:
        _native.Program.load(tmp_path / "none.dycl")
    assert caught.value.kind == "missing"
    (tmp_path / "bad.dycl").write_bytes(b"nothing of the kind")
    with pytest.raises(_native.PackageError) as caught:
        _native.Program.load(tmp_path / "bad.dycl")
    assert caught.value.kind == "invalid_package"


def test_progress_and_its_exceptions(tmp_path):
    stages = []
    _native.compile_program(early_exit(), tmp_path / "x.dycl", progress=stages.append)
    assert stages[0] == "passes" and "back end" in stages and stages[-1] == "package"
    with pytest.raises(KeyboardInterrupt):
        def stop(stage):
            raise KeyboardInterrupt
        _native.compile_program(early_exit(), tmp_path / "x.dycl", progress=stop)


def test_writes_the_package_and_nothing_else_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _native.compile_program(early_exit(), tmp_path / "x.dycl")
    assert [p.name for p in tmp_path.iterdir()] == ["x.dycl"]
    _native.compile_program(early_exit(), tmp_path / "x.dycl", dump_folder=tmp_path / "stages")
    assert any("outline" in p.name for p in (tmp_path / "stages").iterdir())


def test_programs_from_and_to_files(tmp_path):
    _native.write_program(early_exit(), tmp_path / "m.dyir")
    assert (tmp_path / "m.safetensors").exists()
    again = _native.read_program(tmp_path / "m.dyir")
    assert again.print(inline_weights=True) == early_exit().print(inline_weights=True)
    names = [name for name, _, _ in _native.run_passes(again, only=["outline"])]
    assert names == ["outline"] and "subdnn" in again.print()


def test_torch_onnx_and_onnxruntime_live_together(package):
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    run = _native.Run(_native.Program.load(package))
    before = run.run([torch.ones(1, 2)])[0]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": numpy.array([-1, 1], numpy.float32)})[0].tolist() == [0, 1]
    assert torch.equal(run.run([torch.ones(1, 2)])[0], before)


def test_the_interpreter_takes_ops_whose_extents_are_operands():
    import dycl

    def enlarge(x):
        return torch.nn.functional.interpolate(x, size=(7, 5), mode="bilinear", align_corners=False)

    x = torch.rand(1, 2, 4, 3)
    program = dycl.compile(enlarge, (x,))
    [y], _ = _native.Interpreter(program._engine.builder, "ort").run([x])
    torch.testing.assert_close(y, enlarge(x))
