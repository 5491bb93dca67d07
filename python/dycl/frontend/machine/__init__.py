# SPDX-License-Identifier: Apache-2.0
"""The abstract machine.

Which state runs next, decisions and the instructions that are executed again with an answer, exceptions, and the
instructions of CPython. It wires the other packages together; nobody but capture.py imports it.
"""
