# SPDX-License-Identifier: Apache-2.0
"""`is` for values that only an execution tells apart, and sizes as the program sees them."""

from __future__ import annotations

from typing import Any

from ..diagnostics import CaptureRefusal
from ..state.interpreter import Interpreter
from ..values.scalar import RtScalar
from . import interpretation


def sizes(m: Interpreter, extents: tuple) -> tuple:
    """A torch.Size of these."""
    return m.size_type.of(extents)


def same_object(m: Interpreter, a: Any, b: Any) -> bool:
    if isinstance(a, RtScalar) and isinstance(b, RtScalar) and (a is not b or a.kind == "int"):
        if a.kind == b.kind == "bool":
            return m.decide(m.scalars.compare("eq", a, b))
        raise CaptureRefusal("`is` between numbers known only at run time", "use ==", kind="identity", because=a)
    if isinstance(a, RtScalar) and isinstance(b, (bool, int)) or isinstance(b, RtScalar) and isinstance(a, (bool, int)):
        rt, static = (a, b) if isinstance(a, RtScalar) else (b, a)
        if rt.kind == "bool" and isinstance(static, bool):
            return m.decide(m.scalars.compare("eq", rt, static))
        if rt.kind == type(static).__name__:
            raise CaptureRefusal("`is` with a number known only at run time", "use ==", kind="identity", because=rt)
        return False
    if a is not b and type(a) is type(b) and m.heap.fragile:
        for x in (a, b):
            if id(x) in m.heap.fragile:
                m.heap.refuse_fragile(x)
    if a is not b and m.is_tensor(a) and m.is_tensor(b):
        a, b = (known if (known := m.recorder.handle_of(x)) is not None else x for x in (a, b))
        for tensor in (a, b) if a is not b else ():  # a merge may have hidden that they are one in some paths
            if m.is_symbolic(tensor) and callable(tensor._dycl.cell.note):
                tensor._dycl.cell.note()
        m.told_apart.append((a, b))
        # torch asks to save work: either answer will do
        if a is not b and not interpretation.is_torch_file(m.current.frames[-1].info.code.co_filename):
            m.recorder.refuse_identity(a, b)
    return a is b
