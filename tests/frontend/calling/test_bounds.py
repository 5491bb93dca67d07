# SPDX-License-Identifier: Apache-2.0
"""What is made of a package's interface is bounded before it is made."""

import pytest

import dycl
from dycl.calling import classes, exceptions, nodes, package_reader, templates, text_templates


def test_json_of_very_many_values_is_refused_before_it_is_read():
    many = package_reader._MOST_VALUES + 1
    with pytest.raises(dycl.PackageError, match="values"):
        package_reader.parsed("[" + "0," * many + "0]")
    assert package_reader.parsed('["' + "," * many + '\\""]') == ["," * many + '"']
    with pytest.raises(dycl.PackageError, match="no JSON"):  # to count them took time quadratic in such quotes
        package_reader.parsed('"' + '\\"' * 100_000 + "," * many)


def test_a_long_list_of_large_elements_is_not_made():
    """The program's list is short of its limit, and each element is said to be a thousand objects."""
    large = templates.Rows(list, nodes.Tuple(tuple, (templates.Number("int"), *[templates.Static(None)] * 1000)))
    with pytest.raises(MemoryError, match="objects; the most is"):
        large.rebuild(iter([range(1 << 20)]), templates.Made())
    assert len(large.rebuild(iter([range(3)]), templates.Made())) == 3


def reader():
    made = package_reader.Reader()
    made.of_arguments = True
    return made


def test_names_of_parts_are_bounded_before_they_are_made():
    """Each part of an argument has a name, which holds those of all that it is in: a thousand lists in one with a long
    key took a gigabyte."""
    def argument(parts):
        inside = ["list", "builtins:list", [["list", "builtins:list", []]] * parts]
        return reader().argument(["dict", "builtins:dict", [["k" * 10**6, inside]]])

    assert len(list(package_reader.Paths(reader()).nodes(argument(10), "x"))) == 12
    with pytest.raises(dycl.PackageError, match="names of its parts"):
        list(package_reader.Paths(reader()).nodes(argument(1000), "x"))


@pytest.mark.parametrize("many, template", [
    ("keys", lambda n: ["dict", "builtins:dict", [[k * (2**61 - 1), ["static", "int", 1]] for k in range(n)]]),
    ("elements", lambda n: ["set", "builtins:set", [["written", "complex", [f"{-1000003 * k}", f"{k}"]]
                                                    for k in range(n)]]),
])
def test_hashes_that_a_file_can_choose_are_few(many, template):
    """A dict of values with one hash takes quadratic time: hours for a file of some megabytes."""
    few = reader()
    few.of_arguments = many == "keys"
    few.template(template(100))
    with pytest.raises(dycl.PackageError, match="neither texts nor whole numbers"):
        few.template(template(10_000))
    numbers = [[k, ["static", "int", k]] for k in range(10_000)]
    assert len(reader().template(["dict", "builtins:dict", numbers]).names) == 10_000


@pytest.mark.parametrize("description", [
    {"kind": "enum", "base": "IntEnum", "members": [[f"m{k}", k * (2**61 - 1)] for k in range(1000)]},
    {"kind": "enum", "base": "IntEnum", "members": [[f"m{k}", k] for k in range(20_000)]},
    {"kind": "namedtuple", "fields": [f"m{k}" for k in range(20_000)]},
])
def test_classes_of_very_many_members_are_not_made(description):
    with pytest.raises(dycl.PackageError, match="of more than"):
        classes.check_description(reader(), description)
    classes.check_description(reader(), {**description, **{
        key: value[:200] for key, value in description.items() if isinstance(value, list)}})


def test_a_format_of_very_many_wide_numbers_is_not_filled():
    """Each may be as wide as 999: a text of some kilobytes became gigabytes before its length was known."""
    text = text_templates.Format((templates.Number("int"),) * 100_000, "{:999}" * 100_000)
    with pytest.raises(dycl.PackageError, match="a text of 100600000 characters"):
        text.rebuild(iter(range(100_000)), templates.Made())
    assert len(text_templates.Format((templates.Number("int"),) * 100, "{:999}" * 100).joined([1] * 100)) == 99_900


def test_an_exception_with_very_many_looks_is_found_soon(monkeypatch):
    """Two that differ say enough: to compare each with each takes hours."""
    looks = [exceptions.Look("E", "{}", (templates.Static(k),), {}) for k in range(1000)]
    asked = []
    monkeypatch.setattr(exceptions.Look, "read", lambda look, message: asked.append(look) or (look.arguments, {}))
    assert exceptions.Raised({}, looks).exception(ValueError, "E", "text").args == ("text",)
    assert asked == looks[:2]
