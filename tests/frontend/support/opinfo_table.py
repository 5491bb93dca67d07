# SPDX-License-Identifier: Apache-2.0
"""The results of the OpInfo sweep as docs/supported_ops.md."""

from __future__ import annotations

import collections

HEAD = """\
# Torch ops

Which ATen ops a captured program may hold, measured: every sample of torch's OpInfo database ({dtypes}) is recorded,
converted to ONNX, run by ONNX Runtime without and with optimisation, and compared with torch. Written by
`python -m tests.frontend.support.opinfo_sweep --table docs/supported_ops.md`; not edited by hand.

| samples | number |
|---|---|
{counts}

*Unsuitable* samples draw random numbers, read tensors to the host (capture's business) or give no tensor.
An op that is refused ends the compilation with its name, the reason and the line of the model; nothing is
approximated. Complex numbers, sparse and quantised tensors, and ops of training (dropout, batch statistics with running
averages, backward ops) are refused. So are convolutions and other layers in float64 where the engine has no kernel.

Where results may differ from eager:
- the order of equal elements in `topk`, `kthvalue` and unstable `sort` (torch leaves it open); `argmax`, `max(dim)` and
  stable sorts give the first, as torch does;
- a NaN and an infinity in the same row of a `sort` or `topk` may change places; \
`max_pool` skips NaN, as the engine does;
- duplicate indices in `index_put` or `scatter` without accumulation (torch leaves it open);
- rounding, within a few units in the last place per op.

A number in parentheses counts the samples that agree.
"""


def write_table(path: str, everything: dict[str, list[dict]], dtypes: str) -> None:
    counts = collections.Counter(r["status"] for rs in everything.values() for r in rs)
    good: collections.Counter = collections.Counter()
    refused: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    failed: dict[str, int] = collections.Counter()
    for name, results in everything.items():
        for r in results:
            if r["status"] == "ok":
                good.update(r["ops"])
            elif r["status"] == "refused":
                refused[r["refused"]][_reason(r["note"])] += 1
            elif r["status"] != "unsuitable":
                failed[f"{name}: {r['status']}"] += 1
    rows = "\n".join(
        f"| {s} | {counts[s]} |" for s in ("ok", "refused", "unsuitable", "mismatch", "engine", "error", "crash")
    )
    full = sorted(op for op in good if op not in refused)
    part = sorted(op for op in good if op in refused)
    none = sorted(op for op in refused if op not in good)
    lines = [HEAD.format(dtypes=dtypes.replace(",", ", "), counts=rows)]
    if failed:
        lines += ["## Failures", *(f"- {what} ({n})" for what, n in sorted(failed.items())), ""]
    lines += [
        f"## Every sample agrees: {len(full)} ops",
        _paragraph([f"`{_short(op)}` ({good[op]})" for op in full]),
        "",
    ]
    lines += [
        f"## Some samples are refused: {len(part)} ops",
        "| op | agree | refused | why (most frequent) |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{_short(op)}` | {good[op]} | {sum(refused[op].values())} | {refused[op].most_common(1)[0][0]} |"
        for op in part
    ]
    lines += ["", f"## Refused: {len(none)} ops", _paragraph([f"`{_short(op)}`" for op in none])]
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")


def _short(op: str) -> str:
    return op.removeprefix("torch.")


def _reason(note: str) -> str:
    note = " ".join(note.split()).replace("|", "/")
    return note if len(note) <= 90 else note[:87] + "..."


def _paragraph(words: list[str], width: int = 118) -> str:
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) + 2 > width:
            lines.append(line + ",")
            line = word
        else:
            line = f"{line}, {word}" if line else word
    return "\n".join([*lines, line])
