"""``lifemix fit --visit``: a recurrent model of the visits of each subject, measured at landmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape

from ..encoders import encoder_named
from ..errors import LifemixError, SettingError
from ..estimators import DeepSurvivalMachines
from ..histories import Sources
from ..metrics import auc_td, brier_score
from ..persistence import save
from ..splits import train_validation_split
from ..target import as_target, make_target
from .output import Screen, plain
from .read_table import read_table
from .table_options import TableOptions
from .visit_histories import VisitTable, read_visits

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fit_histories"]

_PER_SUBJECT = 10  # landmarks drawn for each subject
_ENCODERS = {"recurrent": "Recurrent", "attention": "Attention"}
_LANDMARKS = (0.1, 0.25, 0.5)  # quantiles of the event times


def fit_histories(
    screen: Screen,
    data: Path,
    table: TableOptions,
    output: Path,
    *,
    encoder: str,
    settings: dict[str, Any],
    members: int | None,
    epochs: int,
    holdout: float,
    seed: int,
) -> None:
    """Fit a model to a table of visits, and write it."""
    if encoder not in _ENCODERS:
        raise SettingError(f"--encoder must be one of {', '.join(_ENCODERS)}; got {encoder!r}.")
    file = read_table(data, table)
    screen.say(f"[bold]{escape(str(file))}[/]")
    visits = read_visits(screen, file, table)
    X, every = visits.inputs(), np.arange(len(visits.y))
    how: dict[str, Any] = {
        "settings": settings,
        "members": members,
        "epochs": epochs,
        "seed": seed,
        "encoder": encoder,
    }
    quality: list[dict[str, float]] = []
    if holdout > 0:
        train, test = train_validation_split(visits.y, fraction=holdout, random_state=seed)
        evaluated = _fit(screen, X, visits.y, train, **how)
        quality = _measure(screen, evaluated, X, visits, test)
    model = _fit(screen, X, visits.y, every, **how)
    model.metadata_ = _metadata(visits, data.name, quality)
    save(model, output)
    screen.wrote(
        output,
        f" ({output.stat().st_size / 1e6:.1f} MB): a {encoder} model, fitted to all subjects.",
    )
    screen.say(
        f"Next: lifemix predict {output} VISITS{data.suffix} --at TIME, from the visits until then, given survival.",
        markup=False,
    )
    screen.result({"output": str(output), "encoder": encoder, **model.metadata_})


def _fit(
    screen: Screen,
    X: Sources,
    y: Any,
    rows: Any,
    *,
    settings: dict[str, Any],
    members: int | None,
    epochs: int,
    seed: int,
    encoder: str,
) -> DeepSurvivalMachines:
    part = X.take(rows)
    landmarks = part.parts["visits"].landmarks(
        y[rows], n_per_subject=_PER_SUBJECT, random_state=seed
    )
    inputs = Sources(part.take(landmarks.rows).parts | {"visits": landmarks.histories})
    kind = encoder_named(_ENCODERS[encoder])
    assert kind is not None
    own = {name: settings[name] for name in ("dropout", "hidden") if name in settings}
    rest = {name: value for name, value in settings.items() if name not in own}
    if "hidden" in own:
        if len(own["hidden"]) != 1:
            raise SettingError(
                f"with --visit --hidden is one width, such as 32; got {own['hidden']}."
            )
        own["hidden"] = own["hidden"][0]
    model = DeepSurvivalMachines(
        encoder=kind(**own),
        n_members=members,
        max_epochs=epochs,
        random_state=seed,
        verbose=screen.progress,
        **rest,
    )
    screen.say(f"Fitting to {len(landmarks.rows):,} landmarks of {len(rows):,} subjects ...")
    return model.fit(inputs, landmarks.y).set_params(verbose=False)


def _measure(
    screen: Screen, model: DeepSurvivalMachines, X: Sources, visits: VisitTable, test: Any
) -> list[dict[str, float]]:
    """Return AUC and Brier score of the first event type at landmarks, among held-out subjects at risk."""
    target = as_target(visits.y)
    points = target.event_quantiles(_LANDMARKS, None)
    window = float(points[2] - points[1]) or float(points[2])
    found = []
    for s in points.tolist():
        rows = test[(target.time[test] > s) & (X.parts["visits"].first_times[test] <= s)]
        try:
            found.append(
                {
                    "landmark": s,
                    "window": window,
                    "at_risk": len(rows),
                    **_at(model, X, target, rows, s, window),
                }
            )
        except (LifemixError, ValueError) as error:
            screen.warn(f"quality at {s:g} is not known: {error}")
    found = [row for row in found if np.isfinite(row["auc"])]  # a warning has told why it is not
    if found:
        _show(screen, found, visits.options.time_unit)
    return found


def _at(
    model: DeepSurvivalMachines, X: Sources, target: Any, rows: Any, s: float, window: float
) -> dict[str, float]:
    part = X.take(rows)
    known = Sources(part.parts | {"visits": part.parts["visits"].until(s)})
    risk = model.predict_distribution(known).given(s).cumulative_incidence(s + window, 1)[:, 0]
    y = make_target(target.time[rows] - s, target.event[rows])
    auc = float(np.ravel(auc_td(y, y, risk, window, event=1))[0])
    return {
        "auc": auc,
        "brier": float(np.ravel(brier_score(y, y, (1 - risk)[:, None], [window], event=1))[0]),
    }


def _show(screen: Screen, found: Sequence[dict[str, float]], unit: str) -> None:
    screen.say("\n[bold]Quality on held-out subjects[/], from the visits until each landmark")
    table = screen.table(
        "landmark",
        "at risk",
        f"AUC within {found[0]['window']:g} {escape(unit)}",
        "Brier",
        right=(1, 2, 3),
    )
    for row in found:
        table.add_row(
            f"{row['landmark']:g}",
            f"{row['at_risk']:,}",
            f"{row['auc']:.3f}",
            f"{row['brier']:.3f}",
        )
    screen.say(table)


def _metadata(visits: VisitTable, name: str, quality: list[dict[str, float]]) -> dict[str, Any]:
    import lifemix

    found: dict[str, Any] = plain(
        {
            "lifemix": lifemix.__version__,
            "table": name,
            "rows": len(visits.y),
            "roles": visits.options.to_state(),
            "censored": list(visits.codes.censored),
            "events": list(visits.codes.types),
            "columns": [],
            "histories": {"fixed": visits.fixed, "changing": visits.changing, "quality": quality},
        }
    )
    return found
