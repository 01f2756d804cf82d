"""``lifemix predict`` with a model of visits: from the visits until a landmark, given survival to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import CovariateError, SettingError
from ..histories import Sources
from .table_options import TableOptions, check_columns
from .time_units import TimeList
from .visit_histories import histories_of

if TYPE_CHECKING:
    from .model_file import SavedModel
    from .output import Screen
    from .read_table import TableFile

__all__ = ["predict_histories", "refuse_histories"]


def refuse_histories(saved: SavedModel, command: str) -> None:
    """Refuse a model of visits where a command knows tables only."""
    if "histories" in saved.metadata:
        raise SettingError(
            f"{command} takes models of tables; this one was fitted to visits. Use lifemix predict --at, or Python: "
            "lifemix.load, and Histories.until (see the page on histories)."
        )


def predict_histories(
    screen: Screen, saved: SavedModel, table: TableFile, options: TableOptions, times: list[float]
) -> pd.DataFrame:
    """Return one row per subject: the landmark, how many visits are known then, and the curves from there on.

    Without a landmark it is each subject's own last visit. Times count from the origin.
    """
    fixed, changing = (saved.metadata["histories"][kind] for kind in ("fixed", "changing"))
    columns = list(table.frame.columns)
    check_columns(columns, [("--id", str(options.id)), ("--visit", str(options.visit))])
    absent = [name for name in (*fixed, *changing) if name not in columns]
    if absent:
        raise CovariateError(
            f"{table.name} lacks {', '.join(map(repr, absent))}, which the model needs."
        )
    frame = table.frame
    labels = {name: frame[name].astype("category") for name in options.categorical if name in frame}
    X = histories_of(frame.assign(**labels), options, fixed, changing, None)
    X, landmark = _until(screen, X, options)
    distribution: Any = saved.model.predict_distribution(X).given(landmark)
    histories = X.parts["visits"]
    found = {
        str(options.id): histories.subjects,
        "landmark": landmark,
        "visits": histories.n_visits,
    }
    survival = distribution.survival(times)
    found |= {f"survival_{t:.10g}": survival[:, i] for i, t in enumerate(times)}
    if saved.model.n_events_ > 1:
        for name, incidence in zip(
            saved.event_names, distribution.cumulative_incidences(times), strict=True
        ):
            word = "_".join(name.removeprefix("event ").split())
            found |= {f"incidence_{word}_{t:.10g}": incidence[:, i] for i, t in enumerate(times)}
    return pd.DataFrame({**found, "median": distribution.median()})


def _until(screen: Screen, X: Sources, options: TableOptions) -> tuple[Sources, Any]:
    """Cut the histories at the landmark; subjects without a visit by then are left out, with a note."""
    histories = X.parts["visits"]
    if options.landmark is None:
        landmark = histories.last_times
    else:
        (point,) = TimeList.parse([options.landmark], "--at").within(options.time_unit) or [np.nan]
        landmark = np.full(len(X), point)
    known = (histories.first_times <= landmark) & (landmark >= 0)
    if not known.any():
        raise SettingError(
            f"no subject has a visit by {landmark[0]:g}. Give a later time with --at."
        )
    if not known.all():
        screen.warn(
            f"{int((~known).sum())} of {len(X)} subjects have no visit by then and are left out."
        )
    rows = np.flatnonzero(known)
    part = X.take(rows)
    return Sources(part.parts | {"visits": part.parts["visits"].until(landmark[rows])}), landmark[
        rows
    ]
