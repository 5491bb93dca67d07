# SPDX-License-Identifier: Apache-2.0
"""numpy and scipy over arrays whose contents are known only at run time. Importing this package registers all of it."""

from . import algebra, arrays, calls, functions, linear_algebra, places, scipy, scipy_linalg

__all__ = ["algebra", "arrays", "calls", "functions", "linear_algebra", "places", "scipy", "scipy_linalg"]
