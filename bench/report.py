# SPDX-License-Identifier: Apache-2.0
"""docs/paper.md from bench/results/paper.json: nothing is written that was not measured."""

from __future__ import annotations

import math
from pathlib import Path

NOT_YET = "not measured"


def page(results: dict, plots: Path, summary: str = "") -> str:
    """The page; `summary` is put before the first research question."""
    models, m = results["models"], results["machine"]
    names = order(models)
    folder = plots.name
    plots.mkdir(parents=True, exist_ok=True)
    parts = [f"""# The paper's evaluation, measured here

Written by `make paper` (`bench/paper.py`) from `bench/results/`; no figure is typed in by hand. \
Machine: {m['cpu']}, {m['cores']}
cores, {m['system']}; torch {m['torch']}, ONNX Runtime {m['onnxruntime']}, OpenVINO {m.get('openvino', '?')}; \
{commits(models)};
{m['date']}, load of the machine at the end {m['load']}. Batch 1, f32. {counts(models)}

Ratios are paired: racers take turns, a ratio is taken within each round, \
the median over rounds is the ratio of an input, the
geometric mean over inputs that of a model; in brackets 95 % bounds (bootstrap). \
One thread: processor time, which other work on
the machine disturbs least; two threads: wall-clock time. \
A/A is the oracle against a second session of itself: a difference
smaller than its distance from 1 means nothing.
"""]
    if summary:
        parts.append(summary)
    parts.append(correctness_table(names, models))
    parts.append(compile_table(names, models))
    parts.append(speed_table(names, models, plots, folder))
    parts.append(backends_table(names, models))
    parts.append(optimisation_table(names, models))
    return "\n".join(parts)


def order(models: dict) -> list[str]:
    """The paper's nine first."""
    try:
        from zoo import MODELS
    except ImportError:
        return sorted(models)
    return sorted(models, key=lambda n: (n not in MODELS or not MODELS[n].paper,
                                         list(MODELS).index(n) if n in MODELS else 0))


def commits(models: dict) -> str:
    made = sorted({row["commit"] for parts in models.values() for row in parts.values() if row.get("commit")})
    return ("commits " if len(made) > 1 else "commit ") + (", ".join(made) or "unknown")


def counts(models: dict) -> str:
    """How many inputs stand behind the tables."""
    def span(part: str) -> str:
        found = sorted({row[part].get("measured_inputs", row[part].get("inputs", 0))
                        for row in models.values() if part in row and
                        "failed" not in row[part]})
        return "none" if not found else str(found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]}"

    return (f"Inputs per model: {span('correct')} for correctness ({span('correct_openvino')} with OpenVINO), "
            f"{span('race1')} timed against the oracle, {span('eager')} against eager." + notes(models))


def notes(models: dict) -> str:
    """What a row says of itself."""
    told: dict[str, list[str]] = {}
    for name, parts in models.items():
        for part, row in parts.items():
            if row.get("note"):
                told.setdefault(f"{name}: {row['note']}", []).append(part)
    return "".join(f" {text} ({', '.join(parts)})." for text, parts in sorted(told.items()))


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


def mismatches(row: dict) -> str:
    """Those that are eager's own rounding as much as ours are counted apart."""
    rounding = len(row.get("rounding", []))
    return str(len(row["mismatches"])) + (f" (and {rounding} of eager's rounding)" if rounding else "")


def correctness_table(names: list[str], models: dict) -> str:
    rows, flips = [], []
    for name in names:
        row, other = have(models, name, "correct"), have(models, name, "correct_openvino")
        if not row:
            rows.append([name, *[NOT_YET] * 8])
            continue
        wrong = "cannot be exported" if row["traced_wrong"] is None else f"{row['traced_wrong']} of {row['inputs']}"
        rows.append([name, str(row["inputs"]), str(row["paths"]), wrong, mismatches(row),
                     str(len(row["flips"])), log(row), f"{row['arms_taken']} + {row['arms_driven']} of {row['arms']}",
                     f"{mismatches(other)}, {len(other['flips'])}, {log(other)} ({other['inputs']})"
                     if other else NOT_YET])
        for label, found in (("", row), (", OpenVINO", other)):
            flips += [f"- {name}{label}, seed {f['seed']}: line {f['line']}, margin {f['margin']}"
                      for f in (found or {"flips": []})["flips"]]
    text = "## RQ1: are the answers right?\n\n" + table(
        ["model", "inputs", "paths", "traced: wrong", "ours: mismatches", "ours: flips", "log10 of the largest error",
         "arms taken + driven", "OpenVINO: mismatches, flips, log10 (inputs)"], rows)
    text += """
Traced: `torch.onnx.export` of the path of one example. Mismatches: results that differ from eager's \
by more than 10^-4.7 of the largest value, in executions with
eager's decisions forced, in free executions that decide as eager does, and on paths with one decision inverted.
Flips: free executions that decide otherwise than eager; each is listed with eager's margin, \
the distance of the two sides of the comparison.
"""
    text += "\n" + correctness_sum(names, models) + "\n"
    return text + ("\n" + "\n".join(flips) + "\n" if flips else "") + roundings(names, models)


def correctness_sum(names: list[str], models: dict) -> str:
    """What the table comes to, per back end."""
    told = []
    for label, part in (("ONNX Runtime", "correct"), ("OpenVINO", "correct_openvino")):
        rows = [row for name in names if (row := have(models, name, part))]
        if not rows:
            continue
        worst = max((row["log10_error"] for row in rows if row["log10_error"] is not None), default=None)
        told.append(f"{label}, {len(rows)} models, {sum(row['inputs'] for row in rows)} inputs: "
                    f"{sum(len(row['mismatches']) for row in rows)} mismatches, "
                    f"{sum(len(row['flips']) for row in rows)} flips, largest error "
                    + ("none" if worst is None else f"10^{worst:.2f}") + " (allowed: 10^-4.7).")
    traced = [row for name in names if (row := have(models, name, "correct")) and row["traced_wrong"] is not None]
    if traced:
        wrong, inputs = sum(row["traced_wrong"] for row in traced), sum(row["inputs"] for row in traced)
        told.append(f"Tracing, {len(traced)} models that it exports: wrong on "
                    f"{100 * wrong / inputs:.1f} % of the inputs.")
    return "\n".join(told)


def roundings(names: list[str], models: dict) -> str:
    """Inputs beyond the bound on which eager is as far from the same model in float64."""
    found = [f"- {name}{label}, seed {entry['seed']}: {entry['text']}" for name in names
             for label, part in (("", "correct"), (", OpenVINO", "correct_openvino"))
             for entry in (have(models, name, part) or {}).get("rounding", [])]
    return "\nEager's rounding (`zoo.compare.rounding`):\n\n" + "\n".join(found) + "\n" if found else ""


def log(row: dict) -> str:
    return "exact" if row["log10_error"] is None else f"{row['log10_error']:.2f}"


def compile_table(names: list[str], models: dict) -> str:
    rows = []
    for name in names:
        row, torch_row = have(models, name, "compile"), have(models, name, "inductor")
        if not row:
            rows.append([name, *[NOT_YET] * 7])
            continue
        beyond = row["cpu_seconds"] - row["engine_cpu_seconds"]
        warm = NOT_YET
        if torch_row and "cpu_seconds" in torch_row:
            warm = f"{'over ' if 'timed_out' in torch_row else ''}{torch_row['cpu_seconds']:.0f}"
        elif torch_row:
            warm = f"over {torch_row['timed_out']}"
        rows.append([name, f"{row['cpu_seconds']:.2f}", f"{row['engine_cpu_seconds']:.2f}",
                     f"{beyond:.2f} ({2 + 0.03 * row['sub_dnns']:.2f})",
                     f"{row['cpu_seconds'] / max(row['engine_cpu_seconds'], 1e-9):.1f}", str(row["sub_dnns"]),
                     f"{row['package_bytes'] / row['parameter_bytes']:.3f}", warm])
    return "\n## RQ2: how long does compiling take?\n\n" + table(
        ["model", "all, s", "the engine alone, s", "beyond the engine (allowed), s", "all / engine", "unique sub-DNNs",
         "package / state dict", "torch.compile's warm-up, s"], rows) + """
Processor time of `dycl.compile` without its check of the example against eager, nothing taken from the cache. \
The engine alone: ONNX
Runtime loading each unique sub-DNN once with all optimisations. Allowed: 2 s and 30 ms per unique sub-DNN. \
torch.compile's is that of
its warm-up on the inputs of the race, the C++ compiler it calls included.
""" + compile_sum(names, models)


def compile_sum(names: list[str], models: dict) -> str:
    beyond = [row["cpu_seconds"] - row["engine_cpu_seconds"]
              for name in names if (row := have(models, name, "compile"))]
    return (f"Beyond the engine, mean of {len(beyond)} models: {sum(beyond) / len(beyond):.2f} s (the "
            "paper's own: 9.67 s).\n" if beyond else "")


def inductor_text(row: dict | None) -> str:
    if not row:
        return NOT_YET
    facts = (f"{row.get('graphs', '?')} graphs, {row.get('breaks', '?')} breaks, "
             f"limit hit {row.get('recompile_limit', '?')} times")
    if "raised" in row:
        return f"raises {row['raised'].split(':')[0]}; {facts}"
    if "ratio" not in row:
        return f"over {row.get('timed_out', '?')} s of warm-up; {facts}"
    return f"{ratio(row['ratio'])}; {facts}"


def speed_table(names: list[str], models: dict, plots: Path, folder: str) -> str:
    rows, ratios, threaded, bars = [], [], [], []
    for name in names:
        one, two = have(models, name, "race1"), have(models, name, "race2")
        eager, inductor = have(models, name, "eager"), have(models, name, "inductor")
        if one:
            ratios.append(one["ours"]["ratio"])
            bars.append((name, one["ours"], one["control"]))
        if two:
            threaded.append(two["ours"]["ratio"])
        onnx = (eager or {}).get("ifloop")
        engines = "/".join(sorted(set(one["best_oracle"]))) if one else ""
        spread = f"{min(one['oracle_micros']):.0f} to {max(one['oracle_micros']):.0f} ({engines})" if one else NOT_YET
        rows.append([name, spread, ratio(one and one["ours"]), ratio(one and one["control"]),
                     ratio(two and two["ours"]), ratio(two and two["control"]),
                     ratio(eager and eager["ours"], inverse=True), inductor_text(inductor),
                     NOT_YET if not onnx else ratio(onnx) if "ratio" in onnx else "refused: " + onnx["refused"][:80]])
    text = "\n## RQ3: how fast is it?\n\n" + table(
        ["model", "oracle, us (best engine)", "ours / oracle, 1 thread", "A/A",
         "ours / oracle, 2 threads", "A/A", "eager / ours", "torch.compile / ours", "If/Loop in ONNX Runtime / ours"],
        rows)
    text += """
The oracle: for each input the static graph of exactly the executed path, conditions kept, \
compiled whole by the best engine there is
(of ONNX Runtime and OpenVINO the one that is faster on that input). \
It can't execute another input; it is what no dynamic compiler can
beat by much. If/Loop: the same program as one ONNX file (`program.emit_onnx`) in plain ONNX Runtime.
"""
    if ratios:
        text += (f"\nGeometric mean of ours / oracle over {len(ratios)} models, 1 thread: **{mean(ratios):.3f}**; "
                 f"largest {max(ratios):.3f}.")
        text += (f" 2 threads, {len(threaded)} models: {mean(threaded):.3f}; largest {max(threaded):.3f}.\n"
                 if threaded else "\n")
        (plots / "oracle.svg").write_text(bar_chart("our time / oracle's time, 1 thread", bars))
        text += f"\n![our time over the oracle's]({folder}/oracle.svg)\n"
    speedups = [(n, have(models, n, "eager")) for n in names if have(models, n, "eager")]
    if speedups:
        inverse = [(n, {"ratio": 1 / r["ours"]["ratio"], "low": 1 / r["ours"]["high"],
                        "high": 1 / r["ours"]["low"]}, None)
                   for n, r in speedups]
        (plots / "eager.svg").write_text(bar_chart("eager's time / our time, 1 thread", inverse))
        text += f"\n![eager's time over ours]({folder}/eager.svg)\n"
    return text


def backends_table(names: list[str], models: dict) -> str:
    rows = []
    for name in names:
        row = have(models, name, "backends")
        if row:
            rows.append([name, ratio(row["oracle"]["ort"]), ratio(row["oracle"]["openvino"]),
                         ratio(row["oracle"]["auto"]), f"{ratio(row['auto'])} ({row['best']})", ratio(row["control"])])
    if not rows:
        return ""
    return "\n## Back ends\n\n" + table(
        ["model", "ort / oracle", "openvino / oracle", "auto / oracle", "auto / the best single one", "A/A"],
        rows) + """
One thread. `auto` measures each sub-DNN in each engine while compiling and minimises the program's total.
"""


def optimisation_table(names: list[str], models: dict) -> str:
    rows = []
    for name in names:
        row = have(models, name, "race1")
        rows.append([name, ratio(row and row.get("plain")), ratio(row and row.get("bare"))])
    return "\n## RQ4: what does graph optimisation bring?\n\n" + table(
        ["model", "without identity and constant outputs / ours", "without any rewriting pass / ours"], rows) + """
The first is the paper's own optimisation of sub-DNNs; the second leaves out every pass that rewrites \
(shape propagation, dead code
and outlining stay).
"""


def bar_chart(title: str, bars: list[tuple[str, dict, dict | None]]) -> str:
    """Horizontal bars with bounds; a control is a small mark."""
    left, width, line = 190, 420, 24
    top = max(1.0, max(b[1]["high"] for b in bars)) * 1.08
    x = lambda v: left + width * v / top
    height = 50 + line * len(bars)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}" height="{height}" '
           'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/><text x="10" '
           f'y="20" font-size="14">{title}</text>']
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
