"""Formulas as drawings inside the page, by matplotlib's mathtext: no script, no network, the colour of the text."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextToPath

_SIZE = 100.0  # the drawing's own units for one em
_FONT = FontProperties(size=_SIZE, math_fontfamily="stix")
_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
_POINTS = {Path.MOVETO: 1, Path.LINETO: 1, Path.CURVE3: 2, Path.CURVE4: 3}


def drawing(formula: str, em: float) -> str:
    """Return a formula in TeX's notation as an SVG element that stands on the line of the text."""
    text, drawer = f"${formula.strip()}$", TextToPath()
    width, height, descent = drawer.get_text_width_height_descent(text, _FONT, ismath=True)
    vertices, codes = drawer.get_text_path(_FONT, text, ismath=True)
    scale = em / _SIZE
    box = f"0 {-(height - descent):.0f} {width:.0f} {height:.0f}"
    style = f"width:{width * scale:.2f}em;height:{height * scale:.2f}em;vertical-align:{-descent * scale:.2f}em"
    return (
        f'<svg class="formula" role="img" aria-label="{escape(formula.strip())}" viewBox="{box}" style="{style}">'
        f'<path d="{_outline(vertices, codes)}"/></svg>'
    )


def _outline(vertices: Any, codes: Any) -> str:
    """Return an outline as the d attribute of an SVG path; the vertical axis points down there."""
    parts, i = [], 0
    while i < len(codes):
        if codes[i] == Path.CLOSEPOLY:
            parts.append("Z")
            i += 1
            continue
        n = _POINTS[codes[i]]
        points = " ".join(f"{x:.1f} {-y:.1f}" for x, y in vertices[i : i + n])
        parts.append(_LETTERS[codes[i]] + points)
        i += n
    return "".join(parts)


def _visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(drawing(node.astext(), 1.12))
    raise nodes.SkipNode


def _visit_block(self: Any, node: nodes.math_block) -> None:
    rows = [line for line in node.astext().split(r"\\") if line.strip()]
    self.body += [f'<div class="formula">{drawing(row, 1.25)}</div>\n' for row in rows]
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Make this the renderer called mathtext."""
    app.add_html_math_renderer("mathtext", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
