# SPDX-License-Identifier: Apache-2.0
"""What attempts hand on: places where states stay apart, and what is given up where these are too many."""

import pytest

from dycl.errors import CompileError
from dycl.frontend.diagnostics import Restart
from dycl.frontend.state.assumptions import Apart


def apart_at(*places):
    apart = Apart("states stay apart")
    for place in places:
        with pytest.raises(Restart):
            apart.assume_optional(place)
    return apart


def test_only_what_need_not_be_is_given_up():
    apart = apart_at("a", "b")
    with pytest.raises(Restart):
        apart.assume_needed("c")
    assert apart.give_up({"a", "c", "elsewhere"})
    assert (apart.holds("a"), apart.holds("b"), apart.holds("c")) == (False, True, True)
    assert not apart.give_up({"a", "c"})
    apart.assume_optional("a")  # it is asked for again: nothing begins anew


def test_what_was_given_up_may_turn_out_to_be_needed():
    apart = apart_at("a")
    assert apart.give_up({"a"})
    with pytest.raises(Restart):
        apart.assume_needed("a")
    assert apart.holds("a") and not apart.give_up({"a"})


def test_a_refusal_takes_back_what_was_given_up():
    apart = apart_at("a", "b")
    assert apart.give_up({"a"})
    with pytest.raises(Restart):
        apart.refute(CompileError("too many values", kind="index.large"))
    assert apart.holds("a") and not apart.give_up({"a", "b"})
    apart.refute(CompileError("still", kind="index.large"))  # nothing is left to take back
