# SPDX-License-Identifier: Apache-2.0
"""A package is data: whatever its metadata says, loading and calling it runs no code that it names, ends soon, and
gives results or a PackageError. Costs 30 s, most of it for the mutations."""

import collections
import contextlib
import copy
import dataclasses
import enum
import fractions
import itertools
import json
import os
import pickle
import random
import resource
import subprocess
import sys
import textwrap
import time

import pytest
import torch

import dycl
import dycl.runtime
from dycl.calling import package_interface
from dycl.calling.classes import class_name
from tests.frontend.support.harness import T
from tests.frontend.support.packages import interface_of, with_interface, with_metadata, with_sections


@dataclasses.dataclass
class Output:
    scores: torch.Tensor
    label: str


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


Pair = collections.namedtuple("Pair", "first second")


class TooMuch(ValueError):
    def __init__(self, amount, why="much"):
        super().__init__(f"too much: {amount}")
        self.amount, self.why = amount, why


class Table(dict):
    pass


def structures(x, rows, table):
    """Most of the kinds of templates."""
    total = x.sum().item()
    rows.append(x * 2)
    table["last"] = rows
    if total > 50:
        raise TooMuch(int(total))
    found = []
    while x.sum() < 20:
        x = x + 1
        found.append((x, 3, [1.5]))
    out = Output(x, f"sum {total:8.2f} {{}}")
    if total > 5:
        return out, Level.HIGH, Pair(x, out), {1: x, "k": None}, rows, found
    held = {"a": Table(x=x), "s": {1, 2}, "d": collections.deque([x], 3)}
    return held, (x.shape, torch.float32, b"ab", 1 + 2j), found


def texts(x):
    labels = ["cat", "dog", "bird", "cow"]
    words = []
    for k in range(4):
        if x[k] > 0:
            words.append(labels[int(x[k])])
    best = labels[int(x.argmax())]
    return " ".join(words), best.upper(), best, x.max(), torch.topk(x, 2)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.calls, self.history = 0, []

    def forward(self, x):
        self.seen += x
        self.calls += 1
        self.history.append(self.calls)
        if x[0] > 100:
            raise KeyError(self.calls)
        return self.seen * 2, self.calls, len(self.history)


CALLS = {
    "structures": lambda: [(T(*given), [T(0, 0)], {"n": 1}) for given in ((1, 2), (4, 5), (40, 50))],
    "texts": lambda: [(T(1, 2, 0, 3),), (T(-1, 2, 3, 0),)],
    "counter": lambda: [(T(1, 2),), (T(200, 1),)],
}
MODELS = {"structures": structures, "texts": texts, "counter": Counter().eval()}


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    for name, model in MODELS.items():
        dycl.compile(model, CALLS[name]()[0]).save(folder / f"{name}.dycl")
    dycl.compile(lambda x: x * 2, (T(1, 2),)).save(folder / "twice.dycl")
    return folder


def loaded(packages, folder, change, name="twice", **given):
    """The package loaded again after its interface was changed."""
    interface = interface_of(packages / f"{name}.dycl")
    with_interface(packages / f"{name}.dycl", change(interface) or interface, folder / "changed.dycl")
    return dycl.load(folder / "changed.dycl", **given)


def putting(**fields):
    return lambda interface: interface.update(fields)


# ---- what a file names is never imported -----------------------------------------------------------------


CALLING = ("os:system", "subprocess:Popen", "builtins:eval", "builtins:exec", "evil:run", "evil:Run")


def naming(place, name):
    """Fields of an interface that names something in this place."""
    return {
        "import": {"variants": [["tuple", "builtins:tuple", [["tensor"], ["import", name]]]]},
        "class": {"variants": [["object", name, [["x", ["tensor"]], ["args", ["static", "str", "touch marker"]]]]]},
        "exception": {"exceptions": {"RuntimeError": name},
                      "raised": [["RuntimeError", "touch marker", [["static", "touch marker"]], {}]]},
        "factory": {"variants": [["dict", "collections:defaultdict", [["x", ["tensor"]]], [], ["import", name]]]},
        "argument": {"arguments": [["tensor", "torch.float32", [2]]],
                     "keywords": {"k": ["object", name, [["x", ["static", "int", 1]]]]}},
    }[place]


def test_what_a_package_names_is_not_imported(packages, tmp_path):
    """A module in the current folder would be found first."""
    (tmp_path / "evil.py").write_text(textwrap.dedent("""
        open("marker", "w").close()
        def run(*args): open("marker", "w").close()
        class Run(Exception):
            __init__ = __new__ = run
    """))
    names = [f"{place}-{name}.dycl" for place in ("import", "class", "exception", "factory", "argument")
             for name in CALLING]
    for name in names:
        interface = interface_of(packages / "twice.dycl") | naming(*name.removesuffix(".dycl").split("-"))
        with_interface(packages / "twice.dycl", interface, tmp_path / name)
    done = subprocess.run([sys.executable, "-c", f"""if True:
        import sys, torch, dycl
        sys.path.insert(0, "")
        before = {{*sys.modules}}
        for name in {names}:
            for trust in (None, "classes"):
                try:
                    found = dycl.load(name, trust=trust)(torch.ones(2))
                    print(name, type(found))
                    if type(found).__name__ == "defaultdict":
                        found["missing"]
                except (dycl.PackageError, dycl.InputError) as error:
                    print(name, repr(error))
                except TypeError as error:
                    assert "not callable" in str(error), error
        assert "evil" not in sys.modules
        """], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "marker").exists()
    assert len(done.stdout.splitlines()) == 2 * len(names), done.stdout


MADE = {
    "record": {"variants": [["object", "evil:Run", [["x", ["tensor"]]]]]},
    "dict": {"variants": [["dict", "evil:Run", [["x", ["tensor"]]]]]},
    "class": {"variants": [["tuple", "builtins:tuple", [["tensor"], ["import", "evil:Run"]]]],
              "classes": {"evil:Run": {"kind": "exception", "base": "builtins:ValueError"}}},
    "named tuple": {"variants": [["tuple", "evil:Run", [["tensor"]]]],
                    "classes": {"evil:Run": {"kind": "namedtuple", "fields": ["x"]}}},
    "dataclass": {"variants": [["object", "evil:Run", [["x", ["tensor"]]]]],
                  "classes": {"evil:Run": {"kind": "dataclass", "fields": ["x"]}}},
    "member": {"variants": [["tuple", "builtins:tuple", [["tensor"], ["member", "evil:Run", "A"]]]],
               "classes": {"evil:Run": {"kind": "enum", "base": "Enum", "members": [["A", 1]]}}},
    "number": {"variants": [["tuple", "builtins:tuple", [["tensor"], ["constant", "evil:Run", "A"]]]],
               "classes": {"evil:Run": {"kind": "enum", "base": "IntEnum", "members": [["A", 1]]}}},
    "exception": {"variants": [["tuple", "builtins:tuple", [["tensor"], ["exception", "evil:Run", []]]]],
                  "classes": {"evil:Run": {"kind": "exception", "base": "builtins:ValueError"}}},
}


@pytest.mark.parametrize("what", MADE)
def test_what_is_made_for_a_name_cannot_lead_pickle_to_it(packages, tmp_path, monkeypatch, what):
    """Pickle imports the module that a class says it is of: pools of processes pickle results and exceptions."""
    (tmp_path / "evil.py").write_text("open('marker', 'w').close()")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = loaded(packages, tmp_path, putting(**MADE[what]))(T(1, 2))
    assert "Run" in repr(result)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
            pickle.dumps(result, protocol)
    assert not (tmp_path / "marker").exists() and "evil" not in sys.modules
    assert class_name(type(copy.deepcopy(result))) == class_name(type(result))


class Hashed:
    """Asked for its hash, it calls what it holds."""

    def __hash__(self):
        return self.act(*self.args)


class Same:
    def __eq__(self, other):
        return self.act(*self.args)

    __hash__ = object.__hash__


@dataclasses.dataclass(frozen=True)
class Point:
    x: int


@pytest.mark.parametrize("name", ["Hashed", "Same"])
def test_hashes_of_trusted_classes_are_not_asked_for(packages, tmp_path, name):
    """To put an object into a set, or make it a key, runs code of its class on what the file says."""
    kept = ["object", f"{__name__}:{name}", [["act", ["import", "subprocess:Popen"]], ["args", ["static", "int", 1]]]]
    for held in (["set", "builtins:set", [kept, kept]], ["set", "builtins:frozenset", [kept]],
                 ["tuple", "builtins:tuple", [kept, ["set", "builtins:set", [["ref", 1]]]]],
                 ["set", "builtins:set", [["tuple", "builtins:tuple", [kept]]]],
                 ["table", "builtins:dict", [["list", "builtins:list", [kept]], ["list", "builtins:list", [kept]]]]):
        wanted = putting(variants=[["tuple", "builtins:tuple", [["tensor"], held]]])
        with pytest.raises(dycl.PackageError, match="has a __hash__ or __eq__, which would run on what the file says"):
            loaded(packages, tmp_path, wanted, trust="classes")
    assert loaded(packages, tmp_path, putting(variants=[["tuple", "builtins:tuple", [["tensor"], kept]]]),
                  trust="classes")(T(1, 2))[1].args == 1
    points = ["set", "builtins:set", [["object", f"{__name__}:Point", [["x", ["static", "int", k]]]] for k in (1, 1)]]
    wanted = putting(variants=[["tuple", "builtins:tuple", [["tensor"], points]]])
    assert loaded(packages, tmp_path, wanted, trust="classes")(T(1, 2))[1] == {Point(1)}


def test_trusted_classes_are_those_that_are_there(packages, tmp_path):
    """A function is no class, a class of another kind does not fit, and no module is asked for what it makes."""
    def trusting(name, kind="object"):
        return loaded(packages, tmp_path, putting(variants=[[kind, name, [["x", ["tensor"]]]]]), trust="classes")

    assert type(trusting(f"{__name__}:Output")(T(1, 2))) is Output
    assert class_name(type(trusting("os:system")(T(1, 2)))) == "os:system"  # a record of that name
    with pytest.raises(dycl.PackageError, match="section metadata: variants.*is not the class of a dict"):
        trusting(f"{__name__}:Output", "dict")
    sys.modules["lazy"] = type(os)("lazy")
    sys.modules["lazy"].__getattr__ = lambda name: pytest.fail("asked")
    try:
        trusting("lazy:Thing")(T(1, 2))
    finally:
        del sys.modules["lazy"]
    with pytest.raises(dycl.InputError, match="trust is 'all'"):
        dycl.load(packages / "twice.dycl", trust="all")
    with pytest.raises(dycl.InputError, match="neither a class nor a function"):
        dycl.load(packages / "twice.dycl", classes=["Output"])


# ---- with and without the caller's classes -----------------------------------------------------------------


def test_classes_are_handed_over_or_made(packages):
    path = packages / "structures.dycl"
    handed = [Output, Level, Pair, TooMuch]
    for given, exact in (({}, False), ({"trust": "classes"}, True), ({"classes": handed}, True)):
        program = dycl.load(path, **given)
        rows, table = [T(0, 0)], {"n": 1}
        out, level, pair, numbers, same, found = program(T(4, 5), rows, table)
        assert (type(out) is Output) == (level is Level.HIGH) == (type(pair) is Pair) == exact
        assert type(out).__qualname__ == "Output" and out.label == "sum     9.00 {}"
        assert [f.name for f in dataclasses.fields(out)] == ["scores", "label"] and "label='sum" in repr(out)
        assert level == 2 and level.name == "HIGH" and isinstance(level, enum.IntEnum)
        assert pair._fields == ("first", "second") and pair.second is out and pair.first is out.scores
        assert same is rows and table["last"] is rows and len(found) == 6 and found[0][1:] == (3, [1.5])
        assert numbers[1] is out.scores and list(numbers) == [1, "k"]
        with pytest.raises(TooMuch if exact else RuntimeError, match="too much: 90") as caught:
            program(T(40, 50), [T(0, 0)], {"n": 1})
        assert type(caught.value).__name__ == "TooMuch" and isinstance(caught.value, ValueError)
        assert (caught.value.args, caught.value.amount, caught.value.why) == (("too much: 90",), 90, "much")


class Plain:
    def __init__(self, x):
        self.x, self.n = x, 3


def test_records_are_read_three_ways_and_passed_back(tmp_path):
    """As transformers' ModelOutput is: by attribute, by key, by number."""
    dycl.compile(lambda x: (Plain(x + 1), Table(logits=x * 2, loss=None)), (T(1, 2),)).save(tmp_path / "p.dycl")
    plain, table = dycl.load(tmp_path / "p.dycl")(T(1, 2))
    assert type(plain) is not Plain and type(table) is not Table and isinstance(table, dict)
    assert plain.x is plain["x"] is plain[0] and plain.n == plain["n"] == plain[1] == 3
    assert table.logits is table["logits"] is table[0] and table["loss"] is None and table[:1] == (table.logits,)
    assert not hasattr(table, "none") and repr(plain).startswith("Plain(x=tensor(")
    with pytest.raises(KeyError):
        table["none"]

    example = Plain(T(1, 2)), Table(logits=T(3, 4), loss=None)
    dycl.compile(lambda p, t: p.x + t["logits"] + p.n, example).save(tmp_path / "q.dycl")
    program = dycl.load(tmp_path / "q.dycl")
    for given in ((plain, table), (Plain(plain.x), Table(table))):
        assert program(*given).tolist() == [7, 10]
    with pytest.raises(dycl.InputError, match="p: a Table, compiled for a Plain"):
        program(table, table)


def test_a_program_of_this_process_keeps_its_classes():
    program = dycl.compile(structures, CALLS["structures"]()[0])
    out, level, *_ = program(T(4, 5), [T(0, 0)], {"n": 1})
    assert type(out) is Output and level is Level.HIGH


def test_enum_members_and_functions_as_arguments(tmp_path):
    def program(x, level, act):
        return act(x) * 2 if level is Level.HIGH else x

    dycl.compile(program, (T(1, -2), Level.HIGH, positive)).save(tmp_path / "p.dycl")
    again = dycl.load(tmp_path / "p.dycl")
    assert again(T(1, -2), Level.HIGH, positive).tolist() == [2, 0]
    with pytest.raises(dycl.InputError, match="Level.HIGH"):
        again(T(1, 2), Level.LOW, positive)
    with pytest.raises(dycl.InputError, match="positive"):
        again(T(1, 2), Level.HIGH, torch.relu)
    older = interface_of(tmp_path / "p.dycl")
    kind, name, member = older["arguments"][1]
    older["arguments"][1] = ["import", f"{name}.{member}"]  # as 0.1.0 has it
    with_interface(tmp_path / "p.dycl", older, tmp_path / "older.dycl")
    for given in ([], [Level]):
        again = dycl.load(tmp_path / "older.dycl", classes=given)
        assert kind == "constant" and again(T(1, -2), Level.HIGH, positive).tolist() == [2, 0]
        with pytest.raises(dycl.InputError, match="Level.HIGH"):
            again(T(1, 2), Level.LOW, positive)


def positive(x):
    return x.clamp(min=0)


def test_packages_of_0_1_0_are_read(packages, tmp_path):
    """They say nothing of classes, and name an enum's member like anything else."""
    def older(interface):
        interface.pop("classes")

        def walk(t):
            if t and t[0] in ("member", "constant"):
                return ["import", f"{t[1]}.{t[2]}"]
            return [walk(x) if isinstance(x, list) else x for x in t]

        interface["variants"] = [walk(t) for t in interface["variants"]]

    with pytest.raises(dycl.PackageError, match="hand them over"):
        loaded(packages, tmp_path, older, "structures")
    exact = loaded(packages, tmp_path, older, "structures", classes=[Output, Level, Pair])
    out, level, pair, *_ = exact(T(4, 5), [T(0, 0)], {"n": 1})
    assert type(out) is Output and level is Level.HIGH and type(pair) is Pair


# ---- texts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "{0.__class__}", "{0[0]}", "{0}", "{x}", "{!r}", "{:{}}", "{:>1000000000}", "{:.999999999}", "{:1000}", "{", "}",
    "{}{}", "", "{:%Y}", "{:c}", ["method", "format", "{0.__class__}"], ["method", "__class__"],
    ["method", "format_map", 1], ["method", "encode"], ["method", "ljust", 10**9], ["method", "zfill", "8"],
    ["method", "ljust", 8, "ab"], ["method", "upper", 1], ["method"], ["choice", 1], ["join"], ["join", "a"], [], 3,
    None, ["method", "replace", "a", "b", "c"], ["method", "replace", "a", "b", None], ["method", "expandtabs", 10**9],
])
def test_texts_are_made_by_listed_methods_alone(packages, tmp_path, text):
    with pytest.raises(dycl.PackageError, match=r"section metadata: variants\[0\]") as caught:
        made = ["text", text, [["int"]]]
        loaded(packages, tmp_path, putting(variants=[["tuple", "builtins:tuple", [["tensor"], made]]]))
    assert caught.value.section == "metadata" and caught.value.kind == "invalid_package"


def test_texts_do_not_grow_without_end(packages, tmp_path):
    """Forty replacements in one another, each of which doubles the text."""
    t = ["static", "str", "aaaa"]
    for _ in range(40):
        t = ["text", ["method", "replace", "a", "aa"], [t]]
    program = loaded(packages, tmp_path, putting(variants=[["tuple", "builtins:tuple", [["tensor"], t]]]))
    with pytest.raises(dycl.PackageError, match="a text of [0-9]+ characters"):
        program(T(1, 2))


def doubled(times):
    t = ["static", "str", "aaaa"]
    for _ in range(times):
        t = ["text", ["method", "replace", "a", "aa"], [t]]
    return t


@pytest.mark.parametrize("text,says", [
    ([["text", "{}" * 5, [doubled(22)] * 5]], "a text of 838860[0-9]+ characters"),
    ([doubled(24)] * 40, "texts of more than 268435456 characters in one result"),
])
def test_texts_together_do_not_grow_without_end(packages, tmp_path, text, says):
    """Each is allowed, all of them are not."""
    program = loaded(packages, tmp_path, putting(variants=[["tuple", "builtins:tuple", [["tensor"], *text]]]))
    with pytest.raises(dycl.PackageError, match=says):
        program(T(1, 2))


@pytest.mark.parametrize("pattern", ["{0.__class__}", "{:>99999999}", "{"])
def test_messages_of_exceptions_are_no_programs(packages, tmp_path, pattern):
    for looks in ([["KeyError", pattern, [], {}]], [["KeyError", "{}", [["int", pattern]], {}]]):
        with pytest.raises(dycl.PackageError, match="section metadata: raised"):
            loaded(packages, tmp_path, putting(raised=looks))


def test_matching_a_message_takes_no_time(packages, tmp_path):
    """A regular expression would try all ways to part the message."""
    looks = [["TooMuch", "{}" * 60 + "x", [["text", "{}"]], {}]]
    program = loaded(packages, tmp_path, putting(raised=looks), "structures")
    before = time.perf_counter()
    with pytest.raises(RuntimeError, match="too much"):
        program(T(40, 50), [T(0, 0)], {"n": 1})
    error = program._interface.exceptions.exception(ValueError, "TooMuch", "a" * 100_000)
    assert error.args == ("a" * 100_000,) and time.perf_counter() - before < 2


# ---- malformed ---------------------------------------------------------------------------------------------


def nested(depth, of=lambda t: ["tuple", "builtins:tuple", [t]]):
    t = ["tensor"]
    for _ in range(depth):
        t = of(t)
    return t


TENSOR = ["tensor"]
MALFORMED = [
    ("variants", lambda: [nested(101)]), ("variants", lambda: nested(20_000)),
    ("variants", lambda: [nested(101, lambda t: ["dict", "builtins:dict", [["k", t]], []])]),
    ("variants", [["tuple", "builtins:dict", [TENSOR]]]),
    ("variants", [["dict", "builtins:tuple", [["k", TENSOR]], []]]), ("variants", [["unknown"]]), ("variants", [[]]),
    ("variants", [["int"]]), ("variants", [["tuple", "builtins:tuple", [TENSOR, TENSOR]]]),
    ("variants", [["tuple", "builtins:tuple", [TENSOR, ["ref", 1]]]]), ("variants", [["ref", 0]]),
    ("variants", [["ref", -1]]), ("variants", [["tuple", "torch.return_types:topk", [TENSOR]]]),
    ("variants", [["set", "builtins:frozenset", [["ref", 0]]]]),
    ("variants", [["set", "builtins:set", [["list", "builtins:list", []]]]]),
    ("variants", [["rows", "builtins:list", TENSOR]]), ("variants", [["table", "builtins:dict", [TENSOR, TENSOR]]]),
    ("variants", [["object", "a:B", [["__class__", TENSOR]]]]),
    ("variants", [["object", "types:SimpleNamespace", [[1, TENSOR]]]]),
    ("variants", [["list", "collections:deque", [TENSOR], [], ["static", "int", -1]]]),
    ("variants", [["dict", "builtins:dict", [["k", TENSOR], ["k", ["static", "int", 1]]], []]]),
    ("variants", [["dict", "builtins:dict", [[[1], TENSOR]], []]]),
    ("variants", [["tuple", "builtins:tuple", [TENSOR], [["x", ["static", "int", 1]]]]]),
    ("variants", [["static", "dtype", "torch.nn"]]), ("variants", [["static", "dtype", "torch.load"]]),
    ("variants", [["written", "bytes", [256]]]), ("variants", [["static", "device", "nowhere"]]),
    ("variants", [["static", "int", "1"]]), ("variants", [["static", "float", "one"]]), ("variants", [["lost", "X"]]),
    ("variants", [TENSOR, TENSOR]), ("slots", [[1]]), ("slots", [[-1]]), ("slots", []), ("slots", [[True]]),
    ("slots", [[10**30]]), ("written_inputs", [1]), ("written_inputs", [0, 0]), ("replaced", [0]), ("names", []),
    ("argument_names", ["x", "y"]), ("random", 1), ("arguments", [["tensor", "torch.float64", [2]]]),
    ("arguments", [["tensor", "torch.float32", [2, 2]]]), ("arguments", [["same", 0]]), ("arguments", []),
    ("kept_inputs", {"x": 1}), ("apart", [[0, 1]]), ("gradients", [1]), ("gradients", [True, True]),
    ("parameters", [[0]]), ("sharing", [1]), ("layouts", [[[1]]]), ("layouts", [[["1"], False]]),
    ("themselves", [[[0, "held", 0]]]), ("themselves", [[[1, "input", 0]]]),
    ("index_errors", {"Gather": ["SystemExit"]}), ("writes", [[["x", "+", TENSOR]]]),
    ("writes", [[["x", 0, TENSOR]]]), ("writes", [[[None, "a", TENSOR]]]),
    ("failures", [[["y", "a", ["static", "int", 1]]]]), ("exceptions", {"E": 1}),
    ("exceptions", {"E": "builtins:int"}), ("raised", [["E", "{}", [["int", "{}{}"]], {}]]),
    ("raised", [["E", "", [], {"__class__": ["static", 1]}]]), ("raised", [["E", "", [], {"a": ["argument", 0]}]]),
    ("raised", lambda: [["E", "", [["static", nested(200)]], {}]]),
    ("classes", {"a:B": {"kind": "dataclass", "fields": ["a b"]}}),
    ("classes", {"a:B": {"kind": "dataclass", "fields": ["__class__"]}}),
    ("classes", {"a:B": {"kind": "namedtuple", "fields": ["a", "a"]}}),
    ("classes", {"a:B": {"kind": "code", "fields": []}}),
    ("classes", {"a:B": {"kind": "enum", "base": "object", "members": []}}), ("more", 1), ("extra_keywords", "x"),
]


@pytest.mark.parametrize("field, value", MALFORMED, ids=[f"{k}-{f}" for k, (f, _) in enumerate(MALFORMED)])
def test_what_is_malformed_is_refused(packages, tmp_path, field, value):
    def put(interface):
        interface[field] = value() if callable(value) else value  # deep ones live no longer than they must
        return _text(interface)

    with pytest.raises(dycl.PackageError, match="^section metadata: ") as caught:
        loaded(packages, tmp_path, put)
    assert caught.value.section == "metadata"


def _text(interface):
    """json.dumps goes no deeper than Python does."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        return json.dumps(interface)
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("field", ["arguments", "keywords", "variants", "writes", "failures", "slots", "written_inputs",
                                   "replaced", "names", "argument_names", "states", "exceptions", "raised", "random",
                                   "index_errors", "kept_inputs", "apart", "gradients", "parameters", "sharing",
                                   "extra_keywords", "interchangeable", "layouts", "themselves", "classes"])
def test_wrong_types_in_each_field(packages, tmp_path, field):
    for value in (None, True, -1, 1e300, "x", [None], [[None]], [{}], {"x": None}, {"x": []}, [[[[]]]]):
        try:
            program = loaded(packages, tmp_path, putting(**{field: value}))
        except dycl.PackageError as error:
            assert str(error).startswith("section metadata: ")
        else:
            assert (field, value) in [("random", True), ("sharing", None), ("index_errors", {"x": []})], value
            assert program(T(1, 2)).tolist() == [2, 4]


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff\xfe", b'{"metadata": 1}', b"NaN",
                                  b'{"metadata": {"python": 1}}', b'{"metadata": {"python": "{\\"a\\": NaN}"}}',
                                  b'{"a": 1, "a": 2}', b"[" * 200_000,
                                  b'{"metadata": {"python": "[1, 2"}}', b"1" * 10_000])
def test_metadata_that_is_no_metadata(packages, tmp_path, text):
    with_metadata(packages / "twice.dycl", text, tmp_path / "p.dycl")
    with pytest.raises(dycl.PackageError, match="section metadata: "):
        dycl.load(tmp_path / "p.dycl")


@pytest.mark.parametrize("load", [dycl.load, dycl.runtime.load])
def test_texts_that_are_no_texts(packages, tmp_path, load):
    """Names of inputs, what is printed and messages of a package are UTF-8. Names of source files may be anything."""
    def model(first_input):
        if first_input[0] > 0:
            print("printed", 1)
        return first_input * 2

    dycl.compile(model, (T(-1, 2),)).save(tmp_path / "p.dycl")
    for text in (b"first_input", b"printed", b"out0"):
        with_sections(tmp_path / "p.dycl", lambda name, held, text=text: held.replace(text, b"\xff" * len(text))
                      if name == "plan" else held, tmp_path / "q.dycl")
        with pytest.raises(dycl.PackageError, match="section plan: a text that is no UTF-8"):
            load(tmp_path / "q.dycl")
    with_sections(tmp_path / "p.dycl", lambda name, held: held.replace(b".py", b"\xff\xfe\xfd")
                  if name == "debug" else held, tmp_path / "q.dycl")
    program = load(tmp_path / "q.dycl")
    assert "\\xff\\xfe\\xfd" in program._program.sources[0] if load is dycl.runtime.load else program.ir_text


def test_whatever_reading_raises_is_an_error_of_the_package(packages, monkeypatch):
    def broken(self):
        raise KeyError("what nobody thought of")

    monkeypatch.setattr(package_interface._Loading, "interface", broken)
    with pytest.raises(dycl.PackageError, match="section metadata: .*KeyError: 'what nobody thought of'"):
        dycl.load(packages / "twice.dycl")


def test_structures_that_are_too_deep_are_not_saved(tmp_path):
    def deep(x):
        for _ in range(120):
            x = [x]
        return x

    dycl.compile(deep, (T(1, 2),)).save(tmp_path / "p.dycl")
    with pytest.raises(dycl.InputError, match="more than 100 levels"):
        dycl.load(tmp_path / "p.dycl")


# ---- mutations ---------------------------------------------------------------------------------------------

VALUES = (None, True, False, -1, 0, 1, 2, 10**9, 2**63, 10**40, 0.5, -1e300, "", "x", "tensor", "builtins:dict",
          "os:system", "{}", "{0.x}", "+", "*", "__class__", [], [[]], {}, ["tensor"], ["ref", 0], ["ref", 5], ["int"],
          ["static", "int", 1], ["import", "os:system"], ["text", "{}", [["int"]]], ["rows", "builtins:list", ["int"]])


def places(data, path=()):
    yield path
    for key, part in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(part, (*path, key))


def mutated(interface, rng):
    data = copy.deepcopy(interface)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        *path, last = rng.choice([p for p in places(data) if p])
        holder = data
        for key in path:
            holder = holder[key]
        how = rng.randrange(5)
        if how == 0:
            del holder[last]
        elif how == 1 and isinstance(holder, list):
            holder.insert(last, copy.deepcopy(rng.choice(holder)))
        elif how == 2 and isinstance(holder, list):
            other = rng.randrange(len(holder))
            holder[last], holder[other] = holder[other], holder[last]
        elif how == 3:
            *path, other = rng.choice([p for p in places(data) if p])
            part = data
            for key in (*path, other):
                part = part[key]
            holder[last] = copy.deepcopy(part)
        else:
            holder[last] = copy.deepcopy(rng.choice(VALUES))
    return data


@pytest.mark.parametrize("name", list(MODELS))
def test_mutated_interfaces_are_refused_or_run(packages, tmp_path, name):
    """A mutation may be harmless; its program then runs, or refuses other arguments, or raises as the model does."""
    rng = random.Random(f"{name} 1")
    interface, path = interface_of(packages / f"{name}.dycl"), tmp_path / "p.dycl"
    outcomes = collections.Counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(150):
        with_interface(packages / f"{name}.dycl", mutated(interface, rng), path)
        before = time.perf_counter()
        try:
            program = dycl.load(path, trust=rng.choice((None, "classes")))
        except (dycl.PackageError, dycl.InputError) as error:
            outcomes["refused"] += 1
            assert isinstance(error, dycl.PackageError) or "can't be called from a file" in str(error) \
                or "not made from a Python model" in str(error), number
            continue
        for args in CALLS[name]():
            try:
                program(*args)
                outcomes["ran"] += 1
            except (dycl.PackageError, dycl.InputError):
                outcomes["did not fit"] += 1
            except (ValueError, KeyError, RuntimeError) as error:  # what the models raise
                assert "too much" in str(error) or type(error).__name__ in ("KeyError", "TooMuch"), (number, error)
        assert time.perf_counter() - before < 5, number
    assert outcomes["refused"] > 50 and outcomes["ran"] > 10, outcomes
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 500_000  # KiB


def test_a_mutation_can_be_harmless(packages, tmp_path):
    """The test above would see nothing if every package were refused."""
    for name in itertools.chain(MODELS):
        path = packages / f"{name}.dycl"
        with_interface(path, interface_of(path), tmp_path / "same.dycl")
        dycl.load(tmp_path / "same.dycl")(*CALLS[name]()[0])


def two_numbers(x):
    return int(x[0]), int(x[1])


def test_a_class_is_called_with_what_makes_one_of_it(tmp_path):
    dycl.compile(two_numbers, (T(1, 2),)).save(tmp_path / "two.dycl")
    interface = interface_of(tmp_path / "two.dycl")
    (known,) = interface["variants"]
    assert known[:2] == ["tuple", "builtins:tuple"]

    def made(cls, parts):
        interface["variants"] = [["built", cls, parts]]
        with_interface(tmp_path / "two.dycl", interface, tmp_path / "built.dycl")
        return dycl.load(tmp_path / "built.dycl")

    program = made("fractions:Fraction", known[2])
    assert program(T(6, 4)) == fractions.Fraction(3, 2)
    with pytest.raises(dycl.PackageError, match="no parts of a Fraction"):
        program(T(6, 0))
    for cls in ("builtins:list", "fractions:gcd", "subprocess:Popen", "nowhere:Fraction"):
        with pytest.raises(dycl.PackageError):
            made(cls, known[2])
    with pytest.raises(dycl.PackageError, match="no parts of a Fraction"):
        made("fractions:Fraction", [["tuple", "builtins:tuple", known[2][:1]], *known[2][1:]])(T(1, 2))
