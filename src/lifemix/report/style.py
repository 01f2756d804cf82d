"""How a page looks: light and dark, on a phone, on paper (``style.css``)."""

from __future__ import annotations

from pathlib import Path

__all__ = ["STYLE"]

STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
