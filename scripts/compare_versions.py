"""Compare the predictions of two checkouts of lifemix bit for bit, in one environment.

Run ``python scripts/compare_versions.py OLD_SRC NEW_SRC``, with the ``src`` folders of the two checkouts, in an
environment that has the optional packages. Each checkout fits the same models on SUPPORT and EBMT in a process of its
own with one thread; only public names are used. The table says for each model whether every number is the same; where
one is not, the exit code is 1. ``--only WORD`` takes the cases whose name has the word.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Results = dict[str, np.ndarray]

# These activations left the fused step in version 0.1.0; since then they take it, and rounding differs.
TO_ROUNDING = {"dsm gelu": 1e-5, "dsm silu": 1e-5}

# What is fitted to SUPPORT and EBMT: the settings that differ from the default.
ONE_NETWORK: dict[str, Any] = {  # the defaults of version 0.1.0: later ones follow from the table
    "hidden": (100,),
    "activation": "relu6",
    "n_members": 1,
    "dropout": 0.0,
    "batch_size": 128,
    "learning_rate": 1e-3,
    "patience": 10,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "lognormal": {"primitive": "lognormal", "max_epochs": 8},
    "loglogistic, elbo": {"primitive": "loglogistic", "objective": "elbo", "max_epochs": 8},
    "discount": {"discount": 0.5, "max_epochs": 8},
    "members, dropout": {"n_members": 4, "dropout": 0.3, "hidden": (40, 40), "activation": "tanh", "max_epochs": 6},
    "penalties": {"weight_decay": 0.1, "prior_strength": 0.01, "head_prior": 1e-3, "max_epochs": 6},
    "rmsprop, linear, no bias": {"optimizer": "rmsprop", "hidden": (), "bias": False, "max_epochs": 6},
    "sgd, elu, selu": {"optimizer": "sgd", "activation": "elu", "shift_activation": "selu", "max_epochs": 6},
    "t_max, nothing held out": {"t_max": 1e5, "validation_fraction": 0.0, "max_epochs": 5},
    "gelu": {"activation": "gelu", "max_epochs": 4},
    "silu": {"activation": "silu", "max_epochs": 4},
    "no epochs": {"max_epochs": 0},
}


def main() -> int:
    """Run both versions and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD_SRC")
    parser.add_argument("new", type=Path, metavar="NEW_SRC")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        run_cases(options.old, options.new, options.only)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        old, new = (run(path, Path(folder), options.only) for path in (options.old, options.new))
    return compare(old, new)


def run(source: Path, folder: Path, only: str) -> dict[str, Results]:
    """Return the results of one version by case; it may read the model file that the version before left."""
    if not (source / "lifemix" / "__init__.py").exists():
        raise SystemExit(f"{source} holds no package lifemix; give the src folder of a checkout.")
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, __file__, str(folder), out, "--worker", "--only", only]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"})
        return {path.stem: dict(np.load(path)) for path in sorted(Path(out).glob("*.npz"))}


def compare(old: Mapping[str, Results], new: Mapping[str, Results]) -> int:
    """Print one line per case; return 1 where anything differs."""
    different = rounded = 0
    print(f"{'case':44} {'numbers':>8}  {'old':8}  {'new':8}  result")
    for case in sorted({*old, *new}):
        one, other = old.get(case, {}), new.get(case, {})
        verdict, same = judge(one, other, next((t for name, t in TO_ROUNDING.items() if name in case), 0.0))
        different += not same
        rounded += "rounding" in verdict
        size = sum(values.size for values in one.values())
        print(f"{case:44} {size:8}  {fingerprint(one)}  {fingerprint(other)}  {verdict}")
    n = len({*old, *new})
    print(f"{n - different - rounded} of {n} cases the same bit for bit, {rounded} to rounding, {different} different")
    return int(different > 0)


def judge(old: Results, new: Results, tolerance: float) -> tuple[str, bool]:
    """Return a word on two results, and whether they are as they should be."""
    if {name: v.shape for name, v in old.items()} != {name: v.shape for name, v in new.items()}:
        return f"DIFFERENT: {sorted({*old} ^ {*new}) or 'shapes'}", False
    unlike = [name for name in old if old[name].tobytes() != new[name].tobytes()]
    if not unlike:
        return "same", True
    worst = max(distance(old[name], new[name]) for name in unlike)
    if worst <= tolerance:
        return f"same to rounding ({worst:.1e})", True
    return f"DIFFERENT: {', '.join(unlike)} by up to {worst:.1e} of the value", False


def distance(old: np.ndarray, new: np.ndarray) -> float:
    """Return the largest difference as a share of the value (or of 1 where values are small)."""
    equal = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore"):
        share = np.abs(new - old) / np.maximum(np.abs(old), 1.0)
    return float(np.nan_to_num(np.where(equal, 0.0, share), nan=np.inf).max())


def fingerprint(results: Results) -> str:
    """Return eight digits that tell two results apart."""
    digest = hashlib.sha256()
    for name, values in sorted(results.items()):
        digest.update(f"{name} {values.shape}".encode() + values.tobytes())
    return digest.hexdigest()[:8] if results else "-" * 8


# What follows runs in the process of one version.


def run_cases(shared: Path, out: Path, only: str) -> None:
    """Fit every case and write its predictions."""
    warnings.simplefilter("ignore")
    for name, case in cases(shared).items():
        if only in name:
            np.savez(out / f"{name}.npz", **{part: np.asarray(v, dtype=float) for part, v in case().items()})
            print(f"  {name}", file=sys.stderr)


def cases(shared: Path) -> dict[str, Callable[[], Results]]:
    """Return everything that is compared, by name."""
    from lifemix import DeepSurvivalMachines, datasets

    support, ebmt = datasets.load_support(), datasets.load_ebmt()
    found: dict[str, Callable[[], Results]] = {}
    for data in (support, ebmt):
        found |= {
            f"{data.name} dsm {name}": lambda data=data, own=own: fitted(
                data, DeepSurvivalMachines(**{**ONE_NETWORK, **own})
            )
            for name, own in SETTINGS.items()
        }
        found |= {
            f"{data.name} {name}": lambda data=data, make=make: fitted(data, make())
            for name, make in baselines(data is ebmt).items()
        }
    mixed = mixed_target(support)
    found["SUPPORT dsm paper"] = lambda: fitted(support, DeepSurvivalMachines.paper(max_epochs=5))
    found["SUPPORT dsm tuned"] = lambda: fitted(support, DeepSurvivalMachines.tuned(max_epochs=3, n_members=2))
    found["EBMT dsm tuned"] = lambda: fitted(ebmt, DeepSurvivalMachines.tuned(True, max_epochs=3, n_members=2))
    found["SUPPORT dsm intervals, truncation, weights"] = lambda: fitted_to_intervals(support.X, mixed)
    found["EBMT dsm intervals"] = lambda: fitted_to_intervals(ebmt.X, mixed_target(ebmt))
    found["SUPPORT dsm search"] = lambda: searched(support)
    found["EBMT dsm own encoder"] = lambda: fitted(
        ebmt, DeepSurvivalMachines(encoder=encoder(), max_epochs=3, **ONE_NETWORK)
    )
    found["SUPPORT model file of the first version"] = lambda: model_file(support, shared / "model.safetensors")
    found["SUPPORT metrics"] = lambda: measured(support)
    found["EBMT metrics"] = lambda: measured(ebmt)
    return found


def baselines(competing: bool) -> dict[str, Callable[[], Any]]:
    """Return makers of the models that lifemix is compared with; networks and forests small."""
    from lifemix import DeepSurvivalMachines
    from lifemix import baselines as ours

    few = {"max_epochs": 5, "random_state": 0}

    def average() -> Any:
        floor = ours.AalenJohansen() if competing else ours.KaplanMeier()
        parts = [DeepSurvivalMachines(max_epochs=3, **ONE_NETWORK), ours.GradientBoosting(max_iter=30), floor]
        return ours.ModelAverage(parts, discount=0.75, weights=[2.0, 2.0, 1.0])

    both: dict[str, Callable[[], Any]] = {
        "boosting": lambda: ours.GradientBoosting(max_iter=60),
        "deephit": lambda: ours.DeepHit(shared_nodes=30, cause_nodes=20, n_times=20, **few),
        "average": average,
    }
    single: dict[str, Callable[[], Any]] = {
        "cox": ours.CoxPH,
        "cox breslow ridge": lambda: ours.CoxPH("breslow", penalty=10.0),
        "forest": lambda: ours.RandomSurvivalForest(n_trees=5, min_samples_leaf=50, split_times=100),
        "deepsurv": lambda: ours.DeepSurv((20,), **few),
        "kaplan-meier": ours.KaplanMeier,
    }
    several: dict[str, Callable[[], Any]] = {
        "cause-specific cox": lambda: ours.CauseSpecific(ours.CoxPH()),
        "cause-specific deepsurv": lambda: ours.CauseSpecific(ours.DeepSurv((20,), **few), "product_limit"),
        "cause-specific forest": lambda: ours.CauseSpecific(ours.RandomSurvivalForest(n_trees=3, min_samples_leaf=50)),
        "fine-gray": ours.FineGray,
        "aalen-johansen": ours.AalenJohansen,
    }
    return both | (several if competing else single)


def fitted(data: Any, model: Any) -> Results:
    """Fit to three rows of four and describe the rest."""
    test = np.arange(len(data.y)) % 4 == 0
    model.fit(data.X[~test], data.y[~test])
    return described(model, data.X[test][:1000], data.y[test][:1000])


def described(model: Any, X: Any, y: np.ndarray) -> Results:
    """Return what a fitted model says of some rows."""
    times = np.concatenate([[0.0], np.quantile(y["time"], [0.1, 0.25, 0.5, 0.75, 0.95])])
    found = {
        "survival": model.predict_survival_function(X, times),
        "risk": model.predict(X),
        "score": np.array(model.score(X, y)),
    }
    for event in range(1, model.n_events_ + 1):
        found[f"incidence {event}"] = model.predict_cumulative_incidence(X, times, event)
        if hasattr(model, "predict_net_survival"):
            found[f"net {event}"] = model.predict_net_survival(X, times, event)
    if hasattr(model, "predict_distribution"):
        found |= distributed(model, X[:100], y[:100], times)
    return found


def distributed(model: Any, X: Any, y: np.ndarray, times: np.ndarray) -> Results:
    """Return what the distributions of some rows say, and the training of the model."""
    found: Results = {}
    distribution = model.predict_distribution(X)
    for name in ("pdf", "hazard", "cumulative_hazard"):
        found[name] = getattr(distribution, name)(times[1:])
    found["quantile"] = distribution.quantile([0.1, 0.5, 0.9])
    found["rmst"] = distribution.rmst(times[-1])
    if model.primitive != "loglogistic":  # whose mean under competing risks was off, and took minutes, in 0.1.0
        found["mean"] = distribution.mean()
    found["given"] = distribution.given(times[2]).survival(times[3:])
    drawn = distribution.sample(3, random_state=1)
    found["sample"] = np.concatenate([np.ravel(part) for part in drawn]) if isinstance(drawn, tuple) else drawn
    found["representation"] = model.transform(X)
    found["likelihood"] = np.array(model.log_likelihood(X, y))
    found["std"] = model.predict_survival_function(X, times, return_std=True)[1]
    found["history"] = np.array([[one["train_loss"], one["validation_loss"]] for one in model.history_])
    return found


def mixed_target(data: Any) -> np.ndarray:
    """Return the target with some rows known to an interval only and some truncated."""
    from lifemix import make_target

    time, event, rows = data.y["time"], data.y["event"], np.arange(len(data.y))
    upper = np.where((event > 0) & (rows % 5 == 0), 1.5 * time + 1, np.nan)
    entry: np.ndarray = make_target(time, event, np.where(rows % 7 == 0, time / 3, 0.0), upper)
    return entry


def fitted_to_intervals(X: Any, y: np.ndarray) -> Results:
    """Fit to intervals, truncated rows and weights; no score, which such targets do not have."""
    from lifemix import DeepSurvivalMachines

    rows = np.arange(0, len(y), 4)
    X, y, weight = X.iloc[rows], y[rows], 1.0 + rows % 3
    model = DeepSurvivalMachines(**ONE_NETWORK | {"max_epochs": 3, "hidden": (20,)}).fit(X, y, weight)
    times = np.quantile(y["time"], [0.1, 0.25, 0.5, 0.75, 0.95])
    return {"survival": model.predict_survival_function(X, times)} | distributed(model, X[:100], y[:100], times)


def searched(data: Any) -> Results:
    """Search a small grid by cross-validation."""
    from lifemix import DeepSurvivalMachines, FleetSearchCV

    grid = {"learning_rate": [1e-3, 1e-2], "k": [2, 3], "n_members": [1, 2]}
    search = FleetSearchCV(DeepSurvivalMachines(**ONE_NETWORK | {"max_epochs": 3, "hidden": (20,)}), grid, cv=3)
    search.fit(data.X[:2000], data.y[:2000])
    scores = {name: np.asarray(search.cv_results_[name]) for name in ("mean_test_score", "rank_test_score")}
    return scores | {"risk": search.predict(data.X[2000:2500])}


def encoder() -> Any:
    """Return an encoder of the user's."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    return nn.Sequential(nn.LazyLinear(16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))


def model_file(data: Any, path: Path) -> Results:
    """Predict with a model from a file; the version that finds no file writes it."""
    from lifemix import DeepSurvivalMachines, load, save

    if not path.exists():
        save(
            DeepSurvivalMachines(max_epochs=3, **{**ONE_NETWORK, "n_members": 2}).fit(data.X[:4000], data.y[:4000]),
            path,
        )
    return described(load(path), data.X[4000:5000], data.y[4000:5000])


def measured(data: Any) -> Results:
    """Measure made-up risks by every metric."""
    from lifemix import metrics

    train, test = data.y[::2], data.y[1::2]
    rng = np.random.default_rng(3)
    horizons = np.quantile(train["time"][train["event"] > 0], [0.25, 0.5, 0.75])
    risk = np.sort(rng.random((len(test), 3)), axis=1).round(3)
    found: Results = {}
    for event in range(1, int(data.y["event"].max()) + 1):
        for i, horizon in enumerate(horizons):
            value = metrics.concordance_td(train, test, risk[:, i], float(horizon), event=event)
            found[f"concordance {event} {i}"] = np.array(value)
        found[f"brier {event}"] = metrics.brier_score(train, test, 1 - risk, horizons, event=event)
        found[f"integrated brier {event}"] = np.array(
            # The rule is explicit because earlier checkouts have another default.
            metrics.integrated_brier_score(train, test, 1 - risk, horizons, event=event, rule="trapezoid")
        )
        found[f"auc {event}"] = np.asarray(metrics.auc_td(train, test, risk, horizons, event=event))
    return found


if __name__ == "__main__":
    sys.exit(main())
