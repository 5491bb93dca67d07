# SPDX-License-Identifier: Apache-2.0
"""The README's first table from bench/results/paper.json; `bench/paper.py` writes it between the two marks."""

from __future__ import annotations

from pathlib import Path

from report import NOT_YET, have, mean, order, table

BEGIN, END = "<!-- written by make paper -->", "<!-- end of what make paper writes -->"
TITLES = {
    "skipnet_rnn": "SkipNet-110, recurrent gates", "skipnet_ff": "SkipNet-110, feed-forward gates", "blockdrop_110": "BlockDrop-110",
    "sdn_mobilenet": "Shallow-Deep MobileNet", "sdn_vgg16": "Shallow-Deep VGG-16", "sdn_resnet56": "Shallow-Deep ResNet-56",
    "sdn_wideresnet32_4": "Shallow-Deep WideResNet-32-4", "caption_resnext50": "captions, ResNeXt-50",
    "caption_googlenet": "captions, GoogLeNet", "ranet": "RANet", "nmt": "translation (NMT)",
    "adaptive_computation_time": "adaptive computation time", "early_exit_decoder": "early-exit decoder, KV cache",
    "mixture_of_experts": "mixture of experts", "tree_lstm": "tree LSTM",
}
OF_THE_PAPER = 11  # the first of them


def put_into(readme: Path, results: dict) -> None:
    before, found, rest = readme.read_text().partition(BEGIN)
    if not found:
        return
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{text(results)}{END}{after}")


def text(results: dict) -> str:
    models, m = results["models"], results["machine"]
    names = [n for n in TITLES if n in order(models)]
    paper = [row["ours"]["ratio"] for n in list(TITLES)[:OF_THE_PAPER] if n in names and (row := have(models, n, "race1"))]
    inputs = sorted({row["measured_inputs"] for n in names if (row := have(models, n, "race1"))})
    told = f"{inputs[0]} to {inputs[-1]}" if len(inputs) > 1 else str(inputs[0] if inputs else 0)
    return f"""On an {m['cpu']} with {m['cores']} cores (load at the end {m['load']}); fp32, batch 1, one thread, ONNX Runtime {m['onnxruntime']}, paired ratios of processor time, {told}
inputs per model ([docs/paper.md](docs/paper.md) has the bounds, two threads and the commits). The *oracle* is each input's executed path, compiled
whole by the better of ONNX Runtime and OpenVINO: what one could have had knowing the path beforehand; the first {len(paper)}, those of the paper, take
{mean(paper):.2f}x of its time (geometric mean). If/Loop: the same program as one ONNX file in ONNX Runtime. torch.compile: its defaults, 2 inputs; its
warm-up (0 s: it compiled nothing) and our compile time in processor seconds. Inputs compared: with eager, forced decisions and free ones.

""" + table(["model", "time against the oracle", "(oracle against itself)", "faster than eager", "faster than If/Loop",
             "faster than torch.compile (its warm-up)", "compiled in", "inputs compared"], [row_of(n, models) for n in names])


def row_of(name: str, models: dict) -> list[str]:
    race, eager, inductor = (have(models, name, part) for part in ("race1", "eager", "inductor"))
    made, correct = have(models, name, "compile"), have(models, name, "correct")
    ifloop = (eager or {}).get("ifloop", {})
    return [TITLES[name], f"{race['ours']['ratio']:.2f}x" if race else NOT_YET, f"{race['control']['ratio']:.2f}" if race else NOT_YET,
            f"{1 / eager['ours']['ratio']:.1f}x" if eager else NOT_YET, f"{ifloop['ratio']:.2f}x" if "ratio" in ifloop else NOT_YET,
            f"{inductor['ratio']['ratio']:.1f}x ({inductor['cpu_seconds']:.0f} s)" if inductor and "ratio" in inductor else NOT_YET,
            f"{made['cpu_seconds']:.1f} s" if made else NOT_YET, f"{correct['inputs']:,}" if correct else NOT_YET]
