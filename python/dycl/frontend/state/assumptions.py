# SPDX-License-Identifier: Apache-2.0
"""What attempts of one capture hand on to the next.

An `Assumption` is made about places of the program, most often where an attempt finds that it cannot go on without:
capture begins anew with it. One that is a guess may be wrong. Where an attempt that made guesses ends in a refusal they
are taken back, one kind after the other, and capture begins anew without; they are not made again. A `Finding` says
something of each place, such as which state between calls it is: it holds for all later attempts.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..diagnostics import Restart
from ..values.text import Texts


class _Taught:
    """What an attempt taught."""

    due = ""  # why capture begins anew, once the attempt has looked at all it can

    def begin_anew(self, why: str) -> NoReturn:
        raise Restart(why)

    def settle(self) -> None:
        if self.due:
            self.due, why = "", self.due
            self.begin_anew(why)


class Assumption(_Taught):
    """One kind. Each place is untried, assumed or refuted."""

    def __init__(self, why: str, guess: str = ""):
        self.why = why  # capture begins anew with it
        self.guess = guess  # if it may be wrong: why capture begins anew without it
        self.assumed: set = set()
        self.refuted: set = set()
        self.refusal: Exception | None = None  # that refuted it

    def holds(self, place: Any = None) -> bool:
        return place in self.assumed

    def assume(self, *places: Any) -> NoReturn:
        self.assumed.update(places)
        self.begin_anew(self.why)

    def refute(self, refusal: Exception | None) -> None:
        if self.guess and self.assumed:
            self.refuted |= self.assumed
            self.assumed, self.refusal = set(), refusal
            self.begin_anew(self.guess)


class Apart(Assumption):
    """Where states stay apart that could merge. Some only so that a number stays known that the run could be asked for:
    where these are too many to keep apart, that is given up."""

    def __init__(self, why: str):
        super().__init__(why)
        self.optional: set = set()
        self.given_up: set = set()
        self.firm = False  # nothing is given up any more

    def assume_optional(self, place: Any) -> None:
        """Unless it was given up."""
        if place not in self.given_up and not self.holds(place):
            self.optional.add(place)
            self.assume(place)

    def assume_needed(self, place: Any) -> None:
        self.optional.discard(place)
        self.given_up.discard(place)
        if not self.holds(place):
            self.assume(place)

    def give_up(self, places: set) -> bool:
        """Those of the places that need not be; whether there are any. They may merge from now on."""
        found = set() if self.firm else places & self.optional
        self.optional -= found
        self.assumed -= found
        self.given_up |= found
        return bool(found)

    def refute(self, refusal: Exception | None) -> None:
        """What was given up may have led to it."""
        if self.given_up:
            self.assumed |= self.given_up
            self.optional, self.given_up, self.firm = self.optional | self.given_up, set(), True
            self.begin_anew("states stay apart, however many")


class Kinds(Assumption):
    """That values of which only the run says what kind they are do no harm (values/one_of.py). Each attempt that makes
    one assumes it."""

    def __init__(self) -> None:
        super().__init__("", "values of different kinds on paths of their own")
        self.numbers: dict[tuple, int] = {}  # of kinds


class Finding(_Taught, dict):
    """Place -> what is so there."""


class Attributes:
    """Of objects in tables: the kinds of their values, which an attempt may find to be more."""

    def __init__(self) -> None:
        self.kinds: dict = {}  # class -> {attribute -> kinds}

    def of(self, cls: Any) -> dict:
        return self.kinds.get(cls, {})

    def assume(self, cls: Any, kinds: dict) -> NoReturn:
        self.kinds[cls] = {**self.of(cls), **kinds}
        raise Restart("attributes of objects in a table")


class Assumptions:
    """What earlier attempts of this capture taught: kept over restarts."""

    def __init__(self) -> None:
        self.apart = Apart("states stay apart")  # (code, pc, variable path) where they would merge
        # merges of lists in whose elements there are lists of different lengths (values/list_kinds.py)
        self.rows = Assumption("lists of different lengths in lists")
        self.tables = Assumption("a dict whose keys are known only at run time")  # where it is made (semantics/keys.py)
        # sets with elements known only at run time keep what was done to them (polyfills/set_order.py)
        self.histories = Assumption("the order of a set's elements")
        # dicts that are no such ones, but whose keys keep many paths apart
        self.likely_tables = Assumption("dicts whose keys keep many paths apart", "no tables for keys of few values")
        # classes whose objects are rows of a table (values/arena.py), and the kinds of values of their attributes
        self.records = Assumption("objects of a class in a table", "objects of a class one by one")
        self.attributes = Attributes()
        # what a run-time index takes out of a list of numbers is a number of run time (semantics/number_lists.py)
        self.chosen_numbers = Assumption("indices into numbers keep many paths apart", "a path for each number")
        self.texts = Texts()  # that runs choose among (values/chosen_text.py)
        self.chosen_texts = Assumption("strings keep many paths apart", "no strings chosen at run time")
        self.kinds = Kinds()
        # (code, GET_ITER): a loop whose numbers nobody reads gets a back edge; assumed by each attempt for itself
        self.counting = Assumption("loops only count", "unrolling loops that only count")
        # (code, loop header): unrolled, for its states met others that had not come through it
        self.never_begun_anew = Assumption("unrolling loops that were begun anew")
        self.states = Finding()  # (kind, id of the owner, key) -> a declared state (boundary/states/)
        self.first: dict = {}  # (id of the owner, key) -> what an attribute that is a state holds before the first call
        # (id of the owner, key) -> an attribute that is written and that no path had read before
        # (boundary/late_states.py)
        self.unread: dict = {}
        # of attributes that hold one of a few values: their numbers, as calls leave them behind
        self.combinations: list[tuple] = []
        # states whose tensors lie in memory differently stay apart: the program asks
        self.layout = Assumption("tensors lie in memory differently")
        # instructions whose numpy arrays get contents of run time (state/numpy_memory.py)
        self.run_time_arrays = Assumption("a numpy array gets contents of run time")
        self.open_axes = Finding()  # key of a tensor state -> the axes whose extents change from call to call

    def begin_attempt(self) -> None:
        self.counting.assumed.clear()
        self.kinds.assumed.clear()
        self.states.due = ""

    def refute(self, refusal: Exception) -> None:
        """What this attempt came to was refused: without the guesses that led to it, it may not be."""
        for guess in (self.counting, self.kinds, self.apart, self.chosen_numbers, self.records, self.likely_tables,
                      self.chosen_texts):
            guess.refute(refusal)
