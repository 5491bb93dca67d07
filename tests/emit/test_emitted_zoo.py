# SPDX-License-Identifier: Apache-2.0
"""Small models of the zoo, emitted; `make test-emit` takes all of them."""

import shutil

import pytest

from tests.emit import zoo_sweep as emitted


@pytest.mark.skipif(not (emitted.BUILD / "bin" / "dycl").exists(), reason="the release build is not there")
@pytest.mark.parametrize("name", ["adaptive_computation_time", "mixture_of_experts"])
def test_emitted_like_the_walker(name):
    assert shutil.which("c++")
    seen = emitted.check(name)
    assert seen["equal"] >= emitted.INPUTS and seen["decisions"] > 0
    assert seen["arms_taken"] == seen["arms"] > 1
    assert seen["onnx_off"] < 1e-4 and seen["interpreter_off"] < 1e-4
