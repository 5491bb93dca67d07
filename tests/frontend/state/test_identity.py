# SPDX-License-Identifier: Apache-2.0
"""Objects as keys: by which they are, not by what they equal, and kept alive."""

import gc
import weakref

import pytest

from dycl.objects import IdentityDict, IdentityPairs, mapped, reached, within


class Held:
    pass


def test_equal_objects_are_two_keys():
    a, b = [1], [1]
    known = IdentityDict([(a, "a")])
    known.setdefault(b, "b")
    known.setdefault(a, "other")
    assert [*known.values()] == ["a", "b"] and known[a] == "a" and known.get([1]) is None
    assert known.pop(a) == "a" and a not in known and b in known and len(known) == 1
    with pytest.raises(KeyError):
        known[a]


def test_keys_live_as_long_as_they_are_keys():
    known, key = IdentityDict(), Held()
    known[key] = 1
    seen = weakref.ref(key)
    del key
    gc.collect()
    assert seen() is not None and [*known.ids()] == [id(seen())]
    known.clear()
    gc.collect()
    assert seen() is None


def test_what_is_reached_is_found_once():
    inner = [1, 2]
    outer = [inner, (inner, 3)]
    inner.append(outer)
    found = reached([outer], lambda x: x if isinstance(x, list) else None)
    assert [*found.ids()] == [id(outer), id(inner)]


def test_pairs_of_objects_are_keys_that_live():
    known, a, b = IdentityPairs(), Held(), Held()
    known[a, b] = "both"
    assert known.get(a, b) == "both" and known.get(b, a) is None and known.get(a, a, "none") == "none"
    seen = weakref.ref(b)
    del b
    gc.collect()
    assert known.get(a, seen()) == "both"


def test_what_is_within_a_tree_of_containers():
    tree = [1, (2, {"k": 3}), {4}]
    assert [x for x in within(tree) if type(x) is int] == [1, 2, 4, 3]
    assert [x for x in within(tree, 1) if type(x) is int] == [1] and [*within(5)] == [5]
    assert [x for x in within(tree, kinds=list) if type(x) is int] == [1]
    tree.append(tree)
    assert sum(x is tree for x in within(tree, 3)) == 4


def test_a_tree_with_other_leaves():
    assert mapped(str, [1, (2, {"k": 3})]) == ["1", ("2", {"k": "3"})] and mapped(str, range(2)) == "range(0, 2)"
