# SPDX-License-Identifier: Apache-2.0
"""print() of tensors known only at run time: what eager prints, on the paths that print."""

import pytest
import torch

import dycl

X = torch.tensor([[1.0, -2.5], [3.25, 1e-3]])


def printed(capfd, call, *args):
    """What was returned, or raised, and what came out."""
    capfd.readouterr()
    try:
        found = call(*args)
    except ValueError as error:
        found = str(error)
    return found, capfd.readouterr().out


def alone(x):
    y = x * 2
    if y.sum() > 0:
        print(y)
        y.add_(1)
    return y


def among_others(x):
    print("{sum}", x.sum(), x.sum().item(), x > 0, 3, f"{x.mean().item():.3f}", sep=", ", end=".\\n")
    return x


def before_it_raises(x):
    if torch.isnan(x).any():
        print("not a number in", x)
        raise ValueError("not a number")
    return x * 2


def of_unknown_length(x):
    for row in x:
        print(row[row > 0])
    return x.sum()


@pytest.mark.parametrize("program", [alone, among_others, before_it_raises, of_unknown_length],
                         ids=lambda f: f.__name__)
def test_tensors_are_printed_as_in_eager(program, capfd):
    compiled = dycl.compile(program, (X,))
    for x in (X, -X, X * 1e4, X / 0 * 0, torch.zeros(2, 2)):
        expected, shown = printed(capfd, program, x.clone())
        found, ours = printed(capfd, compiled, x.clone())
        assert ours == shown
        assert type(found) is type(expected)
        assert found == expected if isinstance(found, str) else torch.allclose(found, expected, equal_nan=True)


def test_a_loaded_package_prints(tmp_path, capfd):
    dycl.compile(alone, (X,)).save(tmp_path / "p.dycl")
    loaded = dycl.load(tmp_path / "p.dycl")
    assert printed(capfd, loaded, X)[1] == printed(capfd, alone, X)[1] != ""


def test_a_string_that_holds_a_tensor_is_refused():
    def program(x):
        print(f"x = {x}")
        return x

    with pytest.raises(dycl.CompileError, match="print the tensor itself") as error:
        dycl.compile(program, (X,))
    assert error.value.kind == "print"
