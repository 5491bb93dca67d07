# SPDX-License-Identifier: Apache-2.0
"""Special values through the ops of torch's OpInfo database, compiled for a back end, against eager (slow; `make
special`).

    python -m tests.frontend.support.special_sweep [--backend ort,openvino,tvm] [--ops REGEX] [--dtypes f32,f64]
        [--samples 6] [--results build/special.json]

A sample is compiled with its own numbers and then called with NaN, infinities, denormals, the greatest and the least
numbers among them. Results differ if one has a NaN, an infinity or an infinity's sign that the other has not, or if
finite numbers are further apart than the tolerance. A crash is a difference. The
results file holds every difference and, for each op, how many calls were compared. It goes on where it was stopped:
delete the file after a change of the sources. The exit status is 1 if there is a difference that ALLOWED does not name.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import signal
import sys
import time
import warnings
from pathlib import Path

import torch
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

import dycl

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
          "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64}
RTOL, ATOL = 1e-3, 1e-4
RTOL_OF_HALVES = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}  # two units in the last place

# The database's random ops seed torch's generator in native code, which a program does not; _answer seeds it.
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)

# Where eager and a back end may differ: a pattern of "op dtype kind of values", and why.
_SUMS = ("add(bmm|mm|mv|r|cmul)|baddbmm|v?dot|inner|bmm|mm|mv|__rmatmul__|matmul|einsum|"
         "(linalg.)?(cross|multi_dot|matrix_power)|cov|corrcoef|linear|linear_cross_entropy|embedding_bag|ormqr|"
         "conv_?(transpose)?[123]d|bilinear|hinge_embedding_loss|_softmax_backward_data")
ALLOWED: dict[str, str] = {
    rf"(nn.functional.)?({_SUMS})(\.\w+)? \w+ (greatest|least)":
        "sums of products beyond the greatest number: whether one overflows on its way depends on their order, on "
        "fused multiplication and on the width in which they are kept",
    rf"(nn.functional.)?({_SUMS})(\.\w+)? b?float16 ":
        "eager rounds sums of products of halves at other steps; where they nearly cancel the last bits are all",
    r"(masked.)?cumprod \w+ (all|greatest)":
        "torch multiplies one by one: where its product is infinite on the way, a later 0 makes NaN of it",
    r"(nn.functional.|native_)layer_norm \w+ (greatest|least)":
        "squares beyond the greatest number: eager gives NaN or 0 depending on where in a row the number stands, and "
        "on the width of the processor's vectors",
    r"(nn.functional.|native_)group_norm \w+ (greatest|least|all)":
        "likewise; and a sample with a negative eps: the root of what is near 0",
    r"(var|std)(_mean)?(.unbiased)? \w+ (greatest|least)":
        "squares of numbers beyond 1.8e19: torch adds f32 up in f64, which would take an op away from other engines",
    r"_softmax_backward_data \w+ (inf|all)": "a backward pass, by torch's own decomposition",
    r"native_(layer|group|batch)_norm \w+ ":
        "the second and third result, statistics for a backward pass: eager's depend on the order of elements",
    r"(cholesky\w*|geqrf|lu\w*|qr|svd\w*|norm\.nuc|pinverse|triangular_solve|matrix_exp|linalg\.[\w.]+) \w+ ":
        "LAPACK: libraries differ in what they leave out beside a NaN, in pivots of denormals, in whether they raise",
    r"fft\.\w+ \w+ ": "which elements meet an infinity depends on how a transform is taken apart",
    r"nn.functional.hardswish \w+ (greatest|least)":
        "torch multiplies before it divides, which overflows beyond 5.6e37; mending it takes two more passes",
    r"(__rmod__|remainder|fmod) \w+ (denormal|smallest|greatest|least|all)":
        "where the quotient overflows, torch's vectors give NaN and the elements left over beside them do not",
    r"nn.functional.(interpolate.(bi|tri)?linear|upsample_bilinear) \w+ |(nn.functional.)?grid_sampl\w+ ":
        "a weight of 0 meets a NaN or an infinity at one place and not at another: docs/supported_python.md says so",
    r"unique \w+ |bucketize \w+ |searchsorted \w+ ":
        "the program raises where a NaN is searched for or in; a sequence with others is not sorted",
    r"(new_)?empty\w* \w+ ": "what is in new memory is not defined",
}
ALLOWED_OF: dict[str, dict[str, str]] = {
    "openvino": {
        r"(div|true_divide|addcdiv|sinc|reciprocal)[\w.]* \w+ (denormal|all)":
            "its division multiplies by a reciprocal, which is infinite below 2.9e-39",
        r"nn.functional.conv\w+ \w+ .*some of all|nn.functional.batch_norm \w+ .*some of all":
            "a NaN or an infinity among the weights: it leaves out products with padding, and folds scales",
        r"nn.functional.(gelu|interpolate.\w+|upsample_\w+) \w+ (greatest|least)": "it multiplies in another order",
    },
    "tvm": {
        r"nn.functional.poisson_nll_loss \w+ greatest": "exp(x) - y * x: its fused multiplication does not overflow",
    },
}


# ---- values ----------------------------------------------------------------------------------------


def _numbers(dtype: torch.dtype) -> dict[str, list[float]]:
    if not dtype.is_floating_point:
        most = torch.iinfo(dtype)
        return {"greatest": [most.max], "least": [most.min], "all": [most.max, most.min, most.min // 3, -1, 0, 2]}
    info = torch.finfo(dtype)
    nan, inf = float("nan"), float("inf")
    tiny = info.tiny / 2**10
    return {"nan": [nan], "inf": [inf], "-inf": [-inf], "infinities": [inf, -inf], "denormal": [tiny, -tiny],
            "greatest": [info.max], "least": [info.min], "smallest": [info.tiny, -info.tiny],
            "all": [nan, inf, -inf, tiny, -tiny, 0.0, -0.0, 1.0, -1e4]}


def variants(tensors: list[torch.Tensor], dtype: torch.dtype):
    """(what, tensors): the tensors of the sample's dtype with special values, one at a time and many, in the first
    and in all."""
    floats = [i for i, x in enumerate(tensors) if x.dtype == dtype and x.numel()]
    if not floats:
        return
    generator = torch.Generator().manual_seed(0)
    ways = (("one", None, floats[:1]), ("every", 1.0, floats[:1]), ("some", 0.3, floats[:1]),
            ("some of all", 0.3, floats))
    for kind, numbers in _numbers(dtype).items():
        values = torch.tensor(numbers, dtype=torch.float64 if dtype.is_floating_point else torch.int64).to(dtype)
        for name, share, where in ways[:2] if kind in ("greatest", "least") else ways:
            given = [x.clone() for x in tensors]
            for i in where:
                given[i] = _sprinkled(given[i], values.to(given[i].dtype), share, generator)
            yield f"{kind}, {name}", given


def _sprinkled(x: torch.Tensor, values: torch.Tensor, share: float | None, generator) -> torch.Tensor:
    chosen = values[torch.randint(len(values), x.shape, generator=generator)]
    if share is None:
        mask = torch.zeros(x.numel(), dtype=torch.bool)
        mask[int(torch.randint(x.numel(), (), generator=generator))] = True
        mask = mask.reshape(x.shape)
    else:
        mask = torch.rand(x.shape, generator=generator) < share
    return torch.where(mask, chosen, x)


# ---- comparison ------------------------------------------------------------------------------------


def difference(given: torch.Tensor, wanted: torch.Tensor) -> str:
    """What differs, or an empty string."""
    if given.dtype != wanted.dtype or given.shape != wanted.shape:
        return f"{given.dtype}{list(given.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if not wanted.is_floating_point():
        return _first("value", given != wanted, given, wanted)
    nan = given.isnan() != wanted.isnan()
    infinite = ~nan & (given.isinf() | wanted.isinf()) & ~given.isnan() & (given != wanted)
    finite = given.isfinite() & wanted.isfinite()
    far = finite & ~torch.isclose(given, wanted, rtol=RTOL_OF_HALVES.get(wanted.dtype, RTOL), atol=ATOL)
    return _first("NaN", nan, given, wanted) or _first("infinity", infinite, given, wanted) or _first(
        "number", far, given, wanted)


def _first(what: str, wrong: torch.Tensor, given: torch.Tensor, wanted: torch.Tensor) -> str:
    if not wrong.any():
        return ""
    at = int(wrong.flatten().nonzero()[0])
    return f"{what}: {given.flatten()[at].item()} for {wanted.flatten()[at].item()}, {int(wrong.sum())} places"


# ---- one op ----------------------------------------------------------------------------------------


def try_sample(function, sample, dtype: torch.dtype, backend: str) -> dict:
    """{"compared": n, "differ": [[kind, what]]}, or {"refused": why}."""
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
    if any(isinstance(x, torch.Tensor) and x.layout != torch.strided for x in leaves):
        return {"refused": "sparse"}
    tensors = [x.detach().contiguous() for x in leaves if isinstance(x, torch.Tensor)]

    def call(*given):
        rest = iter(given)
        first, args, kwargs = tree_unflatten([next(rest) if isinstance(x, torch.Tensor) else x for x in leaves], spec)
        return function(first, *args, **kwargs)

    twice = [_answer(call, tensors) for _ in range(2)]
    if isinstance(twice[0], str):
        return {"refused": f"eager: {twice[0]}"}
    if any(a.layout != torch.strided or a.is_complex() for a in twice[0]):
        return {"refused": "gives no real tensor"}
    if any(map(difference, *twice)):
        return {"refused": "random"}
    _in_eager[0] = False
    try:
        program = dycl.compile(call, tuple(tensors), backend=backend, verify=False, allow_raise=True, threads=1,
                               use_cache=False)
    except dycl.CompileError as error:
        return {"refused": str(error.kind)}
    result: dict = {"compared": 0, "differ": []}
    for kind, given in variants(tensors, dtype):
        wanted, got = (_answer(f, given) for f in (call, program))
        result["compared"] += 1
        if isinstance(wanted, str) or isinstance(got, str):  # that both raise is enough
            alike = isinstance(wanted, str) and isinstance(got, str)
            what = "" if alike else f"raises: {got if isinstance(got, str) else ''} for {str(wanted)[:80]}"
        else:
            what = next(filter(None, map(difference, got, wanted)), "")
        if what:
            result["differ"].append([kind, what])
    return result


_in_eager = mmap.mmap(-1, 1)  # shared with the process that looks at a crash: whose it is


def _answer(function, given: list[torch.Tensor]) -> list[torch.Tensor] | str:
    """Its tensors, or what it raises; random ops begin at one seed."""
    torch.manual_seed(0)
    _in_eager[0] = not isinstance(function, dycl.CompiledProgram)
    try:
        with torch.no_grad():
            results = tree_leaves(function(*[x.clone() for x in given]))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:80]}"
    return [x.detach() for x in results if isinstance(x, torch.Tensor)]


def chosen_samples(op, dtype: torch.dtype, most: int) -> list:
    torch.manual_seed(0)
    samples = [s for s in op.sample_inputs("cpu", dtype, requires_grad=False)]
    return samples if len(samples) <= most else samples[:: -(-len(samples) // most)]


def brief(x) -> str:
    if isinstance(x, torch.Tensor):
        return f"{str(x.dtype)[6:]}{list(x.shape)}"
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(map(brief, x))}]"
    return repr(x)


def try_op(op, dtypes, most: int, backend: str, report) -> None:
    for dtype in dtypes:
        if not op.supports_dtype(dtype, "cpu"):
            continue
        for sample in chosen_samples(op, dtype, most):
            what = ", ".join([brief(sample.input), *map(brief, sample.args),
                              *(f"{k}={brief(v)}" for k, v in sample.kwargs.items())])
            report({"begin": what})
            report({"sample": what, "dtype": str(dtype)[6:]} | try_sample(op.op, sample, dtype, backend))


def in_child(ops: list, dtypes, most: int, backend: str, limit: int):
    """(op, its results) of each op, in a process of its own: what is compiled once warms the rest. A crash is a
    difference, and so ends the process; the op after it begins another. A hang is refused."""
    while ops:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            with os.fdopen(write, "w") as out:
                _try_ops(ops, dtypes, most, backend, limit, lambda what: print(json.dumps(what), file=out, flush=True))
            os._exit(0)
        os.close(write)
        results, begun = [], ""
        with os.fdopen(read) as lines:
            for line in lines:
                what = json.loads(line)
                begun = what.get("begin", "")
                if "end" in what:
                    yield ops[0], results
                    ops, results = ops[1:], []
                elif not begun:
                    results.append(what)
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            why = f"over {limit} s" if number == signal.SIGALRM else "eager crashes" if _in_eager[0] else ""
            yield ops[0], [*results, {"sample": begun, "refused": why} if why else
                           {"sample": begun, "compared": 0, "differ": [["crash", f"signal {number}"]]}]
            ops = ops[1:]


def _try_ops(ops: list, dtypes, most: int, backend: str, limit: int, report) -> None:
    warnings.simplefilter("ignore")
    for op in ops:
        signal.alarm(limit)
        try:
            try_op(op, dtypes, most, backend, report)
        except Exception as error:
            report({"sample": "", "compared": 0, "differ": [["error", f"{type(error).__name__}: {error}"]]})
        report({"end": name_of(op)})


def name_of(op) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def differences(name: str, results: list[dict], backend: str = "ort") -> list[dict]:
    """The results with the differences that ALLOWED does not name."""
    left, allowed = [], [*ALLOWED, *ALLOWED_OF.get(backend, ())]
    for r in results:
        differ = [d for d in r.get("differ", [])
                  if not any(re.match(pattern, f"{name} {r.get('dtype', '')} {d[0]}") for pattern in allowed)]
        if differ:
            left.append({**r, "differ": differ})
    return left


def show(key: str, results: list[dict], differ: list[dict]) -> None:
    compared = sum(r.get("compared", 0) for r in results)
    allowed = sum(len(r.get("differ", [])) for r in results) - sum(len(r["differ"]) for r in differ)
    print(f"{key}: {compared} compared, {sum(len(r['differ']) for r in differ)} differ, {allowed} allowed", flush=True)
    for r in differ[:3]:
        print(f"    {r.get('dtype', '')} {r['sample'][:120]}: {r['differ'][0]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="ort,openvino,tvm")
    parser.add_argument("--ops", default="", help="a regular expression over names of the database")
    parser.add_argument("--dtypes", default="f32,f64")
    parser.add_argument("--samples", type=int, default=3, help="per op and dtype")
    parser.add_argument("--limit", type=int, default=300, help="seconds per op")
    parser.add_argument("--results", default="build/special.json")
    options = parser.parse_args()
    dtypes = [DTYPES[d] for d in options.dtypes.split(",")]
    file = Path(options.results)
    everything = json.loads(file.read_text()) if file.exists() else {}
    start, wrong, compared = time.monotonic(), 0, 0
    ops = [op for op in op_db if re.search(options.ops, name_of(op)) and any(
        op.supports_dtype(d, "cpu") for d in dtypes)]
    for backend in options.backend.split(","):
        left = [op for op in ops if f"{backend} {name_of(op)}" not in everything]
        for op, results in in_child(left, dtypes, options.samples, backend, options.limit):
            key = f"{backend} {name_of(op)}"
            everything[key] = results
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(everything, indent=1))
            show(key, results, differences(name_of(op), results, backend))
        for op in ops:
            results = everything[f"{backend} {name_of(op)}"]
            wrong += bool(differences(name_of(op), results, backend))
            compared += sum(r.get("compared", 0) for r in results)
    print(f"{compared} compared, {wrong} ops differ, {time.monotonic() - start:.0f} s", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
