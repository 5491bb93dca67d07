# SPDX-License-Identifier: Apache-2.0
"""TVM's compiler runs in the interpreter that compiles, unless the user names another."""

import importlib.util
import os
import sys

import pytest

from dycl.calling import native_engine


@pytest.mark.skipif(importlib.util.find_spec("tvm") is None, reason="TVM is not installed")
def test_this_interpreter_compiles_for_tvm(monkeypatch):
    monkeypatch.delenv("DYCL_TVM_PYTHON", raising=False)
    native_engine._lend_interpreter()
    assert os.environ["DYCL_TVM_PYTHON"] == sys.executable
    monkeypatch.setenv("DYCL_TVM_PYTHON", "/another/python")
    native_engine._lend_interpreter()
    assert os.environ["DYCL_TVM_PYTHON"] == "/another/python"


def test_without_tvm_nothing_is_named(monkeypatch):
    monkeypatch.delenv("DYCL_TVM_PYTHON", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    native_engine._lend_interpreter()
    assert "DYCL_TVM_PYTHON" not in os.environ
