# SPDX-License-Identifier: Apache-2.0
"""Dicts under keys of a small known range: chosen one by one while that leads to few paths,
tables where it leads to many."""

import collections

import pytest
import torch

from tests.frontend.support.harness import check


def rows(count, scale=1.0):
    return [(torch.randn(count, 4, generator=torch.Generator().manual_seed(seed)) * scale,) for seed in range(8)]


def test_segments_that_are_fused():
    """As post-processing of panoptic segmentation does it, over a run-time number of masks."""

    def f(x):
        x = x[x.max(1).values > 0.5]
        labels, memory, found, current = x.argmax(1), {}, [], 0
        for k in range(labels.shape[0]):
            label = labels[k].item()
            fuse = label in {0, 2}
            if x[k].sum() > -0.5:
                if label in memory:
                    current = memory[label]
                else:
                    current += 1
                found.append({"id": current, "label": label, "fused": fuse, "score": round(x[k, 0].item(), 6)})
                if fuse:
                    memory[label] = current
        return found, memory, len(memory)

    check(f, rows(6), by_result=True)


@pytest.mark.parametrize("make", [dict, lambda: collections.defaultdict(int)], ids=["dict", "defaultdict"])
def test_counts(make):
    def f(x):
        counts = make()
        for row in x:
            label = row.argmax().item()
            counts[label] = counts.get(label, 0) + 1
        return counts, max(counts.values()), len(counts), 3 in counts

    check(f, rows(6), by_result=True)


def test_members_of_classes():
    def f(x):
        groups = {}
        for k, row in enumerate(x):
            groups.setdefault(row.argmax().item(), []).append(k)
        sizes = {label: len(members) for label, members in groups.items()}
        return sizes, len(groups)

    check(f, rows(5), by_result=True)


def test_what_a_table_does_not_answer():
    """Tables are tried and given up again."""

    def f(x):
        seen = {}
        for row in x:
            seen[row.argmax().item()] = True
        return len(str(seen)), str(seen)

    check(f, rows(3), by_result=True)
