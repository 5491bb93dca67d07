# SPDX-License-Identifier: Apache-2.0
"""Faults found by generated programs and real models, each as small as it gets."""

import torch

import dycl
from tests.frontend.harness import T, check


def transposed_matrix_times_vector(x, u):
    if u.sum() > 0:
        return x.t() @ u
    return x.t() @ (u * 2)


def test_transposed_matrix_times_vector():
    """ONNX Runtime fuses the transpose into a product with a vector and gets it wrong."""
    x = torch.arange(20.0).reshape(5, 4)
    check(transposed_matrix_times_vector, [(x, torch.ones(5)), (x, -torch.arange(5.0))])


class Appended(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers[:2]:  # a ModuleList is built by its own `+=`
            if x.sum() > 0:
                x = layer(x)
        return x


def test_slices_of_module_lists():
    check(Appended, [(T(1, 2, 3, 4),), (T(-1, -2, -3, -4),)])


def test_modules_made_after_torch_compile_was_used():
    """torch.compile replaces nn.Module.__init__ by a wrapper of its own."""
    from torch._dynamo.mutation_guard import install_generation_tagging_init

    install_generation_tagging_init()
    test_slices_of_module_lists()


def merged_twice(x, y):
    w = x.clone()
    if y.sum() > 0:
        w = x
    if y[0] > 1:
        w = y * 2
    w += 1  # in some paths this is the input itself
    return x, w


def test_an_input_written_through_a_name_merged_twice():
    inputs = [(T(1, 2), T(2, 1)), (T(1, 2), T(0.5, 1)), (T(1, 2), T(-3, 1))]
    check(merged_twice, inputs)


def long_range(x):
    for i in range(1000):
        x = x * 0.9
        if x.abs().max() < 0.1:
            break
    return x, i


def test_a_long_range_becomes_a_loop():
    program = check(long_range, [(T(1, 2),), (T(0.01, 0.02),)])
    assert program.report()["blocks"] < 20


def test_a_package_is_loaded_and_called(tmp_path):
    program = dycl.compile(long_range, (T(1, 2),))
    program.save(tmp_path / "p.dycl")
    loaded = dycl.load(tmp_path / "p.dycl")
    x, i = long_range(T(3, 2))
    y, j = loaded(T(3, 2))
    assert i == j and torch.allclose(x, y)
