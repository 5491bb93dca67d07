# SPDX-License-Identifier: Apache-2.0
"""What is made of a package's interface is bounded before it is made."""

import pytest

import dycl
from dycl.calling import nodes, package_reader, templates


def test_json_of_very_many_values_is_refused_before_it_is_read():
    many = package_reader._MOST_VALUES + 1
    with pytest.raises(dycl.PackageError, match="values"):
        package_reader.parsed("[" + "0," * many + "0]")
    assert package_reader.parsed('["' + "," * many + '\\""]') == ["," * many + '"']


def test_a_long_list_of_large_elements_is_not_made():
    """The program's list is short of its limit, and each element is said to be a thousand objects."""
    large = templates.Rows(list, nodes.Tuple(tuple, (templates.Number("int"), *[templates.Static(None)] * 1000)))
    with pytest.raises(MemoryError, match="objects; the most is"):
        large.rebuild(iter([range(1 << 20)]), templates.Made())
    assert len(large.rebuild(iter([range(3)]), templates.Made())) == 3
