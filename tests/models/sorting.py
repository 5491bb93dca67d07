# SPDX-License-Identifier: Apache-2.0
"""Order: soft sorting networks and permutations, fronts of points that no other dominates."""

import torch

from tests.models.registry import model, rand


@model("diffsort", "a sorting network with soft swaps")
def diffsort_network():
    from diffsort import DiffSortNet

    m = DiffSortNet("odd_even", 4, steepness=5.0)
    return m, [(rand(2, 4, seed=s),) for s in range(3)]


@model("difftopk", "permutations made hard where they are read")
def difftopk_softsort():
    from difftopk.softsort import SoftSort

    return SoftSort(hard=True), [(rand(2, 5, seed=s),) for s in range(3)]


@model("difftopk", "permutations as a relaxation of the sorted order")
def difftopk_neuralsort():
    from difftopk.neuralsort import NeuralSort

    return NeuralSort(hard=True), [(rand(2, 5, seed=s),) for s in range(3)]


@model("botorch", "points that no other dominates, found one by one")
def botorch_non_dominated():
    from botorch.utils.multi_objective.pareto import _is_non_dominated_loop

    return (lambda y: y[_is_non_dominated_loop(y)]), [(rand(5, 2, seed=s),) for s in range(4)]


@model("botorch", "the volume that a front dominates: a recursion over lists linked by the sorted points")
def botorch_hypervolume():
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    return (lambda y: Hypervolume(torch.zeros(2)).compute(y)), [(rand(3, 2, seed=s).abs() + 0.1,) for s in range(3)] + [
        (rand(3, 2, seed=9),)
    ]


@model("botorch", "a reference point by the front, by a bound, by what exceeds it")
def botorch_reference_point():
    from botorch.utils.multi_objective.hypervolume import infer_reference_point

    bounds = [[0.0, 0.0], [9.0, 9.0], [float("nan"), 0.0], [-9.0, float("nan")]]
    return (lambda y, bound: infer_reference_point(y, max_ref_point=bound)), [
        (rand(4, 2, seed=s), torch.tensor(b)) for s, b in enumerate(bounds)
    ]
