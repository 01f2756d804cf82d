"""``fit``, ``evaluate``, report, calculator and Python show the same horizons, names and numbers."""

import html
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lifemix import datasets, load, make_target, metrics
from lifemix.cli import app
from lifemix.report import check_model, write_report
from lifemix.splits import default_horizons

pytest.importorskip("matplotlib")
EVENTS = ["alive", "breast cancer", "other cause"]
METRICS = ["concordance_td", "brier", "auc", "integrated_brier"]


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def values_of(quality):
    """Return the values of the first model, by metric, event type and horizon."""
    table = pd.DataFrame(quality)
    table = table[(table["model"] == table["model"].iloc[0]) & table["event"].notna()]
    table["horizon"] = table["horizon"].fillna(-1.0)
    return table.set_index(["metric", "event", "horizon"])["value"]


def words_of(page):
    """Return the words of a page as a reader sees them."""
    pattern = r"<(svg|style|script)\b.*?</\1>|<[^>]+>"
    text = re.sub(pattern, " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(text))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Fit on the command line, hold rows out, and write every page about the model."""
    folder = tmp_path_factory.mktemp("pages")
    table, held_out, model = (
        folder / name for name in ("all.csv", "held_out.csv", "m.safetensors")
    )
    data = datasets.load_metabric_causes()
    labels = np.array(EVENTS)[data.y["event"]]
    data.X.assign(months=data.y["time"], outcome=labels).to_csv(table, index=False)
    columns = "--time months --event outcome --censored alive --unit months --categorical INTCLUST"
    quick = "--members 1 --epochs 3 --hidden 8 --json --holdout-to"
    fit = run("fit", table, *columns.split(), *quick.split(), held_out, "-o", model)
    report, calculator = folder / "report.html", folder / "calculator.html"
    run("report", model, held_out, "-o", report)
    run("calculator", model, "-o", calculator)
    content = re.search(r'id="content">(.*?)</script>', calculator.read_text(), re.DOTALL)[1]
    rows = pd.read_csv(held_out, dtype={"INTCLUST": str})
    fitted = load(model)
    return SimpleNamespace(
        fit=json.loads(fit),
        evaluated=json.loads(run("evaluate", model, held_out, "--json")),
        report=words_of(report),
        calculator=json.loads(content),
        model=fitted,
        X=rows[list(fitted.feature_names_in_)],
        y=make_target(rows["months"], rows["outcome"].map(EVENTS.index)),
        folder=folder,
    )


def test_horizons(pages):
    horizons = default_horizons(pages.model.training_target_).tolist()
    assert len(horizons) == 3
    for quality in (pages.fit["held_out"]["quality"], pages.evaluated["quality"]):
        assert values_of(quality)["brier"].index.unique("horizon").tolist() == horizons
    assert pages.calculator["horizons"] == horizons
    shown = {float(number) for number in re.findall(r"\bby ([\d.]+) months", pages.report)}
    assert shown == set(horizons)
    findings = check_model(pages.model, pages.X, pages.y, event_names=EVENTS[1:])
    texts = [finding.text for finding in findings]
    texts += [finding["text"] for finding in pages.evaluated["findings"]]
    shown = {float(number) for number in re.findall(r"up to ([\d.]+\d)", " ".join(texts))}
    assert shown <= set(horizons)
    assert not re.search(r"\b[Ee]vent [12]\b", " ".join(texts))


def test_names_and_counts(pages):
    assert pages.fit["events"] == pages.calculator["events"] == EVENTS[1:]
    assert f"time to {' and '.join(EVENTS[1:])}" in pages.report
    assert not re.search(r"\b[Ee]vent [12]\b", pages.report)
    assert pages.calculator["lastEventTime"] == pages.model.last_event_time_
    assert pages.calculator["training"]["rows"] == len(pages.model.training_target_)
    assert pages.calculator["timeUnit"] == "months"


def test_numbers(pages):
    fitted, evaluated = (
        values_of(quality)
        for quality in (pages.fit["held_out"]["quality"], pages.evaluated["quality"])
    )
    pd.testing.assert_series_equal(fitted, evaluated)
    horizons = pages.calculator["horizons"]
    table = metrics.evaluate(
        pages.model, pages.model.training_target_, pages.X, pages.y, horizons
    ).assign(model="")
    expected = values_of(table)
    for metric in METRICS:
        np.testing.assert_allclose(evaluated[metric], expected[metric], rtol=1e-9)
        for value in evaluated[metric]:
            assert f"{value:.3f} [" in pages.report


def test_the_report_of_python_is_that_of_the_command(pages):
    path = pages.folder / "python.html"
    options = {"time_unit": "months", "event_names": EVENTS[1:]}
    words = words_of(write_report(pages.model, pages.X, pages.y, path, n_bootstrap=2, **options))
    assert f"time to {' and '.join(EVENTS[1:])}" in words
    for horizon in pages.calculator["horizons"]:
        assert f"by {horizon:g} months" in words
    for value in values_of(pages.evaluated["quality"])["concordance_td"]:
        assert f"{value:.3f}" in words
