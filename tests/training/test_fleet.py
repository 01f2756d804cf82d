import numpy as np
import pytest
import torch

from helpers.small_fleets import DIFFERENT_JOBS, make_fleet, make_rows
from lifemix import DeepSurvivalMachines, make_target
from lifemix.network import Architecture
from lifemix.training import Callback, Fleet, TrainConfig, fleet
from lifemix.training.fleet import training_arithmetic

WEIBULL = Architecture(5, (8,), 3, 1, "weibull")


@pytest.mark.parametrize(
    ("kind", "n_events"), [("plain", 2), ("intervals", 2), ("late", 1), ("all", 1)]
)
def test_a_model_in_a_fleet_equals_the_model_alone(kind, n_events):
    architecture = Architecture(5, (8,), 3, n_events, "weibull")
    config = TrainConfig(batch_size=32, max_epochs=12, patience=3)
    trained = make_fleet(architecture, DIFFERENT_JOBS, config, kind)
    for job, fit in zip(trained.jobs, trained.train(), strict=True):
        (alone,) = Fleet(architecture, trained.data, [job], config).train()
        assert alone.best_epoch == fit.best_epoch
        np.testing.assert_allclose(fit.parameters, alone.parameters, atol=2e-4)
        np.testing.assert_allclose(fit.validation_loss, alone.validation_loss, rtol=1e-4)


def test_each_model_stops_by_itself_and_keeps_its_best_epoch():
    rates = [{"learning_rate": 0.1}, {"learning_rate": 1e-4}]
    quick, slow = make_fleet(WEIBULL, rates, TrainConfig(patience=4, max_epochs=25)).train()
    assert len(quick.validation_loss) < len(slow.validation_loss)
    assert quick.best_epoch == int(np.argmin(quick.validation_loss)) + 1
    assert len(quick.validation_loss) == quick.best_epoch + 4


def test_a_held_out_loss_that_is_not_finite_is_never_the_best():
    trained = make_fleet(WEIBULL, config=TrainConfig(patience=3))
    trained.run_epoch()
    best = trained.best.clone()
    trained.parameters.flat.fill_(torch.nan)
    (fit,) = trained.train()
    assert fit.best_epoch == 1
    assert len(fit.train_loss) == 4
    assert torch.equal(fit.parameters, best[0])


@pytest.mark.parametrize("kind", ["plain", "late"])
@pytest.mark.parametrize("n_models", [1, 3])
def test_held_out_rows_may_be_evaluated_in_chunks(n_models, kind, monkeypatch):
    trained = make_fleet(WEIBULL, DIFFERENT_JOBS[:n_models], kind=kind)
    at_once = trained.validation_loss()
    monkeypatch.setattr(fleet, "_VALIDATION_ROWS", 7 * n_models)
    np.testing.assert_allclose(trained.validation_loss(), at_once, rtol=1e-6)


@pytest.mark.parametrize("kind", ["plain", "late"])
def test_batches_may_be_prepared_in_chunks(kind, monkeypatch):
    expected = make_fleet(WEIBULL, DIFFERENT_JOBS, TrainConfig(max_epochs=3, batch_size=20), kind)
    expected.train()
    monkeypatch.setattr(fleet, "_PREPARED_ROWS", 100)
    chunks = make_fleet(WEIBULL, DIFFERENT_JOBS, TrainConfig(max_epochs=3, batch_size=20), kind)
    for ours, reference in zip(chunks.train(), expected.fits, strict=True):
        assert torch.equal(ours.parameters, reference.parameters)


@pytest.mark.parametrize("max_norm", [1e-3, 1e-2])
def test_the_norm_of_a_gradient_is_bounded(max_norm):
    config = TrainConfig(optimizer="sgd", max_gradient_norm=max_norm, batch_size=25)
    trained = make_fleet(WEIBULL, [{"learning_rate": 0.5}] * 2, config)
    before = trained.parameters.flat.clone()
    trained.run_epoch()
    moved = WEIBULL.layout.unpack(trained.parameters.flat - before, 2).norm(dim=1)
    # Momentum 0.9, and 4 steps in one direction.
    farthest = 0.5 * max_norm * sum((1 - 0.9**k) / 0.1 for k in range(1, 5))
    assert (moved <= farthest * 1.001).all()
    assert (moved > farthest / 10).all()


def test_layouts_of_rows_and_of_a_fleet_hold_the_same_parameters():
    layout = Architecture(5, (4, 3), 2, 2, "weibull").layout
    rows = torch.arange(3 * layout.size, dtype=torch.float64).view(3, -1)
    flat = layout.pack(rows)
    blocks = layout.blocks(flat, 3)
    for name, view in layout.views(rows).items():
        assert torch.equal(view, blocks[name])
        assert blocks[name].is_contiguous()
    assert torch.equal(layout.unpack(flat, 3), rows)


@pytest.mark.parametrize("kind", ["plain", "late"])
def test_the_unit_of_time_does_not_matter(kind):
    x, y, _ = make_rows(kind=kind)
    entry = y["entry"] / 365 if kind == "late" else None
    years = make_target(y["time"] / 365, y["event"], entry=entry)
    days, years = (
        DeepSurvivalMachines(hidden=(6,), k=2, max_epochs=4).fit(x, target) for target in (y, years)
    )
    times = np.quantile(y["time"], [0.2, 0.5, 0.8])
    np.testing.assert_allclose(
        days.predict_survival_function(x, times),
        years.predict_survival_function(x, times / 365),
        atol=1e-5,
    )


def test_denormal_numbers_are_zero_in_training_only():
    tiny = torch.tensor(1e-40)
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot flush denormal numbers")
    with training_arithmetic(1e3):
        assert float(tiny.mul(1.0)) == 0
    assert float(tiny.mul(1.0)) > 0


@pytest.mark.parametrize(("n_multiplications", "expected"), [(1e3, 1), (1e12, 3)])
def test_small_steps_have_one_thread_and_the_number_comes_back(n_multiplications, expected):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with training_arithmetic(n_multiplications):
            assert torch.get_num_threads() == expected
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


class FailsAfterAnEpoch(Callback):
    def on_epoch_end(self, state):
        assert torch.get_num_threads() == 1
        raise RuntimeError("a callback failed")


def test_a_fit_that_fails_leaves_the_number_of_threads():
    x, y, _ = make_rows()
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(RuntimeError, match="a callback failed"):
            DeepSurvivalMachines(hidden=(4,), callbacks=[FailsAfterAnEpoch()]).fit(x, y)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
