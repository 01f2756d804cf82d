import numpy as np
import pandas as pd
import pytest

from lifemix import datasets, make_target
from lifemix.report import check_table

RNG = np.random.default_rng(0)
WHO = RNG.permutation(np.repeat(np.arange(60), 6))
TIME, EVENT = RNG.exponential(size=360), RNG.integers(0, 2, 360)
X = pd.DataFrame({"weight": RNG.normal(size=360), "no": WHO, "age": RNG.integers(30, 70, 60)[WHO]})
FIXED = X.assign(blood=RNG.normal(size=60)[WHO])


def subjects_found(X, **options):
    found = [
        finding
        for finding in check_table(X, make_target(TIME, EVENT, **options))
        if "repeated" in finding.topic
    ]
    return [finding.text for finding in found]


def test_a_column_that_fixes_others_may_identify_subjects():
    (text,) = subjects_found(FIXED)
    assert text.startswith("no has 60 different values in 360 rows, and age and blood are the same")
    assert subjects_found(FIXED.assign(no=[f"p{i}" for i in WHO]))


def test_the_fix_names_the_option_and_the_argument():
    finding = next(
        one for one in check_table(FIXED, (TIME, EVENT)) if one.topic == "repeated subjects"
    )
    assert "make_target(..., subject=)" in finding.action
    assert "--id no" in finding.action


NOTHING = {
    "one column fixed": X,
    "rising along": X.assign(square=X["no"] ** 2, logarithm=-np.log1p(X["no"])),
    "not quite fixed": FIXED.assign(blood=FIXED["blood"] + (np.arange(360) == 5)),
    "few values": FIXED.assign(no=WHO % 10, age=(WHO % 10) ** 2, blood=-(WHO % 10.0)),
}


@pytest.mark.parametrize("table", NOTHING.values(), ids=NOTHING.keys())
def test_no_subjects_are_suspected_in(table):
    assert subjects_found(table) == []


def test_nothing_is_said_where_the_target_has_subjects():
    assert subjects_found(FIXED, subject=WHO) == []


@pytest.mark.parametrize(
    "load", [datasets.load_metabric, datasets.load_support, datasets.load_flchain]
)
def test_data_sets_with_one_row_per_subject_are_not_suspected(load):
    data = load()
    assert not [one for one in check_table(data.X, data.y) if one.topic == "repeated subjects"]
