# SPDX-License-Identifier: Apache-2.0
"""The IR builder of dycl._native: what it builds, what it refuses, how fast it is."""

import gc
import time

import numpy
import pytest
import torch

from dycl import _native


def early_exit():
    """One branch with a merge, a weight and a tensor literal."""
    program = _native.ProgramBuilder()
    program.add_symbol("N", 1, 64)
    program.add_weight("fc", torch.arange(8, dtype=torch.float32).reshape(2, 4))
    source = program.add_source("model.py")
    main = program.new_function("main")
    x = main.add_param("x", "f32[N,2]")
    main.add_result("f32[N,4]", "y")
    entry, more, done = (main.add_block(name) for name in ("entry", "more", "done"))
    y = main.add_block_param(done, "f32[N,4]", "y")
    (weight,) = main.op(entry, "weight", [], ["f32[2,4]"], {"name": "fc"}, "w")
    (hidden,) = main.op(entry, "MatMul", [x, weight], ["f32[N,4]"], hint="h", span=(source, 3, 5, 3, 12))
    (peak,) = main.op(entry, "ReduceMax", [hidden], ["f32[]"], {"keepdims": 0}, "m")
    (value,) = main.op(entry, "item", [peak], ["float"], hint="p")
    (limit,) = main.op(entry, "const", [], ["float"], {"value": 0.5}, "t")
    (enough,) = main.op(entry, "float.ge", [value, limit], ["bool"], hint="c")
    main.branch(entry, enough, done, [hidden], more, [])
    (scale,) = main.op(more, "const", [], ["f32[4]"], {"value": numpy.ones(4, numpy.float32)}, "one")
    (sum_,) = main.op(more, "Add", [hidden, scale], ["f32[N,4]"], hint="h")
    main.goto(more, done, [sum_])
    main.return_(done, [y])
    return program


def test_builds_what_it_prints():
    program = early_exit()
    program.verify()
    text = program.print()
    assert "func @main(%x: f32[N,2]) -> (%y: f32[N,4]) {" in text
    assert "%h = MatMul %x, %w : f32[N,4]" in text
    assert "branch %c, ^done(%h), ^more" in text
    assert "%one = const f32[4] [1.0,1.0,1.0,1.0]" in text
    assert "goto ^done(%h.1)" in text
    assert "@0:3:5-3:12" in program.print(spans=True)


def test_all_exits_print():
    program = _native.ProgramBuilder()
    main = program.new_function("main")
    i = main.add_param("i", "int")
    main.add_result("int")
    blocks = [main.add_block(name) for name in ("entry", "a", "b")]
    main.switch(blocks[0], i, [0, 7], [(blocks[1], []), (blocks[2], [])], (blocks[1], []))
    main.return_(blocks[1], [i])
    main.raise_(blocks[2], "ValueError", "bad {}", [i])
    program.verify()
    text = program.print()
    assert "switch %i, [0: ^a, 7: ^b], ^a" in text
    assert 'raise "ValueError" "bad {}" %i' in text


def test_attributes_keep_their_kind():
    program = _native.ProgramBuilder()
    main = program.new_function("main")
    block = main.add_block("entry")
    x = main.add_param("x", "f32[1,2]")
    attributes = {"i": 3, "f": 1.0, "b": True, "s": "text", "is": [1, 2], "fs": [1.0, 2], "ss": ["a"], "none": [],
                  "empty": _native.Floats([]), "names": _native.Strings([]), "type": _native.Type("f32[2]")}
    main.op(block, "Custom", [x, None], ["f32[1,2]"], attributes)
    line = next(line for line in program.print().splitlines() if "Custom" in line)
    for text in ("b=true", "empty=floats[]", "f=1.0", "fs=[1.0,2.0]", "i=3", "is=[1,2]", "names=strings[]",
                 "none=ints[]", 's="text"', 'ss=["a"]', "type=type:f32[2]"):
        assert text in line
    assert "%x, _" in line or "Custom %x {" in line


def test_weights_are_shared_not_copied_and_stay_alive():
    tensor = torch.zeros(4, requires_grad=True)
    program = _native.ProgramBuilder()
    program.add_weight("w", tensor)
    program.add_weight("strided", torch.arange(6.0).reshape(2, 3).t())
    program.add_weight("half", torch.ones(2, dtype=torch.bfloat16))
    program.add_weight("flag", torch.tensor([True, False]))
    program.add_weight("scalar", numpy.float64(2.0).reshape(()))
    with torch.no_grad():
        tensor[0] = 42.0
    text = program.print(inline_weights=True)
    assert "weight @w: f32[4] = [42.0,0.0,0.0,0.0]" in text
    assert "weight @strided: f32[3,2] = [0.0,3.0,1.0,4.0,2.0,5.0]" in text
    assert "weight @half: bf16[2]" in text and "weight @flag: bool[2]" in text and "weight @scalar: f64[]" in text
    del tensor
    gc.collect()
    assert "[42.0,0.0,0.0,0.0]" in program.print(inline_weights=True)


def test_lazily_negated_tensor_is_resolved():
    values = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert values.is_neg()
    program = _native.ProgramBuilder()
    program.add_weight("w", values)
    assert "[-2.0,4.0]" in program.print(inline_weights=True)


@pytest.mark.parametrize("call, error", [
    (lambda p, f, b: f.op(b, "Relu", [99], ["f32[1]"]), IndexError),
    (lambda p, f, b: f.op(b, "Relu", [-1], ["f32[1]"]), IndexError),
    (lambda p, f, b: f.op(7, "Relu", [], ["f32[1]"]), IndexError),
    (lambda p, f, b: f.goto(b, 9), IndexError),
    (lambda p, f, b: f.op(b, "Relu", [], ["f33[1]"]), _native.CompileError),
    (lambda p, f, b: f.op(b, "Relu", [], ["f32[1]"], {"a": object()}), TypeError),
    (lambda p, f, b: f.op(b, "Relu", [], ["f32[1]"], {"a": 1 << 70}), ValueError),
    (lambda p, f, b: f.op(b, "const", [], ["f32[300]"], {"value": numpy.zeros(300, numpy.float32)}), ValueError),
    (lambda p, f, b: p.add_weight("w", "text"), TypeError),
    (lambda p, f, b: p.new_function("g", "device"), ValueError),
])
def test_refuses(call, error):
    program = _native.ProgramBuilder()
    function = program.new_function("main")
    block = function.add_block("entry")
    with pytest.raises(error):
        call(program, function, block)


def test_verify_names_the_place():
    program = _native.ProgramBuilder()
    source = program.add_source("model.py")
    main = program.new_function("main")
    x = main.add_param("x", "int")
    main.add_result("float")
    block = main.add_block("entry")
    (y,) = main.op(block, "float.neg", [x], ["float"], span=(source, 12, 5))
    main.return_(block, [y])
    with pytest.raises(_native.CompileError) as caught:
        program.verify()
    assert caught.value.kind == "invalid_model"
    assert caught.value.span[:3] == ("model.py", 12, 5)
    assert "model.py:12:5" in str(caught.value)


def test_builds_at_least_100000_ops_per_second():
    program = _native.ProgramBuilder()
    main = program.new_function("main")
    value = main.add_param("x", "f32[1,64,56,56]")
    block = main.add_block("entry")
    start = time.process_time()
    for i in range(20000):
        (value,) = main.op(block, "Relu", [value], ["f32[1,64,56,56]"], {"axis": 1}, "h", (0, i + 1, 1, i + 1, 9))
    rate = 20000 / (time.process_time() - start)
    assert main.op_count == 20000
    assert rate > 100_000, f"{rate:.0f} ops per second"
