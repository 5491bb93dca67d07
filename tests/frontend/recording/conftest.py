# SPDX-License-Identifier: Apache-2.0
"""These tests record without a capture around them; what lasts as long as a capture lasts as long as each test."""

import pytest

from dycl.frontend.recording import symbolic_shapes


@pytest.fixture(autouse=True)
def _questions_of_torch_are_heard():
    with symbolic_shapes.heard():
        yield
