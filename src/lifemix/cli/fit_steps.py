"""Steps of ``lifemix fit``, whether the table is in memory or on disk: choose settings, measure, check, describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .model_choice import ModelChoice
from .output import Screen, plain, settings_text

if TYPE_CHECKING:
    from ..report.doctor import Finding
    from .quality import ModelQuality
    from .training_table import TrainingTable

__all__ = ["check", "choose", "measure", "metadata", "shown_as_warning"]


def choose(
    screen: Screen, training: TrainingTable, train: Any, choice: ModelChoice
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings, and the scores of those that they were chosen from."""
    if not choice.search:
        return dict(choice.settings), []
    from .settings_search import SEARCH_ROWS, choose_settings

    sample = f" on a sample of {SEARCH_ROWS:,} rows" if len(train) > SEARCH_ROWS else ""
    screen.say(f"\nChoosing settings by 3-fold cross-validation{sample} ...")
    with screen.follow():
        settings, candidates = choose_settings(
            training.X.iloc[train], training.y[train], choice.settings, choice.seed, choice.jobs
        )
    screen.say(f"  chosen: {settings_text(settings)}")
    return settings, candidates


def measure(
    screen: Screen,
    model: Any,
    training: TrainingTable,
    train: Any,
    test: Any,
    horizons: list[float],
    choice: ModelChoice,
) -> list[ModelQuality]:
    """Evaluate a model on held-out rows."""
    from ..target import as_target
    from .quality import measure_models, show_quality
    from .reference_models import fit_references

    X, y = training.X, training.y
    known = model.training_summary_.to_target().to_array()  # as ``evaluate`` has it from the file
    part = known, X.iloc[test], y[test], horizons
    quality = measure_models({choice.label: model}, *part, choice.seed)
    references, left_out = fit_references(X.iloc[train], y[train], without=choice.name)
    for name, reference in references.items():
        try:
            quality += measure_models({name: reference}, *part)
        except Exception as error:
            left_out[name] = f"{type(error).__name__}: {error}"
    for name, reason in left_out.items():
        screen.warn(f"{name} is left out of the comparison: {reason}")
    held_out = as_target(y[test])
    whose = "" if held_out.subject is None else f" of {held_out.n_subjects:,} subjects"
    show_quality(
        screen,
        quality,
        training.codes.names,
        training.options.time_unit,
        f"{whose} held out from the fit",
    )
    return quality


def check(
    screen: Screen, model: Any, training: TrainingTable, test: Any, horizons: Any
) -> list[Finding]:
    """Return and show what the doctor finds about the model on the held-out rows."""
    from ..report import check_model
    from .findings import show_findings

    about: list[Finding] = []
    with shown_as_warning(screen, "the doctor has not seen the model"):
        part = training.X.iloc[test], training.y[test]
        about = check_model(model, *part, event_names=training.codes.names, horizons=horizons)
        show_findings(screen, about, "Findings about the model")
    return about


def metadata(training: TrainingTable, table: str, held_out: dict[str, Any]) -> dict[str, Any]:
    """Return what the model file remembers, in JSON's types."""
    import lifemix

    quality = [each.to_state() for each in held_out["quality"]]
    found: dict[str, Any] = plain(
        {
            "lifemix": lifemix.__version__,
            "table": table,
            "rows": len(training.y),
            **training.to_state(),
            "held_out": {**held_out, "quality": quality},
        }
    )
    return found


@contextmanager
def shown_as_warning(screen: Screen, consequence: str) -> Iterator[None]:
    """Show an error as one line: the model is fitted and written."""
    try:
        yield
    except Exception as error:
        screen.warn(f"{consequence}: {type(error).__name__}: {error}")
