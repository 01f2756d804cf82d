"""``--id``: a table of pure noise with six rows per subject has nothing to predict, whatever command looks at it."""

import re

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, FleetSearchCV, load, make_target

SUBJECTS = 500
OUTCOME = ["--time", "time", "--event", "event"]
QUICK = ["--no-search", "--members", "1", "--epochs", "30", "--hidden", "50", "--holdout", "0.5"]


@pytest.fixture(scope="module")
def noise():
    """Times, and columns that have nothing to do with them, differ between subjects but hardly between their rows."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(SUBJECTS), 6)
    table = (
        pd.DataFrame(rng.normal(size=(SUBJECTS, 8)), columns=[f"x{i}" for i in range(8)])
        .round(4)
        .iloc[who]
    )
    time = (rng.exponential(size=SUBJECTS)[who] * rng.uniform(0.9, 1.1, len(who)) + 0.01).round(5)
    table = table.assign(
        subject=who + 7000, time=time, event=(rng.random(len(who)) < 0.7).astype(int)
    )
    return table.sample(frac=1, random_state=0)


@pytest.fixture(scope="module")
def path(noise, tmp_path_factory):
    path = tmp_path_factory.mktemp("noise") / "noise.csv"
    noise.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(run, path):
    outcome = run(
        *("fit", path, *OUTCOME, "--id", "subject", *QUICK, "--json"),
        *("-o", path.with_name("m.safetensors"), "--holdout-to", path.with_name("rest.csv")),
    )
    assert outcome.code == 0, outcome.err
    return outcome


def mean_concordance(quality):
    return np.mean(quality["values"]["concordance"]["1"])


def width(quality):
    return np.diff(quality["intervals"]["concordance"]["1"]).mean()


def test_a_fit_finds_nothing_in_noise(run, path, fitted):
    assert mean_concordance(fitted.json["held_out"]["quality"][0]) == pytest.approx(0.5, abs=0.05)
    for lower, upper in fitted.json["held_out"]["quality"][0]["intervals"]["concordance"]["1"]:
        assert lower < 0.55
        assert upper > 0.45
    by_row = run(
        "fit",
        path,
        *OUTCOME,
        "--drop",
        "subject",
        *QUICK,
        "--json",
        "-o",
        path.with_name("row.safetensors"),
    )
    assert (
        mean_concordance(by_row.json["held_out"]["quality"][0]) > 0.6
    )  # what the split by row makes of it


def test_held_out_rows_are_those_of_other_subjects(noise, path, fitted):
    rest = pd.read_csv(path.with_name("rest.csv"))
    assert rest["subject"].nunique() == SUBJECTS // 2
    assert (rest.groupby("subject").size() == 6).all()


def test_evaluation_and_report_find_nothing_in_noise(run, path, fitted):
    model, rest = path.with_name("m.safetensors"), path.with_name("rest.csv")
    evaluated = run("evaluate", model, rest, "--json").json["quality"][0]
    assert mean_concordance(evaluated) == pytest.approx(0.5, abs=0.05)
    without = path.with_name("without.csv")
    pd.read_csv(rest).drop(columns="subject").to_csv(without, index=False)
    by_row = run("evaluate", model, without, "--json").json["quality"][0]
    assert width(evaluated) > 1.3 * width(by_row)
    page = path.with_name("page.html")
    assert run("report", model, rest, "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert f"rows of {SUBJECTS // 2} subjects" in text
    row = text[text.index('<th scope="row">C<sup>td</sup>') :].split("</tr>")[0]
    values = [float(value) for value in re.findall(r"<td>(0\.\d+)<", row)]
    assert len(values) == 3
    assert np.mean(values) == pytest.approx(0.5, abs=0.05)


def test_a_comparison_finds_nothing_in_noise(run, path):
    result = run(
        "compare",
        path,
        *OUTCOME,
        "--id",
        "subject",
        "--models",
        "dsm,cox",
        "--folds",
        "2",
        "--no-search",
        "--members",
        "1",
        "--json",
    )
    for name in ("dsm", "cox"):
        folds = result.json["models"][name]["folds"]
        assert np.mean([mean_concordance(fold) for fold in folds]) == pytest.approx(0.5, abs=0.05)


def test_python_and_search_find_nothing_in_noise(noise):
    X = noise[[f"x{i}" for i in range(8)]]
    y = make_target(noise["time"], noise["event"], subject=noise["subject"])
    search = FleetSearchCV(
        DeepSurvivalMachines(hidden=(50,), max_epochs=30),
        {"k": [1, 3]},
        scoring="concordance",
        cv=2,
        refit=False,
    )
    assert search.fit(X, y).best_score_ == pytest.approx(0.5, abs=0.05)


def test_the_file_does_not_hold_the_subjects(path, fitted):
    content = path.with_name("m.safetensors").read_bytes()
    assert b"subject" in content  # the name of the column is remembered, for the next table
    assert load(path.with_name("m.safetensors")).training_target_.subject is None
    assert b"7123" not in content


def test_repeated_subjects_without_an_id_are_noticed(run, path):
    for command in (
        ["doctor"],
        ["fit", "-o", path.with_name("other.safetensors"), *QUICK[:-4], "--epochs", "1"],
    ):
        outcome = run(*command[:1], path, *OUTCOME, *command[1:])
        text = " ".join((outcome.out + outcome.err).split())
        assert "subject has 500 different values in 3,000 rows" in text
        assert "--id subject" in text


def test_what_the_id_says_is_shown(run, path, fitted, write, frame, refused):
    assert "500 subjects, up to 6 rows each" in run("doctor", path, *OUTCOME, "--id", "subject").out
    columns = ["--time", "days", "--event", "died", "--id", "patient"]
    assert "200 subjects, one row each" in run("doctor", write(frame), *columns).out
    gaps = write(frame.assign(patient=frame["patient"].mask(frame.index == 3)), "gaps.csv")
    assert (
        "column 'patient' (--id) must say whose row it is; got no value in data row 4"
        in refused("fit", gaps, *columns, "-o", gaps.with_name("m.safetensors"))
    )
