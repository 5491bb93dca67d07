# SPDX-License-Identifier: Apache-2.0
"""`make paper` loses nothing: what a killed run knew is taken up, what belongs to another program is not."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
paper = pytest.importorskip("paper")


def test_inputs_are_kept_and_the_torn_last_line_is_not(tmp_path):
    first = paper.Partial(tmp_path, "race1", ["program", 1.0])
    first.add(0, {"time": 3})
    first.add(1, {"time": 4})
    with (tmp_path / "race1.jsonl").open("a") as out:
        out.write('[2, {"ti')  # killed here
    assert paper.Partial(tmp_path, "race1", ["program", 1.0]).rows == {0: {"time": 3}, 1: {"time": 4}}


def test_rows_after_a_torn_line_are_kept(tmp_path):
    (tmp_path / "race1.jsonl").write_text(json.dumps({"key": "k"}) + '\n[2, {"ti')
    paper.Partial(tmp_path, "race1", "k").add(3, {"time": 5})
    assert paper.Partial(tmp_path, "race1", "k").rows == {3: {"time": 5}}


def test_another_program_starts_anew(tmp_path):
    paper.Partial(tmp_path, "race1", "old").add(0, {})
    assert paper.Partial(tmp_path, "race1", "new").rows == {}


def test_runs_side_by_side_add_to_one_file(tmp_path):
    one, other = paper.Store(tmp_path / "r.json"), paper.Store(tmp_path / "r.json")
    one.put("a", "race1", {"x": 1})
    other.put("a", "race2", {"x": 2})
    one.put("b", "race1", {"x": 3})
    assert other.read()["models"] == {"a": {"race1": {"x": 1}, "race2": {"x": 2}}, "b": {"race1": {"x": 3}}}


def test_more_inputs_are_more_work():
    settings = {"inputs": 100, "race_inputs": 4}
    assert paper.is_done({"measured_inputs": 4}, "race1", settings)
    assert not paper.is_done({"measured_inputs": 3}, "race1", settings)
    assert not paper.is_done({"measured_inputs": 99}, "correct", settings)
    assert not paper.is_done({"measured_inputs": 100, "failed": "crash"}, "correct", settings)
    assert not paper.is_done(None, "compile", settings)


def test_the_page_says_what_is_not_measured(tmp_path):
    import report

    bounds = {"ratio": 1.5, "low": 1.4, "high": 1.6}
    rows = {"race1": {"ours": bounds, "control": bounds, "oracle_micros": [7.0],
                      "best_oracle": ["ort"], "measured_inputs": 2},
            "inductor": {"timed_out": 90, "graphs": 3, "breaks": 2, "recompile_limit": 1}}
    machine = dict.fromkeys(("cpu", "cores", "system", "torch", "onnxruntime", "date", "load"), "?")
    text = report.page({"models": {"ranet": rows}, "machine": machine}, tmp_path)
    assert "1.500 [1.400, 1.600]" in text and report.NOT_YET in text
    assert "over 90 s of warm-up; 3 graphs, 2 breaks, limit hit 1 times" in text
    rows["race1"]["note"] = "timed with other weights"
    assert "ranet: timed with other weights (race1)." in report.page(
        {"models": {"ranet": rows}, "machine": machine}, tmp_path
    )


def test_rounding_is_listed_apart():
    import correctness
    import report

    assert correctness.is_far({"free": 1e-3,
                               "forced": 1e-9}) and correctness.is_far({"free": None, "forced": float("inf")})
    assert not correctness.is_far({"free": None, "forced": 1e-6})
    assert report.mismatches({"mismatches": [1, 2]}) == "2"
    assert report.mismatches({"mismatches": [], "rounding": [{"seed": 3}]}) == "0 (and 1 of eager's rounding)"


def test_a_convolution_is_known_again_by_its_bits():
    import torch

    from correctness import SameConvolutions

    layer, x = torch.nn.Conv2d(2, 2, 1), torch.ones(1, 2, 3, 3)
    with torch.no_grad(), SameConvolutions() as seen:
        first = layer(x).relu_()
        again = layer(x.clone())
        other = layer(x + 1)
    assert seen.found == 1
    assert torch.equal(again.relu(), first) and torch.equal(again, layer(x)) and not torch.equal(other, again)
    with torch.no_grad(), SameConvolutions() as seen:
        layer(x)
        x.add_(1)
        assert torch.equal(layer(x), other) and seen.found == 0


def test_a_trace_is_wrong_where_its_numbers_are():
    import torch

    import peers

    class Exit(torch.nn.Module):
        def forward(self, x):
            return (x * 2, 0) if x.sum() > 0 else (x * 3, 1)

    model, x = Exit(), torch.ones(2)
    run = peers.traced(model, (x,))
    assert not run.is_other(model(x)) and run.is_other(model(-x)) and run.is_other((x, x, 0))
    assert torch.equal(run((-x,))[0], -2 * x) and run((-x,))[1] == 0


def test_in_a_hurry_every_family_and_every_part_is_measured():
    import zoo

    assert {zoo.MODELS[n].family for n in paper.QUICK_MODELS} == {e.family for e in zoo.MODELS.values()}
    plan = {n: paper.parts_of(n, [], quick=True) for n in paper.QUICK_MODELS}
    assert {part for parts in plan.values() for part in parts} == set(paper.PARTS)
    assert all(parts[0] == "compile" for parts in plan.values())
    assert paper.parts_of("ranet", ["correct", "compile"], quick=True) == ["compile", "correct"]
    assert paper.parts_of("ranet", [], quick=False) == paper.PARTS


def test_measuring_anew_forgets_the_inputs_too(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "WORK", tmp_path)
    folder = paper.work_folder("ranet", True)
    folder.mkdir(parents=True)
    for backend in ("ort", "openvino"):
        paper.Partial(folder, "correct_" + backend, "k").add(1, {})
    paper.forget(paper.Store(tmp_path / "r.json"), {"ranet": ["correct", "correct_openvino"]}, True)
    assert not list(folder.glob("*.jsonl"))


def test_rendering_needs_no_measuring(tmp_path):
    """README's block and the page come from stored results alone; what surrounds the block stays."""
    import readme_table

    results = json.loads((paper.RESULTS / "paper.json").read_text())
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{readme_table.BEGIN}\nold\n{readme_table.END}\nafter\n")
    paper.render(results, tmp_path / "paper.md", readme)
    text = readme.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "\nold\n" not in text
    assert all(f"| {title} |" in text for title in readme_table.CLASSES)
    page = (tmp_path / "paper.md").read_text()
    assert all(f"| {title} |" in page for title in readme_table.TITLES.values())
    assert (paper.ROOT / "docs" / "paper.md").read_text() == page
    assert (
        text.partition(readme_table.BEGIN)[2].partition(readme_table.END)[0] in (paper.ROOT / "README.md").read_text()
    )


def test_every_model_of_the_zoo_is_in_one_class():
    import readme_table
    import zoo

    classified = [name for names in readme_table.CLASSES.values() for name in names]
    assert sorted(classified) == sorted(zoo.MODELS) == sorted(readme_table.TITLES)


def test_a_class_gives_its_range():
    import readme_table

    models = {name: {"race1": {"ours": {"ratio": r}}} for name, r in (("skipnet_rnn", 0.9), ("skipnet_ff", 1.09))}
    assert readme_table.class_row("skipped", list(models), models) == ["skipped", "0.90 to 1.09x",
                                                                       readme_table.NOT_YET, readme_table.NOT_YET]
    assert readme_table.span([2.92, 2.94], 1) == "2.9x"
