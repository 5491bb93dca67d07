# SPDX-License-Identifier: Apache-2.0
"""make artifact DIR=...: the published artifact of the paper through DyCL, unmodified, against eager.

DIR is a checkout of the artifact (github.com/SeekingDream/ISSTA23_DyCL). Its own `load_model` builds its nine models;
here we only stand in for what it imports beside them (TVM, its own compiler, data sets, downloads of weights, a GPU),
settle batch-norm statistics and move exits and gates so that random images take different paths. Each model runs in a
process of its own: every forward it was published with and the one its authors wrote by hand for their compiler. The
networks that lie in the artifact beside the nine follow, SkipNet's first recurrent one among them: the forward of the
nine's was left behind by a change of its gate and raises in eager PyTorch. Nothing is written into DIR.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import types
import warnings
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("torchvision==0.28.0", "pillow==13.0.0")  # of torch 2.13.0

# number in its load_model (from 9 on: ours) -> (name, image size, published forwards, hand-written forward or None)
MODELS = {
    0: ("SDN MobileNet", 256, ("forward", "early_exit"), "early_exit_compile"),
    1: ("SDN VGG16", 256, ("forward", "early_exit"), "early_exit_compile"),
    2: ("SDN ResNet56", 256, ("forward", "early_exit"), "early_exit_compile"),
    3: ("SDN WideResNet32-4", 256, ("forward", "early_exit"), "early_exit_compile"),
    4: ("SkipNet recurrent", 32, ("forward",), "adaptive_forward_compile"),
    5: ("SkipNet feed-forward", 32, ("forward",), "adaptive_forward_compile"),
    6: ("Captioning ResNeXt50", 256, ("forward",), "forward_compile"),
    7: ("Captioning ResNet101", 256, ("forward",), "forward_compile"),
    8: ("BlockDrop 110", 32, ("forward", "forward_single", "adaptive_forward"), "adaptive_forward_compile"),
    9: ("RANet", 32, ("forward", "adaptive_forward"), "adaptive_forward_compile"),
    10: ("SkipNet recurrent, SP", 32, ("forward",), None),
    11: ("SkipNet recurrent 110", 32, (), "adaptive_forward_compile"),
    12: ("Transformer", 0, ("forward",), None),
    13: ("Demo", 0, ("forward",), None),
}


def main() -> int:
    p = argparse.ArgumentParser(prog="make artifact", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir", type=Path, help="a checkout of the artifact")
    p.add_argument("--only", type=int, action="append", help="a model's number")
    p.add_argument("--inputs", type=int, default=0, help="inputs per forward; default: 10, and 4 of 256 x 256")
    p.add_argument("--limit", type=int, default=900, help="seconds per model")
    p.add_argument("--json", type=Path, help="write the rows here as well")
    p.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = p.parse_args()
    if not (args.dir / "adNN").is_dir() or not (args.dir / "utils.py").is_file():
        p.error(f"{args.dir} is no checkout of the artifact (no adNN, no utils.py); "
                "clone https://github.com/SeekingDream/ISSTA23_DyCL and name it: make artifact DIR=...")
    if args.one is not None:
        for row in run_model(args):
            print("ROW " + json.dumps(row), flush=True)
        return 0
    install_torchvision()
    rows = []
    print(f"{'model':22} {'forward':26} {'':10} {'result':9} inputs paths  worst  compile  sub-DNNs")
    for number in args.only or MODELS:
        for row in in_process(number, args):
            rows.append(row)
            print(line(row), flush=True)
    count = {s: sum(r["result"] == s for r in rows) for s in sorted({r["result"] for r in rows})}
    print(f"{len(rows)} forwards: " + ", ".join(f"{n} {s}" for s, n in count.items()))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(r["result"] in ("differs", "crash", "slow") for r in rows) else 0


def install_torchvision() -> None:
    """The artifact imports it; without its dependencies, so that no other torch comes along, and beside the .venv."""
    folder = Path(os.environ.get("DYCL_MODELS", ROOT / ".setup" / "models"))
    if (folder / "torchvision").is_dir() and (folder / "PIL").is_dir() or find_spec("torchvision"):
        return
    print("installing torchvision into", os.path.relpath(folder), file=sys.stderr)
    subprocess.run([sys.executable, "-m", "pip", "install", "-qq",
                    "--disable-pip-version-check", "--no-deps", "--target", str(folder), *PACKAGES], check=True)


def line(r: dict) -> str:
    text = f"{r['model']:22} {r['forward']:26} {r['kind']:10} {r['result']:9}"
    if "worst" in r:
        text += f" {r['inputs']:6} {r['paths']:5} {r['worst']:6.2f} {r['seconds']:6.1f} s {r['sub_dnns']:9}"
    return text + (f"  {r['why']}" if r.get("why") else "")


def forwards(number: int) -> list[str]:
    return [f for f in (*MODELS[number][2], MODELS[number][3]) if f]


def in_process(number: int, args):
    command = [sys.executable, __file__, str(args.dir.resolve()), "--one", str(number), "--inputs", str(args.inputs)]
    name = MODELS[number][0]
    done = set()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    deadline, tail = time.time() + args.limit, []
    for text in process.stdout:
        if text.startswith("ROW "):
            row = json.loads(text[4:])
            done.add(row["forward"])
            yield row
        tail = [*tail[-20:], text]
        if time.time() > deadline:
            process.kill()
            break
    process.wait()
    for forward in forwards(number):
        if forward not in done:
            why = ("over the time limit" if time.time() > deadline
                   else "".join(tail[-3:]).strip().replace("\n", " | ")[-200:])
            yield {"model": name, "forward": forward, "kind": "",
                   "result": "slow" if time.time() > deadline else "crash", "why": why}


# ---- in the process of one model ---------------------------------------------------------------------


def run_model(args):
    name, size, _, rewritten = MODELS[args.one]
    folder = str(args.dir.resolve())
    stand_in(folder)
    import torch

    torch.set_num_threads(1)
    model = build(args.one)
    from zoo import data

    images = lambda seed: data.picture(seed, size)  # noqa: E731
    with torch.no_grad():
        tune(args.one, model, images)
    count = args.inputs or (4 if size == 256 else 10)
    for forward in forwards(args.one):
        kind = "rewritten" if forward == rewritten else "published"
        row = {"model": name, "forward": forward, "kind": kind}
        calls = [arguments(args.one, model, forward, seed, images) for seed in range(count)]
        yield {**row, **compare(getattr(model, forward), calls, folder)}


def stand_in(folder: str) -> None:
    """Makes the artifact's modules importable without TVM, data sets and downloads, outside its own folder."""
    warnings.filterwarnings("ignore")
    sys.path.insert(0, str(ROOT))
    from tests.models.registry import find_packages  # torchvision lies there, if it was installed

    find_packages()
    os.chdir(tempfile.mkdtemp(prefix="dycl-artifact-"))
    for part in ("adNN", "Dataset"):
        os.symlink(os.path.join(folder, part), part)
    os.makedirs("compile_model/base")
    for module in ("tvm", "tvm.contrib", "tvm.contrib.graph_executor", "src", "src.ConfigClass", "h5py", "tqdm"):
        try:
            if module.split(".")[0] in ("h5py", "tqdm"):
                __import__(module)
                continue
        except ImportError:
            pass
        made = types.ModuleType(module)
        made.__spec__ = ModuleSpec(module, None)
        sys.modules[module] = made
        parent, _, child = module.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, made)
    sys.modules["src.ConfigClass"].MyConfigClass = object
    sys.modules["tqdm"].tqdm = lambda items, *a, **k: items
    sys.path.insert(0, folder)
    sys.argv = sys.argv[:1]  # RANet parses it
    import torch
    import torchvision

    class Pictures(list):
        def __init__(self, *args, **kwargs):
            super().__init__((torch.zeros(3, 32, 32), 0) for _ in range(2))

    torchvision.datasets.CIFAR10 = Pictures
    torch.save = lambda *args, **kwargs: None
    if not torch.cuda.is_available():
        torch.Tensor.cuda = lambda self, *args, **kwargs: self
    for name in ("resnext50_32x4d", "resnet101", "resnet18", "googlenet", "mobilenet_v2"):
        setattr(torchvision.models, name, untrained(getattr(torchvision.models, name)))


def untrained(make):
    def build(pretrained=False, **kwargs):
        return make(weights=None, **kwargs)

    return build


def build(number: int):
    import torch
    import utils  # the artifact's

    torch.manual_seed(0)
    if number < 9:
        return utils.load_model(number)[0].eval()
    from adNN.NMT.model import Transformer
    from adNN.skipnet.cifar import models as skipnet

    make = {9: utils.load_RaNet, 10: skipnet.cifar10_rnn_gate_38, 11: skipnet.cifar10_rnn_gate_rl_110,
            12: lambda: Transformer(1000, 0.1 * torch.randn(1, 50, 512)), 13: lambda: utils.load_model(-1)[0]}
    return make[number]().eval()


def tune(number: int, model, images) -> None:
    """Statistics of batch norm, and exits and gates that different images take differently."""
    import torch

    from zoo.calibrate import exit_constants
    from zoo.weights import set_exit_heads, settle

    few = range(5000, 5008)
    if number <= 3:
        settle(model, lambda: model.forward(images(4999)))
        heads = [layer.output.linear for layer in model.layers if getattr(layer.output, "linear", None) is not None]
        heads.append([m for m in model.end_layers if isinstance(m, torch.nn.Linear)][-1])
        threshold = 0.5 if number == 0 else model.confidence_threshold
        set_exit_heads(heads, exit_constants(lambda s: (images(s),), few, model.forward, heads, threshold))
    elif number in (4, 10, 11):
        run = model.forward if number == 10 else model.adaptive_forward_compile
        settle(model, lambda: run(images(4999)))
        centre(model.control.proj, lambda: [run(images(s)) for s in few], each=False)
    elif number == 5:
        settle(model, lambda: model.forward(images(4999)))
        for gate in [m.linear_layer for m in model.modules() if hasattr(m, "linear_layer")]:
            gate.weight.mul_(0.25)  # deep gates of untrained networks show eager's own rounding
            centre(gate, lambda: [model.forward(images(s)) for s in few])
    elif number in (6, 7):
        settle(model, lambda: model.encoder(images(4999)))
        set_end(model, images)
    elif number == 8:
        settle(model, lambda: (model.forward_full(images(4999)), model.policy_net(images(4999))))
        centre(model.policy_net.logit, lambda: [model.policy_net(images(s)) for s in few])
    elif number == 9:
        settle(model, lambda: model.forward(images(4999)))
        heads = [c.linear for c in model.classifier]
        set_exit_heads(heads, exit_constants(lambda s: (images(s),), few, model.forward, heads, model.threshold))


def centre(layer, run, each: bool = True) -> None:
    """Takes the median of what a layer answers out of its bias: of each output, or of all."""
    import torch

    seen: list = []
    hook = layer.register_forward_hook(lambda m, a, out: seen.append(out.reshape(-1, layer.bias.numel())))
    run()
    hook.remove()
    answers = torch.cat(seen)
    layer.bias.sub_(answers.median(0).values if each else answers.median())


def set_end(model, images) -> None:
    """The end token's bias: about half of a few captions end on the way."""
    import torch

    end, fc, behind = model.word_map["<end>"], model.decoder.fc, []
    fc.bias[end] = -1e9
    for seed in range(5000, 5004):
        seen: list = []
        hook = fc.register_forward_hook(lambda m, a, out: seen.append((out[0].max() - (out[0, end] + 1e9)).item()))
        model.forward(images(seed))
        hook.remove()
        behind.append(min(seen[2:]))
    fc.bias[end] = float(torch.tensor(behind).median()) + 1e-3


def arguments(number: int, model, forward: str, seed: int, images):
    """The arguments of one call; BlockDrop's published forwards take the policy, RANet's its thresholds, the
    transformer two padded sentences, their lengths and a device."""
    import torch

    if number >= 12:
        g = torch.Generator().manual_seed(seed)
        if number == 13:
            return (torch.rand(1, 10, generator=g),)
        words = [torch.randint(0, 1000, (2, n), generator=g) for n in (9, 7)]
        return (*words, torch.randint(3, 10, (2,), generator=g),
                torch.randint(3, 8, (2,), generator=g), torch.device("cpu"))
    x = images(seed)
    if number == 8 and forward != "adaptive_forward_compile":
        with torch.no_grad():
            policy = (model.policy_net(x)[0] > 0.5).float()
        return (x, policy) if forward == "adaptive_forward" else (x, policy, torch.device("cpu"))
    if number == 9 and forward == "adaptive_forward":
        return (x, [model.threshold] * len(model.classifier))
    return (x,)


def compare(call, calls: list, folder: str) -> dict:
    import copy

    import torch

    import dycl
    from zoo.compare import difference, error_of, floats, is_borderline, rounding
    from zoo.paths import path_of

    expected, paths = [], set()
    try:
        with torch.no_grad():
            for args in calls:
                expected.append(copy.deepcopy(call(*args)))
                paths.add(path_of(call, args, os.path.realpath(folder)))
    except Exception as error:
        return {"result": "broken", "why": f"eager raises {type(error).__name__}: {error}"[:160]}
    started = time.perf_counter()
    try:
        program = dycl.compile(call, calls[0], threads=1)
    except dycl.CompileError as error:
        wrong = "verification failed" in str(error)
        return {"result": "differs" if wrong else "refused", "why": " ".join(str(error).split())[:300]}
    except Exception as error:
        return {"result": "crash", "why": f"{type(error).__name__}: {error}"[:300]}
    seconds, worst = time.perf_counter() - started, -10.0
    flips, rounded = 0, []
    for number, (args, wanted) in enumerate(zip(calls, expected)):
        found = program(*args)
        problem = difference(wanted, found)
        if problem is not None:
            if told := rounding(call, args, wanted, found, os.path.realpath(folder)):
                rounded.append(f"input {number}: {problem} of eager; {told}")
                continue
            if not is_borderline(call, args, os.path.realpath(folder)):
                return {"result": "differs", "why": f"input {number}: {problem}"}
            flips += 1
            continue
        worst = max([worst, *(error_of(a, b) for a, b in floats(wanted, found))])
    report = program.report()
    notes = [f"{flips} decided otherwise within eager's own rounding"] * (flips > 0) + rounded
    return {"result": "rounding" if rounded else "equal", "inputs": len(calls), "paths": len(paths), "worst": worst,
            "seconds": seconds, "sub_dnns": report["sub_dnns"], "blocks": report["blocks"],
            **({"why": "; ".join(notes)} if notes else {})}


if __name__ == "__main__":
    sys.exit(main())
