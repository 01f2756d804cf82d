"""No subject is on both sides of any split: each one in every model, search and command is watched."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from typer.testing import CliRunner

from experiments import protocol
from lifemix import (
    DeepSurvivalMachines,
    FleetSearchCV,
    baselines,
    datasets,
    make_target,
    metrics,
    splits,
)
from lifemix.cli import app
from lifemix.errors import InputError, SettingError
from lifemix.estimators.preparation import TrainingSet, prepare

ROWS, PER_SUBJECT = 240, 6
RNG = np.random.default_rng(0)
SUBJECT = RNG.permutation(
    np.repeat([f"patient {i}" for i in range(ROWS // PER_SUBJECT)], PER_SUBJECT)
)
TIME = np.arange(1.0, ROWS + 1)  # tells the rows apart, whatever is done to them
EVENT = RNG.integers(0, 3, ROWS)
OWNER = dict(zip(TIME.tolist(), SUBJECT.tolist(), strict=True))
X = pd.DataFrame(RNG.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
Y = make_target(TIME, EVENT, subject=SUBJECT)
ONE = make_target(TIME, EVENT > 0, subject=SUBJECT)
SMALL = {"hidden": (4,), "k": 2, "max_epochs": 2}


def owners(time):
    return {OWNER[t] for t in np.asarray(time).tolist()}


@pytest.fixture
def watched(monkeypatch):
    """Count the splits; each must have whole subjects on both sides."""
    count = SimpleNamespace(validation=0, folds=0)
    validation, folds = splits.train_validation_split, splits.EventStratifiedKFold.split

    def check(y, train, test):
        time = splits.as_target(y).time
        assert len(train)
        assert len(test)
        assert not owners(time[train]) & owners(time[test])

    def watch_validation(y, *arguments, **options):
        found = validation(y, *arguments, **options)
        check(y, *found)
        count.validation += 1
        return found

    def watch_folds(self, X, y, groups=None):
        for train, test in folds(self, X, y, groups):
            check(y, train, test)
            count.folds += 1
            yield train, test

    for name, module in list(sys.modules.items()):
        is_ours = name.startswith(("lifemix", "experiments"))
        if is_ours and getattr(module, "train_validation_split", None) is validation:
            monkeypatch.setattr(module, "train_validation_split", watch_validation)
    monkeypatch.setattr(splits.EventStratifiedKFold, "split", watch_folds)
    return count


MODELS = {
    "DeepSurvivalMachines": (DeepSurvivalMachines(**SMALL, n_members=3), Y),
    "DeepSurv": (baselines.DeepSurv(hidden=(4,), max_epochs=2), ONE),
    "DeepHit": (baselines.DeepHit(shared_nodes=4, cause_nodes=4, n_times=5, max_epochs=2), Y),
    "GradientBoosting": (baselines.GradientBoosting(n_intervals=3, max_iter=3), Y),
    "CauseSpecific": (baselines.CauseSpecific(baselines.DeepSurv(hidden=(4,), max_epochs=2)), Y),
    "ModelAverage": (
        baselines.ModelAverage(
            [DeepSurvivalMachines(**SMALL), baselines.GradientBoosting(n_intervals=3, max_iter=3)]
        ),
        Y,
    ),
}


@pytest.mark.parametrize(("model", "y"), MODELS.values(), ids=MODELS.keys())
def test_early_stopping(watched, model, y):
    model.fit(X, y)
    assert watched.validation >= 1
    assert model.training_target_.subject is None
    seen = watched.validation
    plain = make_target(y["time"], y["event"])
    model.fit(X, plain, groups=SUBJECT)
    assert watched.validation == 2 * seen
    with pytest.raises(AssertionError):  # the watch would see it
        model.fit(X, plain)


def test_rows_of_a_plan_and_given_rows():
    prepared = prepare(DeepSurvivalMachines(**SMALL, n_members=3), TrainingSet(X, Y))
    for job in prepared.jobs:
        assert not owners(TIME[job.train_rows]) & owners(TIME[job.validation_rows])
    train, held_out = splits.train_validation_split(Y)
    inside, outside = ((X.iloc[rows], Y[rows]) for rows in (train, held_out))
    DeepSurvivalMachines(**SMALL).fit(*inside, validation_data=outside)
    more = np.append(held_out, train[0])
    with pytest.raises(
        InputError, match=r"other subjects than X; got 1 of its 9 subjects in both \(1 rows\)"
    ):
        DeepSurvivalMachines(**SMALL).fit(*inside, validation_data=(X.iloc[more], Y[more]))


SEARCHES = {
    "subjects in the target": (2, Y, {}),
    "groups": (splits.EventStratifiedKFold(2), make_target(TIME, EVENT), {"groups": SUBJECT}),
    "scikit-learn's splitter": (GroupKFold(2), Y, {}),
}


@pytest.mark.parametrize(("cv", "y", "options"), SEARCHES.values(), ids=SEARCHES.keys())
def test_search(watched, cv, y, options):
    search = FleetSearchCV(DeepSurvivalMachines(**SMALL), {"k": [1, 2]}, cv=cv).fit(X, y, **options)
    assert watched.folds == (0 if isinstance(cv, GroupKFold) else search.n_splits_)
    assert (
        watched.validation == search.n_splits_ + 1
    )  # early stopping in each fold, shared by the candidates; refit


def test_a_search_refuses_folds_that_separate_a_subject():
    search = FleetSearchCV(
        DeepSurvivalMachines(**SMALL), {"k": [1]}, cv=[(np.arange(120), np.arange(120, 240))]
    )
    with pytest.raises(SettingError, match="subjects on both sides of fold 0. Use cv=5"):
        search.fit(X, Y)
    with (
        pytest.warns(UserWarning, match="groups"),
        pytest.raises(SettingError, match="subjects on both sides"),
    ):
        search.set_params(cv=KFold(3)).fit(X, Y)


def test_scikit_learn_around_our_models(watched):
    model, cv = DeepSurvivalMachines(**SMALL), splits.EventStratifiedKFold(2)
    cross_val_score(model, X, Y, cv=cv)
    GridSearchCV(model, {"k": [1]}, cv=cv).fit(X, Y)
    assert (watched.folds, watched.validation) == (4, 5)
    plain = make_target(TIME, EVENT)
    with config_context(enable_metadata_routing=True):
        GridSearchCV(model, {"k": [1]}, cv=cv).fit(X, plain, groups=SUBJECT)
        search = FleetSearchCV(model, {"k": [1]}, cv=2)
        cross_val_score(search, X, plain, cv=cv, params={"groups": SUBJECT})
        cross_val_score(
            baselines.DeepHit(max_epochs=1), X, plain, cv=cv, params={"groups": SUBJECT}
        )
    assert watched.folds == 4 + 2 + (2 + 4) + 2


def test_bootstrap_of_an_evaluation(watched):
    model = DeepSurvivalMachines(**SMALL).fit(X, Y)
    times = []

    def watch(y_train, y_test, risk, horizons, event):
        times.append(y_test.time)
        return risk.mean(axis=0)

    metrics.register_measure(
        metrics.Measure("watch", "watch", None, "horizon", watch, standard=False)
    )
    metrics.evaluate(model, Y, X, Y, [100.0], measures=["watch"], n_bootstrap=3)
    assert len(times) > 3 + 20
    for time in times:
        found = pd.Series(time).map(OWNER)
        counts = pd.crosstab(found, time)
        assert all(
            len(set(row[row > 0])) == 1 and (row > 0).sum() == PER_SUBJECT
            for row in counts.to_numpy()
        )


def test_folds_of_an_experiment(watched, monkeypatch):
    data = datasets.from_frame(
        X.assign(time=TIME, event=EVENT, who=SUBJECT), "time", "event", subject="who"
    )
    monkeypatch.setattr(protocol, "_dataset", lambda *source: data)
    protocol._fold.cache_clear()
    fold = protocol.Protocol("metabric", n_folds=2).fold(0, 0.0)
    protocol._fold.cache_clear()
    assert (watched.folds, watched.validation) == (2, 1)
    for one, other in (
        (fold.y_train, fold.y_test),
        (fold.inner_train[1], fold.inner_validation[1]),
    ):
        assert not owners(one["time"]) & owners(other["time"])


def test_commands(watched, tmp_path, monkeypatch):
    monkeypatch.setattr("lifemix.cli.quality._RESAMPLES", 5)
    table, model, rest = tmp_path / "t.csv", tmp_path / "m.safetensors", tmp_path / "rest.csv"
    X.assign(time=TIME, event=EVENT > 0, who=SUBJECT).to_csv(table, index=False)
    columns = ["--time", "time", "--event", "event", "--id", "who"]

    def run(*arguments):
        before = watched.validation, watched.folds
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.stderr or result.exception
        return watched.validation - before[0], watched.folds - before[1]

    fit = [
        "fit",
        table,
        *columns,
        "-o",
        model,
        "--primitive",
        "weibull",
        "--epochs",
        "2",
        "--members",
        "2",
    ]
    # Held-out rows, early stopping in the three folds of the search, and of two members.
    assert run(*fit, "--search", "--holdout-to", rest) == (1 + 3 + 2, 3)
    assert set(pd.read_csv(rest)["who"].value_counts()) == {
        PER_SUBJECT
    }  # the others were trained on
    validation, folds = run(
        "compare",
        table,
        *columns,
        "--folds",
        "2",
        "--rows",
        "200",
        "--models",
        "dsm,boosting",
        "--search",
    )
    assert (validation, folds) == (1 + 2 * (3 + 1 + 1), 2 + 2 * 3)  # of dsm and of boosting
    run("evaluate", model, rest)
    run("report", model, rest, "-o", tmp_path / "page.html")
    run("doctor", rest, *columns, "--model", model)
