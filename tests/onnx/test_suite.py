# SPDX-License-Identifier: Apache-2.0
"""A random 200 of ONNX's own test suite: right, or refused with a reason. 5 seconds; `python -m tests.onnx.suite` runs
all 2,033 in 30. Each day draws others; DYCL_SEED=number draws a day's again."""

import os
import random
import time

from tests.onnx import suite


def test_a_random_200():
    seed = int(os.environ.get("DYCL_SEED", time.time() // 86400))
    of = suite.cases()
    names = random.Random(seed).sample(list(of), 200)
    results = dict(suite.judged(names, of))
    assert not {n: r for n, r in results.items() if suite.bad(r)}, f"DYCL_SEED={seed}"
    listed = suite.refused()
    missed = {name: result for name, result in results.items() if suite.missed(result)}
    assert missed.keys() == listed.keys() & results.keys(), f"DYCL_SEED={seed}: tests/onnx/refused.txt is not true"
    assert all(listed[name] in result["why"] for name, result in missed.items())
    right = sum(r["dycl"] == "right" for r in results.values())
    assert right > 80, results  # of those that ONNX Runtime can run at all


def test_the_judge_finds_what_is_wrong():
    """It compares: another answer, another dtype, another shape, a process that dies."""
    case = suite.cases()["test_relu"]
    assert suite.judge(case)["dycl"] == "right"
    data = case._case.data_sets
    try:
        case._case.data_sets = [([i for i in data[0][0]], [data[0][1][0] + 1])]
        result = suite.judge(case)
        assert (result["ort"], result["dycl"], result["why"]) == ("wrong", "right", "as ONNX Runtime, not as the suite")
    finally:
        case._case.data_sets = data

    class Dies:
        rtol = atol = 0

        def write(self, folder):
            os.abort()

    results = dict(suite.judged(["a", "b"], {"a": Dies(), "b": case}))
    assert results["a"]["dycl"] == "crash" and suite.bad(results["a"]) and results["b"]["dycl"] == "right"
    assert not suite.equal([1.0], suite.np.ones(1, suite.np.float32) * 2, 0, 0)
    assert not suite.equal(suite.np.ones(1), suite.np.ones(1, suite.np.float32), 0, 0)
    assert not suite.equal(suite.np.ones((1, 1), suite.np.float32), suite.np.ones(1, suite.np.float32), 0, 0)


def test_the_list_of_refused_cases_is_short_and_names_cases():
    listed = suite.refused()
    assert len(listed) <= 25 and listed.keys() <= suite.cases().keys()
