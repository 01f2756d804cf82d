"""What holds for every plot: it draws into ``ax`` and nowhere else, or into a new figure."""

import io
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import lifemix
from lifemix import DeepSurvivalMachines, metrics, plots
from lifemix.baselines import CoxPH
from lifemix.errors import InputError, MissingExtraError
from lifemix.plots import _axes

TIMES = np.linspace(1, 10, 20)
CURVES = np.exp(-np.outer([0.05, 0.1, 0.3], TIMES))
RNG = np.random.default_rng(0)
Y = (RNG.exponential(5, 200).clip(0.1, 12), RNG.integers(0, 2, 200))
RISK = RNG.random(200)
SURVIVAL = np.exp(-np.outer(RISK / 4, TIMES))
HISTORY = [{"epoch": e, "train_loss": 1 / e, "validation_loss": 1.1 / e} for e in (1, 2, 3)]


@pytest.fixture(scope="module")
def model():
    return DeepSurvivalMachines(k=1, hidden=(), n_members=1, max_epochs=0).fit(RISK[:, None], Y)


def landmark_table(model):
    risk = metrics.landmark_risk(model, RISK[:, None], Y, [1.0, 2.0], 2.0)
    return metrics.evaluate_landmarks(Y, Y, risk, [1.0, 2.0], 2.0, measures=["brier"])


def summary():
    table = pd.DataFrame({"risk": RISK, "group": ["a", "b"] * 100})
    return CoxPH().fit(table, Y).summary


# Arguments of every plot; those over time also take a unit.
OVER_TIME = {
    "survival_curves": lambda _: (TIMES, CURVES, CURVES / 10),
    "incidence_curves": lambda _: (TIMES, 1 - CURVES),
    "hazard_curves": lambda _: (TIMES, CURVES),
    "stacked_incidence": lambda _: (TIMES, (1 - CURVES) / 3),
    "brier_over_time": lambda _: (Y, Y, SURVIVAL, TIMES),
    "concordance_over_time": lambda _: (Y, Y, 1 - SURVIVAL, TIMES),
    "risk_groups": lambda _: (Y, RISK, 3),
    "mixture_components": lambda _: (TIMES, [0.2, 0.3, 0.5], CURVES),
    "importance_over_time": lambda _: (TIMES, CURVES),
    "updated_curves": lambda model: (
        [model.predict_distribution(RISK[:1, None])] * 2,
        [0.0, 2.0],
        TIMES,
    ),
}
EXAMPLES = OVER_TIME | {
    "calibration": lambda _: (Y, RISK, 4.0),
    "phenotypes": lambda _: (RNG.normal(size=(200, 3)), np.full((200, 2), 0.5)),
    "coefficients": lambda _: (summary(),),
    "training_history": lambda _: (HISTORY, [2]),
    "d_calibration": lambda _: (Y, RISK),
    "landmark_quality": lambda model: (landmark_table(model), "brier"),
}


def draw(name, model, **options):
    if name == "importance_over_time":
        options["features"] = ["a", "b", "c"]
    return getattr(plots, name)(*EXAMPLES[name](model), **options)


def test_every_plot_has_an_example():
    computations = {"PALETTE", "component_curves", "number_at_risk", "phenotype_means"}
    assert set(EXAMPLES) == set(plots.__all__) - computations


@pytest.mark.parametrize("name", EXAMPLES)
def test_draws_into_ax_and_nowhere_else(name, model):
    figure, (left, right) = plt.subplots(1, 2)
    unit = {"time_unit": "weeks"} if name in OVER_TIME else {}
    assert draw(name, model, ax=left, **unit) is left
    assert plt.get_fignums() == [figure.number]
    assert plt.gca() is right
    assert figure.axes == [left, right]
    assert (left.has_data(), right.has_data()) == (True, False)
    assert left.get_xlabel() == "time (weeks)" if unit else left.get_xlabel()
    assert left.get_ylabel() or name in ("coefficients", "phenotypes")


@pytest.mark.parametrize("name", EXAMPLES)
def test_without_ax_pyplot_continues_with_the_new_figure(name, model):
    settings = dict(plt.rcParams)
    axes = draw(name, model)
    assert len(plt.get_fignums()) == 1
    assert plt.gca() is axes
    plt.title("A title")
    assert axes.get_title() == "A title"
    assert (axes.get_xlabel() == "time") == (name in OVER_TIME)
    plt.savefig(io.BytesIO(), dpi=20)
    assert dict(plt.rcParams) == settings


def test_importing_the_plots_imports_neither_matplotlib_nor_torch():
    code = "import sys; from lifemix import plots; plots.number_at_risk(([1., 2.], [1, 0]), [0]); "
    code += "print({'matplotlib', 'torch'} & set(sys.modules))"
    environment = os.environ | {"PYTHONPATH": str(Path(lifemix.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert result.stdout.strip() == "set()", result.stderr


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(_axes, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"matplotlib.*pip install 'lifemix\[plots\]'"):
        plots.survival_curves(TIMES, CURVES)


def test_colour_blind_readers_can_distinguish_the_colours():
    """Simulated red-green blindness (Vienot, Brettel and Mollon, 1999, linear RGB)."""
    from matplotlib.colors import to_rgb

    blind = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    rgb = np.array([to_rgb(colour) for colour in plots.PALETTE])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    perceived = np.clip(linear @ blind.T, 0, 1) ** (1 / 2.2)
    distance = np.linalg.norm(perceived[:, None] - perceived, axis=-1) + np.eye(len(perceived))
    assert distance.min() > 0.1


def test_beyond_seven_curves_the_line_style_differs():
    lines = plots.survival_curves([0, 1], np.ones((9, 2))).lines
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 9


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [[1, 0.5, 0.2]]), {}, r"\(n, 2\); got shape \(1, 3\)"),
        (([1, 0], [[1, 0.5]]), {}, "times must increase; got 1 before 0"),
        (([0, 1], [[1, 1.5]]), {}, r"survival must be probabilities in \[0, 1\]; got 1.5"),
        (([0, 1], [[1, 0.5]], [[0.1, -0.1]]), {}, "std must not be negative; got -0.1"),
        (([0, 1], [[1, 0.5]], [[0.1, 0.1]] * 2), {}, r"the shape of the curves, \(1, 2\)"),
        (([0, 1], "ab"), {}, "survival must be numbers"),
        (([0, 1], [[1, 0.5]]), {"labels": ["a", "b"]}, "one name per curve, 1 in all; got 2"),
        (([0, 1], [[1, 0.5]]), {"labels": "a"}, "got 'a'"),
        (([0, 1], [[1, 0.5]]), {"plateau": [0.1, 0.2]}, r"one value per row, shape \(1,\)"),
    ],
)
def test_unsuitable_curves_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        plots.survival_curves(*arguments, **options)
