# SPDX-License-Identifier: Apache-2.0
"""Kernels as TVM makes them, ordered for a CPU's caches, registers and vectors, without trying anything out.

A sum of products (convolution, matrix product) is computed in tiles that stay in registers: some neighbouring
outputs times some vectors of channels, all unrolled, the reduction around them. What follows it elementwise is
done per tile. Everything else runs in the order of memory, in vectors where the innermost axis allows it.
No order of additions depends on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from tvm import s_tir, tirx
from tvm.s_tir.schedule import ScheduleError

SPATIAL, REDUCTION = 0, 2
WORTH_TILING = 512  # multiply-adds
WORTH_THREADS = 200_000  # multiply-adds, or elements times 8
TRANSPOSED = (16, 8)  # elements along the axis that is written in order, and along the one that is read in order
IN_STRIPS = "winograd_"  # names of blocks that winograd.py orders
IN_GROUPS = "grouped_"  # and of those whose channels have operands of their own
IN_PANELS = "packed_"  # names of blocks whose weights stand in panels (packed.py)
PANEL_TILE = 16  # vectors summed at a time there: more rows of operands, a power of two apart, do not stay in a cache
LARGE_WEIGHTS = 512 << 10  # bytes: then threads share the channels, not the rows


@dataclass(frozen=True)
class Machine:
    lanes: int  # floats of a vector
    tile: int  # vectors that may be summed at a time, leaving registers for operands

    @property
    def panel(self) -> int:
        """Channels whose weights stand together (packed.py)."""
        return 2 * self.lanes

    @staticmethod
    def of(features: str) -> "Machine":
        names = features.split("/")[-1].split("+")
        if "avx512core" in names:
            return Machine(16, 28)
        return Machine(8 if "avx2" in names else 4, 12)


@dataclass(frozen=True)
class Choice:
    """What of a schedule may be chosen otherwise (tune.py); None: by the rules here."""

    tile: tuple[int, int, int] | None = None  # rows, columns, vectors of channels that are summed at a time
    lanes: int | None = None  # of a vector
    order: str | None = None  # "channels" or "rows": the outermost loop
    unroll: int | None = None  # turns of the innermost sum
    sums: str | None = None  # "channels": their loop is the outermost of the sums
    block: tuple[int, int] | None = None  # of a transposition: elements along the axes of what is written and read
    # of Winograd's algorithm: rows and columns of transforms at a time (winograd.py)
    strip: tuple[int, int] | None = None

    @staticmethod
    def of(changes: dict) -> "Choice":
        return Choice(**{k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()})

    def changes(self) -> dict:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if v is not None}


def operands(function: tirx.PrimFunc) -> list:
    """The buffers of a kernel, in the order of its parameters."""
    sch = s_tir.Schedule(function)
    regions = [r for b in _blocks(sch) for r in [*sch.get(b).reads, *sch.get(b).writes]]
    return [next(r.source for r in regions if r.source.same_as(p)) for p in sch.mod["main"].params]


def results(function: tirx.PrimFunc) -> list[int]:
    """Which parameters are written."""
    sch = s_tir.Schedule(function)
    written = [r.source for b in _blocks(sch) for r in sch.get(b).writes]
    return [i for i, p in enumerate(sch.mod["main"].params) if any(w.same_as(p) for w in written)]


def space(function: tirx.PrimFunc, machine: Machine) -> dict[str, list]:
    sch = s_tir.Schedule(function)
    _inline(sch)
    blocks = _blocks(sch)
    products = [b for b in blocks if _is_product(sch, b)]
    if len(products) == 1:
        return _product_space(sch, products[0], machine)
    if len(blocks) == 1 and _transposed_axis(sch, blocks[0]) is not None:
        sizes = [4, 8, 16, 32]
        return {"block": [(a, b) for a in sizes for b in sizes]}
    return {}


def _product_space(sch, block, machine: Machine) -> dict[str, list]:
    spatial = [int(v.dom.extent) for v in sch.get(block).iter_vars if int(v.iter_type) == SPATIAL]
    columns = spatial[-2] if len(spatial) > 1 else 1
    rows = spatial[-3] if len(spatial) > 2 else 1
    widths = [w for w in (machine.lanes, machine.lanes // 2) if spatial[-1] % w == 0] or [None]
    together = machine.panel if sch.get(block).name_hint.startswith(IN_PANELS) else spatial[-1]
    vectors = together // (widths[0] or _lanes(spatial[-1], machine.lanes))
    return {"tile": tiles(rows, columns, vectors, machine)[:24], "order": ["channels", "rows"],
            "sums": ["channels", None], "unroll": [1, 2, 4, 8, 16], "lanes": widths}  # fmt: skip


def tiles(rows: int, columns: int, vectors: int, machine: Machine) -> list[tuple[int, int, int]]:
    """Those that fit the registers, the least loads per multiply-add first."""
    found = []
    for v in [d for d in _divisors(vectors) if d <= 8]:
        for c in _divisors(columns):
            found += [(r, c, v) for r in _divisors(rows) if r <= 8 and 4 <= r * c * v <= machine.tile + 2]
    return sorted(found, key=lambda t: ((t[0] * t[1] + t[2]) / (t[0] * t[1] * t[2]), t))


def work(function: tirx.PrimFunc) -> int:
    """Multiply-adds of a kernel, or elements."""
    sch = s_tir.Schedule(function)
    return max((_volume(sch, block) for block in _blocks(sch)), default=0)


def scheduled(function: tirx.PrimFunc, machine: Machine, choice: Choice = Choice()) -> tirx.PrimFunc:
    sch = s_tir.Schedule(function)
    _inline(sch)
    done: set[str] = set()
    for block in _blocks(sch):
        name = sch.get(block).name_hint
        if name in done:
            continue
        done.add(name)
        if _is_product(sch, block):
            done |= _tile(sch, block, machine, choice)
        elif _is_reduction(sch, block):
            _reduce(sch, block, machine)
        else:
            _elementwise(sch, block, machine, choice)
    return sch.mod["main"]


def _blocks(sch):
    return sch.get_child_blocks(sch.get_sblock("root"))


def _extent(sch, loop) -> int:
    return int(sch.get(loop).extent)


def _kinds(sch, block) -> list[int]:
    return [int(v.iter_type) for v in sch.get(block).iter_vars]


def _is_reduction(sch, block) -> bool:
    return REDUCTION in _kinds(sch, block)


def _volume(sch, block) -> int:
    return math.prod(int(v.dom.extent) for v in sch.get(block).iter_vars)


def _is_plain(sch, block) -> bool:
    """One loop per axis of the block, in its order."""
    kinds, loops = _kinds(sch, block), sch.get_loops(block)
    return len(kinds) == len(loops) and all(k in (SPATIAL, REDUCTION) for k in kinds)


def _is_product(sch, block) -> bool:
    if not _is_reduction(sch, block) or not _is_plain(sch, block) or _volume(sch, block) < WORTH_TILING:
        return False
    node = sch.get(block)
    store = node.body
    reads = [r for r in node.reads if not r.source.same_as(node.writes[0].source)]
    sum_of = isinstance(store, tirx.BufferStore) and isinstance(store.value, tirx.Add)
    return sum_of and len(reads) == 2 and len(node.writes) == 1 and _ends_in_spatial(sch, block)


def _ends_in_spatial(sch, block) -> bool:
    """Whether the last axis of what is written is the last of the spatial loops."""
    node = sch.get(block)
    if len(node.writes) != 1 or len(node.writes[0].region) == 0:
        return False
    last = node.writes[0].region[-1].min
    spatial = [v.var for v in node.iter_vars if int(v.iter_type) == SPATIAL]
    return bool(spatial) and last.same_as(spatial[-1])


# ---- what is computed where it is needed ---------------------------------------------


def _inline(sch) -> None:
    """Elementwise steps into those that use them; not in front of sums, which would do them again and again."""
    outputs = {sch.get(b).name_hint for b in sch.get_output_blocks(sch.get_sblock("root"))}
    for block in _blocks(sch):
        name = sch.get(block).name_hint
        if name in outputs or _is_reduction(sch, block) or name in (IN_STRIPS + "padded", IN_STRIPS + "windows"):
            continue
        consumers = sch.get_consumers(block)
        if any(_is_reduction(sch, c) and _volume(sch, c) > _volume(sch, block) for c in consumers):
            continue
        if len(consumers) > 1 and _has_calls(sch, block):
            continue
        try:
            sch.compute_inline(block)
        except ScheduleError:
            pass


def _has_calls(sch, block) -> bool:
    return "T.exp" in str(sch.get(block).body) or "T.erf" in str(sch.get(block).body)


# ---- sums of products ----------------------------------------------------------------


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _lanes(extent: int, lanes: int) -> int:
    """How much of the last axis is one vector."""
    if extent <= lanes or extent % lanes == 0:
        return min(extent, lanes)
    return lanes // 2 if extent % (lanes // 2) == 0 else max(d for d in _divisors(extent) if d <= lanes)


def _tile_shape(rows: int, columns: int, vectors: int, limit: int) -> tuple[int, int, int]:
    """(rows, columns, vectors) of a tile: the least loads per multiply-add within the registers."""
    best, shape = math.inf, (1, 1, 1)
    for v in _divisors(vectors):
        if v > 4:
            break
        for c in _divisors(columns):
            for r in _divisors(rows) if c == columns else [1]:
                if r * c * v > limit:
                    break
                cost = (r * c + v) / (r * c * v)
                if cost < best - 1e-9:
                    best, shape = cost, (r, c, v)
    return shape


def _tile(sch, block, machine: Machine, choice: Choice) -> set[str]:
    kinds, loops = _kinds(sch, block), sch.get_loops(block)
    spatial = [l for l, k in zip(loops, kinds) if k == SPATIAL]
    sums = [l for l, k in zip(loops, kinds) if k == REDUCTION]
    weights = max(_bytes(r.source) for r in sch.get(block).reads)
    work = _volume(sch, block)
    channels = spatial[-1]
    lanes = choice.lanes or _lanes(_extent(sch, channels), machine.lanes)
    name = sch.get(block).name_hint
    panels = name.startswith(IN_PANELS)
    columns = _extent(sch, spatial[-2]) if len(spatial) > 1 else 1
    rows = _extent(sch, spatial[-3]) if len(spatial) > 2 else 1
    together = machine.panel if panels else lanes if name.startswith(IN_GROUPS) else _extent(sch, channels)
    limit = min(machine.tile, PANEL_TILE) if panels else machine.tile
    r, c, v = choice.tile or _tile_shape(rows, columns, together // lanes, limit)
    outer, v_loop, lane = sch.split(channels, [None, v, lanes])
    inner, around = [], list(spatial[:-1])
    for place, factor in ((-1, c), (-2, r)):
        if len(around) >= -place and factor > 1:
            around[place], one = sch.split(around[place], [None, factor])
            inner.insert(0, one)
    outermost = choice.order or ("channels" if weights > LARGE_WEIGHTS and not panels else "rows")
    order = [outer, *around] if outermost == "channels" else [*around[:-1], outer, *around[-1:]]
    if choice.sums == "channels":
        sums = [sums[-1], *sums[:-1]]
    sch.reorder(*order, *sums, *inner, v_loop, lane)
    epilogue = _epilogue(sch, block)
    where = order[-1]
    sch.reverse_compute_at(epilogue, where, preserve_unit_loops=True)
    sch.set_scope(block, 0, "local")
    _unroll(sch, [*inner, v_loop, lane], lanes)
    _unroll(sch, _tail(sch, epilogue, where), lanes)
    turns = choice.unroll or (4 if r * c * v < 8 else 1)
    if turns > 1 and len(sums) > 0 and _extent(sch, sums[-1]) % turns == 0:
        sums[-1:] = sch.split(sums[-1], [None, turns])
        sch.unroll(sums[-1])
    if work >= WORTH_THREADS:
        _parallel(sch, order)
    start = sch.decompose_reduction(block, sums[0])
    _unroll(sch, sch.get_loops(start)[-2 - len(inner):], lanes)
    return {sch.get(b).name_hint for b in (block, start, epilogue)}


def _epilogue(sch, block):
    """The elementwise step that takes the sums, tile by tile; a copy if there is none to be had."""
    consumers = sch.get_consumers(block)
    if len(consumers) == 1 and not _is_reduction(sch, consumers[0]) and _same_axes(sch, block, consumers[0]):
        return consumers[0]
    # The block goes on to write a new buffer; the copy writes the old one.
    return sch.cache_write(block, 0, "local")


def _same_axes(sch, block, consumer) -> bool:
    made = sch.get(block).writes[0]
    node = sch.get(consumer)
    axes = [v.var for v in node.iter_vars]
    reads = [r for r in node.reads if r.source.same_as(made.source)]
    if len(reads) != 1 or len(reads[0].region) != len(axes) or not _is_plain(sch, consumer):
        return False
    return all(r.min.same_as(a) and int(r.extent) == 1 for r, a in zip(reads[0].region, axes))


def _tail(sch, block, where):
    loops = sch.get_loops(block)
    target = sch.get(where)
    for i, loop in enumerate(loops):
        if sch.get(loop).same_as(target):
            return loops[i + 1:]
    return loops[-1:]


def _unroll(sch, loops, lanes: int) -> None:
    """The last in vectors, those before it unrolled."""
    last = loops[-1]
    extent = _extent(sch, last)
    before = list(loops[:-1])
    if extent > lanes and extent % lanes == 0:
        more, last = sch.split(last, [None, lanes])
        before.append(more)
    if _extent(sch, last) > 1 and _is_serial(sch, last):
        sch.vectorize(last)
    for loop in before:
        if _extent(sch, loop) > 1 and _is_serial(sch, loop):
            sch.unroll(loop)


def _is_serial(sch, loop) -> bool:
    return int(sch.get(loop).kind) == int(tirx.ForKind.SERIAL)


def _parallel(sch, order) -> None:
    """The first of the outer loops that has enough turns, with those before it."""
    for count in range(1, len(order) + 1):
        if math.prod(_extent(sch, l) for l in order[:count]) >= 4:
            sch.parallel(sch.fuse(*order[:count]) if count > 1 else order[0])
            return


def _bytes(buffer) -> int:
    return math.prod(int(d) for d in buffer.shape) * 4


# ---- everything else -----------------------------------------------------------------


def _reduce(sch, block, machine: Machine) -> None:
    """Sums along other axes than the last: in vectors of the last one."""
    if not _is_plain(sch, block) or not _ends_in_spatial(sch, block):
        return
    kinds, loops = _kinds(sch, block), sch.get_loops(block)
    spatial = [l for l, k in zip(loops, kinds) if k == SPATIAL]
    sums = [l for l, k in zip(loops, kinds) if k == REDUCTION]
    lanes = _lanes(_extent(sch, spatial[-1]), machine.lanes)
    if lanes == 1:
        return
    outer, lane = sch.split(spatial[-1], [None, lanes])
    sch.reorder(*spatial[:-1], outer, *sums, lane)
    _unroll(sch, [lane], lanes)
    start = sch.decompose_reduction(block, sums[0])
    _unroll(sch, sch.get_loops(start)[-1:], lanes)


def _transposed_axis(sch, block) -> int | None:
    """The axis of what is written along which the one operand is read in the order of memory, if it is not the last."""
    node = sch.get(block)
    if not _is_plain(sch, block) or len(node.reads) != 1 or len(node.writes) != 1 or not node.iter_vars:
        return None
    axes = [v.var for v in node.iter_vars]
    last = node.reads[0].region[-1].min if len(node.reads[0].region) == len(axes) else None
    if last is None or not all(r.min.same_as(a) for r, a in zip(node.writes[0].region, axes)):
        return None
    return next((i for i, a in enumerate(axes[:-1]) if last.same_as(a)), None)


def _transpose(sch, block, across: int, sizes: tuple[int, int]) -> None:
    """In blocks of both axes, so that what is read and what is written stays in the cache."""
    loops = list(sch.get_loops(block))
    inner = []
    for place, size in ((across, sizes[1]), (-1, sizes[0])):
        part = max(d for d in _divisors(_extent(sch, loops[place])) if d <= size)
        loops[place], one = sch.split(loops[place], [None, part])
        inner.append(one)
    sch.reorder(*loops, *inner)
    if _extent(sch, inner[-1]) > 1:
        sch.vectorize(inner[-1])
    if _extent(sch, inner[0]) > 1:
        sch.unroll(inner[0])
    if _volume(sch, block) * 8 >= WORTH_THREADS:
        _parallel(sch, loops)


def _elementwise(sch, block, machine: Machine, choice: Choice) -> None:
    loops = sch.get_loops(block)
    if not loops or not _is_plain(sch, block):
        return
    work = _volume(sch, block)
    across = _transposed_axis(sch, block)
    if across is not None:
        return _transpose(sch, block, across, choice.block or TRANSPOSED)
    if _in_order(sch, block):
        fused = sch.fuse(*loops) if len(loops) > 1 else loops[0]
        loops = [fused]
    lanes = _lanes(_extent(sch, loops[-1]), machine.lanes)
    if lanes > 1:
        outer, lane = sch.split(loops[-1], [None, lanes])
        sch.vectorize(lane)
        loops = [*loops[:-1], outer]
    if work * 8 >= WORTH_THREADS:
        _parallel(sch, loops)


def _in_order(sch, block) -> bool:
    """Every operand is read at the place that is written."""
    node = sch.get(block)
    axes = [v.var for v in node.iter_vars]
    for region in [*node.reads, *node.writes]:
        if len(region.region) != len(axes):
            return False
        if not all(r.min.same_as(a) for r, a in zip(region.region, axes)):
            return False
    return "if_then_else" not in str(node.body)
