# SPDX-License-Identifier: Apache-2.0
"""scipy.optimize.linear_sum_assignment of matrices known only at run time (matchers of detectors, permutation-free
losses): a host function."""

import itertools
import types

import numpy as np
import pytest
import torch

from tests.frontend.support.harness import check


def _solver():
    """scipy's, or one by trial that calls itself so."""
    try:
        from scipy.optimize import linear_sum_assignment

        return linear_sum_assignment
    except ImportError:
        pass

    def linear_sum_assignment(cost_matrix, maximize=False):
        cost = np.asarray(cost_matrix, dtype=np.float64) * (-1 if maximize else 1)
        if cost.shape[0] > cost.shape[1]:
            columns, rows = linear_sum_assignment(cost.T)
            order = np.argsort(rows)
            return rows[order], columns[order]
        rows = list(range(cost.shape[0]))
        best = min(itertools.permutations(range(cost.shape[1]), len(rows)), key=lambda p: cost[rows, list(p)].sum())
        return np.array(rows, dtype=np.int64), np.array(best, dtype=np.int64)

    named = {**globals(), "__name__": "scipy.optimize._lsap"}
    made = types.FunctionType(linear_sum_assignment.__code__, named, "linear_sum_assignment", (False,),
                              linear_sum_assignment.__closure__)
    linear_sum_assignment.__closure__[0].cell_contents = made
    return made


linear_sum_assignment = _solver()


def points(count, scale, seed):
    return torch.randn(count, 2, generator=torch.Generator().manual_seed(seed)) * scale


def test_matched_in_both_arms():
    def f(x, y):
        cost = torch.cdist(x, y)
        if cost.sum() > 5:
            rows, columns = linear_sum_assignment(cost.numpy())
            rows, columns = torch.as_tensor(rows), torch.as_tensor(columns)
        else:
            rows, columns = map(torch.from_numpy, linear_sum_assignment(cost, maximize=True))
        return cost[rows, columns].sum(), rows, columns

    check(f, [(points(3, s, k), points(4, s, k + 9)) for k, s in enumerate((1, 0.1, 2, 0.2))])


def test_of_a_run_time_number_of_points():
    def f(x, y):
        y = y[y[:, 0] > 0]
        cost = torch.cdist(x, y)
        rows, columns = linear_sum_assignment(cost.detach().cpu())
        return cost[rows, columns], torch.as_tensor(columns, dtype=torch.int64), len(rows)

    check(f, [(points(3, 1, k), points(4, 1, k + 9)) for k in range(5)], by_result=True)


def test_as_detectors_use_it():
    def f(logits, boxes, targets):
        cost = torch.cdist(boxes, torch.cat(targets)) - logits.softmax(-1)[:, :1]
        sizes = [len(t) for t in targets]
        found = [linear_sum_assignment(c[i % 2:]) for i, c in enumerate(cost.split(sizes, -1))]
        pairs = [(torch.as_tensor(i, dtype=torch.int64), torch.as_tensor(j, dtype=torch.int64)) for i, j in found]
        source = torch.cat([i for i, _ in pairs])
        loss = sum((boxes[i] - t[j]).abs().sum() for (i, j), t in zip(pairs, targets))
        return loss if loss > 3 else logits[source].sum()

    check(f, [(torch.randn(5, 3, generator=torch.Generator().manual_seed(k)), points(5, s, k),
               [points(2, s, k + 1), points(3, s, k + 2)])
              for k, s in enumerate((1.0, 0.1, 2.0))])


def test_inside_contexts():
    """It was refused as inside try."""

    @torch.no_grad()
    def match(cost):
        with torch.inference_mode():
            return linear_sum_assignment(cost)[1]

    def f(x, y):
        places = torch.as_tensor(match(torch.cdist(x, y)))
        return places if x.sum() > 0 else y[places]

    check(f, [(points(3, 1, k), points(4, 1, k + 9)) for k in range(5)])


@pytest.mark.parametrize("count", [1, 3])
def test_of_a_matrix_that_is_known(count):
    weights = points(count, 1, 0) @ points(4, 1, 1).T

    def f(x):
        rows, columns = linear_sum_assignment(weights.numpy())
        return x[columns] if x.sum() > 0 else x[rows]

    check(f, [(torch.arange(4.0),), (-torch.arange(4.0),)])


def test_places_of_a_batch():
    """The losses of source separation: torch.tensor of a list of arrays."""

    def f(x, y):
        cost = torch.cdist(x, y)
        places = torch.tensor([linear_sum_assignment(c)[1] for c in cost])
        loss = torch.gather(cost, 2, places[..., None]).mean()
        others = torch.as_tensor([c.numpy().min(0) for c in cost], dtype=torch.float64)
        return (loss, places) if loss > 1 else (places, others)

    check(f, [(torch.stack([points(3, s, k), points(3, s, k + 5)]),
               torch.stack([points(3, s, k + 9), points(3, s, k + 7)]))
              for k, s in enumerate((1, 0.1, 2, 0.2))])
