# SPDX-License-Identifier: Apache-2.0
"""The control flow as SVG. Shapes and labels carry the meaning, so that it reads without colour: cut corners decide,
round ones return, a double frame is a loop, a dashed one raises."""

from __future__ import annotations

from html import escape

from .graph import Edge, Node, Program
from .layout import Layout, Point, laid_out

_LINE, _CHARACTER, _PADDING = 14.0, 6.7, 10.0
_MARGIN = 12.0

STYLE = """
.dycl-graph { --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --face: #f6f8fa; --mark: #0a53be; --alarm: #a40e26;
  font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.dycl-graph .node > .face { fill: var(--face); stroke: var(--ink); stroke-width: 1; }
.dycl-graph .node > .inner { fill: none; stroke: var(--ink); stroke-width: 1; }
.dycl-graph .node.raise > .face { stroke: var(--alarm); stroke-dasharray: 4 3; }
.dycl-graph .node text { fill: var(--ink); }
.dycl-graph .node text.calls { fill: var(--mark); }
.dycl-graph .node text.others { fill: var(--soft); }
.dycl-graph .edge path { fill: none; stroke: var(--soft); stroke-width: 1.2; }
.dycl-graph .edge text { fill: var(--ink); stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
.dycl-graph marker path { fill: var(--soft); }
"""
_DARK = "--ink: #e6edf3; --soft: #9da7b1; --paper: #0d1117; --face: #161b22; --mark: #79b8ff; --alarm: #ff7b72;"
STANDALONE = STYLE + f"@media (prefers-color-scheme: dark) {{ .dycl-graph {{ {_DARK} }} }}\n"
DARK = f"[data-theme=dark] .dycl-graph {{ {_DARK} }}\n"


def draw(program: Program, prefix: str = "", style: str = STANDALONE) -> str:
    """`prefix`: of ids, which must differ between pictures in one document."""
    sizes = [_size(node) for node in program.nodes]
    layout = laid_out(sizes, [(edge.source, edge.target) for edge in program.edges])
    parts = [_open(layout, prefix, style)]
    for k, (edge, route) in enumerate(zip(program.edges, layout.routes)):
        parts.append(_edge(edge, route, f"{prefix}e{k}", prefix))
    for node, size, center in zip(program.nodes, sizes, layout.centers):
        parts.append(_node(node, size, center, f"{prefix}n{node.block}"))
    return "\n".join([*parts, "</g></svg>"])


def _size(node: Node) -> Point:
    widest = max(len(line) for line in node.lines)
    return max(widest, 6) * _CHARACTER + 2 * _PADDING, len(node.lines) * _LINE + _PADDING


def _open(layout: Layout, prefix: str, style: str) -> str:
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="dycl-graph" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="control flow">\n<style>{style}</style>\n'
            f'<defs><marker id="{prefix}arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>\n'
            f'<g class="everything" transform="translate({_MARGIN:.0f} {_MARGIN:.0f})">')


def _edge(edge: Edge, route: list[Point], name: str, prefix: str) -> str:
    start, *rest = route
    path = f"M{_at(start)}C{' '.join(map(_at, rest))}"
    label = ""
    if edge.label:
        x, y = _along(route)
        label = f'<text x="{x + 3:.1f}" y="{y:.1f}">{escape(edge.label)}</text>'
    return (f'<g class="edge" id="{name}" data-from="{edge.source}" data-to="{edge.target}">'
            f'<path d="{path}" marker-end="url(#{prefix}arrow)"/>{label}</g>')


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _along(route: list[Point]) -> Point:
    """A third of the way along the first curve: clear of the node, and before edges run together."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = route[:4]
    t = 0.35 if len(route) == 4 else 0.6
    u = 1 - t
    weights = (u ** 3, 3 * u * u * t, 3 * u * t * t, t ** 3)
    return (sum(w * x for w, x in zip(weights, (ax, bx, cx, dx))),
            sum(w * y for w, y in zip(weights, (ay, by, cy, dy))))


def _node(node: Node, size: Point, center: Point, name: str) -> str:
    (width, height), (x, y) = size, (center[0] - size[0] / 2, center[1] - size[1] / 2)
    texts = []
    for k, line in enumerate(node.lines):
        kind = "" if k == 0 else ' class="calls"' if k <= len(node.calls) else ' class="others"'
        top = y + _PADDING / 2 + (k + 0.78) * _LINE
        texts.append(f'<text x="{x + _PADDING:.1f}" y="{top:.1f}"{kind} xml:space="preserve">{escape(line)}</text>')
    return (f'<g class="node {node.kind}" id="{name}" data-block="{node.block}" tabindex="-1">'
            f'<title>{escape(" / ".join(node.lines))}</title>{_face(node.kind, x, y, width, height)}'
            f'{"".join(texts)}</g>')


def _face(kind: str, x: float, y: float, w: float, h: float) -> str:
    if kind in ("branch", "switch"):
        c = 7
        corners = [(x + c, y), (x + w - c, y), (x + w, y + c), (x + w, y + h - c), (x + w - c, y + h),
                   (x + c, y + h), (x, y + h - c), (x, y + c)]
        return f'<polygon class="face" points="{" ".join(_at(p) for p in corners)}"/>'
    radius = {"return": 12, "entry": 6}.get(kind, 2)
    face = f'<rect class="face" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{radius}"/>'
    if kind == "loop":
        face += (f'<rect class="inner" x="{x + 3:.1f}" y="{y + 3:.1f}" width="{w - 6:.1f}" height="{h - 6:.1f}" '
                 'rx="1"/>')
    return face
