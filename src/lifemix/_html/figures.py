"""Figures of matplotlib (the extra ``plots``) as images inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..errors import MissingExtraError, SettingError
from .pieces import Html, safe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_figures", "figure", "new_figure"]


def check_figures() -> None:
    """Refuse to begin what ends with figures where they cannot be drawn."""
    new_figure()


def new_figure(width: float = 7.0, height: float = 4.0, **options: Any) -> Figure:
    """Return an empty figure (inches) that belongs to no window and needs no closing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a figure") from error
    return Figure(figsize=(width, height), layout="constrained", **options)


def figure(
    drawing: Figure | Sequence[Figure],
    alt: str,
    caption: object,
    kind: Literal["svg", "png"] = "svg",
    legend: Mapping[str, tuple[str, str]] | None = None,
) -> Html:
    """Return a figure as an image with caption, on a light card so that it reads in dark mode too.

    drawing: one figure, or several small ones that stand side by side or, on a phone, one below the other.
    alt: what the picture shows, for who cannot see it. kind: ``"png"`` for very many points.
    legend: for several figures together: names, each with its colour and the character of its marker.
    The same figure gives the same bytes.
    """
    if not alt.strip():
        raise SettingError(
            "a figure needs an alternative text; got an empty one. Say what the picture shows."
        )
    drawings = list(drawing) if isinstance(drawing, Sequence) else [drawing]
    images = ""
    for number, one in enumerate(drawings, 1):
        part = f" ({number} of {len(drawings)})" if len(drawings) > 1 else ""
        images += f'<img alt="{safe(alt + part)}" src="{_address(one, kind)}">'
    keys = "".join(
        f'<li><span style="color:{safe(colour)}" aria-hidden="true">{safe(sign)}</span> {safe(name)}</li>'
        for name, (colour, sign) in (legend or {}).items()
    )
    keys = f'<ul class="legend">{keys}</ul>' if keys else ""
    several = (
        "" if len(drawings) == 1 else " several pairs" if len(drawings) in (2, 4) else " several"
    )
    card = f'<div class="card">{keys}<div class="images{several}">{images}</div></div>'
    return Html(f"<figure>{card}<figcaption>{safe(caption)}</figcaption></figure>")


def _address(drawing: Figure, kind: Literal["svg", "png"]) -> str:
    """Return a figure as a data URI; names of columns may have dollar signs, which are no formulas."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in drawing.findobj(Text):
        text.set_parse_math(False)
    stream = io.BytesIO()
    stamp = {"Date": None} if kind == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": "lifemix", "text.parse_math": False}):
        drawing.savefig(
            stream, format=kind, dpi=150, facecolor="white", bbox_inches="tight", metadata=stamp
        )
    media = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    return f"data:{media};base64,{base64.b64encode(stream.getvalue()).decode()}"
