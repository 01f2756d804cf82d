"""Draw the samples that survreg.R and the tests read: data.json. Run: python make_data.py && Rscript survreg.R."""

import json
from pathlib import Path

import numpy as np

rng = np.random.default_rng(20)
n = 300
time = np.round(rng.weibull(1.4, n) * 8 + 0.05, 3)
censoring = np.round(rng.uniform(0, 20, n) + 0.01, 3)
event = (time <= censoring).astype(int)
observed = np.minimum(time, censoring)
# Inspections every 2 to 4 units: left-censored before the first, right-censored after the last, intervals between.
visits = np.cumsum(rng.uniform(2, 4, (n, 5)), axis=1).round(3)
after = (time[:, None] > visits).sum(1)
lower = np.where(after == 0, 0.0, visits[np.arange(n), np.maximum(after - 1, 0)])
upper = np.where(after == 5, np.inf, visits[np.arange(n), np.minimum(after, 4)])
entry = np.round(rng.uniform(0, 4, n), 3)
seen = entry < observed
data = {
    "right": {"time": observed, "event": event},
    "interval": {"lower": lower, "upper": np.where(np.isinf(upper), -1.0, upper)},
    "weighted": {"time": observed, "event": event, "weight": rng.integers(1, 5, n)},
    "truncated": {"time": observed[seen], "event": event[seen], "entry": entry[seen]},
}
plain = {
    kind: {name: values.tolist() for name, values in fields.items()}
    for kind, fields in data.items()
}
Path(__file__).with_name("data.json").write_text(json.dumps(plain) + "\n")
