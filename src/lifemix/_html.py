"""Self-contained HTML pages: a Jinja environment that escapes every value, figures as data URIs, atomic writes.

A page is a template that extends ``templates/base.html.j2`` and imports ``templates/macros.html.j2``::

    templates = environment(Path(__file__).parent)
    html = templates.get_template("page.html.j2").render(title="A title", uri=figure_uri(figure))
    write_page("page.html", html)
"""

from __future__ import annotations

import base64
import io
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .errors import MissingExtraError
from .files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["environment", "figure_uri", "new_figure", "number", "write_page"]

_TEMPLATES = Path(__file__).with_name("templates")


def environment(folder: Path) -> Environment:
    """Return a Jinja environment with the templates of ``folder`` and ``lifemix/templates``, which escapes values."""
    templates = Environment(
        loader=FileSystemLoader([folder, _TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["number"] = number
    return templates


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with thousands separators and a typographic minus; ``–`` if it is missing."""
    if value is None or math.isnan(value):
        return "–"
    value = round(value, digits) + 0.0  # no negative zero
    text = f"{value:,.{digits}f}" if math.isfinite(value) else f"{value:+.0f}"
    return text.replace("-", "−").replace("+inf", "∞").replace("inf", "∞")


def new_figure(width: float = 7.0, height: float = 4.0, **options: Any) -> Figure:
    """Return an empty figure (inches) without a window; it needs matplotlib, the extra ``plots``."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a figure") from error
    return Figure(figsize=(width, height), layout="constrained", **options)


def figure_uri(figure: Figure, kind: Literal["svg", "png"] = "svg") -> str:
    """Return a figure as a data URI; equal figures give equal bytes, and dollar signs in texts stay text."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "lifemix", "text.parse_math": False}):
        figure.savefig(
            stream, format=kind, dpi=150, facecolor="white", bbox_inches="tight", metadata=metadata
        )
    media_type = "image/svg+xml" if kind == "svg" else "image/png"
    return f"data:{media_type};base64,{base64.b64encode(stream.getvalue()).decode()}"


def write_page(path: str | os.PathLike[str], html: str) -> Path:
    """Write a page atomically, creating its folder, and return its path."""
    path = Path(path)
    with atomic_write(path, make_folder=True) as partial:
        partial.write_bytes(html.encode("utf-8", "replace"))
    return path
