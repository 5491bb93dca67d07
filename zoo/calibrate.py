# SPDX-License-Identifier: Apache-2.0
"""python -m zoo.calibrate [names]: finds the constants of calibration.json anew and prints the paths taken afterwards.

Deterministic for one machine. Needed only after a change of a model; building a model reads the constants.
"""

from __future__ import annotations

import json
import sys

import torch

from zoo.registry import MODELS
from zoo.weights import CONSTANTS

SEEDS = range(10_000, 10_032)  # tests and benchmarks use small seeds


def exit_constants(inputs, seeds, run, heads, threshold: float) -> dict:
    """For each exit a scale and a bias of its last layer, so that the inputs spread evenly over the exits.

    The confidence of an exit grows with the scale of its logits, so for each input there is one scale at which it would
    just exit; a quantile of these scales lets the wanted share exit.
    """
    features: list[list[torch.Tensor]] = [[] for _ in heads]
    hooks = [h.register_forward_pre_hook(lambda m, a, k=k: features[k].append(a[0].flatten(1)))
             for k, h in enumerate(heads)]
    with torch.no_grad():
        for seed in seeds:
            run(*inputs(seed))
    for hook in hooks:
        hook.remove()
    left = list(range(len(seeds)))
    scales, biases = [], []
    for k, head in enumerate(heads):
        logits = torch.cat(features[k]) @ head.weight.detach().T
        logits = logits - logits.mean(0)
        needed = {i: _scale_for(logits[i], threshold) for i in left}
        share = 1 / (len(heads) - k)
        order = sorted(left, key=needed.get)
        count = max(1, round(share * len(left)))
        if k == len(heads) - 1:
            scale = needed[order[len(order) // 2]]
        elif count < len(order):
            scale = (needed[order[count - 1]] * needed[order[count]]) ** 0.5
        else:
            scale = needed[order[-1]]
        left = order[count:] or order[-1:]
        mean = (torch.cat(features[k]) @ head.weight.detach().T).mean(0)
        scales.append(float(f"{scale:.6g}"))
        biases.append([float(f"{-scale * v:.6g}") for v in mean.tolist()])
    return {"scales": scales, "biases": biases}


def end_bias(name: str, model) -> float:
    """The bias of the end token under which the lengths of the outputs are spread most evenly."""
    with torch.no_grad():
        margins = torch.cat([model.end_margins(*MODELS[name].inputs(s)) for s in SEEDS])

    def evenness(bias: float) -> float:
        ends = margins + bias > 0
        steps = torch.where(ends.any(1), ends.float().argmax(1), margins.shape[1])
        shares = torch.bincount(steps).float() / len(steps)
        return float(-(shares * shares.clamp_min(1e-9).log()).sum())

    ordered = margins.flatten().neg().sort().values
    biases = ((ordered[1:] + ordered[:-1]) / 2).tolist()
    return float(f"{max(biases, key=evenness):.6g}")


def exit_scale(name: str, model, share: float = 0.2) -> float:
    """One scale for the logits of all exits of all tokens, so that a share of them is confident."""
    with torch.no_grad():
        features = torch.cat([model.exit_features(*MODELS[name].inputs(s)) for s in SEEDS[:12]])
        logits = features @ model.lm_head.weight.T
        low, high = torch.full((len(logits),), 1e-3), torch.full((len(logits),), 1e3)
        for _ in range(40):
            middle = (low * high).sqrt()
            sure = torch.softmax(middle[:, None] * logits, 1).amax(1) >= model.confidence_threshold
            low, high = torch.where(sure, low, middle), torch.where(sure, middle, high)
    return float(f"{10.0 * high.quantile(share):.6g}")


def _scale_for(logits: torch.Tensor, threshold: float) -> float:
    low, high = 1e-6, 1e6
    for _ in range(80):
        middle = (low * high) ** 0.5
        if torch.softmax(middle * logits, -1).max() >= threshold:
            high = middle
        else:
            low = middle
    return high


def main(names: list[str]) -> int:
    torch.set_num_threads(1)
    stored = json.loads(CONSTANTS.read_text()) if CONSTANTS.exists() else {}
    for name in names or list(MODELS):
        stored.pop(name, None)
        _write(stored)
        model = MODELS[name].build()
        if hasattr(model, "exit_heads"):
            found = exit_constants(MODELS[name].inputs, SEEDS, model.all_outputs, model.exit_heads(),
                                   model.confidence_threshold)
        elif hasattr(model, "exit_features"):
            found = {"scale": exit_scale(name, model)}
        elif hasattr(model, "end_margins"):
            found = {"end": end_bias(name, model)}
        else:
            continue  # small enough to be calibrated whenever it is built
        stored = json.loads(CONSTANTS.read_text())
        stored[name] = found
        _write(stored)
        print(name, "calibrated", flush=True)
    return 0


def _write(stored: dict) -> None:
    CONSTANTS.write_text(json.dumps(stored, indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
