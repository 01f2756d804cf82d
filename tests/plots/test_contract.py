"""What holds for every plot: it draws into the axes given and nowhere else, or into a new figure of pyplot."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lifemix
from lifemix import DeepSurvivalMachines, metrics, plots
from lifemix.baselines import CoxPH
from lifemix.errors import MissingExtraError
from lifemix.plots import _axes

TIMES = np.linspace(1, 10, 20)
CURVES = np.exp(-np.outer([0.05, 0.1, 0.3], TIMES))
RNG = np.random.default_rng(0)
Y = (RNG.exponential(5, 200).clip(0.1, 12), RNG.integers(0, 2, 200))
RISK = RNG.random(200)
MODEL = DeepSurvivalMachines(k=1, hidden=(), n_members=1, max_epochs=0).fit(RISK[:, None], Y)
SURVIVAL = np.exp(-np.outer(RISK / 4, TIMES))
SUBJECT = MODEL.predict_distribution(RISK[:1, None])
LANDMARKS = metrics.evaluate_landmarks(
    Y,
    Y,
    metrics.landmark_risk(MODEL, RISK[:, None], Y, [1.0, 2.0], 2.0),
    [1.0, 2.0],
    2.0,
    measures=["brier"],
)
SUMMARY = CoxPH().fit(pd.DataFrame({"risk": RISK, "group": ["a", "b"] * 100}), Y).summary
HISTORY = [
    {"member": 0, "epoch": e, "train_loss": 1 / e, "validation_loss": 1.1 / e} for e in (1, 2, 3)
]

EXAMPLES = {
    "survival_curves": lambda **k: plots.survival_curves(TIMES, CURVES, CURVES / 10, **k),
    "incidence_curves": lambda **k: plots.incidence_curves(TIMES, 1 - CURVES, **k),
    "hazard_curves": lambda **k: plots.hazard_curves(TIMES, CURVES, **k),
    "stacked_incidence": lambda **k: plots.stacked_incidence(TIMES, (1 - CURVES) / 3, **k),
    "calibration": lambda **k: plots.calibration(Y, RISK, 4.0, bins=4, **k),
    "brier_over_time": lambda **k: plots.brier_over_time(Y, Y, SURVIVAL, TIMES, **k),
    "concordance_over_time": lambda **k: plots.concordance_over_time(
        Y, Y, 1 - SURVIVAL, TIMES, **k
    ),
    "risk_groups": lambda **k: plots.risk_groups(Y, RISK, 3, **k),
    "mixture_components": lambda **k: plots.mixture_components(TIMES, [0.2, 0.3, 0.5], CURVES, **k),
    "phenotypes": lambda **k: plots.phenotypes(
        RNG.normal(size=(200, 3)), np.full((200, 2), 0.5), **k
    ),
    "importance_over_time": lambda **k: plots.importance_over_time(
        TIMES, CURVES, features=["a", "b", "c"], **k
    ),
    "coefficients": lambda **k: plots.coefficients(SUMMARY, **k),
    "training_history": lambda **k: plots.training_history(HISTORY, [2], **k),
    "d_calibration": lambda **k: plots.d_calibration(Y, RISK, **k),
    "landmark_quality": lambda **k: plots.landmark_quality(LANDMARKS, "brier", **k),
    "updated_curves": lambda **k: plots.updated_curves([SUBJECT, SUBJECT], [0.0, 2.0], TIMES, **k),
}


def test_every_plot_has_an_example():
    computations = {"PALETTE", "component_curves", "number_at_risk", "phenotype_means"}
    assert set(EXAMPLES) == set(plots.__all__) - computations


@pytest.mark.parametrize("name", EXAMPLES)
def test_axes_given_are_drawn_into_and_returned(name):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    figures = plt.get_fignums()
    assert EXAMPLES[name](ax=left) is left
    assert plt.get_fignums() == figures
    assert plt.gca() is right
    assert figure.axes == [left, right]
    assert left.has_data()
    assert not right.has_data()
    assert left.get_xlabel()
    assert left.get_ylabel() or name in ("coefficients", "phenotypes")


@pytest.mark.parametrize("name", EXAMPLES)
def test_without_axes_pyplot_continues_with_the_new_figure(name, tmp_path):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    settings = dict(plt.rcParams)
    axes = EXAMPLES[name]()
    assert len(plt.get_fignums()) == len(before) + 1
    assert plt.gca() is axes
    plt.title("A title")
    assert axes.get_title() == "A title"
    plt.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 2000
    assert dict(plt.rcParams) == settings
    plt.close()
    assert plt.get_fignums() == before


def test_units_are_on_the_axes():
    import matplotlib.pyplot as plt

    for name in set(EXAMPLES) - {
        "calibration",
        "coefficients",
        "phenotypes",
        "training_history",
        "d_calibration",
        "landmark_quality",
    }:
        assert EXAMPLES[name](time_unit="weeks").get_xlabel() == "time (weeks)"
        assert EXAMPLES[name]().get_xlabel() == "time"
        plt.close("all")
    assert EXAMPLES["calibration"](time_unit="weeks").get_xlabel() == "predicted risk by 4 weeks"


def test_importing_the_plots_does_not_import_matplotlib():
    code = "import sys; from lifemix import plots; plots.number_at_risk(([1., 2.], [1, 0]), [0]); "
    code += "print('matplotlib' in sys.modules, 'torch' in sys.modules)"
    source = str(Path(lifemix.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": source}
    )
    assert result.stdout.split() == ["False", "False"], result.stderr


def test_a_plot_does_not_change_the_backend():
    code = "import matplotlib; matplotlib.use('svg'); from lifemix import plots; "
    code += "plots.survival_curves([0, 1], [1, 0.5]); print(matplotlib.get_backend())"
    source = str(Path(lifemix.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": source}
    )
    assert result.stdout.strip() == "svg", result.stderr


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(_axes, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"matplotlib.*pip install 'lifemix\[plots\]'"):
        EXAMPLES["survival_curves"]()


def test_colours_are_told_apart_by_colour_blind_readers():
    """Simulated red-green blindness (Vienot, Brettel and Mollon, 1999, linear RGB) leaves any two colours distinct."""
    from matplotlib.colors import to_rgb

    blind = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    rgb = np.array([to_rgb(shade) for shade in plots.PALETTE])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ blind.T, 0, 1) ** (1 / 2.2)
    distance = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + np.eye(len(seen))
    assert distance.min() > 0.1
    assert len(set(plots.PALETTE)) == len(plots.PALETTE)


def test_beyond_seven_curves_the_style_of_line_differs():
    axes = plots.survival_curves([0, 1], np.ones((9, 2)))
    looks = [(line.get_color(), line.get_linestyle()) for line in axes.lines]
    assert len(set(looks)) == 9
