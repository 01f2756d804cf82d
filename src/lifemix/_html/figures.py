"""Figures with captions, for pages that are not templates yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ..errors import SettingError
from .pages import figure_uri, new_figure
from .pieces import Html, safe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_figures", "figure"]


def check_figures() -> None:
    """Refuse to begin what ends with figures where they cannot be drawn."""
    new_figure()


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
        images += f'<img alt="{safe(alt + part)}" src="{figure_uri(one, kind)}">'
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
