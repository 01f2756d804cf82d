from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lifemix.training import Job, batches, steps_per_epoch
from lifemix.training.batches import Randomness, dropout_masks, shuffled_rows

CPU = torch.device("cpu")


def make_job(n_rows=3, first=0, dropout=0.0):
    return Job(
        torch.arange(first, first + n_rows), torch.empty(0), torch.zeros(1, 2), 0, dropout=dropout
    )


def test_no_batch_is_short():
    assert [steps_per_epoch(rows, 25) for rows in (1, 24, 25, 26, 100, 101)] == [1, 1, 1, 2, 4, 5]


@pytest.mark.parametrize("consecutive", [False, True])
def test_batches_cover_every_row_once_and_are_of_nearly_equal_size(consecutive):
    jobs = [make_job(101, 10), make_job(100, 10)]
    rows, present = shuffled_rows(jobs, [Randomness(1), Randomness(2)], 25, consecutive)
    assert rows.shape == (2, 5, 21)
    for job, own_rows, own_present in zip(jobs, rows, present, strict=True):
        assert sorted(own_rows[own_present].tolist()) == job.train_rows.tolist()
        assert set(own_present.sum(-1).tolist()) <= {20, 21}
        assert (own_rows[~own_present] == 10).all()
    assert not torch.equal(rows[0, :, :20], rows[1, :, :20])


def test_batches_of_a_table_on_disk_are_runs_of_consecutive_rows():
    rows, _ = shuffled_rows([make_job(100)], [Randomness(1)], 25, consecutive=True)
    assert set((rows.diff(dim=-1) % 100).flatten().tolist()) == {1}
    assert rows[0, :, 0].tolist() != sorted(rows[0, :, 0].tolist())


def test_dropout_drops_the_share_and_keeps_the_mean():
    ((mask,),) = dropout_masks([make_job(dropout=0.25)], [Randomness(0)], 400, 1, [500], CPU)
    np.testing.assert_allclose((mask == 0).float().mean(), 0.25, atol=0.005)
    np.testing.assert_allclose(mask.mean(), 1, atol=0.005)


@settings(deadline=None, max_examples=30)
@given(
    rates=st.lists(st.floats(0, 0.95), min_size=1, max_size=3),
    widths=st.lists(st.integers(1, 9), max_size=3),
    n_rows=st.integers(1, 9),
    n_steps=st.integers(1, 9),
    n_bytes=st.integers(1, 500),
)
def test_masks_do_not_depend_on_how_many_steps_are_drawn_at_once(
    rates, widths, n_rows, n_steps, n_bytes
):
    jobs = [make_job(dropout=rate) for rate in rates]
    randoms, expected = ([Randomness(seed) for seed in range(len(jobs))] for _ in range(2))
    with patch.object(batches, "_BYTES_PER_DRAW", n_bytes):
        steps = [
            masks and [mask.clone() for mask in masks]
            for masks in dropout_masks(jobs, randoms, n_rows, n_steps, widths, CPU)
        ]
    assert len(steps) == n_steps
    thresholds = [round(256 * rate) for rate in rates]
    if not any(thresholds) or not widths:
        assert steps == [None] * n_steps
        return
    for masks in steps:
        for width, mask in zip(widths, masks, strict=True):
            for model_mask, random, threshold in zip(mask, expected, thresholds, strict=True):
                alone = random.dropout.integers(0, 256, (n_rows, width), dtype=np.uint8)
                scaled = (alone >= threshold) * 256 / (256 - threshold)
                np.testing.assert_allclose(model_mask, scaled, rtol=1e-6)
    for random, alone in zip(randoms, expected, strict=True):
        assert random.dropout.bit_generator.state == alone.dropout.bit_generator.state
