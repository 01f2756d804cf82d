"""``lifemix evaluate``: a model's quality on a table with outcomes."""

from __future__ import annotations

from .files import check_model, check_table
from .options import (
    Censored,
    Data,
    Encoding,
    Entry,
    Event,
    Missing,
    Model,
    Seed,
    SkipIncomplete,
    Time,
    Times,
    Upper,
    parse_numbers,
)
from .screen import Screen

__all__ = ["evaluate"]


def evaluate(
    screen: Screen,
    model: Model,
    data: Data,
    times: Times = None,
    time: Time = None,
    event: Event = None,
    censored: Censored = None,
    entry: Entry = None,
    upper: Upper = None,
    missing: Missing = None,
    encoding: Encoding = None,
    skip_incomplete: SkipIncomplete = False,
    seed: Seed = 0,
) -> None:
    """Measure a model on rows with outcomes, best rows that it has not seen.

    The file of the model remembers which columns hold time and event.

    [bold]lifemix evaluate model.safetensors test.csv[/]
    """
    at = parse_numbers(times, "--times", 0, 1e300)
    check_model(model)
    check_table(data)
    from .evaluating import run_evaluate
    from .roles import Roles
    from .understanding import Source

    given = Roles(time, event, entry, upper, missing=tuple(missing or ()))
    source = Source(data, given, tuple(censored or ()), encoding, skip_incomplete)
    run_evaluate(screen, model, source, at, seed)
