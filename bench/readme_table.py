# SPDX-License-Identifier: Apache-2.0
"""README's figures, one row per class of models, and the table of all models in docs/paper.md, from
bench/results/paper.json."""

from __future__ import annotations

from pathlib import Path

from report import NOT_YET, have, mean, order, table

BEGIN, END = "<!-- written by make paper -->", "<!-- end of what make paper writes -->"
TITLES = {
    "skipnet_rnn": "SkipNet-38, recurrent gates", "skipnet_ff": "SkipNet-38, feed-forward gates",
    "blockdrop_110": "BlockDrop-110", "sdn_mobilenet": "Shallow-Deep MobileNet", "sdn_vgg16": "Shallow-Deep VGG-16",
    "sdn_resnet56": "Shallow-Deep ResNet-56", "sdn_wideresnet32_4": "Shallow-Deep WideResNet-32-4",
    "caption_resnext50": "captions, ResNeXt-50", "caption_googlenet": "captions, GoogLeNet", "ranet": "RANet",
    "nmt": "translation (NMT)", "adaptive_computation_time": "adaptive computation time",
    "early_exit_decoder": "early-exit decoder, KV cache", "mixture_of_experts": "mixture of experts",
    "tree_lstm": "tree LSTM", "blockdrop_32": "BlockDrop-32",
}
OF_THE_PAPER = 11  # the first of them
CLASSES = {
    "skipped layers (SkipNet, BlockDrop)": ["skipnet_rnn", "skipnet_ff", "blockdrop_110", "blockdrop_32"],
    "early exits (Shallow-Deep, RANet)": ["sdn_mobilenet", "sdn_vgg16", "sdn_resnet56", "sdn_wideresnet32_4", "ranet"],
    "decode loops, recurrence (NMT, captions, decoder, ACT, tree LSTM)":
        ["nmt", "caption_resnext50", "caption_googlenet", "early_exit_decoder",
         "adaptive_computation_time", "tree_lstm"],
    "mixture of experts": ["mixture_of_experts"],
}


def put_into(readme: Path, results: dict) -> None:
    before, found, rest = readme.read_text().partition(BEGIN)
    if not found:
        return
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{classes_text(results)}{END}{after}")


def classes_text(results: dict) -> str:
    """README's block: the range of each class. A class without measurements says so."""
    models, m = results["models"], results["machine"]
    header = ["", "time against the executed path compiled whole", "faster than eager", "faster than torch.compile"]
    rows = [class_row(title, [n for n in names if n in models], models) for title, names in CLASSES.items()]
    return table(header, rows) + f"""
fp32, batch 1, one thread, {m['cpu']}, ONNX Runtime {m['onnxruntime']}; \
smallest to largest ratio of processor time in the class.
All models, bounds, versions and method: [docs/paper.md](docs/paper.md).
"""


def class_row(title: str, names: list[str], models: dict) -> list[str]:
    races = [row["ours"]["ratio"] for n in names if (row := have(models, n, "race1"))]
    eager = [1 / row["ours"]["ratio"] for n in names if (row := have(models, n, "eager"))]
    inductor = [row["ratio"]["ratio"] for n in names if (row := have(models, n, "inductor")) and "ratio" in row]
    return [title, span(races, 2), span(eager, 1), span(inductor, 1)]


def span(values: list[float], digits: int) -> str:
    if not values:
        return NOT_YET
    low, high = (f"{v:.{digits}f}" for v in (min(values), max(values)))
    return f"{low}x" if low == high else f"{low} to {high}x"


def models_text(results: dict) -> str:
    """The summary of docs/paper.md: one row per model."""
    models = results["models"]
    names = [n for n in TITLES if n in order(models)]
    paper = [row["ours"]["ratio"] for n in list(TITLES)[:OF_THE_PAPER]
             if n in names and (row := have(models, n, "race1"))]
    average = (f"Geometric mean against the oracle over the first {len(paper)} (the paper's nine, "
               f"RANet and NMT): {mean(paper):.2f}x.\n" if paper else "")
    header = ["model", "time against the oracle", "(oracle against itself)", "faster than eager", "faster than If/Loop",
              "faster than torch.compile (its warm-up)", "compiled in", "inputs compared"]
    return "## Summary\n\n" + table(header, [row_of(n, models) for n in names]) + f"""
{average}One thread, processor time. \
Oracle: the executed path of each input, compiled whole by the better of ONNX Runtime and OpenVINO.
If/Loop: the same program as one ONNX file in ONNX Runtime. \
torch.compile: its defaults; a warm-up of 0 s means it compiled nothing.
Inputs compared: with eager, with forced and with free decisions.
"""


def row_of(name: str, models: dict) -> list[str]:
    race, eager, inductor = (have(models, name, part) for part in ("race1", "eager", "inductor"))
    made, correct = have(models, name, "compile"), have(models, name, "correct")
    ifloop = (eager or {}).get("ifloop", {})
    return [TITLES[name], f"{race['ours']['ratio']:.2f}x" if race else NOT_YET,
            f"{race['control']['ratio']:.2f}" if race else NOT_YET, f"{1 / eager['ours']['ratio']:.1f}x" if eager
            else NOT_YET, f"{ifloop['ratio']:.2f}x" if "ratio" in ifloop else NOT_YET,
            f"{inductor['ratio']['ratio']:.1f}x ({inductor['cpu_seconds']:.0f} s)"
            if inductor and "ratio" in inductor else NOT_YET,
            f"{made['cpu_seconds']:.1f} s" if made else NOT_YET, f"{correct['inputs']:,}" if correct else NOT_YET]
