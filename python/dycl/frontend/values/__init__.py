# SPDX-License-Identifier: Apache-2.0
"""Stand-ins: one file per kind of value that is known only at run time.

Numbers, strings, lists and numpy arrays, as data. Every protocol by which native code could look inside one raises
`Escape`; what the operations on them mean is said in semantics/ and library/.
"""
