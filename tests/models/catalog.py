# SPDX-License-Identifier: Apache-2.0
"""The catalogue: one factory per model, sorted by what is dynamic in it.

Each builds the package's own class, unmodified, with a tiny random configuration, and inputs that take different
paths. Where a package's entry point needs files or arguments that are no tensors, a lambda of one line binds them.
"""

from tests.models.registry import CATALOG, find_packages

find_packages()

from tests.models import adaptive, alignment, architectures, assorted, decoding, detection, drawn, drawn_tools, families, further, gaps, gaps_packages, gaps_tasks, generation, halting, layers, recent, refinement, routing, scanned, solvers, speech, speech_search, spiking, structures, translation, vision  # noqa: E402,F401  (they register themselves)

__all__ = ["CATALOG"]
