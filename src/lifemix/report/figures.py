"""Figures of matplotlib (the extra ``plots``) as images inside the page."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any, Literal

from ..errors import MissingExtraError, SettingError
from .html import Html, safe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure", "new_figure"]


def new_figure(width: float = 7.0, height: float = 4.0, **options: Any) -> Figure:
    """Return an empty figure (inches) that belongs to no window and needs no closing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a figure") from error
    return Figure(figsize=(width, height), layout="constrained", **options)


def figure(drawing: Figure, alt: str, caption: object, kind: Literal["svg", "png"] = "svg") -> Html:
    """Return a figure as an image with caption, on a light card so that it reads in dark mode too.

    alt: what the picture shows, for who cannot see it. kind: ``"png"`` for very many points. The same figure gives the
    same bytes.
    """
    if not alt.strip():
        raise SettingError("a figure needs an alternative text; got an empty one. Say what the picture shows.")
    from matplotlib import rc_context

    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "lifemix"}):
        stamp = {"Date": None} if kind == "svg" else {"Software": None}
        drawing.savefig(stream, format=kind, dpi=150, facecolor="white", bbox_inches="tight", metadata=stamp)
    media = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    content = base64.b64encode(stream.getvalue()).decode()
    image = f'<img alt="{safe(alt)}" src="data:{media};base64,{content}">'
    return Html(f'<figure><div class="card">{image}</div><figcaption>{safe(caption)}</figcaption></figure>')
