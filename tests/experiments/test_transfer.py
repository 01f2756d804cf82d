"""Transfer from one event to another: which rows, which records, which cells."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LinearRegression

from experiments.protocol import Protocol
from experiments.transfer import (
    VAE,
    fit_representation,
    halves,
    nonnegative_factors,
    transfer_study,
)
from lifemix.datasets.synthetic import synthetic_means
from lifemix.metrics import concordance
from lifemix.splits import EventStratifiedKFold

TINY = Protocol("synthetic", None, (0, 1, 2, 3, 4), run="quick", rows=800)
JOBS = {job.model: dataclasses.replace(job, protocol=TINY) for job in transfer_study(True).jobs}


def test_each_half_has_one_event_type_and_no_row_is_in_both():
    (first, y_first), (second, y_second) = halves(TINY)
    data = TINY.dataset()
    events = pd.Series(data.y["event"], index=data.X.index)
    assert not set(first.index) & set(second.index)
    for X, y, event in ((first, y_first, 1), (second, y_second, 2)):
        assert set(events[X.index]) == {0, event}
        np.testing.assert_array_equal(y["event"], events[X.index] == event)


def test_the_upper_bound_is_the_concordance_of_the_true_mean():
    X, y = halves(TINY)[1]
    folds = EventStratifiedKFold(5, 0).split(X, y)
    for record, (_, test) in zip(fit_representation(JOBS["truth"]), folds, strict=True):
        expected = concordance(y[test], -synthetic_means(X.to_numpy()[test])[:, 1])
        assert record["test"]["concordance"] == [[pytest.approx(expected, abs=1e-6)]]


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize("model", ["dsm", "tuned", "kpca", "nnmf", "vae", "raw"])
def test_learners_give_a_record_per_fold(model):
    setting = {"layers": 1, "nodes": 5} if JOBS[model].settings[0] else {}
    records = list(fit_representation(dataclasses.replace(JOBS[model], settings=(setting,))))
    assert [record["fold"] for record in records] == [0, 1, 2, 3, 4]
    for rows in ("test", "inner"):
        values = np.array([record[rows]["concordance"] for record in records])
        assert ((values > 0.3) & (values < 0.9)).all()


def test_a_full_run_has_the_papers_widths_and_depths():
    jobs = transfer_study().jobs
    shapes = [tuple(job.settings[0].values()) for job in jobs if job.model == "dsm"]
    assert shapes == [(layers, nodes) for layers in (1, 2) for nodes in (25, 50, 100)]
    assert [job.settings for job in jobs if job.model == "truth"] == [({},)]


def test_cells_of_shapes_stand_beside_the_selected_one():
    values = {(1, 25, 0): 0.6, (1, 25, 1): 0.62, (2, 100, 0): 0.7, (2, 100, 1): 0.72}
    identity = {"data": "transfer", "model": "dsm", "censoring": 0.0}
    records = [
        identity
        | {"setting": {"layers": layers, "nodes": nodes}, "fold": fold}
        | {"test": {"concordance": [[value]]}, "inner": {"concordance": [[1 - value]]}}
        for (layers, nodes, fold), value in values.items()
    ]
    cells, _ = transfer_study().summarise(pd.DataFrame(records))
    assert set(cells["event"]) == {2}
    means = cells.set_index("selection")["mean"].to_dict()
    expected = {"paper": 0.71, "nested": 0.61, "1x25": 0.61, "2x100": 0.71}
    assert means == pytest.approx(expected)


def test_the_autoencoder_finds_the_plane_of_the_data_and_leaves_the_global_generator_alone(rng):
    plane = rng.normal(size=(1000, 2))
    X = plane @ rng.normal(size=(2, 8)) + 0.05 * rng.normal(size=(1000, 8))
    state = torch.get_rng_state()
    vae = VAE(2, (32,), max_epochs=40).fit(pd.DataFrame(X))
    assert torch.equal(torch.get_rng_state(), state)
    codes = vae.transform(pd.DataFrame(X))
    assert LinearRegression().fit(codes, plane).score(codes, plane) > 0.9
    assert min(vae.history_) < 0.8 * vae.history_[0]


def test_nonnegative_factors_clip_values_beyond_the_training_range(rng):
    X = pd.DataFrame(rng.normal(size=(80, 4)))
    extreme = pd.DataFrame([[-100.0] * 4, [100.0] * 4])
    codes = nonnegative_factors(2, 0).fit(X).transform(extreme)
    assert (codes >= 0).all()
    np.testing.assert_allclose(codes[0], 0, atol=1e-6)
