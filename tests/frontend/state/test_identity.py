# SPDX-License-Identifier: Apache-2.0
"""Objects as keys: by which they are, not by what they equal, and kept alive."""

import gc
import weakref

import pytest

from dycl.objects import IdentityDict, reached


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
