# SPDX-License-Identifier: Apache-2.0
"""Ranges whose bounds are known only at run time: their lengths, and the tensors made of them."""

import pytest
import torch

from tests.frontend.support.harness import check

USES = {
    "length": lambda n: (len(range(n)), len(range(2, n)), len(range(n, -1, -1)), len(range(0, n, 3)), len(range(n, 0, -2)), len(range(n, 9, 4))),
    "tensor": lambda n: torch.tensor(range(n), dtype=torch.long) * 2,
    "tensor of the default dtype": lambda n: torch.tensor(range(n)),
    "as_tensor backwards": lambda n: torch.as_tensor(range(n, 0, -2), dtype=torch.float64),
    "bools": lambda n: torch.tensor(range(n), dtype=torch.bool),
    "old constructors": lambda n: (torch.LongTensor(range(1, n)), torch.FloatTensor(range(n)), torch.Tensor(range(0, n, 2))),
    "like another": lambda n: torch.zeros(2, dtype=torch.int32).new_tensor(range(n)),
    "chosen among": lambda n: torch.tensor(range(n), dtype=torch.long)[torch.arange(n) % 2 == 0],
}


@pytest.mark.parametrize("name", USES)
def test_ranges(name):
    use = USES[name]
    check(lambda x: use(int(x.sum())), [(torch.tensor([k, 1]),) for k in (3, -1, 0, 1, 4, -5)], by_result=True)
