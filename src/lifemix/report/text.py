"""Numbers and lists as a sentence has them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["capital", "counted", "listed", "p_value", "percent", "plain"]


def listed(names: Sequence[object], limit: int = 5) -> str:
    """Return names as a sentence has them: ``a, b and c``, or ``a, b and 7 more``."""
    texts = [str(name) for name in names[:limit]]
    if len(names) > limit:
        texts = [*texts[: limit - 1], f"{len(names) - limit + 1} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def percent(share: float) -> str:
    """Return a share as a percentage, with a digit after the point where it is small or near the whole."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0 < share < 0.0995 or 0.995 <= share < 1:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %"


def counted(number: int, word: str) -> str:
    """Return ``1 row``, ``2,000 rows``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def plain(value: float) -> str:
    """Return a number with three digits, or all of those before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def p_value(p: float) -> str:
    """Return ``p = 0.012``, or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def capital(text: str) -> str:
    """Return a text that begins a sentence."""
    return text[:1].upper() + text[1:]
