"""One model, one set of horizons, event names and numbers: in fit, evaluate, doctor, report and calculator."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import lifemix
from lifemix import DeepSurvivalMachines, metrics
from lifemix.report import calculator, doctor, model_report, write_calculator, write_report
from lifemix.splits import default_horizons

NAMES = {1: "relapse", 2: "death"}


def draw(seed, n, n_events):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60, 10, n), "dose": rng.gamma(2.0, 1.0, n)})
    time = rng.weibull(1.3, (n_events, n)) * 150 * np.exp(-0.02 * (X["age"].to_numpy() - 60))
    censoring = rng.uniform(0, 400, n)
    event = np.where(time.min(0) <= censoring, time.argmin(0) + 1, 0)
    return X, lifemix.make_target(np.minimum(time.min(0), censoring), event)


@pytest.fixture(scope="module", params=[1, 2])
def pages(request, tmp_path_factory):
    """Return a model, its test rows, and the texts of its report and calculator."""
    model = DeepSurvivalMachines(k=2, hidden=(6,), max_epochs=5).fit(*draw(0, 500, request.param))
    X, y = draw(1, 300, request.param)
    folder = tmp_path_factory.mktemp("pages")
    names = {code: NAMES[code] for code in range(1, request.param + 1)}
    report = write_report(model, X, y, folder / "r.html", n_bootstrap=2, event_names=names).read_text()
    page = write_calculator(model, folder / "c.html", event_names=list(names.values())).read_text()
    content = json.loads(re.search(r'id="content">(.*?)</script>', page, re.S)[1])
    return model, X, y, report, content


def test_horizons_are_the_same_everywhere(pages):
    model, _, _, report, content = pages
    horizons = default_horizons(model.training_target_).tolist()
    assert content["horizons"] == horizons
    columns = re.findall(r'<th scope="col">by ([^<]*)</th>', report)
    assert columns == [f"{time:,.4g}" for time in horizons] * model.n_events_
    assert f"horizons={horizons}" in report


def test_event_names_are_the_same_everywhere(pages):
    model, _, _, report, content = pages
    assert content["events"] == [NAMES[code] for code in range(1, model.n_events_ + 1)]
    assert all(f">{name}</th>" in report for name in content["events"])
    assert not re.search(r"\bevent [12]\b", report, re.IGNORECASE)


def test_measures_of_the_report_are_those_of_evaluate(pages):
    model, X, y, report, _ = pages
    table = metrics.evaluate(model, model.training_target_, X, y, default_horizons(model.training_target_))
    for metric, label in (("concordance", "C<sup>td</sup>"), ("brier", "Brier score"), ("auc", "AUC")):
        rows = re.findall(rf'<th scope="row">{re.escape(label)}<small.*?</th>(.*?)</tr>', report)
        shown = [float(value) for row in rows for value in re.findall(r"<td>([\d.]+)", row)]
        np.testing.assert_allclose(shown, table.loc[table["metric"] == metric, "value"], atol=5.1e-4)


def test_observed_risks_of_the_calculator_are_those_of_the_marginal_curve(pages):
    model, _, _, _, content = pages
    observed, target = content["observed"], model.training_target_
    grid = np.linspace(0, observed["end"], len(observed["risks"][0]))
    for event, risks in enumerate(observed["risks"], 1):
        np.testing.assert_allclose(risks, metrics.aalen_johansen(target, event).at(grid), atol=1e-5)


def test_every_door_leads_to_the_same_function():
    assert lifemix.report.write_report is model_report.write_report
    assert lifemix.report.write_calculator is calculator.write_calculator
    assert lifemix.report.check_table is doctor.check_table
    assert lifemix.report.check_model is doctor.check_model


def test_the_doors_cost_nothing_until_they_are_used():
    code = (
        "import sys, lifemix; lifemix.report.check_table; "
        "assert not {'torch', 'matplotlib'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
