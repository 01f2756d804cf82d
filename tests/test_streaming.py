"""A table on disk is read as pandas reads it, and a model fitted from disk is an ordinary model."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from helpers.disk_tables import COVARIATES, make_table, write_shards
from lifemix import DeepSurvivalMachines, load, make_target, mapped_matrix, save, table_files
from lifemix.errors import CovariateError, InputError, MissingExtraError, SettingError, TargetError
from lifemix.estimators.preparation import TrainingSet, prepare, prepare_source
from lifemix.streaming import TableSource, evaluate, write_predictions
from lifemix.training import Callback

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")

ROLES = {"time": "time", "event": "event", "weight": "weight", "subject": "patient"}
SMALL = {"hidden": (8,), "n_members": 1, "dropout": 0.0, "batch_size": 64, "learning_rate": 5e-3}


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    return write_shards(table, tmp_path_factory.mktemp("shards"))


@pytest.fixture(scope="module")
def source(folder):
    return TableSource(folder, "time", "event", drop=["patient", "weight"])


def target_of(table, **options):
    return make_target(table["time"], table["event"], **options)


def read(source):
    blocks = list(source.read())
    frames = [block.frame.astype(dict.fromkeys(source.labels, object)) for block in blocks]
    return pd.concat(frames, ignore_index=True), np.concatenate([block.row for block in blocks])


# Reading.


def test_folder_files_dataset_and_table_are_equal(table, folder):
    expected = table[COVARIATES]
    for data in (folder, sorted(folder.iterdir()), ds.dataset(folder), pa.Table.from_pandas(table)):
        source = TableSource(data, **ROLES)
        assert source.columns == COVARIATES
        assert source.n_rows == len(table)
        X, row = read(source)
        assert np.array_equal(row, np.arange(len(table)))
        numbers = COVARIATES[:-1]
        assert np.array_equal(
            X[numbers].to_numpy(float), expected[numbers].to_numpy(float), equal_nan=True
        )
        assert X["site"].fillna("?").tolist() == expected["site"].fillna("?").tolist()


def matrix_of_fit(X, y=None):
    """Return the inputs of a fit, in a canonical order of rows, and the preprocessor."""
    model = DeepSurvivalMachines(max_epochs=1, **SMALL)
    if y is not None:
        plan = prepare(model, TrainingSet(X, y))
        matrix = np.column_stack([plan.data.x.numpy(), plan.data.observed.time.numpy()])
        return matrix[np.lexsort(matrix.T)], plan.preprocessor
    with prepare_source(model, X) as (plan, _):
        matrix = np.column_stack([plan.data.x.numpy(), plan.data.observed.time.numpy()])
        return matrix[np.lexsort(matrix.T)], plan.preprocessor


def test_csv_parquet_and_memory_give_equal_matrices(table, tmp_path):
    frame = table.drop(columns=["patient", "weight"])
    frame["note"] = np.where(np.arange(len(frame)) % 3 == 0, 'say "yes",\nor no', "plain")
    frame.loc[::7, "note"] = "NA"  # a missing marker of pandas, in a column of texts
    frame["code"] = np.where(np.arange(len(frame)) % 2 == 0, "01", "2")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    in_memory = pd.read_csv(tmp_path / "t.csv", float_precision="round_trip", dtype={"code": str})
    in_memory.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=170)
    expected, _ = matrix_of_fit(in_memory.drop(columns=["time", "event"]), target_of(in_memory))
    for name in ("t.csv", "t.tsv", "t.parquet"):
        source = TableSource(tmp_path / name, "time", "event", categorical=["code"])
        matrix, preprocessor = matrix_of_fit(source)
        assert np.array_equal(matrix, expected)
        assert preprocessor.columns_[-1].levels == ("01", "2")
        assert preprocessor.columns_[-2].missing == pytest.approx(1 / 7, abs=1e-3)


def test_blocks_do_not_depend_on_the_format(table, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "_BLOCK_ROWS", 100)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=170)
    rows = [
        [len(block.row) for block in TableSource(tmp_path / name, **ROLES).read()]
        for name in ("t.csv", "t.parquet")
    ]
    assert rows[0] == rows[1] == [100] * 12
    matrices = [
        matrix_of_fit(TableSource(tmp_path / name, "time", "event", drop=["patient", "weight"]))[0]
        for name in ("t.csv", "t.parquet")
    ]
    assert np.array_equal(*matrices)
    in_memory, _ = matrix_of_fit(table[COVARIATES], target_of(table))
    np.testing.assert_allclose(matrices[0], in_memory, rtol=1e-6, atol=1e-6)


def test_a_cell_of_another_type_is_refused_with_file_line_and_option(tmp_path):
    lines = [f"{i},{i % 2},{i}.5,{i}" for i in range(1, 120_001)]
    lines[110_000] = "1,1,oops,1"
    (tmp_path / "t.csv").write_text("time,event,a,b\n" + "\n".join(lines) + "\n")
    match = r"t.csv, line 110002: 'oops' in column 'a' does not fit the type double .*categorical=\['a'\]"
    with pytest.raises(CovariateError, match=match):
        list(TableSource(tmp_path / "t.csv", "time", "event").blocks())
    frames = [
        frame
        for frame, _ in TableSource(tmp_path / "t.csv", "time", "event", missing=["oops"]).blocks()
    ]
    assert pd.concat(frames)["a"].isna().sum() == 1
    assert "a" in TableSource(tmp_path / "t.csv", "time", "event", categorical=["a"]).labels


def test_whole_numbers_may_become_fractions_and_widths_may_differ(table, tmp_path):
    (tmp_path / "a.csv").write_text("time;event;x;y\n1;0;1;\n2;1;2;\n")
    (tmp_path / "b.csv").write_text("time;event;x;y\n3;0;1.5;7\n")
    X, _ = read(TableSource(tmp_path, "time", "event"))
    assert X["x"].tolist() == [1.0, 2.0, 1.5]
    assert X["y"].fillna(0).tolist() == [0, 0, 7]


def test_folder_names_make_a_column(table, tmp_path):
    for year, rows in enumerate(np.array_split(np.arange(len(table)), 2), 2020):
        (tmp_path / f"year={year}").mkdir()
        table.iloc[rows].to_parquet(tmp_path / f"year={year}" / "part.parquet", index=False)
    X, _ = read(TableSource(tmp_path, "time", "event", drop=["patient", "weight"]))
    assert X["year"].value_counts().to_dict() == {2020.0: 600, 2021.0: 600}


def test_event_labels_weights_and_incomplete_rows(table, tmp_path):
    words = table.assign(event=np.where(table["event"] == 1, "dead", "alive"))
    words.loc[5, "time"], words.loc[6, "event"], words.loc[7, "weight"] = np.nan, None, 0.0
    words.to_parquet(tmp_path / "t.parquet", index=False)
    options = ROLES | {"codes": {"alive": 0, "dead": 1}}
    with pytest.raises(TargetError, match=r"t.parquet, rows 1 to 1,200: "):
        list(TableSource(tmp_path, **options).blocks())
    block = next(TableSource(tmp_path, **options, skip_incomplete=True).read())
    assert block.row[:8].tolist() == [0, 1, 2, 3, 4, 8, 9, 10]
    assert np.array_equal(block.target.event, table["event"].drop([5, 6, 7]))
    assert len(block.weight) == len(block.frame) == len(block.row)
    with pytest.raises(TargetError, match=r"labels without a code: \['dead'\]"):
        list(TableSource(tmp_path, **ROLES | {"codes": {"alive": 0}}).blocks())


def test_a_split_keeps_subjects_together_and_every_row_once(table, folder):
    train, test = TableSource(folder, **ROLES).split(0.3, random_state=4)
    rows = [read(part)[1] for part in (train, test)]
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(table)))
    assert not set(table["patient"].iloc[rows[0]]) & set(table["patient"].iloc[rows[1]])
    assert 0.2 < len(rows[1]) / len(table) < 0.4
    assert test.n_rows == 360
    assert set(read(test.split(0.5)[0])[1]) < set(rows[1])


def test_damaged_files_and_other_columns_are_named(table, tmp_path):
    write_shards(table, tmp_path)
    path = tmp_path / "part-2.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        InputError, match=r"part-2.parquet cannot be read: .*Write it again, if it is damaged"
    ):
        TableSource(tmp_path, **ROLES)
    table.drop(columns="b").to_parquet(path, index=False)
    with pytest.raises(CovariateError, match=r"part-2.parquet lacks the column 'b'; it has a, c"):
        TableSource(tmp_path, **ROLES)
    table.assign(b="x").to_parquet(path, index=False)
    match = "part-2.parquet cannot be read: .* b has incompatible types: double vs string"
    with pytest.raises(InputError, match=match):
        TableSource(tmp_path, **ROLES)
    narrow = table.assign(b=table["b"].astype("float32"), count=table["count"].astype("int8"))
    narrow.to_parquet(path, index=False)
    assert TableSource(tmp_path, **ROLES).n_rows == 800 + len(table)
    read(TableSource(tmp_path, **ROLES))


def test_what_cannot_be_read_is_refused(table, folder, tmp_path, monkeypatch):
    with pytest.raises(CovariateError, match="lacks the column 'days'"):
        TableSource(folder, "days", "event")
    with pytest.raises(SettingError, match="time and event go together"):
        TableSource(folder, "time")
    with pytest.raises(InputError, match="there is no file or folder"):
        TableSource(folder / "nothing")
    with pytest.raises(InputError, match="files of one format, .* got no files"):
        TableSource(tmp_path)
    table.assign(day=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        CovariateError, match=r"'day' must hold numbers, booleans or labels; got timestamp"
    ):
        TableSource(tmp_path, **ROLES)
    (tmp_path / "u.csv").write_text("a,time,event\n1,2,1\n")
    with pytest.raises(InputError, match="must hold files of one format"):
        TableSource(tmp_path, **ROLES)
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lifemix\[tables\]'"):
        TableSource(tmp_path / "u.csv", "time", "event")


# The matrix.


def test_rows_are_shuffled_and_subjects_are_held_out_together(table, folder):
    source = TableSource(folder, "time", "event", drop=["weight"], subject="patient")
    with prepare_source(DeepSurvivalMachines(max_epochs=1, **SMALL), source) as (plan, _):
        job, times = plan.jobs[0], plan.data.observed.time.double().numpy() * plan.scale.unit
        n_train = len(job.train_rows)
        position = np.argsort(table["time"].to_numpy())[
            np.argsort(np.argsort(times))
        ]  # times are distinct
    assert sorted(position.tolist()) == list(range(len(table)))
    assert abs(np.corrcoef(position[:n_train], np.arange(n_train))[0, 1]) < 0.1
    train, held_out = position[:n_train], position[n_train:]
    assert 0.1 * len(table) < len(held_out) < 0.2 * len(table)
    assert not set(table["patient"].iloc[train]) & set(table["patient"].iloc[held_out])


def test_the_matrix_is_deleted_however_the_fit_ends(source, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped_matrix.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    DeepSurvivalMachines(max_epochs=1, **SMALL).fit(source)
    assert not list((tmp_path / "temporary").iterdir())

    class Fail(Callback):
        def on_epoch_end(self, state):
            assert list((tmp_path / "kept" / "lifemix-matrix").glob("x.npy"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DeepSurvivalMachines(
            max_epochs=1, **SMALL, checkpoint=tmp_path / "kept", callbacks=[Fail()]
        ).fit(source)
    assert not (tmp_path / "kept" / "lifemix-matrix").exists()


def test_a_cache_keeps_the_matrix_and_is_used_again(folder, tmp_path, monkeypatch):
    source = TableSource(folder, "time", "event", drop=["patient", "weight"], cache=tmp_path)
    first = DeepSurvivalMachines(max_epochs=2, **SMALL).fit(source)
    assert len(list(tmp_path.glob("lifemix-*/x.npy"))) == 1
    with monkeypatch.context() as patch:
        patch.setattr(mapped_matrix, "_write_arrays", None)  # would fail
        second = DeepSurvivalMachines(max_epochs=2, **SMALL).fit(source)
    assert torch.equal(first.network_.parameters, second.network_.parameters)
    DeepSurvivalMachines(max_epochs=1, random_state=1, **SMALL).fit(source)
    assert len(list(tmp_path.glob("lifemix-*/x.npy"))) == 2


def test_free_space_is_checked_first(source, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(mapped_matrix.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(
        InputError, match=r"the encoded matrix of 1,\d+ rows needs .* GB in .*cache="
    ):
        DeepSurvivalMachines(max_epochs=1, **SMALL).fit(source)


# Fits.


def test_the_warm_start_is_that_of_a_fit_in_memory(table, source):
    model = DeepSurvivalMachines(max_epochs=0, **SMALL).fit(source)
    memory = DeepSurvivalMachines(max_epochs=0, **SMALL).fit(table[COVARIATES], target_of(table))
    assert model.network_.scale == memory.network_.scale
    assert torch.equal(model.network_.parameters, memory.network_.parameters)
    assert model.training_summary_.matches(memory.training_target_)
    assert model.last_event_time_ == memory.last_event_time_
    assert list(model.feature_names_in_) == list(memory.feature_names_in_)


def test_a_sample_contains_the_extremes(table, folder, monkeypatch):
    monkeypatch.setattr(mapped_matrix, "_SAMPLE_ROWS", 60)
    model = DeepSurvivalMachines(max_epochs=0, **SMALL).fit(TableSource(folder, **ROLES))
    assert len(model.training_target_) < 200
    assert model.last_event_time_ == table["time"][table["event"] == 1].max()
    assert model.network_.scale.first_event == table["time"][table["event"] == 1].min()


def test_a_fit_is_as_good_as_in_memory_saved_and_evaluated(table, source, tmp_path):
    X, y = table[COVARIATES], target_of(table)
    model = DeepSurvivalMachines(max_epochs=8, **SMALL).fit(source)
    memory = DeepSurvivalMachines(max_epochs=8, **SMALL).fit(X, y)
    start = DeepSurvivalMachines(max_epochs=0, **SMALL).fit(X, y)
    likelihoods = [each.log_likelihood(X, y) / len(y) for each in (model, memory, start)]
    assert likelihoods[1] - likelihoods[2] > 0.15
    assert abs(likelihoods[0] - likelihoods[1]) < 0.03
    save(model, tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    expected = model.predict_survival_function(X, [5.0, 10.0])
    assert np.array_equal(loaded.predict_survival_function(X, [5.0, 10.0]), expected)
    assert model.log_likelihood(source) == pytest.approx(model.log_likelihood(X, y), rel=1e-9)
    values = evaluate(loaded, source, [5.0, 10.0]).set_index(["metric", "horizon"])["value"]
    assert values.iloc[0] == pytest.approx(likelihoods[0])
    assert values["concordance_td", 5.0] > 0.6
    for name in ("out.parquet", "out.csv"):
        assert write_predictions(model, source, tmp_path / name, [5.0, 10.0], [0.9]) == len(table)
        written = (
            pd.read_parquet(tmp_path / name)
            if name.endswith("parquet")
            else pd.read_csv(tmp_path / name)
        )
        assert list(written.columns) == [
            "row",
            "survival_5",
            "survival_10",
            "median",
            "quantile_0.9",
        ]
        assert written["row"].tolist() == list(range(1, len(table) + 1))
        assert written[["survival_5", "survival_10"]].to_numpy() == pytest.approx(
            expected, abs=1e-12
        )


KILLED = """
import os, signal, sys
from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource
from lifemix.training import Callback

class Kill(Callback):
    def on_epoch_start(self, state):
        if state.epoch == 2:
            os.kill(os.getpid(), signal.SIGKILL)

source = TableSource(sys.argv[1], "time", "event", drop=["patient", "weight"])
DeepSurvivalMachines(**{settings!r}, checkpoint=sys.argv[2], callbacks=[Kill()]).fit(source)
"""


@pytest.mark.slow
def test_a_killed_fit_resumes_to_identical_bits(folder, source, tmp_path):
    settings = SMALL | {"n_members": 2, "dropout": 0.2, "max_epochs": 4}
    script = KILLED.replace("{settings!r}", repr(settings))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script, str(folder), str(tmp_path)]
    assert (
        subprocess.run(command, env=environment, check=False, timeout=200).returncode
        == -signal.SIGKILL
    )
    assert (tmp_path / "lifemix-matrix").exists()
    epochs = []
    count = Callback()
    count.on_epoch_end = lambda state: epochs.append(state.epoch)
    resumed = DeepSurvivalMachines(**settings, checkpoint=tmp_path, callbacks=[count]).fit(source)
    assert epochs == [3, 4]
    uninterrupted = DeepSurvivalMachines(**settings).fit(source)
    assert torch.equal(resumed.network_.parameters, uninterrupted.network_.parameters)
    assert resumed.history_ == uninterrupted.history_
    assert not list(tmp_path.glob("[!.]*"))


def test_competing_risks_intervals_late_entry_and_weights(table, tmp_path):
    rng = np.random.default_rng(1)
    mixed = table.assign(event=np.where(table["event"] == 1, rng.integers(1, 3, len(table)), 0))
    mixed["entry"] = np.where(rng.random(len(mixed)) < 0.05, mixed["time"] / 2, 0.0)
    is_interval = (rng.random(len(mixed)) < 0.05) & (mixed["event"] > 0)
    mixed["upper"] = np.where(is_interval, mixed["time"] * 1.5, np.nan)
    mixed.loc[3, ["time", "event", "entry", "upper"]] = [0.0, 0, 0.0, np.nan]
    mixed.loc[4, "weight"] = 0.0
    mixed.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=300)
    source = TableSource(tmp_path, **ROLES, entry="entry", upper="upper", paths=False)
    settings = SMALL | {"primitive": "lognormal", "k": 2, "objective": "elbo"}
    y = make_target(mixed["time"], mixed["event"], mixed["entry"], mixed["upper"])
    start = DeepSurvivalMachines(max_epochs=0, **settings).fit(source)
    memory = DeepSurvivalMachines(max_epochs=0, **settings).fit(
        mixed[COVARIATES], y, sample_weight=mixed["weight"]
    )
    assert torch.allclose(
        start.network_.parameters, memory.network_.parameters, rtol=1e-4, atol=1e-5
    )
    model = DeepSurvivalMachines(max_epochs=4, **settings).fit(source)
    assert model.n_events_ == 2
    assert model.log_likelihood(source) > start.log_likelihood(source)
    assert evaluate(model, source)["metric"].tolist() == ["log_likelihood"]


def intervals(n=150, n_rows=3):
    """Return subjects with consecutive rows, in random order."""
    rng = np.random.default_rng(0)
    ends = rng.exponential(2.0, size=(n, n_rows)).cumsum(1) + 0.1
    starts = np.concatenate([np.zeros((n, 1)), ends[:, :-1]], axis=1)
    event = np.zeros((n, n_rows), dtype=int)
    event[:, -1] = rng.integers(0, 2, n)
    frame = pd.DataFrame({"start": starts.ravel(), "stop": ends.ravel(), "event": event.ravel()})
    frame["patient"] = np.repeat([f"p{i}" for i in range(n)], n_rows)
    frame["a"] = rng.normal(size=len(frame))
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


def fit_intervals(frame, path, **options):
    frame.to_parquet(path / "t.parquet", index=False)
    roles = {"time": "stop", "event": "event", "entry": "start", "subject": "patient"}
    model = DeepSurvivalMachines(hidden=(4,), n_members=1, max_epochs=1, batch_size=64)
    return model.fit(TableSource(path / "t.parquet", **roles, **options))


def test_start_stop_rows_count_subjects(tmp_path):
    frame = intervals()
    model = fit_intervals(frame, tmp_path)
    assert len(model.training_target_) == 150
    assert len(fit_intervals(frame.assign(start=0.0), tmp_path).training_target_) == 450


@pytest.mark.parametrize(
    ("column", "factor", "message"),
    [
        ("stop", 1.5, "which overlap"),
        ("event", 1, "the first with an event, after which nothing can follow"),
        ("stop", 0.5, "with a gap between them"),
    ],
)
def test_start_stop_rows_that_do_not_follow_are_refused(tmp_path, column, factor, message):
    frame = intervals()
    first, second, _ = frame[frame["patient"] == "p7"].sort_values("start").index
    frame.loc[first, column] = factor if column == "event" else frame.loc[first, column] * factor
    with pytest.raises(TargetError, match=message) as caught:
        fit_intervals(frame, tmp_path)
    assert f"(rows {first + 1} and {second + 1};" in str(caught.value)
    fit_intervals(frame, tmp_path, paths=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"preprocessor": StandardScaler()},
            "preprocessor must be 'auto', None or a TabularPreprocessor",
        ),
        ({"encoder": torch.nn.Linear(6, 4)}, "encoder= needs a table in memory"),
        ({"preprocessor": None}, "X must hold numbers; .* Use preprocessor='auto' for categories"),
    ],
)
def test_options_that_need_the_table_in_memory_are_refused(source, options, message):
    with pytest.raises(InputError, match=message):
        DeepSurvivalMachines(max_epochs=0, **options).fit(source)


def test_outcomes_beside_a_source_are_refused(table, source, folder):
    with pytest.raises(
        SettingError,
        match="a TableSource names outcome, weights and subjects itself; got other arguments too",
    ):
        DeepSurvivalMachines().fit(source, target_of(table))
    with pytest.raises(InputError, match="a fit needs the outcome"):
        DeepSurvivalMachines().fit(TableSource(folder))
