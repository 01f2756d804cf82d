"""How much faster the metrics are than scikit-survival's: same data, same results, alternating runs, one thread.

python -m benchmarks.metrics [--quick]
"""

import argparse
import json
import statistics
import time
import tracemalloc

import numpy as np
from sksurv.metrics import brier_score as their_brier_score
from sksurv.metrics import concordance_index_ipcw
from sksurv.util import Surv

from lifemix.metrics import brier_score, concordance_td

N_HORIZONS = 100


def draw(n, decimals, seed=0):
    """Return a target with tied times, and a risk rounded to so many decimals."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event_time = rng.exponential(np.exp(-0.7 * x))
    censoring = np.minimum(rng.exponential(2, size=n), 4)
    observed = np.maximum(np.round(np.minimum(event_time, censoring), 2), 0.01)
    y = Surv.from_arrays(event_time <= censoring, observed)
    return y, np.round(x + rng.normal(size=n), decimals)


def alternate(ours, theirs, repeats, our_runs):
    """Time both in turn, ours several times per turn as it is short; the results must agree."""
    own, other = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        their_value = theirs()
        other.append(time.perf_counter() - start)
        for _ in range(our_runs):
            start = time.perf_counter()
            our_value = ours()
            own.append(time.perf_counter() - start)
        if not np.allclose(our_value, their_value, rtol=0, atol=1e-10):
            raise AssertionError(f"results differ: {our_value} and {their_value}")
    seconds, their_seconds = statistics.median(own), statistics.median(other)
    return {"seconds": seconds, "their_seconds": their_seconds, "ratio": their_seconds / seconds}


def concordance_case(n, decimals, repeats):
    """Time ``concordance_td`` at the median event time, and measure its memory."""
    y, risk = draw(n, decimals)
    horizon = float(np.median(y["time"][y["event"]]))

    def ours():
        return concordance_td(y, y, risk, horizon, compat="sksurv")

    def theirs():
        return concordance_index_ipcw(y, y, risk, tau=horizon)[0]

    tracemalloc.start()
    ours()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {**alternate(ours, theirs, repeats, our_runs=5), "peak_bytes_per_row": peak / n}


def brier_case(n, repeats):
    """Time ``brier_score`` at 100 horizons."""
    y, risk = draw(n, 2)
    horizons = np.quantile(y["time"], np.linspace(0.02, 0.9, N_HORIZONS * 2))
    horizons = np.unique(horizons)[:N_HORIZONS]
    survival = np.exp(-np.outer(np.exp(0.5 * risk), horizons))

    def ours():
        return brier_score(y, y, survival, horizons, compat="sksurv")

    def theirs():
        return their_brier_score(y, y, survival, horizons)[1]

    return {**alternate(ours, theirs, repeats, our_runs=3), "horizons": len(horizons)}


def run(quick: bool) -> dict:
    """Return the timings; quick leaves out 100,000 rows, for which scikit-survival takes minutes."""
    results = {}
    for n in (20_000,) if quick else (20_000, 100_000):
        repeats = 1 if n > 20_000 else 2 if quick else 5
        for label, decimals in (("tied risks", 2), ("distinct risks", 16)):
            results[f"concordance_td, {n:,} rows, {label}"] = concordance_case(n, decimals, repeats)
        results[f"brier_score, {n:,} rows, {N_HORIZONS} horizons"] = brier_case(
            n, 3 if quick else 5
        )
    return results


def main() -> None:
    """Print the ratios; with --json the whole result."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="20,000 rows only")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()
    results = run(options.quick)
    if options.json:
        print(json.dumps(results, indent=2))
        return
    for name, result in results.items():
        print(
            f"{name:45s} {result['ratio']:7.1f} times faster "
            f"({result['seconds'] * 1e3:.1f} ms against {result['their_seconds'] * 1e3:.1f} ms)"
        )


if __name__ == "__main__":
    main()
