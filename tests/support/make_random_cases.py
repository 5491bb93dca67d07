# SPDX-License-Identifier: Apache-2.0
"""Writes random_cases.txt, what the CPU generator of torch draws, for random_test.cpp:
python tests/support/make_random_cases.py > tests/support/random_cases.txt

A line is one draw under seed 2**40 + 7 after one normal number, so that a kept one is there: op, dtype, count,
parameters, then FNV-1a sums (64 bits) of the numbers' bytes and of the state after it. Made with AVX2 or AVX-512: block
normals of float32 have other bits without.
"""

import torch

SEED = 2**40 + 7
COUNTS = (0, 1, 2, 15, 16, 17, 31, 32, 100, 1000)
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i64": torch.int64,
          "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
FLOATS = ("f16", "bf16", "f32", "f64")

DRAWS = (
    [("rand.uniform", d, p, lambda x, p: x.uniform_(*p)) for d in FLOATS for p in ((0.0, 1.0), (-2.5, 7.3))]
    + [("rand.normal", d, p, lambda x, p: x.normal_(*p)) for d in FLOATS for p in ((0.0, 1.0), (-2.5, 7.3))]
    + [("rand.normal_each", d, (-2.5, 7.3), lambda x, p: _with_gaps(x).normal_(*p)) for d in FLOATS]
    + [("rand.int", d, (0, 2), lambda x, p: x.random_(*p)) for d in DTYPES]
    + [("rand.int", "i64", p, lambda x, p: x.random_(*p)) for p in (
        (-7, 1000), (0, 2**28 - 1), (0, 2**28), (-5, 2**32), (-2**63, 2**63 - 1), (-2**62, 2**63 - 1))]
    + [("rand.any_int", d, (), lambda x, p: x.random_()) for d in DTYPES]
    + [("rand.exponential", d, (1.3,), lambda x, p: x.exponential_(*p)) for d in FLOATS]
    + [("rand.geometric", d, (0.3,), lambda x, p: x.geometric_(*p)) for d in (*FLOATS, "i64")]
    + [("rand.cauchy", d, (0.5, 2.3), lambda x, p: x.cauchy_(*p)) for d in FLOATS]
    + [("rand.log_normal", d, (0.5, 1.3), lambda x, p: x.log_normal_(*p)) for d in FLOATS]
    + [("rand.permutation", d, (), lambda x, p: torch.randperm(len(x), dtype=x.dtype)) for d in (
        "i64", "i32", "i16", "f32", "f64")]
)


def _with_gaps(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(2 * len(x))[::2]


def _sum(data: bytes) -> str:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def main() -> None:
    print("# written by make_random_cases.py")
    for op, dtype, parameters, draw in DRAWS:
        for count in COUNTS:
            torch.manual_seed(SEED)
            torch.randn(1)
            drawn = torch.cat([draw(torch.empty(count, dtype=DTYPES[dtype]), parameters)])
            data = bytes(drawn.view(torch.uint8).numpy()) if count else b""
            words = [op, dtype, str(count), *(repr(p) for p in parameters)]
            print(" ".join([*words, _sum(data), _sum(bytes(torch.get_rng_state().numpy()))]))


if __name__ == "__main__":
    main()
