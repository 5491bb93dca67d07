# SPDX-License-Identifier: Apache-2.0
"""Functions of torch that need more than recording: contexts, checks, higher-order operators,
generators, lists among their arguments."""

from . import functions, generators, list_arguments

__all__ = ["functions", "generators", "list_arguments"]
