"""How often bootstrap intervals hold the true value: percentile limits and those of ``metrics.bootstrap`` (BCa).

python -m benchmarks.coverage [--samples 400] [--rows 200] [--resamples 200]

Exponential times with hazard exp(b x), x standard normal, and exponential censoring. The prediction is the true model,
and the true values of the measures come from one very large sample. With 400 samples a share of .95 has a standard
error of .011. In the last design each subject has four rows with the same x and time, and the intervals draw subjects.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lifemix import make_target, metrics
from lifemix.errors import LifemixWarning
from lifemix.target import Target, as_target

Floats = NDArray[np.float64]
MEASURES = ("C^td", "Brier score", "AUC")
LEVEL = 0.95
LARGE, PART = 200_000, 20_000


@dataclass(frozen=True)
class Design:
    """A population: the strength of the covariate, the mean time to censoring, and the rows of each subject."""

    name: str
    strength: float
    censoring: float
    rows_per_subject: int = 1

    def draw(self, subjects: int, rng: np.random.Generator) -> tuple[Target, Floats]:
        """Return the target and the covariate."""
        x = rng.normal(size=subjects)
        time = rng.exponential(np.exp(-self.strength * x))
        end = rng.exponential(self.censoring, subjects)
        who = np.repeat(np.arange(subjects), self.rows_per_subject)
        subject = who if self.rows_per_subject > 1 else None
        y = make_target(np.minimum(time, end)[who], (time <= end).astype(int)[who], subject=subject)
        return as_target(y), x[who]


DESIGNS = (
    Design("half the rows have events", 1.0, 1.0),
    Design("one row in seven has an event", 1.0, 0.12),
    Design("a strong covariate", 3.0, 1.0),
    Design("four rows per subject", 1.0, 1.0, 4),
)


def coverage(design: Design, samples: int, rows: int, resamples: int) -> dict[str, Floats]:
    """Return the share of intervals that hold the true value, by method and measure."""
    large, x = design.draw(LARGE, np.random.default_rng(1))
    train = large.take(slice(0, 5_000))
    horizon = float(np.median(large.time[large.event > 0]))

    def measured(y: Target, x: Floats) -> list[float]:
        survival = np.exp(-horizon * np.exp(design.strength * x))
        return [
            float(metrics.concordance_td(train, y, x, horizon)),
            float(metrics.brier_score(train, y, survival, horizon)),
            float(metrics.auc_td(train, y, x, horizon)),
        ]

    starts = range(0, LARGE, PART)
    truth = np.mean(
        [measured(large.take(slice(i, i + PART)), x[i : i + PART]) for i in starts], axis=0
    )
    hits: dict[str, list[NDArray[np.bool_]]] = {"percentile": [], "BCa": []}
    rng = np.random.default_rng(2)
    for sample in range(samples):
        y, x = design.draw(rows, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)
            found = metrics.bootstrap(
                measured, y, x, n_resamples=resamples, level=LEVEL, random_state=sample
            )
        lower, upper = np.nanquantile(found.replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        hits["percentile"].append((lower <= truth) & (truth <= upper))
        hits["BCa"].append((found.lower <= truth) & (truth <= found.upper))
    return {method: np.mean(each, axis=0) for method, each in hits.items()}


def main() -> None:
    """Print one line per design and method."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--rows", type=int, default=200, help="subjects in each sample")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument(
        "--designs",
        type=int,
        nargs="*",
        default=range(len(DESIGNS)),
        help="which designs, from 0 on",
    )
    given = parser.parse_args()
    print(f"{'':32}{'':12}" + "".join(f"{measure:>13}" for measure in MEASURES))
    for number in given.designs:
        shares = coverage(DESIGNS[number], given.samples, given.rows, given.resamples)
        for method, values in shares.items():
            print(
                f"{DESIGNS[number].name:32}{method:12}" + "".join(f"{v:13.3f}" for v in values),
                flush=True,
            )


if __name__ == "__main__":
    main()
