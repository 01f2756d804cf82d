"""What is measured of a fitted model."""

import numpy as np

import lifemix
from experiments.protocol import times_of
from experiments.scores import risks
from tiny import SYNTHETIC


def test_incidences_of_all_events_at_once_are_those_of_each():
    fold, times = SYNTHETIC.fold(0, 0.0), times_of(SYNTHETIC)
    model = lifemix.DeepSurvivalMachines(max_epochs=2).fit(fold.X_train, fold.y_train)
    for event, found in enumerate(risks(model, fold.X_test, times), 1):
        alone = model.predict_cumulative_incidence(fold.X_test, times[event - 1], event=event)
        np.testing.assert_allclose(found, alone, atol=1e-6)
