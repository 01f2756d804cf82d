"""Callbacks, optimiser classes and activations of the user's."""

import pytest
import torch
from sklearn.base import clone

from lifemix import FleetSearchCV
from lifemix.errors import SettingError
from lifemix.training import Callback


class Recorder(Callback):
    """Writes down which hooks were called, and when."""

    def __init__(self, stop_after=None):
        self.stop_after, self.calls, self.histories = stop_after, [], []

    def on_fit_start(self, state):
        self.calls.append(("fit start", state.epoch, state.n_running))

    def on_epoch_start(self, state):
        self.calls.append(("epoch start", state.epoch, state.n_running))

    def on_epoch_end(self, state):
        self.calls.append(("epoch end", state.epoch, state.n_running))
        self.histories.append(state.history)
        assert (state.max_epochs, state.n_models) == (4, 2)
        if state.epoch == self.stop_after:
            state.stop()

    def on_fit_end(self, state):
        self.calls.append(("fit end", state.epoch, state.n_running))


def test_hooks_are_called_around_the_fit_and_every_epoch_with_the_history_so_far(quick, single):
    recorder = Recorder()
    model = quick(max_epochs=4, n_members=2, patience=10, callbacks=[recorder]).fit(
        single.X, single.y
    )
    expected = [("fit start", 0, 2)]
    for epoch in range(4):
        expected += [("epoch start", epoch, 2), ("epoch end", epoch + 1, 2 if epoch < 3 else 0)]
    assert recorder.calls == [*expected, ("fit end", 4, 0)]
    assert recorder.histories[-1] == model.history_
    assert [len(history) for history in recorder.histories] == [2, 4, 6, 8]


def test_callbacks_change_nothing_unless_they_stop(quick, single):
    plain = quick(max_epochs=4, n_members=2).fit(single.X, single.y)
    watched = quick(max_epochs=4, n_members=2, callbacks=[Recorder()]).fit(single.X, single.y)
    assert torch.equal(plain.network_.parameters, watched.network_.parameters)


def test_a_callback_stops_the_training_at_the_best_epoch_so_far(quick, single):
    stopped = quick(max_epochs=4, n_members=2, callbacks=[Recorder(stop_after=2)]).fit(
        single.X, single.y
    )
    short = quick(max_epochs=2, n_members=2).fit(single.X, single.y)
    assert len(stopped.history_) == 4
    assert torch.equal(stopped.network_.parameters, short.network_.parameters)


@pytest.mark.parametrize("bad", [Recorder(), "log", [3], [Recorder]])
def test_what_is_no_list_of_callbacks_is_refused(quick, single, bad):
    with pytest.raises(SettingError, match="callbacks must .* got "):
        quick(callbacks=bad).fit(single.X, single.y)


def test_a_checkpoint_is_written_before_a_callback_fails(quick, single, tmp_path):
    class Fails(Callback):
        def on_epoch_end(self, state):
            if state.epoch == 2:
                raise RuntimeError("no")

    options = {"max_epochs": 4, "checkpoint": tmp_path}
    with pytest.raises(RuntimeError, match="no"):
        quick(**options, callbacks=[Fails()]).fit(single.X, single.y)
    assert list(tmp_path.iterdir())
    resumed = quick(**options).fit(single.X, single.y)
    whole = quick(max_epochs=4).fit(single.X, single.y)
    assert torch.equal(resumed.network_.parameters, whole.network_.parameters)


def test_callbacks_survive_a_clone(quick):
    recorder = Recorder()
    copied = clone(quick(callbacks=[recorder]))
    assert len(copied.callbacks) == 1


def test_a_search_calls_back_in_the_last_fit_alone(quick, single):
    class Counts(Callback):
        starts = 0

        def on_fit_start(self, state):
            type(self).starts += 1

    FleetSearchCV(quick(callbacks=[Counts()]), {"k": [1, 2]}, cv=2).fit(single.X, single.y)
    assert Counts.starts == 1
