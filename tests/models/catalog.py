# SPDX-License-Identifier: Apache-2.0
"""The catalogue: one factory per model, in files by what the models are for.

Each builds the package's own class, unmodified, with a tiny random configuration, and inputs that take different
paths. Where a package's entry point needs files or arguments that are no tensors, a lambda of one line binds them.
Every file under this folder is imported, in the order of their names, and registers its models.
"""

import importlib
import pkgutil

import tests.models
from tests.models.registry import CATALOG, find_packages

find_packages()

for name in sorted(m.name for m in pkgutil.walk_packages(tests.models.__path__, "tests.models.")):
    if name not in (__name__, "tests.models.run"):
        importlib.import_module(name)

__all__ = ["CATALOG"]
