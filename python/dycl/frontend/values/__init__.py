# SPDX-License-Identifier: Apache-2.0
"""Stand-ins: one file per kind of value that is known only at run time, with what Python's operations mean for it.

The interface of all kinds is in stand_in.py. Every protocol by which native code could look inside one raises `Escape`.
What a kind needs of the packages above it asks the interpreter; here nothing is known of states or of torch's dispatch.
"""
