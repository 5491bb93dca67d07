# SPDX-License-Identifier: Apache-2.0
"""Limits and switches of capture, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Options:
    dynamic_dims: dict = field(default_factory=dict)  # argument name or index -> {axis: symbol name}
    ranges: dict = field(default_factory=dict)  # symbol name -> (min, max)
    allow_training: bool = False  # capture modules that are in training mode
    allow_raise: bool = False  # take a model that raises on its own example
    max_iterations: int = 0  # limit of each run-time loop; 0: the runtime's default
    max_unroll: int = 64  # iterations of a loop with a static bound before a back edge is tried
    # the same if nobody reads the numbers of its range, or if a list or a None ends the loop on some paths
    max_alike: int = 8
    max_unrolled_iterations: int = 100  # iterations of a loop that cannot have a back edge
    max_static_iterations: int = 100_000  # iterations of a loop that the input does not touch
    max_widenings: int = 12  # how often a loop's header may be generalised
    max_kinds: int = 3  # headers of one loop for states that cannot be one
    max_peeled: int = 3  # iterations put in front of a header that fits only later ones
    max_states: int = 1024  # states alive at once
    max_apart: int = 32  # states alive at once before those that one instruction split meet right after it
    max_int_variants: int = 4  # states that differ in static integers, kept apart at one point
    max_variants: int = 8  # specialised states at one point before differing shapes are merged
    max_switch: int = 256  # possible values of a run-time index into a Python sequence
    max_depth: int = 1000  # nested calls, as in Python
    max_recursion: int = 100  # nested calls of one function whose end the run decides
    max_recursive_calls: int = 500  # calls after that: those of a recursion that branches double with each level
    max_restarts: int = 64
