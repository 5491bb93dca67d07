# SPDX-License-Identifier: Apache-2.0
"""One state of the interpreted program, as data.

Analysed code, frames, the heap with its overlays, iterators, contents of objects, facts of a path, and what earlier
attempts taught. A state can be forked at any instruction and compared with another.
`Interpreter` says what others may ask of the machine.
"""
