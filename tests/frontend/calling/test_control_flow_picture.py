# SPDX-License-Identifier: Apache-2.0
"""The picture of a program's control flow in a notebook, drawn of names that a file gives."""

import shutil
import subprocess

import pytest

from dycl.view import layout, notebook

NASTY = 'a" URL="javascript:alert(1)"><script>alert(2)</script><a href="x">'


def described(name):
    """As `native().package_to_json` says it: a branch whose arms meet."""
    def block(kind, *targets):
        return {"name": name, "place": None, "ops": [{"sub_dnn": 0, "place": None}],
                "exit": {"kind": kind, "place": None, "text": f"{kind} {name}",
                         "edges": [{"to": to, "label": name, "arm": k} for k, to in enumerate(targets)]}}

    return {"lines": [], "sources": [name], "sub_dnns": [{"readable": name}],
            "blocks": [block("branch", 1, 2), block("goto", 2), block("raise")]}


def test_names_from_a_file_are_letters_and_nothing_else():
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    picture = notebook.as_html("<b>title</b>", described(NASTY), NASTY)
    assert "&lt;b&gt;title" in picture and "<svg" in picture
    assert "<b>" not in picture and "<a " not in picture and "<script" not in picture


@pytest.mark.parametrize("ends", [subprocess.TimeoutExpired("dot", 10), subprocess.CalledProcessError(1, "dot")])
def test_without_a_picture_the_text_is_shown(monkeypatch, ends):
    def run(*args, **kwargs):
        assert kwargs["timeout"] > 0 and NASTY not in kwargs["input"]
        raise ends

    monkeypatch.setattr(notebook, "has_dot", lambda: True)
    monkeypatch.setattr(layout.shutil, "which", lambda name: "/usr/bin/dot")
    monkeypatch.setattr(layout.subprocess, "run", run)
    shown = notebook.as_html("title", described(NASTY), NASTY)
    assert "<pre>" in shown and "<svg" not in shown and "<script" not in shown
