"""``lifemix fit``: what it records, holds out and writes; from memory and from disk."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.commands import COLUMNS, make_table, values_of
from helpers.disk_tables import make_table as make_disk_table
from helpers.disk_tables import write_shards
from lifemix import DeepSurvivalMachines, FleetSearchCV, load, make_target
from lifemix.report.doctor import Finding


def test_the_file_records_columns_and_quality():
    saved = load("model.safetensors")
    assert list(saved.feature_names_in_) == ["age", "dose", "stage"]
    roles = saved.metadata_["roles"]
    assert (roles["time"], roles["id"]) == ("days", "patient")
    quality = saved.metadata_["held_out"]["quality"]
    models = dict.fromkeys(row["model"] for row in quality)
    assert list(models) == ["Deep Survival Machines", "Cox regression", "no covariates"]
    expected = pytest.approx([0.5, 0.5, 0.5])
    assert values_of(quality, "concordance_td", "no covariates") == expected


def test_the_same_seed_gives_the_same_file(fit):
    files = []
    for seed in (3, 3, 4):
        fit("patients.csv", f"--seed {seed} --holdout 0")
        files.append(Path("m.safetensors").read_bytes())
    assert files[0] == files[1] != files[2]


def test_json_and_quiet(fit):
    result = json.loads(fit("patients.csv", "--json").out)
    assert result["settings"] == {"n_members": 1, "max_epochs": 2, "hidden": [4]}
    assert result["rows"] == 200
    assert values_of(result["held_out"]["quality"], "log_likelihood", event=None)[0] < 0
    quiet = fit("patients.csv", "--quiet --holdout 0")
    assert quiet.out == quiet.err == ""


def test_held_out_rows_stay_out_without_refit_and_can_be_evaluated(fit, run_json):
    assert "NEW_ROWS.csv" in fit("patients.csv").out
    assert len(load("m.safetensors").training_target_) == 200
    output = fit("patients.csv", "--holdout-to held.csv --no-refit --json").out
    assert len(load("m.safetensors").training_target_) == 160
    evaluated = run_json("evaluate m.safetensors held.csv")
    assert evaluated["rows"] == 40
    held_out = json.loads(output)["held_out"]["quality"]
    for metric, event in (("concordance_td", 1), ("brier", 1), ("log_likelihood", None)):
        expected = values_of(held_out, metric, event=event)
        assert values_of(evaluated["quality"], metric, event=event) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--holdout-to r.csv --holdout 0", "--holdout 0"),
        ("-o model.pkl", "must end in .safetensors"),
        ("-o nowhere/m.safetensors", "folder is missing"),
        ("--primitive cauchy", "cauchy"),
        ("--hidden many", "--hidden must be widths"),
        ("--from-disk --search", "--from-disk cannot go with"),
    ],
)
def test_refused_options(options, message, refused, new_files):
    assert message in refused(f"fit patients.csv {COLUMNS} -o m.safetensors {options}")
    assert not new_files()


def test_a_fit_stops_if_a_finding_says_so(fit, new_files, monkeypatch):
    finding = Finding("leak", "stop", "age contains the outcome.", "Leave age out.")
    monkeypatch.setattr("lifemix.report.check_table", lambda *_, **__: [finding], raising=False)
    assert "age contains the outcome. Leave age out." in fit("patients.csv", code=2).err
    assert not new_files()
    assert "age contains the outcome" in fit("patients.csv", "--force").out


def test_columns_of_huge_values_and_many_levels_are_fitted(fit, write, frame):
    fit(write(frame.assign(huge=np.linspace(-1e150, 1e150, 200))))
    small = frame.head(30).assign(level=[f"l{i}" for i in [*range(15)] * 2])
    fit(write(small), "--force --keep level")


@pytest.mark.parametrize("existing", [False, True])
def test_nothing_is_written_before_the_end(existing, run, new_files, monkeypatch):
    path = Path("m.safetensors")
    if existing:
        path.write_text("an older model")

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("lifemix.LifeMix.fit", stop)
    run(f"fit patients.csv {COLUMNS} -o m.safetensors", code=130)
    assert new_files() == ({"m.safetensors"} if existing else set())
    assert not existing or path.read_text() == "an older model"


def test_fit_evaluate_and_predict_from_disk(run, run_json, new_files):
    pytest.importorskip("pyarrow")
    table = make_disk_table(900).drop(columns="weight")
    table["event"] = np.where(table["event"] == 1, "dead", "alive")
    table["grade"] = np.where(np.arange(len(table)) < 700, "01", "2")
    write_shards(table, Path("shards"))
    columns = "--time time --event event --id patient --categorical grade"
    quick = "--from-disk --hidden 8 --epochs 3 --members 1"
    facts = run_json(f"fit shards {columns} {quick} -o m.safetensors")
    assert (facts["rows"], facts["events"]) == (len(table), ["dead"])
    assert facts["held_out"]["quality"][0]["metric"] == "log_likelihood"
    assert new_files() == {"shards", "m.safetensors"}
    loaded = load("m.safetensors")
    assert loaded.preprocessor_.columns_[-1].levels == ("01", "2")
    assert "log-likelihood" in run("describe m.safetensors").out
    quality = run_json("evaluate m.safetensors shards --from-disk")["quality"]
    assert {"log_likelihood", "concordance_td", "brier"} <= {row["metric"] for row in quality}
    run("predict m.safetensors shards --from-disk --times 5,10 -o out.parquet")
    X = table.drop(columns=["time", "event", "patient"])
    expected = loaded.predict_survival_function(X, [5.0, 10.0])
    predictions = pd.read_parquet("out.parquet")[["survival_5", "survival_10"]].to_numpy()
    assert predictions == pytest.approx(expected, abs=1e-12)


N_SUBJECTS = 300


@pytest.fixture(scope="module")
def noise(run_json, tmp_path_factory):
    """Return columns unrelated to the time, equal in the rows of a subject, and a fit to them."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(N_SUBJECTS), 6)
    columns = [f"x{i}" for i in range(8)]
    X = pd.DataFrame(rng.normal(size=(N_SUBJECTS, 8)), columns=columns).round(4)
    factor = rng.uniform(0.9, 1.1, len(subject))
    time = (rng.exponential(size=N_SUBJECTS)[subject] * factor + 0.01).round(5)
    event = (rng.random(len(subject)) < 0.7).astype(int)
    table = X.iloc[subject].assign(subject=subject + 7_654_000, time=time, event=event)
    table = table.sample(frac=1, random_state=0)
    folder = tmp_path_factory.mktemp("noise")
    table.to_csv(folder / "noise.csv", index=False)
    fit = f"fit {folder}/noise.csv --time time --event event --members 1 --epochs 30 --hidden 50"
    held_out = f"--holdout 0.5 --holdout-to {folder}/held.csv"
    fitted = run_json(f"{fit} --id subject {held_out} -o {folder}/m.safetensors")
    return table, folder, fit, fitted["held_out"]["quality"]


def mean_concordance(quality, model=None):
    return np.mean(values_of(quality, "concordance_td", model))


def test_noise_with_several_rows_per_subject_has_nothing_to_predict(noise, run, run_json):
    _, folder, fit, quality = noise
    held_out = pd.read_csv(folder / "held.csv")
    assert held_out["subject"].nunique() == N_SUBJECTS // 2
    assert (held_out.groupby("subject").size() == 6).all()
    assert mean_concordance(quality) == pytest.approx(0.5, abs=0.06)
    by_row = run_json(f"{fit} --drop subject --holdout 0.5 -o row.safetensors")
    assert mean_concordance(by_row["held_out"]["quality"]) > 0.6  # rows are no subjects
    options = "--time time --event event --id subject"
    words = run(f"doctor {folder}/noise.csv {options}").words
    assert f"{N_SUBJECTS} subjects, up to 6 each" in words
    assert b"7654123" not in (folder / "m.safetensors").read_bytes()
    assert load(folder / "m.safetensors").training_target_.subject is None


def test_intervals_and_folds_follow_subjects(noise, run_json, write):
    _, folder, _, _ = noise
    write(pd.read_csv(folder / "held.csv").drop(columns="subject"))
    widths = []
    for table in (folder / "held.csv", "data.csv"):
        quality = run_json(f"evaluate {folder}/m.safetensors {table}")["quality"]
        limits = [row for row in quality if row["metric"] == "concordance_td" and row["upper"]]
        widths.append(np.mean([row["upper"] - row["lower"] for row in limits]))
    assert widths[0] > 1.3 * widths[1]
    options = "--time time --event event --id subject --models cox --folds 2"
    quality = run_json(f"compare {folder}/noise.csv {options}")["quality"]
    assert mean_concordance(quality, "Cox regression") == pytest.approx(0.5, abs=0.06)


def test_a_search_in_python_has_nothing_to_choose_in_noise(noise):
    table = noise[0]
    X = table.filter(regex="x")
    y = make_target(table["time"], table["event"], subject=table["subject"])
    model = DeepSurvivalMachines(hidden=(50,), max_epochs=30)
    options = {"scoring": "concordance", "cv": 2, "refit": False}
    search = FleetSearchCV(model, {"k": [1, 3]}, **options).fit(X, y)
    assert search.best_score_ == pytest.approx(0.5, abs=0.06)


def test_repeated_subjects_without_an_id_are_a_finding(noise, run):
    _, folder, fit, _ = noise
    doctor = f"doctor {folder}/noise.csv --time time --event event"
    for command in (doctor, f"{fit} --holdout 0 -o other.safetensors"):
        words = run(command).words
        assert f"subject has {N_SUBJECTS} different values in 1,800 rows" in words
        assert "--id subject" in words


def test_late_entry_and_intervals_are_counted(fit, write):
    frame = make_table(200, 2)
    out = fit(write(frame.assign(start=frame["days"] / 2)), "--entry start").out
    assert "200 rows with late entry" in out
    assert "Antolini's concordance" in out
    end = frame["days"].where(frame["died"] == 0, frame["days"] + 5)
    out = fit(write(frame.assign(end=end)), "--upper end").out
    assert "rows with an interval-censored event" in out
    assert "log-likelihood per row" in out
