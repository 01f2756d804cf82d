"""One model tells one story: `fit`, `evaluate`, report and calculator have the same horizons, event names and numbers.

End to end on METABRIC, through the command line and through Python.
"""

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
from lifemix.report import check_model, write_calculator, write_report
from lifemix.splits import default_horizons

pytest.importorskip("matplotlib")

CAUSES = {0: "alive", 1: "breast cancer", 2: "other cause"}
CASES = {
    "one event type": (datasets.load_metabric, {0: "alive", 1: "death"}, []),
    "competing risks": (datasets.load_metabric_causes, CAUSES, ["--categorical", "INTCLUST"]),
}
QUICK = ["--members", "1", "--epochs", "3", "--hidden", "8"]


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def by_metric(quality):
    """Return the values of the first model by metric and event type."""
    values = {}
    for row in quality:
        if row["model"] == quality[0]["model"] and row["event"] is not None:
            values.setdefault(row["metric"], {}).setdefault(int(row["event"]), []).append(
                row["value"]
            )
    return values


def horizons_of(quality):
    return sorted({row["horizon"] for row in quality if row["metric"] == "brier"})


def text_of(page):
    """Return the words of a page as a reader sees them."""
    bare = re.sub(
        r"<(svg|style|script)\b.*?</\1>|<[^>]+>",
        " ",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    return re.sub(r"\s+", " ", html.unescape(bare))


def content_of(page):
    """Return what a calculator was given."""
    found = re.search(
        r'<script type="application/json" id="content">(.*?)</script>', page.read_text(), re.DOTALL
    )
    return json.loads(found[1])


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def story(request, tmp_path_factory):
    """Fit on the command line, keep rows out, and ask every command about the model and those rows."""
    loader, labels, options = request.param
    folder = tmp_path_factory.mktemp("story")
    data = loader()
    frame = data.X.assign(months=data.y["time"], outcome=[labels[code] for code in data.y["event"]])
    frame.to_csv(folder / "all.csv", index=False)
    columns = [
        "--time",
        "months",
        "--event",
        "outcome",
        "--censored",
        "alive",
        "--unit",
        "months",
        *options,
    ]
    held, model, report, calculator = (
        folder / name for name in ("held.csv", "m.safetensors", "r.html", "c.html")
    )
    fit = json.loads(
        run(
            "fit", folder / "all.csv", *columns, *QUICK, "--holdout-to", held, "-o", model, "--json"
        )
    )
    evaluated = json.loads(run("evaluate", model, held, "--json"))
    run("report", model, held, "-o", report)
    run("calculator", model, "-o", calculator)
    fitted = load(model)
    rows = pd.read_csv(held).astype({name: str for name in ("INTCLUST",) if name in data.X})
    y = make_target(
        rows["months"], rows["outcome"].map({label: code for code, label in labels.items()})
    )
    names = [labels[code] for code in sorted(labels) if code]
    return SimpleNamespace(
        fit=fit, evaluated=evaluated, report=report, calculator=calculator, model=fitted, folder=folder,
        X=rows[list(fitted.feature_names_in_)], y=y, names=names,
    )  # fmt: skip


def test_all_have_the_same_horizons(story):
    expected = default_horizons(story.model.training_target_).tolist()
    assert len(expected) == 3
    assert horizons_of(story.fit["held_out"]["quality"]) == expected
    assert horizons_of(story.evaluated["quality"]) == expected
    assert content_of(story.calculator)["horizons"] == expected
    words = text_of(story.report)
    for horizon in expected:
        assert f"by {horizon:g} months" in words
    others = [float(number) for number in re.findall(r"\bby ([\d.]+) months", words)]
    assert set(others) == set(expected)


def test_all_have_the_same_event_names(story):
    assert story.fit["events"] == story.names
    assert content_of(story.calculator)["events"] == story.names
    words = text_of(story.report)
    assert f"time to {' and '.join(story.names)}" in words
    assert not re.search(r"\b[Ee]vent [12]\b", words)


def test_fit_evaluate_and_python_have_the_same_numbers(story):
    fitted, evaluated = story.fit["held_out"]["quality"], story.evaluated["quality"]
    assert by_metric(fitted) == by_metric(evaluated)
    horizons = horizons_of(evaluated)
    table = metrics.evaluate(story.model, story.model.training_target_, story.X, story.y, horizons)
    values_by_metric = by_metric(evaluated)
    observed_expected = values_by_metric.pop("observed_expected")
    assert len(observed_expected) == len(story.names)
    for name, by_event in values_by_metric.items():
        for event, values in by_event.items():
            chosen = table[(table["metric"] == name) & (table["event"] == int(event))]
            np.testing.assert_allclose(chosen["value"], values, rtol=1e-9, err_msg=name)
    assert {"concordance_td", "brier", "auc", "integrated_brier"} <= set(values_by_metric)


def test_the_report_has_the_numbers_of_evaluate(story):
    words = text_of(story.report)
    values = by_metric(story.evaluated["quality"])
    for name in ("concordance_td", "brier", "auc", "integrated_brier"):
        for event, numbers in values[name].items():
            for number in numbers:
                assert f"{number:.3f} [" in words, (name, event, number)


def test_the_calculator_knows_the_training_rows_and_the_unit_of_time(story):
    content = content_of(story.calculator)
    assert content["lastEventTime"] == story.model.last_event_time_
    assert content["training"]["rows"] == len(story.model.training_target_)
    assert content["timeUnit"] == "months"


def test_the_functions_of_python_write_the_same_pages_as_the_commands(story):
    page, form = story.folder / "python.html", story.folder / "form.html"
    options = {"time_unit": "months", "event_names": story.names}
    write_report(story.model, story.X, story.y, page, n_bootstrap=2, **options)
    write_calculator(story.model, form, **options)
    for key in ("horizons", "events", "timeUnit", "training"):
        assert content_of(form)[key] == content_of(story.calculator)[key]
    words = text_of(page)
    assert f"time to {' and '.join(story.names)}" in words
    for horizon in content_of(form)["horizons"]:
        assert f"by {horizon:g} months" in words
    for numbers in by_metric(story.evaluated["quality"])["concordance_td"].values():
        for number in numbers:
            assert f"{number:.3f}" in words


def test_the_doctor_speaks_of_the_same_horizons_and_names(story):
    horizons = {f"{horizon:g}" for horizon in content_of(story.calculator)["horizons"]}
    findings = check_model(story.model, story.X, story.y, event_names=story.names)
    said = " ".join(finding.text for finding in findings)
    assert set(re.findall(r"up to ([\d.]+\d)", said)) <= horizons
    assert not re.search(r"\b[Ee]vent [12]\b", said)
    told = " ".join(finding["text"] for finding in story.evaluated["findings"])
    assert set(re.findall(r"up to ([\d.]+\d)", told)) <= horizons
