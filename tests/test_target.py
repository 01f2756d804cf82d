"""Targets, subjects and event types."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lifemix import make_target
from lifemix.errors import LifemixWarning, SettingError, TargetError
from lifemix.target import Target, as_target, event_names, names_of_labels, subject_codes

TIME = np.array([1.0, 2.5, 4.0])
EVENT = np.array([1, 0, 2])


def test_optional_fields_exist_only_if_a_row_needs_them():
    y = make_target(TIME, EVENT)
    assert y.dtype == np.dtype([("event", "<i8"), ("time", "<f8")])
    assert make_target(TIME, EVENT, [0, 0, 0], [np.nan] * 3).dtype == y.dtype
    y = make_target(TIME, EVENT, entry=[0, 1, 2], upper=[np.nan, np.nan, 5.0])
    assert y.dtype.names == ("event", "time", "entry", "upper")
    target = as_target((TIME, EVENT))
    assert target.subject is None
    assert target.subject_numbers.tolist() == [0, 1, 2]
    assert target.n_subjects == 3


FORMS = {
    "target": as_target((TIME, EVENT)),
    "make_target": make_target(TIME, EVENT),
    "pair": (TIME, EVENT),
    "pair of lists": [TIME.tolist(), EVENT.tolist()],
    "frame": pd.DataFrame({"event": EVENT, "time": TIME}),
    "frame with duration": pd.DataFrame({"duration": TIME, "event": EVENT * 1.0}, index=[7, 8, 9]),
    "column vector": make_target(TIME, EVENT).reshape(-1, 1),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_target(form):
    target = as_target(form)
    assert isinstance(target, Target)
    np.testing.assert_array_equal(target.time, TIME)
    np.testing.assert_array_equal(target.event, EVENT)
    assert not target.truncated.any()
    assert not target.interval.any()


def test_arrays_of_scikit_survival_have_any_names():
    y = np.array([(True, 3.0), (False, 5.0)], dtype=[("fstat", "?"), ("lenfol", "<f8")])
    target = as_target(y)
    assert target.event.tolist() == [1, 0]
    assert target.time.tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    ("arguments", "is_interval"),
    [
        (([0.0], [0], [0.0]), False),  # entry = time = 0
        (([0.0], [1]), False),
        (([2.0], [1], None, [2.0]), False),
        (([2.0], [1], [2.0], [3.0]), True),  # at risk from 2, event in (2, 3]
        (([3.0], [0], [1.0], [np.inf]), False),
    ],
)
def test_edges_of_what_is_allowed(arguments, is_interval):
    assert as_target(make_target(*arguments)).interval.tolist() == [is_interval]


DATES = np.array(["2020-01-01"], dtype="datetime64[D]")
TENSOR = torch.tensor([1.0], requires_grad=True)
BAD = {
    "negative time": (([1.0, -3.0], [1, 0]), r"time must be >= 0; got -3\.0 at row 1 \(1 such"),
    "nan time": (([np.nan, 1.0], [1, 0]), "time must be finite; got nan at row 0"),
    "infinite time": (([np.inf, 1.0], [1, 0]), "time must be finite; got inf"),
    "text time": ((["a", "b"], [1, 0]), "time must be numbers"),
    "dates": ((DATES, [1]), "divide durations by a unit"),
    "vector among times": (([1.0, np.ones(2)], [1, 0]), "time must be numbers; got"),
    "tensor among events": (([1.0, 2.0], [1, TENSOR]), "event must be numbers; got"),
    "fractional event": (([1.0, 2.0], [0.5, 1]), r"event must be whole numbers.*got 0\.5 at row 0"),
    "negative event": (([1.0, 2.0], [1, -2]), "event must be >= 0"),
    "minus one for censored": (([1.0, 2.0, 3.0], [-1, 1, 1]), "event=status == 1"),
    "text event": (([1.0, 2.0], ["dead", "alive"]), "map labels to codes"),
    "nan event": (([1.0, 2.0], [np.nan, 1]), "event must be whole numbers"),
    "lengths": (([1.0, 2.0], [1]), "one value per row; got 1 values for 2 times"),
    "no rows": (([], []), "no rows"),
    "two-dimensional": (([[1.0, 2.0]], [1]), "one-dimensional"),
    "two-dimensional events": (([1.0, 2.0], [[1, 0]]), r"one-dimensional; got shape \(1, 2\)"),
    "upper below time": (([2.0], [1], None, [1.0]), r"upper must be >= time; got 1\.0"),
    "upper of a censored row": (([2.0], [0], None, [3.0]), "a censored row .* has no upper"),
    "endless interval": (([2.0], [1], None, [np.inf]), "upper must be finite"),
    "boolean upper": (([1.0, 2.0], [1, 0], None, [True, False]), "upper must be numbers; got bool"),
    "boolean entry": (([1.0, 2.0], [1, 0], [True, False]), "entry must be numbers; got bool"),
    "entry at time": (([2.0], [1], [2.0]), "entry must be < time"),
    "entry after time": (([2.0], [1], [3.0]), "entry must be < time"),
    "entry inside the interval": (([0.0], [1], [3.0], [4.0]), "in intervals set time to entry"),
    "negative entry": (([2.0], [1], [-1.0]), "entry must be >= 0"),
    "subjects": ((TIME, EVENT, None, None, [1, 2]), "subject must have one value per row; got 2"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_targets_are_refused_with_the_reason(arguments, message):
    with pytest.raises(TargetError, match=message):
        make_target(*arguments)


@pytest.mark.parametrize("largest", [1001, 10**9, 2**62, 1e300])
def test_event_codes_that_are_no_event_types_are_refused(largest):
    message = "event types are numbered 1, 2, ... up to 1000"
    with pytest.raises(TargetError, match=message) as caught:
        make_target(np.arange(1.0, 101.0), [largest, *[0, 1] * 49, 1])
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(3), "Give one of"),
        (None, "the target y is None. Use make_target"),
        (pd.DataFrame({"a": [1]}), "y needs 'event' and one of 'time', 'duration'"),
        (np.array([(1.0, 2.0)], dtype=[("a", "f8"), ("b", "f8")]), "y needs 'event'"),
    ],
)
def test_unknown_forms_are_refused(y, message):
    with pytest.raises(TargetError, match=message):
        as_target(y)


ROWS = st.tuples(
    st.integers(0, 3), st.floats(0.1, 1e6), st.floats(0, 0.99), st.none() | st.floats(1.01, 3)
)


@given(st.lists(ROWS, min_size=1, max_size=20))
def test_every_field_survives_the_array(rows):
    # Several event types without a censored row give a warning.
    event, time, entry, upper = map(np.array, zip(*rows, (0, 1.0, 0.0, None), strict=True))
    upper = np.where(event > 0, upper.astype(float) * time, np.nan)
    target = as_target(make_target(time, event, time * entry, upper))
    array = target.to_array()
    again = as_target(array)
    for name in ("event", "time", "entry", "upper"):
        np.testing.assert_array_equal(getattr(target, name), getattr(again, name))
    np.testing.assert_array_equal(target.upper, upper)
    array["time"] = 9.0  # the target has times of its own
    np.testing.assert_array_equal(again.time, time)


# Arguments in the wrong order, and codes of other programs.


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([True, False, True]), [5.0, 3.0, 8.0]),
        ([1, 0, 1, 1, 0, 1], [5, 3, 8, 2, 12, 7]),
        ([1, 0, 1, 1, 0, 1], [5.5, 3, 8, 2, 12, 7]),
        ([1, 0, 1, 0, 1, 0], [1, 2, 3, 1, 2, 3]),
        ([1, 1, 1, 1], [5, 3, 8, 2]),
    ],
)
def test_event_before_time_is_refused(first, second):
    with pytest.raises(TargetError, match=r"make_target\(time, event\).*swap"):
        make_target(first, second)
    with pytest.raises(TargetError, match="swap"):
        as_target((first, second))


def test_times_of_0_and_1_are_valid_if_events_are_too():
    assert as_target(([0, 1, 1], [1, 0, 1])).time.tolist() == [0, 1, 1]
    assert as_target(make_target([0.0, 1.0, 1.5], [1, 0, 2])).n_events == 2


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([1, 2, 2, 1], "no row is censored.*1 = censored, 2 = event.*event=status == 2"),
        ([1, 2, 3, 1], "no row is censored, while there are 3 event types"),
    ],
)
def test_several_event_types_without_a_censored_row_give_a_warning(codes, message):
    with pytest.warns(LifemixWarning, match=message):
        make_target([5.0, 3.0, 8.0, 2.0], codes)


@pytest.mark.parametrize("codes", [[1, 1, 1], [0, 1, 2], [1]])
def test_usual_codes_give_no_warning(codes):
    make_target(np.arange(1, len(codes) + 1), codes)  # warnings are errors


# Subjects.


@pytest.mark.parametrize(
    "subject", [[8, 5, 8], ["b", "a", "b"], [("x", 1), ("x", 2), ("x", 1)]], ids=repr
)
def test_subjects_survive_every_form(subject):
    y = make_target(TIME, EVENT, subject=subject)
    assert y.dtype.names == ("event", "time", "subject")
    frame = pd.DataFrame({"event": EVENT, "time": TIME, "subject": pd.Series(subject)})
    again = pickle.loads(pickle.dumps(y))
    for form in (y, y.reshape(-1, 1), pd.DataFrame(y), frame, again, as_target(y)):
        target = as_target(form)
        assert target.subject_numbers.tolist() == [0, 1, 0]
        assert target.n_subjects == 2
        assert target.to_array().tolist() == y.tolist()
    assert as_target(y[[2, 1]]).subject.tolist() == y["subject"][[2, 1]].tolist()
    assert as_target(y).take([True, False, True]).n_subjects == 1


def test_targets_are_joined_with_their_subjects():
    first, second = (as_target(make_target(TIME, EVENT, subject=s)) for s in ([1, 2, 3], [3, 4, 4]))
    joined = first.followed_by(second)
    assert joined.subject.tolist() == [1, 2, 3, 3, 4, 4]
    assert joined.time.tolist() == [*TIME, *TIME]
    assert first.followed_by(as_target((TIME, EVENT))).subject is None


def test_groups_become_subjects_if_they_keep_subjects_together():
    plain = as_target((TIME, EVENT))
    assert plain.grouped(None) is plain
    assert plain.grouped([1, 1, 2]).subject.tolist() == [1, 1, 2]
    patients = as_target(make_target(TIME, EVENT, subject=["a", "b", "a"]))
    assert patients.grouped(["ward", "ward", "ward"]).n_subjects == 1
    for target, groups, message in (
        (patients, [1, 1, 2], "got 2 subjects in the target and 3 pairs"),
        (plain, [1, 2], "groups must have one value per row; got 2 values for 3 rows"),
        (plain, [1, 2, None], "groups must be known in every row"),
    ):
        with pytest.raises(TargetError, match=message):
            target.grouped(groups)


# NumPy drops NUL characters at the end of a text.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
LABELS = st.sampled_from(
    [
        st.integers(-(2**63), 2**63 - 1),
        TEXT,
        st.tuples(st.integers(0, 3), TEXT),
    ]
)
LISTS = LABELS.flatmap(lambda label: st.lists(label, min_size=1, max_size=20))


@given(LISTS, st.randoms(use_true_random=False))
def test_codes_are_equal_if_identifiers_are(labels, random):
    codes = subject_codes(labels)
    assert codes.dtype == np.int64
    code_of = dict(zip(labels, codes.tolist(), strict=True))
    assert len(set(code_of.values())) == len(code_of)
    shuffled = random.sample(labels, len(labels))
    assert subject_codes(shuffled).tolist() == [code_of[label] for label in shuffled]


NUMBERS = [
    [3, 1, 3],
    np.array([3, 1, 3], dtype=np.uint8),
    np.array([3.0, 1.0, 3.0]),
    pd.Series([3, 1, 3], index=[7, 8, 9]),
    pd.Series([3, 1, 3], dtype="Int64"),
    np.array([3, 1.0, np.int64(3)], dtype=object),
    pd.Series([3, 1, 3], dtype="category"),
]
TEXTS = [
    ["b", "a", "b"],
    np.array(["b", "a", "b"]),
    pd.Series(["b", "a", "b"], dtype="string"),
    pd.Categorical(["b", "a", "b"]),
    pd.Index(["b", "a", "b"]),
]


def test_identifiers_have_one_code_in_every_form():
    for values in NUMBERS:
        assert subject_codes(values).tolist() == [3, 1, 3]
    expected = subject_codes(np.array(["b", "a", "b"], dtype=object)).tolist()
    for values in TEXTS:
        assert subject_codes(values).tolist() == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", None, "b", None], r"known in every row; got None at row 1 \(2 such rows\)"),
        ([1.0, np.nan], "got nan at row 1"),
        (np.zeros((2, 2)), r"one-dimensional; got shape \(2, 2\)"),
        ([["a"], ["b"]], "can be hashed; got"),
        ([1.5, [1]], "can be hashed"),
        ([1.5, Decimal("sNaN")], "can be hashed"),
        ([1.5, 10**400], "can be hashed"),
    ],
    ids=repr,
)
def test_what_names_no_subject_is_refused(values, message):
    with pytest.raises(TargetError, match=message):
        subject_codes(values)


# Names of event types.


@pytest.mark.parametrize("names", [{2: "b", 1: "a"}, ["a", "b"], ("a", "b")])
def test_names_of_events(names):
    assert event_names(names, 2) == ("a", "b")
    assert (
        event_names(None, 1) == names_of_labels(["2"]) == names_of_labels(["Event"]) == ("event",)
    )
    assert names_of_labels(["relapse", "2"]) == ("relapse", "event 2")
    assert event_names(None, 3) == ("event 1", "event 2", "event 3")


@pytest.mark.parametrize(
    "names", ["ab", {1: "a"}, {0: "censored", 1: "a", 2: "b"}, ["a"], ["a", "b", "c"], 5]
)
def test_names_that_do_not_fit_are_refused(names):
    with pytest.raises(SettingError, match=r"each of the event types 1\.\.2.*got "):
        event_names(names, 2)
