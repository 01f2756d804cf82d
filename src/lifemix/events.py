"""What the event types are called on a page or a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .errors import SettingError

__all__ = ["event_names", "names_of_labels"]

YES = {"true", "yes", "event"}
"""Labels of an event column that say only that there was one."""


def event_names(given: Mapping[int, str] | Sequence[str] | None, n_events: int) -> tuple[str, ...]:
    """Return the name of each event type 1..M.

    Parameters
    ----------
    given : mapping from code to name, sequence of names, or None
        Names by code, as ``Dataset.event_names`` has them, or in the order of the codes. None stands for ``event``
        where there is one event type, and ``event 1``, ``event 2``, ... where there are several.
    n_events : int
        The number of event types.

    Returns
    -------
    tuple of str
        One name for each of the codes 1..M.

    Raises
    ------
    SettingError
        Where some event type has no name, or a name is given for one that does not exist.

    Examples
    --------
    >>> from lifemix.events import event_names
    >>> event_names({1: "death", 2: "relapse"}, 2)
    ('death', 'relapse')
    >>> event_names(None, 2)
    ('event 1', 'event 2')

    """
    codes = range(1, n_events + 1)
    if given is None:
        return ("event",) if n_events == 1 else tuple(f"event {code}" for code in codes)
    if isinstance(given, Mapping) and set(given) == set(codes):
        return tuple(str(given[code]) for code in codes)
    if (
        not isinstance(given, (str, bytes, Mapping))
        and isinstance(given, Sequence)
        and len(given) == n_events
    ):
        return tuple(map(str, given))
    raise SettingError(
        f"event_names must name each of the event types 1..{n_events}, as a mapping from code to name or as a sequence "
        f"of {n_events} names; got {given!r}."
    )


def names_of_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each event type from its label in a table.

    Parameters
    ----------
    labels : sequence of str
        What stood in the event column, one label per event type.

    Returns
    -------
    tuple of str
        The label, or ``event 1`` where that is a number; ``event`` where there is one that says no more.

    Examples
    --------
    >>> from lifemix.events import names_of_labels
    >>> names_of_labels(["relapse", "2"])
    ('relapse', 'event 2')

    """
    if len(labels) == 1 and (labels[0].isdecimal() or labels[0].lower() in YES):
        return event_names(None, 1)
    return tuple(f"event {label}" if label.isdecimal() else label for label in labels)
