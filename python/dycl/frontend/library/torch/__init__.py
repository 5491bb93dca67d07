# SPDX-License-Identifier: Apache-2.0
"""Functions of torch that need more than recording: contexts, checks, higher-order operators,
lists among their arguments."""

from . import functions, list_arguments

__all__ = ["functions", "list_arguments"]
