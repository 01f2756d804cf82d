"""Many event types: a score takes the incidences of all of them at once."""

import numpy as np

from lifemix import DeepSurvivalMachines, make_target
from lifemix.metrics import mean_concordance


def test_the_score_of_many_event_types_is_that_of_one_after_the_other():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    latent = np.stack([rng.exponential(size=150) * np.exp(X[:, event % 2]) for event in range(7)])
    y = make_target(latent.min(0) + 0.01, latent.argmin(0))
    model = DeepSurvivalMachines(k=2, n_members=1, max_epochs=2).fit(X, y)
    distribution = model.predict_distribution(X)
    expected = mean_concordance(distribution.cumulative_incidence, model.training_target_, y)
    np.testing.assert_allclose(model.score(X, y), expected, atol=1e-3)
