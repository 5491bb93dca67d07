# SPDX-License-Identifier: Apache-2.0
"""Classes that a package names and the process has (`trust="classes"`): making an instance runs none of their code, and
what the file puts into one is not called in a method's place."""

import fractions
import os

import pytest
import torch

import dycl
from dycl.calling.classes import Classes
from tests.frontend.support.harness import T
from tests.frontend.support.packages import interface_of, with_interface

TENSOR = ["tensor"]


class Closing:
    """As tempfile's files, which remove what they name when they go."""

    def __init__(self, x=None):
        self.x = x

    def __del__(self):
        if isinstance(self.__dict__.get("path"), str):
            os.unlink(self.path)

    def save(self):
        return "saved"


class ClosingMore(Closing):
    pass


class Eager(ValueError):
    made: list = []

    def __new__(cls, *args):
        cls.made.append(args)
        return super().__new__(cls, *args)


class Plain:
    default = 1

    def __init__(self, x=None):
        self.x = x

    def save(self):
        return "saved"


class Given:
    made: list = []

    def __init__(self, x):
        self.made.append(x)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    path = tmp_path_factory.mktemp("package") / "twice.dycl"
    dycl.compile(lambda x: x * 2, (T(1, 2),)).save(path)
    return path


def changed(package, folder, **fields):
    with_interface(package, interface_of(package) | fields, folder / "changed.dycl")
    return folder / "changed.dycl"


def name_of(cls):
    return f"{__name__}:{cls.__name__}"


@pytest.mark.parametrize("cls", [Closing, ClosingMore])
def test_a_class_with_a_destructor_is_handed_over_or_refused(package, tmp_path, cls):
    (tmp_path / "victim").write_text("kept")
    path = changed(package, tmp_path, variants=[["object", name_of(cls), [
        ["x", TENSOR], ["path", ["static", "str", str(tmp_path / "victim")]]]]])
    with pytest.raises(dycl.PackageError, match="has a __del__, which would run on what the file says"):
        dycl.load(path, trust="classes")
    assert type(dycl.load(path)(T(1, 2))) is not cls  # a record
    assert (tmp_path / "victim").exists()
    dycl.load(path, classes=[cls])(T(1, 2))
    assert not (tmp_path / "victim").exists(), "the test sees what it looks for"


def test_a_pickle_runs_what_it_names_anyway():
    classes = Classes({}, (), "classes", pickled=True)
    assert classes.exception(name_of(Eager)) is Eager


def test_an_exception_that_python_makes_is_handed_over_or_refused(package, tmp_path):
    path = changed(package, tmp_path, exceptions={"E": name_of(Eager)})
    with pytest.raises(dycl.PackageError, match="has a __new__"):
        dycl.load(path, trust="classes")
    dycl.load(path, classes=[Eager])
    assert Eager.made == []


@pytest.mark.parametrize("how", [{"trust": "classes"}, {"classes": [Plain, Given]}], ids=["trusted", "handed"])
@pytest.mark.parametrize("value", [["import", name_of(Given)], ["object", name_of(Plain), []], ["ref", 0]])
def test_no_attribute_is_called_in_a_methods_place(package, tmp_path, how, value):
    path = changed(package, tmp_path, variants=[["object", name_of(Plain), [["x", TENSOR], ["save", value]]]])
    with pytest.raises(dycl.PackageError, match="attribute save that hides a method of Plain"):
        dycl.load(path, **how)
    assert Given.made == []


def test_other_attributes_may_be_anything(package, tmp_path):
    path = changed(package, tmp_path, variants=[["object", name_of(Plain), [
        ["x", TENSOR], ["default", ["import", name_of(Given)]]]]])
    found = dycl.load(path, trust="classes")(T(1, 2))
    assert found.default is Given and found.save() == "saved" and torch.equal(found.x, T(2, 4))


class Third(fractions.Fraction):
    made: list = []

    def __new__(cls, *parts):
        cls.made.append(parts)
        return super().__new__(cls, *parts)


def test_a_class_that_is_called_is_pythons_or_handed_over(package, tmp_path):
    path = changed(package, tmp_path, variants=[["tuple", "builtins:tuple", [
        TENSOR, ["built", name_of(Third), [["static", "int", 1], ["static", "int", 3]]]]]])
    with pytest.raises(dycl.PackageError, match="has a __init__"):
        dycl.load(path, trust="classes")
    assert Third.made == []
    assert dycl.load(path, classes=[Third])(T(1, 2))[1] == fractions.Fraction(1, 3)


@pytest.mark.parametrize("text", [["static", "str", "1e999999999"], ["text", "1e999999999", []],
                                  ["written", "bytes", [1, 2, 3]]])
@pytest.mark.parametrize("cls", ["fractions:Fraction", "array:array"])
def test_no_value_is_made_of_a_text(package, tmp_path, cls, text):
    """The first is a number of a thousand million digits."""
    path = changed(package, tmp_path, variants=[["tuple", "builtins:tuple", [TENSOR, ["built", cls, [text]]]]])
    with pytest.raises(dycl.PackageError, match="made of a text"):
        dycl.load(path)
