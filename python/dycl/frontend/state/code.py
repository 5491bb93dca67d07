# SPDX-License-Identifier: Apache-2.0
"""Code objects as the abstract machine reads them: instructions, control flow, liveness.

CPython's own compiler is our lowering: scopes, name mangling, comprehensions, `with`, `try` and
`match` arrive already compiled, and generated code (dataclasses, named tuples) needs no source.
`CodeInfo` is computed once per code object:

- instructions without caches, jump targets as indices, source spans;
- `rank`: a topological number per instruction (back edges ignored), the order in which waiting
  states run;
- natural loops: for each instruction the headers of the loops around it, outermost first, and for
  each header its body, to tell branches that leave the loop;
- `live`: for each instruction the local variables whose value may still be read; `dead_saves`: the instructions by
  which a comprehension (3.12) puts aside a variable whose value is not read any more;
- `joins`: instructions with more than one predecessor, where states can meet.
"""

from __future__ import annotations

import dis
import types
import weakref
from dataclasses import dataclass
from typing import Any

from ..source import Span

_CONDITIONAL = ("POP_JUMP", "JUMP_IF", "FOR_ITER", "SEND")
_STOPS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
          "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "END_FOR"}  # 3.12's END_FOR is only a place: see _decode

_BEFORE_COMPREHENSION = {"LOAD_FAST_AND_CLEAR", "MAKE_CELL", "SWAP", "BUILD_LIST", "BUILD_SET", "BUILD_MAP"}


@dataclass(slots=True)
class Instr:
    op: str
    arg: int
    value: Any  # dis's argval; for jumps the target's index
    target: int  # -1: not a jump
    span: Span
    handler: "Handler | None" = None


@dataclass(slots=True, frozen=True)
class Handler:
    target: int
    depth: int
    lasti: bool


class CodeInfo:
    def __init__(self, code: types.CodeType):
        self.code = code
        self.instrs = _decode(code)
        self._link()
        self._rank()
        self._loops()
        self._liveness()
        self._asked: dict[int, list[tuple[str, ...]] | None] = {}

    def _link(self) -> None:
        n = len(self.instrs)
        self.succ: list[list[int]] = [[] for _ in range(n)]
        self.exc_succ: list[int] = [-1] * n
        preds = [0] * n
        for i, ins in enumerate(self.instrs):
            if ins.op not in _STOPS and i + 1 < n:
                self.succ[i].append(i + 1)
            if ins.target >= 0 and ins.target not in self.succ[i]:
                self.succ[i].append(ins.target)
            if ins.handler:
                self.exc_succ[i] = ins.handler.target
            for s in self.succ[i]:
                preds[s] += 1
        self.joins = {i for i in range(n) if preds[i] > 1}

    def _rank(self) -> None:
        """Reverse postorder over normal and exceptional edges; also finds back edges."""
        n = len(self.instrs)
        colour = [0] * n
        order: list[int] = []
        self.back_edges: set[tuple[int, int]] = set()
        for root in (0, *range(n)):
            if colour[root]:
                continue
            stack = [(root, iter(self._all_succ(root)))]
            colour[root] = 1
            while stack:
                node, it = stack[-1]
                for nxt in it:
                    if colour[nxt] == 0:
                        colour[nxt] = 1
                        stack.append((nxt, iter(self._all_succ(nxt))))
                        break
                    if colour[nxt] == 1:
                        self.back_edges.add((node, nxt))
                else:
                    colour[node] = 2
                    order.append(node)
                    stack.pop()
        self.rank = [0] * n
        for position, node in enumerate(reversed(order)):
            self.rank[node] = position

    def _all_succ(self, i: int) -> list[int]:
        # The jump is visited first, so that in the reversed order the fall-through precedes it.
        found = self.succ[i][::-1]
        if self.exc_succ[i] >= 0:
            found = [self.exc_succ[i], *found]
        return found

    def _loops(self) -> None:
        n = len(self.instrs)
        preds: list[list[int]] = [[] for _ in range(n)]
        for i in range(n):
            for s in self._all_succ(i):
                preds[s].append(i)
        bodies: dict[int, set[int]] = {}
        for tail, header in self.back_edges:
            body = bodies.setdefault(header, {header})
            work = [tail]
            while work:
                node = work.pop()
                if node not in body:
                    body.add(node)
                    work.extend(preds[node])
        self.loop_body = bodies
        headers = sorted(bodies, key=lambda h: (-len(bodies[h]), self.rank[h]))
        self.loops_of: list[tuple[int, ...]] = [tuple(h for h in headers if i in bodies[h]) for i in range(n)]
        self.joins.update(bodies)

    def _liveness(self) -> None:
        n = len(self.instrs)
        code = self.code
        names = list(code.co_varnames)
        names += [c for c in code.co_cellvars if c not in names]
        names += list(code.co_freevars)
        self.local_names = names
        index = {name: k for k, name in enumerate(names)}
        self.local_index = index
        always = 0
        for name in (*code.co_cellvars, *code.co_freevars):
            always |= 1 << index[name]
        use, define, saves = self._uses()
        live = [0] * n
        order = sorted(range(n), key=lambda i: -self.rank[i])
        changed = True
        while changed:
            changed = False
            for i in order:
                out = 0
                for s in self.succ[i]:
                    out |= live[s]
                now = use[i] | (out & ~define[i])
                if i in saves and any(live[k] & define[i] for k in saves[i]):
                    now |= define[i]
                if self.exc_succ[i] >= 0:
                    now |= live[self.exc_succ[i]]
                if now != live[i]:
                    live[i] = now
                    changed = True
        self.live = [bits | always for bits in live]
        self.dead_saves = {i for i in saves if not self.live[i] & define[i]}

    def _uses(self) -> tuple[list[int], list[int], dict[int, list[int]]]:
        """Of each instruction the variables it reads and those it sets, as bits; and where those that a comprehension
        puts aside come back."""
        index = self.local_index
        use, define = [0] * len(self.instrs), [0] * len(self.instrs)
        saves: dict[int, list[int]] = {}
        in_method = "__class__" in self.code.co_freevars and len(self.code.co_varnames) > 0
        for i, ins in enumerate(self.instrs):
            if in_method and ins.op in ("PRECALL", "CALL") and not ins.arg:  # super() asks for the first argument
                use[i] = 1
            if ins.op in ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_CLOSURE", "DELETE_FAST"):
                use[i] = 1 << index[ins.value]
            elif ins.op == "LOAD_FAST_AND_CLEAR":
                define[i] = 1 << index[ins.value]
                saves[i] = self._restored(i)
                if not saves[i]:
                    use[i] = define[i]
            elif ins.op == "STORE_FAST":
                define[i] = 1 << index[ins.value]
        return use, define, saves

    def _restored(self, pc: int) -> list[int]:
        """3.12: the instructions at which a variable that a comprehension saves at pc has its value again, at its end
        and after an exception; empty if they are not found."""
        start = pc + 1
        while self.instrs[start].op in _BEFORE_COMPREHENSION:
            start += 1
        loop = self.instrs[start]
        if loop.op != "FOR_ITER" or loop.handler is None:
            return []
        found = []
        for k in (loop.target, loop.handler.target):
            stored = set()
            while self.instrs[k].op in ("SWAP", "POP_TOP", "STORE_FAST"):
                stored.add(self.instrs[k].value if self.instrs[k].op == "STORE_FAST" else None)
                k += 1
            if self.instrs[pc].value not in stored:
                return []
            found.append(k)
        return found

    def is_live(self, pc: int, local: int) -> bool:
        return bool(self.live[pc] >> local & 1)

    def guards(self, pc: int) -> bool:
        """True if pc lies in a `try` or `with` of the program."""
        return self._guard(pc) >= 0

    def leaves_loop(self, pc: int, header: int) -> bool:
        """True if the branch at pc has a successor outside the loop of `header` (that pc is in)."""
        body = self.loop_body.get(header, ())
        return pc in body and any(s not in body for s in self._successors(pc))

    def leaves_loops(self, pc: int) -> bool:
        """True if the branch at pc has a successor outside all the loops that pc is in."""
        bodies = [body for body in self.loop_body.values() if pc in body]
        return not bodies or any(all(s not in body for body in bodies) for s in self._successors(pc))

    def _successors(self, pc: int) -> list[int]:
        """With the handler of the StopIteration that a call of next() raises."""
        ins = self.instrs[pc]
        target = self._guard(pc) if ins.op == "CALL" else -1
        if target < 0:
            return self.succ[pc]
        _, named, match = self.instrs[target:target + 3]
        stops = named.op == "LOAD_GLOBAL" and named.value == "StopIteration" and match.op == "CHECK_EXC_MATCH"
        return [*self.succ[pc], target] if stops else self.succ[pc]

    def asked(self, pc: int) -> list[tuple[str, ...]] | None:
        """The variables, each with the attributes read from it, that the test at pc alone asks about; None:
        it computes more."""
        if pc not in self._asked:
            self._asked[pc] = self._sources(pc - 1)
        return self._asked[pc]

    def _sources(self, k: int) -> list[tuple[str, ...]] | None:
        if self.instrs[k].op == "UNARY_NOT":
            k -= 1
        found: list[tuple[str, ...]] = []
        compared = self.instrs[k].op in ("IS_OP", "COMPARE_OP")
        k -= compared
        for _ in range(1 + compared):
            names: list[str] = []
            while self.instrs[k].op == "LOAD_ATTR":
                names.append(str(self.instrs[k].value))
                k -= 1
            if self.instrs[k].op in ("LOAD_FAST", "LOAD_FAST_CHECK"):
                found.append((self.instrs[k].value, *reversed(names)))
            elif names or self.instrs[k].op != "LOAD_CONST":
                return None
            k -= 1
        return found

    def _guard(self, pc: int) -> int:
        """Where the innermost `try` or `with` of the program around pc goes on after an exception; -1 outside of them.
        Other handlers only clean up and raise again: at the end of an except clause,
        and in 3.12 around generators and comprehensions."""
        handler = self.instrs[pc].handler
        while handler is not None:
            entry = self.instrs[handler.target]
            if entry.op == "PUSH_EXC_INFO":
                return handler.target
            handler = entry.handler
        return -1


def _decode(code: types.CodeType) -> list[Instr]:
    every = list(dis.get_instructions(code))
    raw = [ins for ins in every if ins.opname not in ("CACHE", "EXTENDED_ARG")]
    offsets = [ins.offset for ins in raw]
    index = _places(every, offsets)
    instrs: list[Instr] = []
    for ins in raw:
        span = _span(code, ins.positions)
        if not span.line and instrs:  # a jump of the compiler's own: it belongs to what is before it
            span = instrs[-1].span
        target = -1
        if ins.opcode in dis.hasjrel or ins.opcode in dis.hasjabs:
            target = index[ins.argval]
            if raw[target].opname == "END_FOR":  # 3.12: FOR_ITER has popped the iterator, and goes on behind it
                target += 1
        instrs.append(Instr(ins.opname, ins.arg if ins.arg is not None else 0, ins.argval, target, span))
    for start, end, target, depth, lasti in _exception_table(code):
        handler = Handler(index[target], depth, lasti)
        for k, offset in enumerate(offsets):
            if start <= offset < end and instrs[k].handler is None:
                instrs[k].handler = handler
    return instrs


def _places(every: list[dis.Instruction], offsets: list[int]) -> dict[int, int]:
    """By offset the index of the instruction there. A jump may aim at an EXTENDED_ARG prefix: it means the instruction
    that follows."""
    index: dict[int, int] = {}
    position = 0
    for ins in every:
        while position < len(offsets) and offsets[position] < ins.offset:
            position += 1
        if position < len(offsets):
            index[ins.offset] = position
    return index


def _span(code: types.CodeType, p: dis.Positions | None) -> Span:
    if not p:
        return Span(code.co_filename, 0, 0, 0, 0)
    line = p.lineno or 0
    return Span(code.co_filename, line, (p.col_offset or 0) + 1, p.end_lineno or line, (p.end_col_offset or 0) + 1)


def _exception_table(code: types.CodeType) -> list[tuple[int, int, int, int, bool]]:
    it = iter(code.co_exceptiontable)

    def varint(first: int) -> int:
        value = first & 63
        while first & 64:
            first = next(it)
            value = value << 6 | first & 63
        return value

    entries = []
    for first in it:
        start = varint(first) * 2
        length = varint(next(it)) * 2
        target = varint(next(it)) * 2
        depth_lasti = varint(next(it))
        entries.append((start, start + length, target, depth_lasti >> 1, bool(depth_lasti & 1)))
    return entries


_cache: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()
_by_id: dict[int, CodeInfo] = {}


def info_of(code: types.CodeType) -> CodeInfo:
    """Cached by identity: equal code objects of different files must keep their own spans."""
    found = _by_id.get(id(code))
    if found is None or found.code is not code:
        found = _by_id[id(code)] = CodeInfo(code)
    return found
