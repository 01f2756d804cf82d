"""Wherever the standard deviation over members is returned or drawn, the text says what it is and what it is not."""

from pathlib import Path

import numpy as np
import pytest

import lifemix
from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target, plots, report

SOURCE = Path(lifemix.__file__).parent
DOCS = SOURCE.parents[1]
DOCUMENTED = [
    DeepSurvivalMachines.predict_survival_function,
    FleetSearchCV.predict_survival_function,
    plots.survival_curves,
    plots.incidence_curves,
    plots.hazard_curves,
]
PAGES = [
    "README.md",
    *(f"docs/{name}.md" for name in ("index", "start", "plots", "model", "calculator")),
]


def explains_spread(text):
    words = " ".join(text.split())
    return (
        "spread of the ensemble members" in words
        and "too narrow for a confidence interval" in words
    )


@pytest.mark.parametrize("function", DOCUMENTED, ids=lambda function: function.__qualname__)
def test_docstrings_explain_the_standard_deviation(function):
    assert explains_spread(function.__doc__)


@pytest.mark.parametrize("page", PAGES)
def test_pages_explain_the_bands(page):
    assert explains_spread((DOCS / page).read_text())


@pytest.mark.parametrize(
    "draw", [plots.survival_curves, plots.incidence_curves, plots.hazard_curves]
)
def test_legends_name_the_bands_once(draw):
    curves = np.full((2, 3), 0.5)
    axes = draw([0, 1, 2], curves, curves / 10, labels=["Ann", "Bob"])
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["Ann", "Bob", "spread of the\nensemble members"]


def test_report_and_calculator_explain_the_bands(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = make_target(rng.exponential(size=200), np.ones(200, dtype=int))
    model = DeepSurvivalMachines(hidden=(4,), n_members=2, max_epochs=1).fit(X, y)
    report.write_report(model, X, y, tmp_path / "report.html", n_bootstrap=2)
    assert explains_spread((tmp_path / "report.html").read_text())
    script = (SOURCE / "report" / "templates" / "calculator" / "start.js").read_text()
    assert explains_spread(script.replace('"\n    + "', ""))
