# SPDX-License-Identifier: Apache-2.0
"""`dycl view`: the page, and what a browser makes of it. The browser starts three times, 2 to 4 s each."""

import html
import json
import re
import shutil
import subprocess

import pytest

import dycl as package_of_python
from dycl.view import layout
from dycl.view.graph import Program
from dycl.view.page import page

from .test_cli import EARLY_EXIT, dycl

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not there")
NASTY = '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    (folder / "m.dyir").write_text(EARLY_EXIT)
    dycl("compile", folder / "m.dyir", "-o", folder / "m.dycl")
    dycl("profile", folder / "m.dycl", "--random", 6, "-o", folder / "p.json")
    return folder


def in_browser(path, script=""):
    """The document after its own script and then this one, which is a part of the page for the test alone."""
    text = path.read_text().replace("default-src 'none'", "default-src 'none' 'unsafe-inline'")
    text = re.sub(r"script-src (&#x27;|')sha256-[^;\"]*?\1", "script-src 'unsafe-inline'", text)
    probe = path.with_name("probe.html")
    failures = "<script>window.onerror = (m) => { document.title = 'FAILED ' + m; };</script>"
    text = text.replace("<body>", f"<body>{failures}", 1)
    probe.write_text(text.replace("</body>", f"<script>{{{script}}}</script></body>"))
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                           "--window-size=1400,900", f"file://{probe}"], text=True, capture_output=True, timeout=120)
    assert "<title>FAILED" not in done.stdout, re.search(r"<title>FAILED[^<]*", done.stdout)[0]
    return done.stdout


def test_the_page_is_one_file(folder):
    said = dycl("view", folder / "m.dycl", "-o", folder / "page.html").stdout
    text = (folder / "page.html").read_text()
    assert "3 blocks" in said and "<svg" in text and "MatMul to GreaterOrEqual" in text
    assert not re.search(r"(src|href)=[\"']?(https?:|//)", text) and "Content-Security-Policy" in text


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not there")
def test_in_a_browser_under_its_own_policy(folder):
    dycl("view", folder / "m.dycl", "--profile", folder / "p.json", "-o", folder / "page.html")
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                           f"file://{folder / 'page.html'}"], text=True, capture_output=True, timeout=120)
    assert 'data-ready="yes"' in done.stdout and "all 6 inputs" in done.stdout


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not there")
def test_click_search_slider_and_keys(folder):
    dycl("view", folder / "m.dycl", "--profile", folder / "p.json", "-o", folder / "page.html")
    shown = in_browser(folder / "page.html", """
      const log = [];
      const press = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
      press("ArrowDown");
      log.push("selected " + document.querySelector(".node.selected").dataset.block);
      press("ArrowRight");
      log.push("beside " + document.querySelector(".node.selected").dataset.block);
      const search = document.getElementById("search");
      search.value = "neg";
      search.dispatchEvent(new Event("input"));
      log.push("found " + [...document.querySelectorAll(".node.found")].map((x) => x.dataset.block));
      const run = document.getElementById("run");
      run.value = 1;
      run.dispatchEvent(new Event("input"));
      log.push("told " + document.getElementById("told").textContent.split(",")[0]);
      press("]");
      log.push("next " + run.value);
      press("0"); press("+"); press("-"); press("Escape");
      log.push("cleared " + document.querySelectorAll(".node.selected").length + " " + run.value);
      const before = document.documentElement.dataset.theme;
      document.getElementById("theme").click();
      log.push("theme " + (document.documentElement.dataset.theme !== before));
      document.getElementById("tab-subdnns").click();
      log.push("details " + document.querySelectorAll("#pane-subdnns details").length);
      document.title = log.join(" | ");
    """)
    told = html.unescape(re.search(r"<title>(.*?)</title>", shown)[1]).split(" | ")
    assert told[0] in ("selected 1", "selected 2") and told[1] == f"beside {3 - int(told[0][-1])}"
    assert told[2:] == ["found 1", "told 1 of 6: random 0", "next 2", "cleared 0 0", "theme true", "details 2"], told


def test_what_a_stranger_wrote_is_text(folder):
    """A name that closes the script and one that is markup: neither becomes part of the document."""
    described = json.loads(package_of_python._native.package_to_json(str(folder / "m.dycl")))
    for block in described["blocks"]:
        block["name"] = block["head"] = NASTY
        block["exit"]["text"] = NASTY
        for edge in block["exit"]["edges"]:
            edge["label"] = NASTY
        for op in block["ops"]:
            op["text"] = NASTY
    for sub_dnn in described["sub_dnns"]:
        sub_dnn["readable"] = sub_dnn["name"] = NASTY
    described["sources"], described["lines"] = [NASTY], [[0, 1, NASTY]]
    described["metadata"] = {"auto": NASTY}
    described["weights"][0]["name"] = NASTY
    text = page(described, NASTY)
    assert text.count("<script") == 2 and "<img" not in text
    path = folder / "nasty.html"
    path.write_text(text)
    if CHROMIUM:
        shown = in_browser(path, "document.title += document.querySelectorAll('img').length;")
        assert re.search(r"<title>(.*?)</title>", shown)[1].endswith("0") and ">taken<" not in shown


def test_refused(folder, tmp_path, monkeypatch):
    (folder / "n.dyir").write_text(EARLY_EXIT.replace("branch %c, ^done(%h), ^more", "goto ^done(%h)").replace(
        "^more:\n  %r = Neg %h : f32[1,2]\n  goto ^done(%r)\n", ""))
    dycl("compile", folder / "n.dyir", "-o", folder / "n.dycl")
    said = dycl("view", folder / "n.dycl", "--profile", folder / "p.json", "-o", tmp_path / "x.html", code=3).stderr
    assert "the profile is of another package" in said and not (tmp_path / "x.html").exists()
    (tmp_path / "bad.json").write_text("{}")
    said = dycl("view", folder / "m.dycl", "--profile", tmp_path / "bad.json", "-o", tmp_path / "x.html", code=3).stderr
    assert "dycl profile" in said
    dycl("compile", folder / "m.dyir", "-o", folder / "s.dycl", "--strip")
    assert "stripped" in dycl("view", folder / "s.dycl", "-o", tmp_path / "x.html", code=5).stderr
    assert "there is no option --profil" in dycl("view", folder / "m.dycl", "--profil", "x", code=64).stderr
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(package_of_python.PackageError, match="apt-get install graphviz"):
        layout.laid_out([(1, 1)], [])


def test_a_graph_of_a_thousand_blocks_is_laid_out():
    """Two arms that meet, 333 times: 2 s."""
    blocks = []
    for k in range(333):
        edges = [{"to": 3 * k + 1, "label": "false", "arm": 0}, {"to": 3 * k + 2, "label": "true", "arm": 1}]
        blocks.append({"kind": "branch", "edges": edges})
        blocks += [{"kind": "goto", "edges": [{"to": 3 * k + 3, "label": "", "arm": None}]}] * 2
    blocks.append({"kind": "return", "edges": []})
    described = {"sources": [], "lines": [], "sub_dnns": [], "blocks": [
        {"name": "b", "head": "", "place": None, "ops": [], "exit": {**b, "text": "", "place": None}} for b in blocks]}
    program = Program(described)
    made = layout.laid_out([(60, 20)] * 1000, [(e.source, e.target) for e in program.edges])
    assert len(made.centers) == 1000 and all(len(route) % 3 == 1 for route in made.routes)
