"""What an epoch does beside its steps: held-out rows in parts, gradients of bounded length, checkpoints in time."""

from dataclasses import replace

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target
from lifemix.estimators.plan import make_plan
from lifemix.training import Checkpoint, Fleet, steps_per_epoch
from lifemix.training import fleet as fleet_module


def data(n=150):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3))
    return (
        X,
        make_target(rng.weibull(1.5, n) * np.exp(X[:, 0]), rng.integers(0, 3, n)),
        rng.uniform(0.2, 3.0, n),
    )


def quick(**settings):
    return DeepSurvivalMachines(
        **({"hidden": (6,), "k": 2, "max_epochs": 3, "batch_size": 40} | settings)
    )


def fleet_of(**settings):
    """Return a fleet before its first epoch; settings of training that the estimator does not have included."""
    own = {name: settings.pop(name) for name in ("max_gradient_norm",) if name in settings}
    _, plan = make_plan(quick(**settings), *data())
    return Fleet(plan.architecture, plan.data, plan.jobs, replace(plan.config, **own))


def test_rows_that_fill_their_batches_need_no_further_one():
    assert [steps_per_epoch(rows, 25) for rows in (1, 24, 25, 26, 100, 101)] == [1, 1, 1, 2, 4, 5]


@pytest.mark.parametrize("kept", [2**22, 0])
@pytest.mark.parametrize("members", [1, 3])
def test_held_out_rows_count_alike_in_one_part_and_in_many(members, kept, monkeypatch):
    def losses():
        return [
            record["validation_loss"] for record in quick(n_members=members).fit(*data()).history_
        ]

    whole = losses()
    monkeypatch.setattr(fleet_module, "_VALIDATION_CHUNK", 7 * members)
    monkeypatch.setattr(fleet_module, "_KEPT", kept)
    np.testing.assert_allclose(losses(), whole, rtol=1e-6)


@pytest.mark.parametrize("longest", [1e-3, 1e-2])
def test_no_step_is_longer_than_the_gradient_may_be(longest):
    fleet = fleet_of(optimizer="sgd", learning_rate=0.5, n_members=2, max_gradient_norm=longest)
    before, steps = fleet.values.clone(), []
    take = fleet.step
    fleet.step = lambda *arguments: (take(*arguments), steps.append(1))[0]
    fleet.run_epoch()
    moved = fleet.architecture.layout.unpack(fleet.values - before, 2).norm(dim=1)
    n = len(steps)
    farthest = (
        0.5 * longest * sum((1 - 0.9**k) / 0.1 for k in range(1, n + 1))
    )  # momentum 0.9, all steps one way
    assert n == 4
    assert (moved <= farthest * 1.001).all()
    assert (moved > farthest / 10).all()


@pytest.mark.parametrize(("every", "epochs"), [(1, [1, 2, 3, 4, 5]), (2, [2, 4, 5]), (10, [5])])
def test_checkpoints_are_written_when_they_are_due_and_at_the_end(
    every, epochs, tmp_path, monkeypatch
):
    fleet = fleet_of(max_epochs=5, patience=10)
    checkpoint, written = Checkpoint(tmp_path / "state", fleet, every), []
    save = checkpoint.save
    monkeypatch.setattr(
        checkpoint, "save", lambda state: (save(state), written.append(state.epoch))
    )
    fleet.train([checkpoint])
    assert written == epochs
