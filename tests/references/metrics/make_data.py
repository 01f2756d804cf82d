"""Draw the data that the reference values are computed on, and write data.json; see README.md."""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def draw(rng, n, whole_times):
    """Return columns: time, event (0, 1, 2), entry, risk (with ties) and predicted incidences at the horizons."""
    x = rng.normal(size=(n, 2))
    own = rng.exponential(12 * np.exp(-0.7 * x[:, 0]))
    other = rng.exponential(20 * np.exp(-0.5 * x[:, 1]))
    censoring = np.minimum(rng.exponential(25, size=n), 40)
    latent = np.minimum(own, other)
    time = np.minimum(latent, censoring)
    event = np.where(time == censoring, 0, np.where(own <= other, 1, 2))
    time = np.ceil(time) if whole_times else np.round(time, 6)
    late = rng.random(n) < 0.4
    entry = np.where(late, np.floor(time * rng.random(n) * 0.6 * 1e6) / 1e6, 0.0)
    if whole_times:
        entry = np.floor(entry)
    risk = np.round(x[:, 0] + 0.3 * rng.normal(size=n), 1)
    return {"x": x, "time": time, "event": event, "entry": entry, "risk": risk}


def incidence(data, horizons, event):
    """A made-up prediction of the risk of an event up to each horizon; rounded, so that some are equal."""
    rate = 0.05 * np.exp(0.6 * data["x"][:, event - 1])
    return np.round(0.8 * (1 - np.exp(-rate[:, None] * np.asarray(horizons))), 2)


def main():
    rng = np.random.default_rng(20240611)
    horizons = [3.0, 7.5, 12.0, 20.0, 30.0]
    content = {"horizons": horizons}
    for name, n, whole in (("tied", 250, True), ("continuous", 250, False), ("train", 200, True)):
        data = draw(rng, n, whole)
        content[name] = {key: values.tolist() for key, values in data.items() if key != "x"}
        for event in (1, 2):
            content[name][f"incidence{event}"] = incidence(data, horizons, event).tolist()
    (HERE / "data.json").write_text(json.dumps(content))


if __name__ == "__main__":
    main()
