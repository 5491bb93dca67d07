# SPDX-License-Identifier: Apache-2.0
"""Paired ratios with bounds.

Racers take turns within a round, so a ratio is taken inside each round: what slows the machine down slows both. The
ratio of one input is the median over its rounds; the ratio of a model the geometric mean over its inputs. Bounds are 95
% percentiles of a bootstrap over inputs and, within each, over rounds.
"""

from __future__ import annotations

import math
import random
import statistics


def ratios(times: list[float], base: list[float]) -> list[float]:
    return [a / b for a, b in zip(times, base) if b > 0]


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def summary(per_input: list[list[float]], draws: int = 1000) -> dict:
    """{"ratio", "low", "high", "worst_input", "inputs", "rounds"} of the rounds' ratios of each input."""
    medians = [statistics.median(rounds) for rounds in per_input]
    generator = random.Random(0)
    means = []
    for _ in range(draws):
        chosen = generator.choices(per_input, k=len(per_input))
        means.append(geometric_mean([statistics.median(generator.choices(rounds, k=len(rounds))) for rounds in chosen]))
    means.sort()
    return {"ratio": geometric_mean(medians), "low": means[int(0.025 * draws)], "high": means[int(0.975 * draws) - 1],
            "worst_input": max(medians), "inputs": len(per_input), "rounds": sum(map(len, per_input))}


def median_bounds(values: list[float], draws: int = 1000) -> tuple[float, float, float]:
    generator = random.Random(0)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(draws))
    return statistics.median(values), medians[int(0.025 * draws)], medians[int(0.975 * draws) - 1]
