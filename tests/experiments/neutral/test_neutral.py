"""A generated comparison with known answers: ranks, tests, skill; the run continues; what is wrong is refused."""

import gzip
import hashlib
import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from typer.testing import CliRunner

from lifemix import metrics
from lifemix.baselines import CoxPH
from lifemix.cli import app
from lifemix.errors import InputError, SettingError
from lifemix.experiments import reproduce
from lifemix.experiments.neutral import read_folder, run_neutral, summarise_neutral
from lifemix.experiments.neutral.folder import read_neutral_table
from lifemix.experiments.neutral.job import fold_scores
from lifemix.experiments.records import Record, RecordStore

SCRIPT = Path(__file__).parents[3] / "scripts" / "neutral_from_openml.py"
TABLES = ("one", "two", "three")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    root = tmp_path / "comparison"
    for part in ("tables", "folds"):
        (root / part).mkdir(parents=True)
    for name in TABLES:
        x = rng.normal(size=(60, 2))
        time = rng.exponential(np.exp(x[:, 0]))
        frame = pd.DataFrame(x, columns=["u", "v"]).assign(time=time, status=(rng.random(60) < 0.7).astype(int))
        frame.to_csv(root / "tables" / f"{name}.csv", index=False)
        folds = pd.DataFrame({"fold": np.arange(60) % 3, "row": np.arange(60)})
        folds.to_csv(root / "folds" / f"{name}.csv", index=False)
    lines = ["table,learner,measure,value,fold"]
    for name in TABLES:
        for learner, ibs, c in (("coxph", 0.2, 0.7), ("forest", 0.22, 0.68)):
            lines += [f"{name},{learner},ibs,{ibs - 0.01},0", f"{name},{learner},ibs,{ibs + 0.01},1"]
            lines += [f"{name},{learner},c,{c},0"]
    (root / "scores.csv").write_text("\n".join(lines) + "\n")
    return root


def records(values, measure="ibs", model="default"):
    return [
        Record(name, model, {}, 0.0, 0, 0, "full", {measure: [[v]]}) for name, v in zip(TABLES, values, strict=True)
    ]


def test_ranks_tests_and_the_worst_table_are_as_counted_by_hand(folder):
    known = read_folder(folder)
    own = [*records([0.19, 0.21, 0.25]), *records([0.25, 0.25, 0.5], model="floor")]
    (found,) = [one for one in summarise_neutral(known, own, "coxph") if one.measure == "ibs"]
    assert (found.model, found.tables, found.learners) == ("default", 3, 2)
    assert found.mean_rank == pytest.approx((1 + 2 + 3) / 3)  # published means: coxph 0.20, forest 0.22
    assert found.ahead == 1
    assert found.p_value == pytest.approx(wilcoxon([0.01, -0.01, -0.05]).pvalue)
    assert found.skill == pytest.approx(np.mean([1 - 0.19 / 0.25, 1 - 0.21 / 0.25, 0.5]))
    assert (found.worst_table, found.worst_loss) == ("three", pytest.approx(0.25))


def test_for_a_concordance_higher_is_better_and_ties_share_a_rank(folder):
    (found,) = summarise_neutral(read_folder(folder), records([0.72, 0.7, 0.6], "c"), "forest")
    assert found.measure == "c"
    assert found.mean_rank == pytest.approx((1 + 1.5 + 3) / 3)
    assert found.ahead == 2
    assert np.isnan(found.skill)


def test_our_models_run_on_the_folds_and_continue_from_their_records(folder, tmp_path, monkeypatch):
    path = run_neutral(folder, out=tmp_path / "out", models=["cph"])
    text = path.read_text()
    assert "| Cox (CPH) | ibs | 3 |" in text
    store = RecordStore(path.parent)
    assert len(store) == 3 * 3 * 2
    assert all(0 < one.test["ibs"][0][0] < 0.4 for one in store.records())
    good = np.mean([one.test["c"][0][0] for one in store.records() if one.model == "cph"])
    assert good > 0.65  # the covariate u matters
    monkeypatch.setattr("lifemix.experiments.neutral.job.NeutralJob.run", lambda self: pytest.fail("computed again"))
    assert reproduce("neutral", data=str(folder), out=tmp_path / "out", models=["cph"], quiet=True) == [path]
    content = json.loads((path.parent / "tables.json").read_text())
    assert {(one["model"], one["measure"], one["rival"]) for one in content} == {
        ("cph", "ibs", "coxph"),
        ("cph", "c", "coxph"),
    }


def test_the_brier_score_is_integrated_from_0_by_the_trapezoidal_rule(folder):
    table = read_neutral_table(folder, "one")
    train, test = np.arange(40), np.arange(40, 60)
    X, y_train, y_test = table.X.iloc[test], table.y[train], table.y[test]
    model = CoxPH().fit(table.X.iloc[train], y_train)
    last = np.quantile(table.y["time"], 0.8)
    grid = np.linspace(0, last, 101)
    scores = metrics.brier_score(y_train, y_test, model.predict_survival_function(X, grid), grid)
    expected = (scores[1:] + scores[:-1]).sum() / 200
    assert fold_scores(model, X, y_train, y_test, table.y)["ibs"] == pytest.approx(expected, rel=1e-9)


def test_the_command_shows_the_table(folder, tmp_path):
    words = [
        "reproduce",
        "neutral",
        "--data",
        str(folder),
        "--models",
        "cph",
        "--rival",
        "forest",
        "-o",
        str(tmp_path / "o"),
    ]
    result = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.stderr
    assert "of 3 (forest)" in result.stdout


def test_what_is_missing_or_unknown_is_refused_before_any_work(folder, tmp_path):
    with pytest.raises(SettingError, match="neutral needs the folder"):
        reproduce("neutral", out=tmp_path)
    with pytest.raises(SettingError, match="unknown model; got 'fg'"):
        run_neutral(folder, out=tmp_path, models=["fg"])
    with pytest.raises(SettingError, match="unknown rival; got 'svm', expected one of coxph, forest"):
        summarise_neutral(read_folder(folder), records([0.1, 0.1, 0.1]), "svm")
    with pytest.raises(InputError, match=r"has no tables/\*.csv"):
        read_folder(tmp_path)
    (folder / "folds" / "one.csv").write_text("fold,row\n0,60\n")
    with pytest.raises(InputError, match="folds of one: row must be 0 to 59; got 60"):
        read_folder(folder)
    (folder / "folds" / "one.csv").write_text("part,row\n0,6\n")
    with pytest.raises(InputError, match="must have the columns fold, row; fold is missing"):
        read_folder(folder)


def test_scores_of_unknown_tables_are_refused(folder):
    with (folder / "scores.csv").open("a") as file:
        file.write("four,coxph,ibs,0.1,0\n")
    with pytest.raises(InputError, match="table must be one of one, three, two; got 'four'"):
        read_folder(folder)


def answers(arff):
    """Return what OpenML answers for a data set, by the path in scikit-learn's cache."""
    kinds = (("time", "numeric"), ("status", "nominal"), ("u", "numeric"))
    plain = {"is_target": "false", "is_ignore": "false", "is_row_identifier": "false"}
    features = [{"index": str(i), "name": name, "data_type": kind, **plain} for i, (name, kind) in enumerate(kinds)]
    description = {
        "id": "7",
        "name": "toy",
        "version": "1",
        "description": "made up",
        "format": "ARFF",
        "status": "active",
        "url": "https://www.openml.org/data/v1/download/9/toy.arff",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    api = "api/v1/json/data"
    found = {
        f"{api}/7": {"data_set_description": description},
        f"{api}/features/7": {"data_features": {"feature": features}},
        f"{api}/qualities/7": {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "40"}]}},
    }
    return {name: json.dumps(answer).encode() for name, answer in found.items()} | {"data/v1/download/9/toy.arff": arff}


def test_a_folder_is_made_from_an_answer_of_openml(tmp_path):
    """scikit-learn finds the answer in its cache, in the form in which OpenML gives it."""
    rng = np.random.default_rng(1)
    rows = [(rng.exponential(), rng.random() < 0.6, rng.normal()) for _ in range(40)]
    lines = [f"{time:.3f},{'yes' if event else 'no'},{u:.3f}" for time, event, u in rows]
    head = "@relation toy\n@attribute time numeric\n@attribute status {yes,no}\n@attribute u numeric\n@data\n"
    for name, answer in answers((head + "\n".join(lines) + "\n").encode()).items():
        path = tmp_path / "openml" / "openml.org" / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(answer))
    made = tmp_path / "made"
    runpy.run_path(str(SCRIPT))["main"](["7", "--cache", str(tmp_path), "-o", str(made)])
    table = pd.read_csv(made / "tables" / "toy.csv")
    np.testing.assert_allclose(table["time"], [round(time, 3) for time, _, _ in rows])
    assert table["status"].tolist() == [int(event) for _, event, _ in rows]
    folds = pd.read_csv(made / "folds" / "toy.csv")
    assert sorted(folds["row"]) == list(range(40))
    (made / "scores.csv").write_text("table,learner,measure,value\ntoy,coxph,c,0.6\n")
    assert read_folder(made).folds == {"toy": (0, 1, 2)}
