# SPDX-License-Identifier: Apache-2.0
"""Functions that are answered instead of run.

Builtins, containers, math, copy, functools, torch's contexts and checks, numpy and scipy over arrays known only at run
time. Each file registers its handlers with semantics/registry.py; importing this package registers them all.
"""

from . import (
    containers,
    dispatch_by_class,
    einx,
    host_calls,
    interpreted,
    introspection,
    lru_cache,
    methods,
    numbers,
    numpy,
    objects,
    printing,
    random_streams,
    torch,
    wrapped_callables,
)

__all__ = ["containers", "dispatch_by_class", "einx", "host_calls", "interpreted", "introspection",
           "lru_cache", "methods", "numbers", "numpy", "objects", "printing", "random_streams", "torch",
           "wrapped_callables"]
