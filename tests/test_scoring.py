"""Batches of any form give the columns of ``lifemix predict``, row by row."""

import pickle
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lifemix import DeepSurvivalMachines, load, make_target, save, scoring
from lifemix.baselines import CoxPH
from lifemix.cli import app
from lifemix.errors import CovariateError, InputError, SettingError
from lifemix.scoring import Scorer

TIMES = [0.5, 1.0]
# Rows of a batch share the grid on which incidences are computed: other batches give them to its accuracy.
ALIKE = {"rtol": 0.0, "atol": 1e-6}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(200, 3)), columns=["a", "b", "c"], index=np.arange(1000, 1200)
    )
    X["kind"] = rng.choice(["u", "v"], 200)
    X.loc[1003, "b"] = np.nan
    return X


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    rng = np.random.default_rng(1)
    y = make_target(
        rng.weibull(1.5, 200) * np.exp(0.5 * table["a"]) + 0.01, rng.integers(0, 3, 200)
    )
    model = DeepSurvivalMachines(hidden=(5,), k=2, max_epochs=2, n_members=1).fit(table, y)
    model.metadata_ = {"events": ["relapse", "2"]}
    path = tmp_path_factory.mktemp("scoring") / "model.safetensors"
    save(model, path)
    return path


@pytest.fixture(scope="module")
def whole(path, table):
    return Scorer(path, TIMES)(table)


COLUMNS = [
    *(
        "survival_0.5",
        "survival_1",
        "incidence_relapse_0.5",
        "incidence_relapse_1",
        "incidence_2_0.5",
    ),
    *("incidence_2_1", "median"),
]


def test_predictions_are_those_of_the_model_with_the_index_of_the_batch(path, table, whole):
    model = load(path)
    assert list(whole.columns) == COLUMNS
    assert whole.index.equals(table.index)
    np.testing.assert_array_equal(whole[COLUMNS[:2]], model.predict_survival_function(table, TIMES))
    np.testing.assert_allclose(
        whole["incidence_2_1"], model.predict_cumulative_incidence(table, [1.0], 2)[:, 0]
    )
    total = whole[["survival_1", "incidence_relapse_1", "incidence_2_1"]].sum(axis=1)
    np.testing.assert_allclose(total, 1.0, atol=1e-9)


def test_columns_are_those_of_the_program(path, table, whole, tmp_path):
    table.to_csv(tmp_path / "new.csv", index=False)
    arguments = [
        "predict",
        path,
        tmp_path / "new.csv",
        "--times",
        "0.5,1",
        "-o",
        tmp_path / "out.parquet",
    ]
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    program = pd.read_parquet(tmp_path / "out.parquet").drop(columns="row")
    renamed = {
        f"incidence_1_{t:g}": f"incidence_relapse_{t:g}" for t in TIMES
    }  # the program wrote no such file
    pd.testing.assert_frame_equal(
        program.rename(columns=renamed), whole.reset_index(drop=True), **ALIKE
    )


def test_parts_give_what_the_whole_gives(path, table, whole, monkeypatch):
    score = Scorer(path, TIMES)
    parts = list(score.batches([table[:70], table[70:70], table[70:]]))
    pd.testing.assert_frame_equal(pd.concat(parts), whole, **ALIKE)
    np.testing.assert_allclose(pd.concat(parts)["survival_1"], whole["survival_1"], rtol=1e-12)
    monkeypatch.setattr(scoring, "_BLOCK", 64)
    pd.testing.assert_frame_equal(score(table), whole, **ALIKE)


def test_a_batch_without_rows_has_the_columns(path, table):
    score = Scorer(path, TIMES, keep=["kind"])
    empty = score(table[:0])
    assert list(empty.columns) == ["kind", *COLUMNS]
    assert set(empty[COLUMNS].dtypes) == {np.dtype("float64")}
    pd.testing.assert_frame_equal(
        Scorer(path, TIMES).meta, Scorer(path, TIMES)(table[:0]).reset_index(drop=True)
    )
    assert score.spark_schema.startswith("`survival_0.5` double, `survival_1` double, ")
    assert score.spark_schema.count("double") == len(COLUMNS)


def test_other_forms_of_batches_come_back_as_they_are(path, table, whole):
    score = Scorer(path, TIMES, keep=["kind"])
    polars, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    expected = score(table).reset_index(drop=True)
    frame = polars.from_pandas(table)
    found = score(frame)
    assert isinstance(found, polars.DataFrame)
    batch = pa.RecordBatch.from_pandas(table, preserve_index=False)
    arrays = score({name: table[name].to_numpy() for name in table})
    assert isinstance(arrays["median"], np.ndarray)
    for one in (found.to_pandas(), score(batch).to_pandas(), pd.DataFrame(arrays)):
        pd.testing.assert_frame_equal(one, expected, **ALIKE, check_dtype=False)


def test_batches_of_duckdb(path, table, whole):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    pa = pytest.importorskip("pyarrow")
    with duckdb.connect() as database:
        database.register("new", table)
        reader = database.sql("select * from new").to_arrow_reader(64)
        found = pa.concat_tables(Scorer(path, TIMES).batches(reader))
    pd.testing.assert_frame_equal(found.to_pandas(), whole.reset_index(drop=True), **ALIKE)


def test_from_a_path_it_is_small_and_reads_the_file_once(path, table, whole, monkeypatch):
    score = Scorer(path, TIMES)
    data = pickle.dumps(score)
    assert len(data) < 1_000
    assert len(data) < path.stat().st_size / 5
    reads = []
    monkeypatch.setattr(scoring, "load", lambda where: reads.append(where) or load(where))
    scoring._load_once.cache_clear()
    for _ in range(3):  # as a worker does with every task
        pd.testing.assert_frame_equal(pickle.loads(data)(table[:5]), whole[:5], **ALIKE)
    assert reads == [str(path)]


def test_a_file_that_has_changed_is_refused(path, table, tmp_path):
    copy = tmp_path / "model.safetensors"
    shutil.copy(path, copy)
    data = pickle.dumps(Scorer(copy, TIMES))
    save(CoxPH().fit(table, make_target(np.arange(1.0, 201.0), np.ones(200, int))), copy)
    scoring._load_once.cache_clear()
    with pytest.raises(
        InputError, match="differs from the one that the scorer was constructed from"
    ):
        pickle.loads(data)(table)


def test_models_without_distributions_and_default_times(table):
    y = make_target(np.arange(1.0, 201.0), np.ones(200, int))
    model = CoxPH().fit(table.drop(columns="kind").fillna(0.0), y)
    found = Scorer(model)(table.fillna({"b": 0.0}))
    assert all(name.startswith("survival_") for name in found.columns)
    assert len(found.columns) == 3
    with pytest.raises(SettingError, match="a CoxPH has no quantiles"):
        Scorer(model, quantiles=[0.1])


def test_quantiles_and_names_of_events(path, table):
    score = Scorer(path, [1.0], quantiles=[0.1], event_names={1: "back again", 2: "death"})
    assert score.columns == (
        "survival_1",
        "incidence_back_again_1",
        "incidence_death_1",
        "median",
        "quantile_0.1",
    )
    found = score(table)
    assert (found["quantile_0.1"] < found["median"]).all()


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        (pd.DataFrame({"a": [1.0]}), CovariateError, "lacks 3 columns: 'b', 'c', 'kind'"),
        ([1.0, 2.0], InputError, "must be a DataFrame of pandas or polars.*got list"),
    ],
)
def test_batches_that_cannot_be_used_are_refused(path, batch, error, message):
    with pytest.raises(error, match=message):
        Scorer(path, TIMES)(batch)


def test_bad_settings_are_refused(path, tmp_path):
    with pytest.raises(SettingError, match="keep must be a list of column names; got 'id'"):
        Scorer(path, keep="id")
    with pytest.raises(SettingError, match="got int. Save the model"):
        Scorer(3)
    with pytest.raises(InputError, match="cannot be read"):
        Scorer(tmp_path / "none.safetensors")
    with pytest.raises(InputError, match="times"):
        Scorer(path, [-1.0])
    with pytest.raises(SettingError, match="event_names must name each"):
        Scorer(path, event_names=["one"])


def test_an_array_without_names_needs_all_columns_in_order(table):
    X = table[["a", "c"]].to_numpy()
    model = CoxPH().fit(X, make_target(np.arange(1.0, 201.0), np.ones(200, int)))
    batch = pd.DataFrame({"id": range(200), "p": X[:, 0], "q": X[:, 1]})
    found = Scorer(model, [50.0], keep=["id"])(batch)
    np.testing.assert_allclose(
        found["survival_50"], model.predict_survival_function(X, [50.0])[:, 0]
    )
