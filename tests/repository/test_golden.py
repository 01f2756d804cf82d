"""The comparison behind ``make golden``: it reports equal results, differences and failures; no model is fitted."""

import numpy as np
import pytest

import lifemix
from lifemix import baselines, metrics
from lifemix.primitives import PRIMITIVES
from references.golden.cases import CASES
from references.golden.cases import PRIMITIVES as COVERED_PRIMITIVES
from references.golden.compare import ROUND_TRIP, Results, compare, read, write
from references.golden.data import SAMPLES
from references.golden.signatures import api_difference, signatures


def results(shift=0.0, **changes):
    arrays = {
        "survival": np.array([[1.0, 0.5 + shift], [1.0, np.nan]]),
        "names": np.array(["a", "b"]),
    }
    usual = {
        "cases": {"cox, plain": arrays, "spline: x/y": {"risk": np.array([np.inf])}},
        "api": {"lifemix.f": "(x)"},
    }
    return Results(**(usual | changes))


def line_of(lines, case):
    return next(line.removeprefix(case).strip() for line in lines if line.startswith(case))


def test_stored_results_equal_themselves(tmp_path):
    write(results(), tmp_path)
    lines, is_within = compare(results(), read(tmp_path), tolerance=0.0)
    assert is_within
    assert line_of(lines, "cox, plain") == line_of(lines, "spline: x/y") == "equal"
    assert lines[-1] == "2 equal, 0 different; 0 public names differ"


def test_the_smallest_difference_is_reported_with_its_array():
    lines, is_within = compare(results(), results(shift=2**-40), tolerance=1e-9)
    assert is_within
    assert line_of(lines, "cox, plain") == "9.09e-13 (survival)"
    assert lines[-1].startswith("1 equal, 1 different, largest difference 9.09e-13 (cox, plain)")
    assert not compare(results(), results(shift=2**-40), tolerance=1e-13)[1]


@pytest.mark.parametrize(
    "array",
    [np.array([np.nan]), np.array([np.inf, np.inf]), np.array([1.0]), np.array(["inf"])],
    ids=str,
)
def test_other_shapes_types_and_missing_values_are_no_small_differences(array):
    lines, _ = compare(results(), results(cases=results().cases | {"spline: x/y": {"risk": array}}))
    assert line_of(lines, "spline: x/y") == "inf (risk)"


def test_a_case_that_fails_in_one_checkout_is_a_difference():
    failed = results(
        cases={"cox, plain": results().cases["cox, plain"]},
        errors={"spline: x/y": "ValueError: no"},
    )
    for pair, label in (((results(), failed), "new"), ((failed, results()), "old")):
        lines, is_within = compare(*pair, tolerance=1.0)
        assert line_of(lines, "spline: x/y") == f"fails in {label} only: ValueError: no"
        assert not is_within
    lines, is_within = compare(failed, failed, tolerance=0.0)
    assert is_within
    assert lines[-1] == "1 equal, 0 different, 1 fail in both; 0 public names differ"


def test_a_model_file_that_changes_predictions_is_a_difference():
    arrays = {"risk": np.array([1.0]), ROUND_TRIP: np.array(0.25)}
    both = results(cases={"cox": arrays})
    assert (
        line_of(compare(both, both)[0], "cox") == "predictions change by 0.25 after save and load"
    )


def test_names_that_were_removed_added_or_changed():
    old, new = {"f": "(x)", "g": "()", "h": "()"}, {"f": "(x, y=1)", "h": "()", "i": "()"}
    assert api_difference(old, new) == ["removed  g()", "added    i()", "changed  f(x) -> (x, y=1)"]


def test_the_public_names_of_this_checkout(request):
    names = signatures(request.config.rootpath)
    assert (
        names["lifemix.make_target"]
        == "(time, event, entry=None, upper=None, subject=None, paths=True)"
    )
    assert names["lifemix.LifeMix.fit"].startswith("(self, X, y")
    assert "--time" in names["command lifemix fit"]
    assert {f"lifemix.metrics.{name}" for name in metrics.__all__} <= set(names)
    assert set(lifemix.__all__) <= {
        name.split(".")[1] for name in names if name.startswith("lifemix.")
    }


def test_every_primitive_baseline_and_metric_has_a_case():
    families = {
        name for name, family in PRIMITIVES.items() if family.__module__.startswith("lifemix.")
    }
    assert families == {name.replace("-", "") for name in COVERED_PRIMITIVES}
    assert {f"{primitive}, {kind}" for primitive in COVERED_PRIMITIVES for kind in SAMPLES} <= set(
        CASES
    )
    covered = {
        name.split(": ")[1].split(",")[0]
        for name in CASES
        if name.startswith(("baseline: ", "metric: "))
    }
    registry = {"Measure", "measure_named", "register_measure"}
    assert {*baselines.__all__, *metrics.__all__} - registry - {"Selection"} <= covered
