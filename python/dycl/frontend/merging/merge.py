# SPDX-License-Identifier: Apache-2.0
"""Merging states that meet: what differs becomes a parameter of the block where they go on (merging/unify.py).

States that cannot be merged go on one beside the other, each specialised; where too many meet, or wait anywhere,
integers that differ are given up, then shapes and lengths, then kinds of values (values/one_of.py).
"""

from __future__ import annotations

import collections

from ..graph.integer_ranges import hull
from ..graph.program import INT, Block, Edge, Goto, common_dominator
from ..semantics import keys, records
from ..state.path_facts import joined
from ..state.state import State
from ..values import chosen_text
from .signature import Alike, Likeness
from .unify import Unifier
from .unmergeable import Apart, Permuted

_FEW = 3  # states are compared in full at once
_MANY = 64  # more that are unlike a state are not looked at one by one
_OFTEN = 4  # times that a place is crowded: from then on states are not kept apart by integers there


class Merger:
    def __init__(self, machine):
        self.m = machine
        self.failures: collections.Counter = collections.Counter()
        self.apart: dict[tuple, tuple[int, int]] = {}  # pair of tags, how -> (frame, its position) that differs
        # places -> how often too many states met there to keep their integers static
        self.crowded: collections.Counter = collections.Counter()
        # places where the last pair did not fit: the next is tried before anything is made for it
        self.doubted: set[tuple] = set()
        self.wide: collections.Counter = collections.Counter()  # places -> how often too many states met there
        self.of_kinds: set[tuple] = set()  # places where values of different kinds became one
        self.static: set = set()  # origins of numbers that must stay static and keep states apart at the present place

    def merge(self, states: list[State]) -> list[State]:
        """As few states as possible, each standing for some of `states`."""
        self.m.heap.save()
        self.static.clear()
        place = (states[0].frames[-1].info, states[0].frames[-1].pc)
        groups = self._fold(states, ints=False) if self.crowded[place] < _OFTEN else states
        if len(groups) > self.m.options.max_int_variants or groups is states:
            self.crowded[place] += 1
            groups = self._fold(groups)
        groups = self._widened(groups, place)
        if len(groups) > self.m.options.max_variants and self.m.assumptions.apart.give_up(self.static):
            self.apart.clear()
            groups = self._fold(groups, widen=True)
        groups = self._of_all_kinds(groups, place)
        if len(groups) > self.m.options.max_variants and self.m.with_chosen_keys:
            keys.prefer_tables(self.m)
        if len(groups) > self.m.options.max_variants:
            records.prefer(self.m, groups)
            chosen_text.prefer(self.m)
        return groups

    def _are_many(self, groups: list[State]) -> bool:
        """Too many, here or everywhere."""
        options = self.m.options
        return len(groups) > options.max_variants or len(groups) + len(self.m.ready) > options.max_waiting

    def _widened(self, groups: list[State], place: tuple) -> list[State]:
        """Where too many stay apart, shapes and lengths keep none of them apart; nor where that was so often."""
        many = self._are_many(groups)
        if len(groups) < 2 or not many and self.wide[place] < _OFTEN:
            return groups
        found = self._fold(groups, widen=True)
        self.wide[place] += many and len(found) < len(groups)
        return found

    def _of_all_kinds(self, groups: list[State], place: tuple) -> list[State]:
        """Where too many stay apart, and where that was so before, kinds of values keep none of them apart."""
        many = self._are_many(groups)
        if self.m.assumptions.kinds.refuted or len(groups) < 2 or not many and place not in self.of_kinds:
            return groups
        found = self._fold(groups, widen=True, kinds=True)
        if len(found) < len(groups):
            self.of_kinds.add(place)
        return found

    def _fold(self, states: list[State], **how: bool) -> list[State]:
        groups: list[State] = []
        doubted = len(states) > _FEW or (states[0].frames[-1].info, states[0].frames[-1].pc) in self.doubted
        alike = Alike(Likeness(self.m, how.get("widen", False), how.get("kinds", False)), groups) if doubted else None
        for state in states:
            places = range(len(groups)) if alike is None else alike.places(state)
            if len(places) < len(groups):
                self._note_unlike(state, alike, places, **how)
            for k in places:
                merged = self.pair(groups[k], state, **how)
                if merged is not None:
                    groups[k] = merged
                    break
            else:
                k = len(groups)
                groups.append(state)
            if alike is not None:
                alike.note(k)
        return groups

    def _note_unlike(self, state: State, alike: Alike, places: list[int], widen: bool = False,
                     ints: bool = True, kinds: bool = False) -> None:
        """Groups of other marks are not compared with it. One of them is named for all;
        outer frames that differ are remembered."""
        likeness, inner = alike.likeness, len(state.frames) - 1
        others = [group for k, group in enumerate(alike.groups[:_MANY]) if k not in places] or alike.groups[-1:]
        self.failures[likeness.blame(others[0], state)] += len(alike.groups) - len(places)
        for group in others if inner else ():
            depth = likeness.differing_frame(group, state)
            if depth is not None and depth < inner:
                self._remember((min(group.tag, state.tag), max(group.tag, state.tag), widen, ints, kinds), depth, state)

    def pair(self, a: State, b: State, widen: bool = False, ints: bool = True, kinds: bool = False) -> State | None:
        key = (min(a.tag, b.tag), max(a.tag, b.tag), widen, ints, kinds)
        known = self.apart.get(key)
        if known is not None and known[0] < len(a.frames) - 1 and all(
                s.frames[known[0]].pc == known[1] for s in (a, b)):
            return None  # an outer frame keeps them apart, and it has not moved since
        if _in_different_loops(a, b):
            return None
        block = Block(common_dominator([a.block, b.block]), self.m.span_of(a), "join")
        place = (a.frames[-1].info, a.frames[-1].pc)
        try:
            for trial in (True, False) if place in self.doubted else (False,):
                union, merged = self._union(a, b, block, trial=trial, widen=widen, ints=ints, kinds=kinds)
        except Apart as apart:
            union = apart.union
            self.failures[str(apart)] += 1
            self.static.add(apart.origin)
            self.m.texts_apart = self.m.texts_apart or apart.of_strings
            self._remember(key, union.depth, a)
            self.doubted.add(place)
            return None
        self.doubted.discard(place)
        if a.tag != b.tag:
            merged.tag = merged.id
        else:
            merged.tag = a.tag
        for state, side in ((a, 0), (b, 1)):
            args = union.arguments(state, side)
            state.block.exit = Goto(Edge(block, args))
        merged.known = {k: v for k, v in a.known.items() if b.known.get(k) is v}
        merged.ranges = joined(a.ranges, b.ranges)
        for one, other, param in union.requests:
            if param.type == INT:
                merged.ranges[param.id] = hull(self.m.facts.of(one, a.ranges), self.m.facts.of(other, b.ranges))
        merged.lineage = a.lineage | b.lineage
        merged.stored = a.stored | b.stored
        return merged

    def _remember(self, key: tuple, depth: int, state: State) -> None:
        """Forks of one state share its frames, but inner calls may have written what outer frames hold: what keeps two
        of them apart says nothing of others."""
        if key[0] != key[1]:
            self.apart[key] = (depth, state.frames[depth].pc)

    def _union(self, a: State, b: State, block: Block, **how: bool) -> tuple[Unifier, State]:
        union = Unifier(self.m, a, b, block, **how)
        try:
            try:
                return union, union.state()
            except Permuted:
                union = Unifier(self.m, a, b, block, permuted=True, **how)
                return union, union.state()
        except Apart as apart:
            apart.union = union
            raise

    def kept_apart(self, a: State, b: State) -> bool:
        """An outer frame has kept these states apart, and has not moved since."""
        known = self.apart.get((min(a.tag, b.tag), max(a.tag, b.tag), False, False, False))
        if known is None:
            return False
        depth, pc = known
        return all(depth < len(s.frames) - 1 and s.frames[depth].pc == pc for s in (a, b))

    def blame(self) -> str:
        worst = self.failures.most_common(3)
        return "; ".join(f"{text} (kept {count} pairs apart)" for text, count in worst) or "unmergeable values"


def _in_different_loops(a: State, b: State) -> bool:
    """They came into a loop apart, and one of the two may still begin it anew,
    which forgets all that came through it."""
    return any(f.in_another_loop(g) for f, g in zip(a.frames, b.frames))
