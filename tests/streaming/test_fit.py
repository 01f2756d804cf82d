"""A model fitted from disk is an ordinary model, as one in memory: saved, resumed, for all that a target may be."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import InputError, SettingError
from lifemix.estimators.streamed import fit_source
from lifemix.preprocessing import TabularPreprocessor
from lifemix.streaming import TableSource, evaluate, write_predictions
from lifemix.training import Callback
from lifemix.training.checkpoint import Checkpoint

SMALL = {"hidden": (8,), "n_members": 1, "dropout": 0.0, "batch_size": 64, "learning_rate": 5e-3}


def target_of(table, **more):
    return make_target(table["time"], table["event"], **more)


def covariates(table):
    return table[["a", "b", "c", "count", "flag", "site"]]


@pytest.fixture(scope="module")
def source(folder):
    return TableSource(folder, "time", "event", drop=["patient", "weight"], shuffle_rows=400)


@pytest.fixture(scope="module")
def fitted(source):
    return DeepSurvivalMachines(max_epochs=8, **SMALL).fit(source)


def test_the_warm_start_is_that_of_a_fit_in_memory(table, source):
    model = DeepSurvivalMachines(max_epochs=0, **SMALL)
    disk, memory = model.fit(source).network_, DeepSurvivalMachines(max_epochs=0, **SMALL)
    memory.fit(covariates(table), target_of(table))
    assert disk.scale == memory.network_.scale
    assert torch.allclose(disk.parameters, memory.network_.parameters, atol=1e-6)
    assert model.training_summary_.matches(memory.training_target_)
    assert model.last_event_time_ == memory.last_event_time_
    assert list(model.feature_names_in_) == list(memory.feature_names_in_)


def test_it_predicts_as_well_as_a_fit_in_memory(table, fitted):
    X, y = covariates(table), target_of(table)
    memory = DeepSurvivalMachines(max_epochs=8, **SMALL).fit(X, y)
    start = DeepSurvivalMachines(max_epochs=0, **SMALL).fit(X, y)
    found, expected, nothing = (model.log_likelihood(X, y) / len(y) for model in (fitted, memory, start))
    assert expected - nothing > 0.15
    assert abs(found - expected) < 0.02
    assert fitted.history_[-1]["validation_loss"] < fitted.history_[0]["validation_loss"]


def test_it_is_saved_loaded_and_measured(table, fitted, source, tmp_path):
    X, y = covariates(table), target_of(table)
    save(fitted, tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    expected = fitted.predict_survival_function(X, [5.0, 10.0])
    assert np.array_equal(loaded.predict_survival_function(X, [5.0, 10.0]), expected)
    assert fitted.log_likelihood(source) == pytest.approx(fitted.log_likelihood(X, y), rel=1e-9)
    measured = evaluate(loaded, source, [5.0, 10.0])
    values = measured.set_index(["metric", "horizon"])["value"]
    assert values.iloc[0] == pytest.approx(fitted.log_likelihood(X, y) / len(y))
    assert values["concordance", 5.0] > 0.6
    for name in ("out.parquet", "out.csv.gz"):
        assert write_predictions(fitted, source, tmp_path / name, [5.0, 10.0], [0.9]) == len(table)
        written = pd.read_parquet(tmp_path / name) if name.endswith("parquet") else pd.read_csv(tmp_path / name)
        assert list(written.columns) == ["row", "survival_5", "survival_10", "median", "quantile_0.9"]
        assert written["row"].tolist() == list(range(1, len(table) + 1))
        assert written[["survival_5", "survival_10"]].to_numpy() == pytest.approx(expected, abs=1e-12)


class _Stop(Callback):
    def __init__(self, after):
        self.after = after

    def on_rows(self, state, done, total):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt


def test_an_interrupted_fit_goes_on_to_the_same_model(source, tmp_path, monkeypatch):
    after = 5  # windows, of three in each epoch
    monkeypatch.setattr(Checkpoint.__init__, "__defaults__", (1, 0.0, True))  # after every window
    settings = SMALL | {"n_members": 2, "dropout": 0.2, "max_epochs": 3}
    alone = DeepSurvivalMachines(**settings).fit(source)
    with pytest.raises(KeyboardInterrupt):
        DeepSurvivalMachines(**settings, checkpoint=tmp_path, callbacks=[_Stop(after)]).fit(source)
    seen = []
    count = Callback()
    count.on_rows = lambda state, done, total: seen.append(done)
    resumed = DeepSurvivalMachines(**settings, checkpoint=tmp_path, callbacks=[count]).fit(source)
    assert len(seen) == 9 - after  # three windows of three epochs, but those of before
    assert torch.equal(resumed.network_.parameters, alone.network_.parameters)
    assert resumed.history_ == alone.history_
    assert not list(tmp_path.glob("*.safetensors"))


def test_odd_rows_competing_risks_and_weights(table, tmp_path):
    rng = np.random.default_rng(1)
    odd = table.assign(event=np.where(table["event"] == 1, rng.integers(1, 3, len(table)), 0))
    odd["entry"] = np.where(rng.random(len(odd)) < 0.05, odd["time"] / 2, 0.0)
    late = (rng.random(len(odd)) < 0.05) & (odd["event"] > 0)
    odd["upper"] = np.where(late, odd["time"] * 1.5, np.nan)
    odd.loc[3, ["time", "event", "entry", "upper"]] = [0.0, 0, 0.0, np.nan]
    odd.loc[4, "weight"] = 0.0
    odd.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=300)
    roles = {"entry": "entry", "upper": "upper", "weight": "weight", "subject": "patient"}
    source = TableSource(tmp_path, "time", "event", **roles, paths=False, shuffle_rows=500)
    settings = SMALL | {"primitive": "lognormal", "k": 2, "objective": "elbo"}
    y = make_target(odd["time"], odd["event"], odd["entry"], odd["upper"])
    start = DeepSurvivalMachines(max_epochs=0, **settings).fit(source)
    memory = DeepSurvivalMachines(max_epochs=0, **settings).fit(covariates(odd), y, sample_weight=odd["weight"])
    assert torch.allclose(start.network_.parameters, memory.network_.parameters, rtol=1e-4, atol=1e-5)
    model = DeepSurvivalMachines(max_epochs=4, **settings).fit(source)
    assert model.n_events_ == 2
    assert model.log_likelihood(source) > start.log_likelihood(source)


def test_subjects_are_held_out_together(table, folder, monkeypatch):
    from lifemix.estimators import streamed

    rows = {}
    original = streamed._training_rows

    def kept(block, shares):
        found = original(block, shares)
        rows.update(dict.fromkeys(block.row[found].tolist()))
        return found

    monkeypatch.setattr(streamed, "_training_rows", kept)
    source = TableSource(folder, "time", "event", drop=["weight"], subject="patient")
    fit_source(DeepSurvivalMachines(max_epochs=1, **SMALL), source)
    held_out = set(range(len(table))) - set(rows)
    assert 0.1 * len(table) < len(held_out) < 0.2 * len(table)
    assert not set(table["patient"].iloc[list(rows)]) & set(table["patient"].iloc[list(held_out)])


def test_a_shard_that_breaks_later_keeps_the_checkpoint(table, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint.__init__, "__defaults__", (1, 0.0, True))
    shards = tmp_path / "shards"
    shards.mkdir()
    for number in range(3):
        covariates(table).assign(time=table["time"], event=table["event"]).to_parquet(
            shards / f"part-{number}.parquet", index=False, row_group_size=100
        )
    source = TableSource(shards, "time", "event", shuffle_rows=300)

    class Break(Callback):
        def on_epoch_end(self, state):
            content = bytearray((shards / "part-1.parquet").read_bytes())
            content[200 : len(content) - 8000] = bytes(len(content) - 8200)  # the footer stays
            (shards / "part-1.parquet").write_bytes(content)

    model = DeepSurvivalMachines(max_epochs=3, **SMALL, checkpoint=tmp_path / "kept", callbacks=[Break()])
    with pytest.raises(InputError, match=r"part-1.parquet cannot be read"):
        model.fit(source)
    assert list((tmp_path / "kept").glob("*.safetensors"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preprocessor": StandardScaler()}, "preprocessor must be 'auto', None or a TabularPreprocessor"),
        ({"encoder": torch.nn.Linear(6, 4)}, "encoder= needs a table in memory"),
        ({"preprocessor": None}, "preprocessor=None takes numbers only"),
    ],
)
def test_what_needs_the_table_in_memory_is_refused(source, options, message):
    with pytest.raises(InputError, match=message):
        DeepSurvivalMachines(max_epochs=0, **options).fit(source)


def test_outcomes_beside_a_source_are_refused(table, source):
    with pytest.raises(SettingError, match="names outcome, weights and subjects itself; got y too"):
        DeepSurvivalMachines().fit(source, target_of(table))


def test_a_preprocessor_of_ones_own(source):
    model = DeepSurvivalMachines(
        max_epochs=1, **SMALL, preprocessor=TabularPreprocessor(numbers="piecewise", bins=4)
    ).fit(source)
    assert model.preprocessor_.columns_[0].knots is not None
