# SPDX-License-Identifier: Apache-2.0
"""docs/paper.md from bench/results/paper.json: nothing is written that was not measured."""

from __future__ import annotations

import math
from pathlib import Path

NOT_YET = "not measured"


def page(results: dict, plots: Path) -> str:
    models, m = results["models"], results["machine"]
    names = list(models)
    folder = plots.name
    plots.mkdir(parents=True, exist_ok=True)
    parts = [f"""# The paper's evaluation, measured here

Written by `make paper` (`bench/paper.py`) from `bench/results/`; no figure is typed in by hand. Machine: {m['cpu']}, {m['cores']}
cores, {m['system']}; torch {m['torch']}, ONNX Runtime {m['onnxruntime']}; commit {m['commit']}, {m['date']}. Load of the machine while
measuring: {m['load']}. Batch 1, f32. Ratios are paired: racers take turns, a ratio is taken within each round, the median over rounds
is the ratio of an input, the geometric mean over inputs that of a model; in brackets 95 % bounds (bootstrap). One thread: processor
time, which other work on the machine disturbs least; two threads: wall-clock time. A/A is the oracle against itself.
"""]
    parts.append(correctness_table(names, models))
    parts.append(compile_table(names, models))
    parts.append(speed_table(names, models, plots, folder))
    parts.append(optimisation_table(names, models))
    return "\n".join(parts)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def have(models: dict, name: str, part: str) -> dict | None:
    row = models[name].get(part)
    return row if row and "failed" not in row else None


def ratio(s: dict | None, inverse: bool = False) -> str:
    if not s:
        return NOT_YET
    if inverse:
        return f"{1 / s['ratio']:.2f}x [{1 / s['high']:.2f}, {1 / s['low']:.2f}]"
    return f"{s['ratio']:.3f} [{s['low']:.3f}, {s['high']:.3f}]"


def mean(values: list[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def correctness_table(names: list[str], models: dict) -> str:
    rows, flips = [], []
    for name in names:
        row = have(models, name, "correct")
        if not row:
            rows.append([name, *[NOT_YET] * 7])
            continue
        wrong = "cannot be exported" if row["traced_wrong"] is None else f"{row['traced_wrong']} of {row['inputs']}"
        log = "exact" if row["log10_error"] is None else f"{row['log10_error']:.2f}"
        rows.append([name, str(row["inputs"]), str(row["paths"]), wrong, str(len(row["mismatches"])), str(len(row["flips"])), log,
                     f"{row['arms_taken']} + {row['arms_driven']} of {row['arms']}"])
        flips += [f"- {name}, seed {f['seed']}: line {f['line']}, margin {f['margin']}" for f in row["flips"]]
    text = "## RQ1: are the answers right?\n\n" + table(
        ["model", "inputs", "paths", "traced: wrong", "ours: mismatches", "ours: flips", "log10 of the largest error",
         "arms taken + driven"], rows)
    text += """
Traced: `torch.onnx.export` of the path of one example. Mismatches: runs with eager's decisions forced, free runs that decide as eager
does, and paths with one decision turned round, whose results differ from eager's by more than 10^-4.7 of the largest value.
Flips: free runs that decide otherwise than eager; each is listed with eager's margin, the distance of the two sides of the comparison.
"""
    return text + ("\n" + "\n".join(flips) + "\n" if flips else "")


def compile_table(names: list[str], models: dict) -> str:
    rows = []
    for name in names:
        row = have(models, name, "compile")
        if not row:
            rows.append([name, *[NOT_YET] * 6])
            continue
        beyond = row["cpu_seconds"] - row["engine_cpu_seconds"]
        allowed = 2 + 0.03 * row["sub_dnns"]
        torch_row = have(models, name, "inductor")
        rows.append([name, f"{row['cpu_seconds']:.2f}", f"{row['engine_cpu_seconds']:.2f}", f"{beyond:.2f} ({allowed:.2f})",
                     str(row["sub_dnns"]), f"{row['package_bytes'] / row['parameter_bytes']:.3f}",
                     f"{torch_row['cpu_seconds']:.0f}" if torch_row and "cpu_seconds" in torch_row else NOT_YET])
    return "\n## RQ2: how long does compiling take?\n\n" + table(
        ["model", "all, s", "the engine alone, s", "beyond the engine (allowed), s", "unique sub-DNNs", "package / parameters",
         "torch.compile's warm-up, s"], rows) + """
Processor time. The engine alone: ONNX Runtime loading each unique sub-DNN once with all optimisations. Allowed: 2 s and 30 ms per
unique sub-DNN. torch.compile's is that of its warm-up on the inputs of the race, the C++ compiler it calls included.
"""


def speed_table(names: list[str], models: dict, plots: Path, folder: str) -> str:
    rows, ratios, bars = [], [], []
    for name in names:
        one, two = have(models, name, "race1"), have(models, name, "race2")
        eager, inductor, onnx = (have(models, name, p) for p in ("eager", "inductor", "ifloop"))
        facts = NOT_YET
        if inductor:
            facts = f"{ratio(inductor.get('ratio'))}; {inductor.get('graphs')} graphs, {inductor.get('breaks')} breaks" \
                if "ratio" in inductor else inductor.get("failed", NOT_YET)
        if one:
            ratios.append(one["ours"]["ratio"])
            bars.append((name, one["ours"], one["control"]))
        spread = f"{min(one['oracle_micros']):.0f} to {max(one['oracle_micros']):.0f}" if one else NOT_YET
        rows.append([name, spread, ratio(one and one["ours"]), ratio(one and one["control"]), ratio(two and two["ours"]),
                     ratio(eager and eager["ours"], inverse=True), facts, ratio(onnx and onnx.get("ratio"))])
    text = "\n## RQ3: how fast is it?\n\n" + table(
        ["model", "oracle, us", "ours / oracle, 1 thread", "A/A", "ours / oracle, 2 threads", "eager / ours",
         "torch.compile / ours", "If/Loop in ONNX Runtime / ours"], rows)
    text += """
The oracle: for each input the static graph of exactly the executed path, conditions kept, compiled whole by the best engine there is
(ONNX Runtime, and OpenVINO where it is installed). It can't run another input; it is what no dynamic compiler can beat by much.
"""
    if ratios:
        text += f"\nGeometric mean of ours / oracle over {len(ratios)} models, 1 thread: **{mean(ratios):.3f}**; largest {max(ratios):.3f}.\n"
        (plots / "oracle.svg").write_text(bar_chart("our time / oracle's time, 1 thread", bars))
        text += f"\n![our time over the oracle's]({folder}/oracle.svg)\n"
    speedups = [(n, have(models, n, "eager")) for n in names if have(models, n, "eager")]
    if speedups:
        inverse = [(n, {"ratio": 1 / r["ours"]["ratio"], "low": 1 / r["ours"]["high"], "high": 1 / r["ours"]["low"]}, None)
                   for n, r in speedups]
        (plots / "eager.svg").write_text(bar_chart("eager's time / our time, 1 thread", inverse))
        text += f"\n![eager's time over ours]({folder}/eager.svg)\n"
    return text


def optimisation_table(names: list[str], models: dict) -> str:
    rows = []
    for name in names:
        row = have(models, name, "race1")
        rows.append([name, ratio(row and row.get("plain")), ratio(row and row.get("bare"))])
    return "\n## RQ4: what does graph optimisation bring?\n\n" + table(
        ["model", "without identity and constant outputs / ours", "without any rewriting pass / ours"], rows) + """
The first is the paper's own optimisation of sub-DNNs; the second leaves out every pass that rewrites (shape propagation, dead code
and outlining stay).
"""


def bar_chart(title: str, bars: list[tuple[str, dict, dict | None]]) -> str:
    """Horizontal bars with bounds; a control is a small mark."""
    left, width, line = 190, 420, 24
    top = max(1.0, max(b[1]["high"] for b in bars)) * 1.08
    x = lambda v: left + width * v / top
    height = 50 + line * len(bars)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}" height="{height}" font-family="sans-serif" '
           f'font-size="12"><rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14">{title}</text>']
    for k, (name, s, control) in enumerate(bars):
        y = 36 + k * line
        out.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{name}</text>'
                   f'<rect x="{left}" y="{y + 2}" width="{x(s["ratio"]) - left:.1f}" height="13" fill="#4878a8"/>'
                   f'<path d="M{x(s["low"]):.1f} {y + 8.5}H{x(s["high"]):.1f}" stroke="black"/>'
                   f'<text x="{x(s["high"]) + 6:.1f}" y="{y + 13}">{s["ratio"]:.2f}</text>')
        if control:
            out.append(f'<circle cx="{x(control["ratio"]):.1f}" cy="{y + 8.5}" r="3" fill="#e07b39"/>')
    out.append(f'<path d="M{x(1):.1f} 30V{height - 8}" stroke="#888" stroke-dasharray="3 3"/></svg>')
    return "\n".join(out) + "\n"
