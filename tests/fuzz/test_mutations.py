# SPDX-License-Identifier: Apache-2.0
"""Some of what `python -m tests.fuzz.mutations` tries for long: packages changed with their structure in mind are
refused or run; none ends the process, goes on for long or takes much memory. Costs 8 s."""

import collections

import pytest

from tests.fuzz import mutations


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return mutations.made(tmp_path_factory.mktemp("packages"))


def test_mutated_packages_are_refused_or_run(packages):
    total = collections.Counter()
    for path in packages:
        counts, wrong = mutations.sweep(path, 30, seed=1)
        assert not wrong
        total += counts
    assert total["ran"] > 20 and total["refused (invalid_package)"] > 20, total


def test_what_ends_the_process_is_told(packages, monkeypatch):
    """And those after it are tried all the same."""
    monkeypatch.setenv("DYCL_TEST_END_AT", "3")
    counts, wrong = mutations.sweep(packages[0], 8, seed=1)
    assert len(wrong) == 1 and wrong[0].startswith("gate.3 (") and "the process ended (-6)" in wrong[0]
    assert sum(counts.values()) >= 5
