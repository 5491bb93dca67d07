# SPDX-License-Identifier: Apache-2.0
"""`dycl view`: the page, and what a browser makes of it. The browser starts once, 2 s; a page takes half a second."""

import contextlib
import json
import re
import shutil

import pytest
import torch
from playwright.sync_api import sync_playwright

import dycl as package_of_python
from dycl.view import layout
from dycl.view.graph import Program
from dycl.view.page import page

from .test_cli import EARLY_EXIT, dycl

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not there")
needs_browser = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not there")
NASTY = '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    (folder / "m.dyir").write_text(EARLY_EXIT)
    dycl("compile", folder / "m.dyir", "-o", folder / "m.dycl")
    dycl("profile", folder / "m.dycl", "--random", 6, "-o", folder / "p.json")
    return folder


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(chromium, path, **options):
    """The page as a reader meets it, under its own policy; whatever it says on the console is a failure."""
    said = []
    tab = chromium.new_page(viewport={"width": 1400, "height": 900}, **options)
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    tab.on("request", lambda request: request.url.startswith(("file:", "data:")) or said.append(request.url))
    tab.goto(path.as_uri())
    tab.wait_for_selector("body[data-ready=yes]")
    yield tab
    tab.close()
    assert not said, said


def test_the_page_is_one_file(folder):
    said = dycl("view", folder / "m.dycl", "-o", folder / "page.html").stdout
    text = (folder / "page.html").read_text()
    assert "3 blocks" in said and "<svg" in text and "MatMul to GreaterOrEqual" in text
    assert not re.search(r"(src|href)=[\"']?(https?:|//)", text) and "Content-Security-Policy" in text


@needs_browser
def test_a_click_shows_the_block_and_its_lines(folder, chromium):
    dycl("view", folder / "m.dycl", "-o", folder / "page.html")
    with opened(chromium, folder / "page.html") as tab:
        tab.click("#n1")
        assert tab.get_attribute(".node.selected", "data-block") == "1"
        tab.click("#tab-block")
        assert "Neg" in tab.inner_text("#pane-block") and not tab.is_visible("#pane-source")
        tab.click("#pane-block button.link >> nth=-1")  # along an edge
        assert tab.get_attribute(".node.selected", "data-block") != "1"
        tab.click("#tab-subdnns")
        assert tab.locator("#pane-subdnns details").count() == 2
        tab.click("#pane-subdnns summary >> nth=0")
        assert "artifacts" in tab.inner_text("#pane-subdnns details >> nth=0")


@needs_browser
def test_lines_and_blocks_light_each_other(tmp_path, chromium):
    def forward(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    package_of_python.compile(forward, (torch.ones(3),)).save(tmp_path / "m.dycl")
    dycl("view", tmp_path / "m.dycl", "-o", tmp_path / "page.html")
    with opened(chromium, tmp_path / "page.html") as tab:
        tab.click("#pane-source button.text:has-text('return x * 2')")
        lit = tab.locator(".node.lit")
        assert lit.count() == 1
        lit.click()
        assert tab.locator("#pane-source .lit", has_text="return x * 2").count() == 1


@needs_browser
def test_keys_go_along_the_edges(folder, chromium):
    dycl("view", folder / "m.dycl", "-o", folder / "page.html")
    with opened(chromium, folder / "page.html") as tab:
        tab.keyboard.press("ArrowDown")
        first = tab.get_attribute(".node.selected", "data-block")
        tab.keyboard.press("ArrowRight")
        assert {first, tab.get_attribute(".node.selected", "data-block")} == {"1", "2"}
        tab.keyboard.press("ArrowUp")
        assert tab.get_attribute(".node.selected", "data-block") == "0"
        tab.keyboard.press("Escape")
        assert not tab.locator(".node.selected").count()
        whole = tab.get_attribute("svg.dycl-graph", "viewBox")
        tab.keyboard.press("+")
        assert tab.get_attribute("svg.dycl-graph", "viewBox") != whole
        tab.keyboard.press("0")
        tab.keyboard.press("/")
        tab.keyboard.type("neg")
        assert tab.locator(".node.found").count() == 1 and tab.inner_text("#found") == "1 block"
        tab.keyboard.press("Enter")
        assert tab.get_attribute(".node.selected", "data-block") == tab.get_attribute(".node.found", "data-block")
        tab.keyboard.press("Escape")
        assert not tab.locator(".node.found").count()


@needs_browser
def test_the_slider_lights_the_path_of_an_input(folder, chromium):
    dycl("view", folder / "m.dycl", "--profile", folder / "p.json", "-o", folder / "page.html")
    profile = json.loads((folder / "p.json").read_text())
    with opened(chromium, folder / "page.html") as tab:
        assert tab.inner_text("#told") == "all 6 inputs"
        dimmed = set()
        for number in range(1, 7):
            tab.fill("#run", str(number))
            assert tab.inner_text("#told").startswith(f"{number} of 6: random {number - 1}")
            dimmed.add((profile["runs"][number - 1]["path"], tab.locator(".node.dim").count()))
        assert len(dimmed) == len({run["path"] for run in profile["runs"]})  # a path, a picture
        tab.locator("#run").focus()
        tab.keyboard.press("ArrowLeft")  # the browser's own key of a slider
        assert tab.inner_text("#told").startswith("5 of 6")
        tab.locator("#graph").focus()
        tab.keyboard.press("]")
        assert tab.inner_text("#told").startswith("6 of 6")


@needs_browser
def test_the_browser_says_dark_and_the_button_light(folder, chromium):
    dycl("view", folder / "m.dycl", "-o", folder / "page.html")
    with opened(chromium, folder / "page.html", color_scheme="dark") as tab:
        assert tab.get_attribute("html", "data-theme") == "dark"
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        tab.click("#theme")
        assert tab.get_attribute("html", "data-theme") == "light"
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def nasty(folder):
    """A page of a package that writes NASTY wherever it may write something."""
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
    (folder / "nasty.html").write_text(page(described, NASTY))
    return folder / "nasty.html"


def test_what_a_stranger_wrote_is_text(folder):
    """A name that closes the script and one that is markup: neither becomes part of the document."""
    text = nasty(folder).read_text()
    assert text.count("<script") == 2 and "<img" not in text


@needs_browser
def test_a_browser_reads_it_as_text(folder, chromium):
    with opened(chromium, nasty(folder)) as tab:
        assert not tab.locator("img").count() and tab.title() != "taken"
        tab.click("#n1")
        tab.click("#tab-block")
        assert NASTY in tab.inner_text("#pane-block")


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
