# SPDX-License-Identifier: Apache-2.0
"""scripts/test_long.py goes on where it was stopped, and says in a table what came out."""

import sys

import pytest

from tests.emit.done import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import test_long  # noqa: E402


@pytest.fixture
def place(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{test_long.BEGIN}\nold\n{test_long.END}\nafter\n")
    monkeypatch.setattr(test_long, "FOLDER", tmp_path / "long")
    monkeypatch.setattr(test_long, "PAGE", page)
    monkeypatch.setattr(test_long.Kept.__init__, "__defaults__", (tmp_path / "long",))
    runs = tmp_path / "runs"

    def part(name, text, status):
        command = f"echo {name} >> {runs}; echo '{text}'; exit {status}"
        return test_long.Part(name, "a part", "1 s", ["sh", "-c", command])

    parts = [part("good", "5 | tried", 0), part("bad", "1 failed", 3), part("never", "", 0)]
    monkeypatch.setattr(test_long, "PARTS", parts)
    return page, runs


def test_parts_are_run_once_and_shown(place):
    page, runs = place
    for _ in range(2):
        assert test_long.run(test_long.PARTS[:2], fresh=False) == 1
    assert runs.read_text().split() == ["good", "bad"]
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| good | a part | passed: 5 \\| tried |" in text
    assert "| bad | a part | **failed**: 1 failed |" in text
    assert "| never | a part | not run yet | | 1 s |" in text
    assert test_long.run(test_long.PARTS[:1], fresh=True) == 0
    assert runs.read_text().split() == ["good", "bad", "good"]


def test_results_of_other_code_do_not_count(place, monkeypatch):
    _, runs = place
    test_long.run(test_long.PARTS[:1], fresh=False)
    monkeypatch.setattr(test_long, "state", lambda: ("another", "abc"))
    test_long.run(test_long.PARTS[:1], fresh=False)
    assert runs.read_text().split() == ["good", "good"]


def test_a_result_says_that_the_code_changed_while_it_ran(place, monkeypatch):
    page, _ = place
    states = iter(["one", "one", "two"])
    monkeypatch.setattr(test_long, "state", lambda: (next(states), "abc"))
    test_long.run(test_long.PARTS[:1], fresh=True)
    assert "| abc, changed meanwhile, " in page.read_text()


def test_a_program_that_is_missing_fails_its_part(place):
    part = test_long.Part("gone", "a part", "1 s", ["/nonexistent/program"])
    assert test_long.run([part], fresh=False) == 1


def test_the_page_has_the_place_for_the_table():
    page = (ROOT / "docs" / "trust.md").read_text()
    assert test_long.with_table(page, {}) == page
    assert all(f"\n| {part.name} | {part.what} | " in page for part in test_long.PARTS)


def test_results_of_other_checkouts_stay(place):
    """The page has what ran anywhere; a checkout knows its own results alone."""
    page, _ = place
    elsewhere = "| never | a part | passed: 7 | abcdef, 2026-01-01 | 3 min |"
    old = f"| part | what | result | commit, day | time |\n|---|---|---|---|---|\n{elsewhere}"
    page.write_text(page.read_text().replace("old", f"{old}\n| good | a part | passed: old | abcdef | 1 min |"))
    test_long.run(test_long.PARTS[:1], fresh=True)
    text = page.read_text()
    assert elsewhere in text and "passed: old" not in text and "5 \\| tried" in text
    assert "| bad | a part | not run yet | | 1 s |" in text
