"""Samples for tests of metrics: small ones full of ties, and exponential times with their model."""

import numpy as np
from hypothesis import strategies as st

from lifemix import make_target

__all__ = ["ExponentialModel", "draw_exponential", "tied_samples", "tied_targets"]


@st.composite
def tied_samples(draw, n_events=2):
    """Draw times, events and risks; the last subject is censored at 9, after all others."""
    row = st.tuples(st.integers(1, 8), st.integers(0, n_events), st.integers(-3, 3))
    rows = [*draw(st.lists(row, min_size=1, max_size=40)), (9, 0, 0)]
    time, event, risk = np.array(rows, dtype=float).T
    return time, event.astype(int), risk / 2


@st.composite
def tied_targets(draw, truncated=True):
    """Draw a target with two event types, left-truncated unless told otherwise."""
    row = st.tuples(st.integers(2, 9), st.integers(0, 2), st.integers(0, 3))
    time, event, entry = np.array(draw(st.lists(row, min_size=2, max_size=40)), dtype=float).T
    return make_target(time, event.astype(int), entry=np.minimum(entry, time - 1) * truncated)


class ExponentialModel:
    """Predictions for independent exponential times with rates exp(X), one column per event."""

    def predict_survival_function(self, X, times):
        return np.exp(-np.exp(np.asarray(X)).sum(axis=1)[:, None] * np.asarray(times))

    def predict_cumulative_incidence(self, X, times, event=1):
        rates = np.exp(np.asarray(X))
        share = rates[:, event - 1] / rates.sum(axis=1)
        return share[:, None] * (1 - self.predict_survival_function(X, times))


def draw_exponential(rng, n, n_events=1):
    """Draw covariates, and censored times and events that follow ``ExponentialModel``."""
    X = 0.8 * rng.normal(size=(n, n_events))
    times, censoring = rng.exponential(np.exp(-X)), rng.exponential(1.5, n)
    first = times.min(axis=1)
    event = np.where(first <= censoring, times.argmin(axis=1) + 1, 0)
    return X, (np.minimum(first, censoring), event)
