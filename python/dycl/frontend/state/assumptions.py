# SPDX-License-Identifier: Apache-2.0
"""What attempts of one capture hand on to the next."""

from __future__ import annotations

from ..values.text import Texts


class Assumptions:
    """What earlier attempts of this capture taught: kept over restarts."""

    def __init__(self) -> None:
        self.forbidden_merges: set = set()  # (code, pc, variable path): keep states apart
        # merges of lists in whose elements there are lists of different lengths (values/list_kinds.py)
        self.rows: set = set()
        self.tables: set = set()  # places whose dicts get keys known only at run time (semantics/keys.py)
        self.guessed_tables: set = set()  # those of them that were made so because paths were many
        self.tables_in_vain = False  # what that led to was refused
        self.texts = Texts()  # that runs choose among (values/chosen_text.py)
        self.unroll_loops: set = set()  # (code, GET_ITER): a back edge was tried and led to a refusal
        # (code, loop header): unrolled, for its states met others that had not come through it
        self.never_begun_anew: set = set()
        self.states: dict = {}  # (kind, id...) -> declared state slots
        self.first: dict = {}  # (id of the owner, key) -> what an attribute that is a state holds before the first call
        # (id of the owner, key) -> an attribute that is written and that no path had read before
        # (boundary/late_states.py)
        self.unread: dict = {}
        # of attributes that hold one of a few values: their numbers, as calls leave them behind
        self.combinations: list[tuple] = []
        self.keep_layout = False  # states whose tensors lie in memory differently stay apart: the program asks
        # instructions whose numpy arrays get contents of run time (state/numpy_memory.py)
        self.run_time_arrays: set = set()
        self.open_axes: dict = {}  # key of a tensor state -> the axes whose extents change from call to call
