# SPDX-License-Identifier: Apache-2.0
"""scipy's functions of arrays known only at run time give scipy's answers."""

import numpy as np
import pytest

from tests.frontend.library.numpy.test_functions import agree

pytest.importorskip("scipy")
import scipy.spatial.distance  # noqa: E402
import scipy.special  # noqa: E402

FUNCTIONS = {
    "softmax": lambda a: (scipy.special.softmax(a), scipy.special.softmax(a.reshape(2, 3), axis=1),
                          scipy.special.log_softmax(a.reshape(2, 3), axis=0)),
    "sums": lambda a: (scipy.special.logsumexp(a), scipy.special.logsumexp(a.reshape(2, 3), axis=1, keepdims=True)),
    "elementwise": lambda a: (scipy.special.expit(a), scipy.special.erf(a), scipy.special.gammaln(np.abs(a) + 1)),
    "distances": lambda a: tuple(scipy.spatial.distance.cdist(a.reshape(2, 3), a[:3].reshape(1, 3) * 2, metric)
                                 for metric in ("euclidean", "sqeuclidean", "cityblock", "cosine")),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipys_answers(name):
    agree(FUNCTIONS[name])
