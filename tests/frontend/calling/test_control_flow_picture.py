# SPDX-License-Identifier: Apache-2.0
"""The picture of a program's control flow, drawn of names that a file gives."""

import shutil
import subprocess

import pytest

from dycl.calling import control_flow

HOSTILE = '''func @main() {
^a" URL="javascript:alert(1)" x="():
  %y = call @s0" tooltip="<script>alert(2)</script>(%x)
  branch %c, ^a" URL="javascript:alert(1)" x="(), ^b(), ^nowhere()
^b():
  %z = call @\\" URL="javascript:alert(3)(%x)
  return %z
}
'''


@pytest.fixture
def picture():
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    return control_flow.as_html("<b>title</b>", HOSTILE)


def test_names_from_a_file_are_letters_and_nothing_else(picture):
    assert "&lt;b&gt;title" in picture and "<b>" not in picture
    assert "<svg" in picture
    assert "<a " not in picture and "href" not in picture  # a link
    assert "<script" not in picture


def test_nodes_are_numbered():
    dot = control_flow.as_dot({'a"': ([r'call "\N'], ["b", "a\""]), "b": (["return"], [])})
    assert [line.split("[")[0].strip() for line in dot.splitlines()[1:-1]] == ["b0", "b0 -> b1", "b0 -> b0", "b1"]
    assert r'[label="a\"\ncall \"\\N"]' in dot


@pytest.mark.parametrize("ends", [subprocess.TimeoutExpired("dot", 10), subprocess.CompletedProcess([], 1, "", "bad")])
def test_without_a_picture_the_text_is_shown(monkeypatch, ends):
    def run(*args, **kwargs):
        assert kwargs["timeout"] > 0
        if isinstance(ends, Exception):
            raise ends
        return ends

    monkeypatch.setattr(control_flow.shutil, "which", lambda name: "/usr/bin/dot")
    monkeypatch.setattr(control_flow.subprocess, "run", run)
    shown = control_flow.as_html("title", HOSTILE)
    assert "<pre>" in shown and "<svg" not in shown and "<script" not in shown
