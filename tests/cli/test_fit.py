"""``lifemix fit``: what it records, holds out and writes; from memory and from disk."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.commands import COLUMNS, make_table, values_of
from helpers.disk_tables import make_table as make_disk_table
from helpers.disk_tables import write_shards
from lifemix import DeepSurvivalMachines, FleetSearchCV, load, make_target
from lifemix.report.doctor import Finding


def test_the_file_records_columns_and_quality(model):
    saved = load(model)
    assert list(saved.feature_names_in_) == ["age", "dose", "stage"]
    assert saved.metadata_["roles"]["time"] == "days"
    assert saved.metadata_["roles"]["id"] == "patient"
    quality = saved.metadata_["held_out"]["quality"]
    assert list(dict.fromkeys(row["model"] for row in quality)) == [
        "Deep Survival Machines",
        "Cox regression",
        "no covariates",
    ]
    expected = pytest.approx([0.5, 0.5, 0.5])
    assert values_of(quality, "concordance_td", "no covariates") == expected


def test_the_same_seed_gives_the_same_file(fit, data):
    files = []
    for seed in (3, 3, 4):
        fit(data, "--seed", seed)
        files.append(fit.model.read_bytes())
    assert files[0] == files[1] != files[2]


def test_json_and_quiet(fit, data):
    result = json.loads(fit(data, "--json").out)
    assert result["settings"] == {"n_members": 1, "max_epochs": 2, "hidden": [4]}
    assert result["rows"] == 200
    assert values_of(result["held_out"]["quality"], "log_likelihood", event=None)[0] < 0
    quiet = fit(data, "--quiet", "--holdout", "0")
    assert quiet.out == quiet.err == ""


def test_held_out_rows_stay_out_without_refit(fit, data):
    fit(data, "--no-refit")
    assert len(load(fit.model).training_target_) == 160
    assert "NEW_ROWS.csv" in fit(data).out
    assert len(load(fit.model).training_target_) == 200


def test_held_out_rows_can_be_written_for_evaluate(fit, run_json, data, tmp_path):
    rest = tmp_path / "rest.csv"
    fitted = json.loads(fit(data, "--holdout-to", rest, "--json").out)["held_out"]["quality"]
    evaluated = run_json("evaluate", fit.model, rest)
    assert evaluated["rows"] == 40
    for metric, event in (("concordance_td", 1), ("brier", 1), ("log_likelihood", None)):
        expected = values_of(fitted, metric, event=event)
        assert values_of(evaluated["quality"], metric, event=event) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--holdout-to", "r.csv", "--holdout", "0"], "--holdout 0"),
        (["-o", "model.pkl"], "must end in .safetensors"),
        (["-o", "nowhere/m.safetensors"], "folder is missing"),
        (["--primitive", "cauchy"], "cauchy"),
        (["--hidden", "many"], "--hidden must be widths"),
        (["--jobs", "0", "--search"], "n_jobs"),
    ],
)
def test_refused_options(options, message, data, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused("fit", data, *COLUMNS, "-o", "m.safetensors", *options)
    assert not list(tmp_path.iterdir())


def test_a_fit_stops_if_a_finding_says_so(fit, data, monkeypatch):
    finding = Finding("leak", "stop", "age knows the outcome.", "Leave age out.")
    monkeypatch.setattr("lifemix.report.check_table", lambda *_, **__: [finding], raising=False)
    assert "age knows the outcome. Leave age out." in fit(data, code=2).err
    assert not fit.model.exists()
    assert "age knows the outcome" in fit(data, "--force").out


def test_columns_of_many_values_are_fitted(fit, write, frame):
    fit(write(frame.assign(huge=np.random.default_rng(0).standard_normal(200) * 1e150)))
    few = make_table().head(30).assign(level=[f"l{i}" for i in [*range(15)] * 2])
    fit(write(few), "--force", "--keep", "level")


@pytest.mark.parametrize("existing", [False, True])
def test_nothing_is_written_before_the_end(existing, run, data, tmp_path, monkeypatch):
    output = tmp_path / "m.safetensors"
    if existing:
        output.write_bytes(b"an older model")

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("lifemix.LifeMix.fit", stop)
    run("fit", data, *COLUMNS, "-o", output, code=130)
    assert output.read_bytes() == b"an older model" if existing else not output.exists()


def test_fit_evaluate_and_predict_from_disk(run, run_json, tmp_path):
    pytest.importorskip("pyarrow")
    table = make_disk_table(900).drop(columns="weight")
    table["event"] = np.where(table["event"] == 1, "dead", "alive")
    table["grade"] = np.where(np.arange(len(table)) < 700, "01", "2")
    folder, model = write_shards(table, tmp_path / "shards"), tmp_path / "m.safetensors"
    roles = ["--time", "time", "--event", "event", "--id", "patient", "--categorical", "grade"]
    quick = ["--from-disk", "--hidden", 8, "--epochs", 3, "--members", 1]
    facts = run_json("fit", folder, *roles, *quick, "-o", model)
    assert (facts["rows"], facts["events"]) == (len(table), ["dead"])
    assert facts["held_out"]["quality"][0]["metric"] == "log_likelihood"
    assert not (tmp_path / "m.checkpoint").exists()
    loaded = load(model)
    assert loaded.preprocessor_.columns_[-1].levels == ("01", "2")
    assert "log-likelihood" in run("describe", model).out
    quality = run_json("evaluate", model, folder, "--from-disk")["quality"]
    assert {"log_likelihood", "concordance_td", "brier"} <= {row["metric"] for row in quality}
    output = tmp_path / "out.parquet"
    run("predict", model, folder, "--from-disk", "--times", "5,10", "-o", output)
    X = table.drop(columns=["time", "event", "patient"])
    expected = loaded.predict_survival_function(X, [5.0, 10.0])
    written = pd.read_parquet(output)[["survival_5", "survival_10"]].to_numpy()
    assert written == pytest.approx(expected, abs=1e-12)


SUBJECTS = 500
NOISE = ["--time", "time", "--event", "event"]
NOISE_FIT = ["--members", "1", "--epochs", "30", "--hidden", "50", "--holdout", "0.5"]


@pytest.fixture(scope="module")
def noise():
    """Return times, and columns unrelated to them, that differ between subjects but hardly between their rows."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(SUBJECTS), 6)
    X = pd.DataFrame(rng.normal(size=(SUBJECTS, 8)), columns=[f"x{i}" for i in range(8)]).round(4)
    factor = rng.uniform(0.9, 1.1, len(subject))
    time = (rng.exponential(size=SUBJECTS)[subject] * factor + 0.01).round(5)
    event = (rng.random(len(subject)) < 0.7).astype(int)
    table = X.iloc[subject].assign(subject=subject + 7000, time=time, event=event)
    return table.sample(frac=1, random_state=0)


@pytest.fixture(scope="module")
def noise_fit(noise, run_json, tmp_path_factory):
    path = tmp_path_factory.mktemp("noise") / "noise.csv"
    noise.to_csv(path, index=False)
    model, rest = path.with_name("m.safetensors"), path.with_name("rest.csv")
    options = ["--id", "subject", *NOISE_FIT, "-o", model, "--holdout-to", rest]
    return path, model, rest, run_json("fit", path, *NOISE, *options)


def mean_concordance(quality):
    return np.mean(values_of(quality, "concordance_td"))


def test_noise_with_several_rows_per_subject_has_nothing_to_predict(run, run_json, noise_fit):
    path, model, rest, fitted = noise_fit
    written = pd.read_csv(rest)
    assert written["subject"].nunique() == SUBJECTS // 2
    assert (written.groupby("subject").size() == 6).all()
    assert mean_concordance(fitted["held_out"]["quality"]) == pytest.approx(0.5, abs=0.05)
    options = ["--drop", "subject", *NOISE_FIT, "-o", path.with_name("row.safetensors")]
    by_row = run_json("fit", path, *NOISE, *options)
    assert mean_concordance(by_row["held_out"]["quality"]) > 0.6  # rows are no subjects
    assert "500 subjects, up to 6 each" in run("doctor", path, *NOISE, "--id", "subject").out
    content = model.read_bytes()
    assert b"7123" not in content
    assert load(model).training_target_.subject is None


def test_intervals_and_folds_follow_subjects(run_json, noise_fit):
    path, model, rest, _ = noise_fit
    without = path.with_name("without.csv")
    pd.read_csv(rest).drop(columns="subject").to_csv(without, index=False)
    widths = []
    for table in (rest, without):
        quality = run_json("evaluate", model, table)["quality"]
        limits = [row for row in quality if row["metric"] == "concordance_td" and row["upper"]]
        widths.append(np.mean([row["upper"] - row["lower"] for row in limits]))
    assert mean_concordance(quality) == pytest.approx(0.5, abs=0.05)
    assert widths[0] > 1.3 * widths[1]
    options = ["--id", "subject", "--models", "dsm,cox", "--folds", 2, "--members", 1]
    quality = run_json("compare", path, *NOISE, *options)["quality"]
    for name in ("Deep Survival Machines", "Cox regression"):
        assert np.mean(values_of(quality, "concordance_td", name)) == pytest.approx(0.5, abs=0.05)


def test_a_search_in_python_finds_nothing_in_noise(noise):
    X = noise[[f"x{i}" for i in range(8)]]
    y = make_target(noise["time"], noise["event"], subject=noise["subject"])
    model = DeepSurvivalMachines(hidden=(50,), max_epochs=30)
    options = {"scoring": "concordance", "cv": 2, "refit": False}
    search = FleetSearchCV(model, {"k": [1, 3]}, **options).fit(X, y)
    assert search.best_score_ == pytest.approx(0.5, abs=0.05)


def test_repeated_subjects_without_an_id_are_a_finding(run, noise_fit):
    path = noise_fit[0]
    fit = ["fit", "-o", path.with_name("other.safetensors"), "--fast", "--epochs", "1"]
    for command, *options in (["doctor"], fit):
        words = run(command, path, *NOISE, *options).words
        assert "subject has 500 different values in 3,000 rows" in words
        assert "--id subject" in words
