"""Targets, subjects and event types."""

import pickle
from decimal import Decimal
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lifemix import make_target
from lifemix.errors import LifemixWarning, SettingError, TargetError
from lifemix.target import Target, as_target, event_names, subject_codes

TIME = np.array([1.0, 2.5, 4.0])
EVENT = np.array([1, 0, 2])


def test_make_target_has_event_before_time():
    y = make_target(TIME, EVENT)
    assert y.dtype.names == ("event", "time")
    assert y["time"].tolist() == TIME.tolist()
    assert y["event"].tolist() == EVENT.tolist()


def test_optional_fields_appear_only_where_a_row_needs_them():
    assert make_target(TIME, EVENT, entry=[0, 0, 0], upper=[np.nan] * 3).dtype.names == (
        "event",
        "time",
    )
    y = make_target(TIME, EVENT, entry=[0, 1, 2], upper=[np.nan, np.nan, 5.0])
    assert y.dtype.names == ("event", "time", "entry", "upper")


FORMS = {
    "target": lambda: as_target((TIME, EVENT)),
    "make_target": lambda: make_target(TIME, EVENT),
    "pair": lambda: (TIME, EVENT),
    "pair of lists": lambda: [TIME.tolist(), EVENT.tolist()],
    "frame": lambda: pd.DataFrame({"event": EVENT, "time": TIME}),
    "frame with duration": lambda: pd.DataFrame(
        {"duration": TIME, "event": EVENT.astype(float)}, index=[7, 8, 9]
    ),
    "column vector": lambda: make_target(TIME, EVENT).reshape(-1, 1),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_every_form_gives_the_same_target(form):
    target = as_target(form())
    assert isinstance(target, Target)
    np.testing.assert_array_equal(target.time, TIME)
    np.testing.assert_array_equal(target.event, EVENT)
    assert not target.truncated.any()
    assert not target.interval.any()


def test_scikit_survival_arrays_have_any_names():
    y = np.array([(True, 3.0), (False, 5.0)], dtype=[("fstat", "?"), ("lenfol", "<f8")])
    target = as_target(y)
    assert target.event.tolist() == [1, 0]
    assert target.time.tolist() == [3.0, 5.0]


def test_structured_array_survives_the_parser():
    y = make_target([1, 0, 3.0], [1, 1, 0], entry=[0.5, 0, 1], upper=[2, 4, np.inf])
    target = as_target(y)
    assert target.interval.tolist() == [True, True, False]
    again = target.to_array()
    for name in y.dtype.names:
        np.testing.assert_array_equal(again[name], y[name])


def test_legal_edges():
    as_target(make_target([0.0], [0], entry=[0.0]))  # entry = time = 0
    as_target(make_target([0.0], [1]))  # an event at the origin: the model decides what it means
    assert not as_target(make_target([2.0], [1], upper=[2.0])).interval.any()
    make_target([2.0], [1], entry=[2.0], upper=[3.0])  # at risk from 2, event in (2, 3]


BAD = {
    "negative time": (
        (([1.0, -3.0]), [1, 0]),
        r"time must be >= 0; got -3\.0 at row 1 \(1 such rows\)",
    ),
    "nan time": (([np.nan, 1.0], [1, 0]), "time must be finite; got nan at row 0"),
    "infinite time": (([np.inf, 1.0], [1, 0]), "time must be finite; got inf"),
    "text time": ((["a", "b"], [1, 0]), "time must be numbers"),
    "dates": (
        (np.array(["2020-01-01"], dtype="datetime64[D]"), [1]),
        "divide durations by a unit",
    ),
    "fractional event": (([1.0, 2.0], [0.5, 1]), r"event must be whole numbers.*got 0\.5 at row 0"),
    "negative event": (([1.0, 2.0], [1, -1]), "event must be >= 0"),
    "text event": (([1.0, 2.0], ["dead", "alive"]), "map labels to codes"),
    "nan event": (([1.0, 2.0], [np.nan, 1]), "event must be whole numbers"),
    "lengths": (([1.0, 2.0], [1]), "one value per row; got 1 values for 2 times"),
    "no rows": (([], []), "no rows"),
    "two-dimensional": (([[1.0, 2.0]], [1]), "one-dimensional"),
    "two-dimensional events": (
        ([1.0, 2.0], [[1, 0]]),
        r"event must be one-dimensional; got shape \(1, 2\)",
    ),
    "upper below time": (([2.0], [1], None, [1.0]), r"upper must be >= time; got 1\.0"),
    "upper of a censored row": (([2.0], [0], None, [3.0]), "a censored row .* has no upper"),
    "endless interval": (([2.0], [1], None, [np.inf]), "upper must be finite"),
    "entry at time": (([2.0], [1], [2.0]), "entry must be < time"),
    "entry after time": (([2.0], [1], [3.0]), "entry must be < time"),
    "entry after the interval begins": (
        ([0.0], [1], [3.0], [4.0]),
        "in intervals set time to entry",
    ),
    "negative entry": (([2.0], [1], [-1.0]), "entry must be >= 0"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_targets_are_refused_with_the_reason(arguments, message):
    with pytest.raises(TargetError, match=message):
        make_target(*arguments)


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


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.floats(0.1, 1e6),
            st.floats(0, 0.99),
            st.none() | st.floats(1.01, 3),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_round_trip_through_the_array_keeps_every_field(rows):
    rows = [
        *rows,
        (0, 1.0, 0.0, None),
    ]  # a censored row, without which several event types give a warning
    event = np.array([row[0] for row in rows])
    time = np.array([row[1] for row in rows])
    entry = time * np.array([row[2] for row in rows])
    upper = np.array([np.nan if row[3] is None or row[0] == 0 else row[1] * row[3] for row in rows])
    target = as_target(make_target(time, event, entry, upper))
    again = as_target(target.to_array())
    for name in ("event", "time", "entry", "upper"):
        np.testing.assert_array_equal(getattr(target, name), getattr(again, name))
    np.testing.assert_array_equal(target.upper, upper)


def test_a_target_without_subjects_has_no_such_field():
    assert make_target(TIME, EVENT).dtype == np.dtype([("event", "<i8"), ("time", "<f8")])
    target = as_target((TIME, EVENT))
    assert target.subject is None
    assert target.subject_numbers.tolist() == [0, 1, 2]
    assert target.n_subjects == 3


SUBJECTS = {"numbers": [8, 5, 8], "texts": ["b", "a", "b"], "pairs": [("x", 1), ("x", 2), ("x", 1)]}


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS.keys())
def test_subjects_survive_slices_frames_pickling_and_the_parser(subject):
    y = make_target(TIME, EVENT, subject=subject)
    assert y.dtype.names == ("event", "time", "subject")
    for form in (y, y.reshape(-1, 1), pd.DataFrame(y), pickle.loads(pickle.dumps(y)), as_target(y)):
        target = as_target(form)
        assert target.subject_numbers.tolist() == [0, 1, 0]
        assert target.n_subjects == 2
        assert target.to_array().tolist() == y.tolist()
    assert as_target(y[[2, 1]]).subject.tolist() == y["subject"][[2, 1]].tolist()
    assert as_target(y).take([True, False, True]).n_subjects == 1
    frame = pd.DataFrame({"event": EVENT, "time": TIME, "subject": pd.Series(subject)})
    assert as_target(frame).to_array().tolist() == y.tolist()


def test_targets_are_joined_with_their_subjects():
    one, two = (as_target(make_target(TIME, EVENT, subject=s)) for s in ([1, 2, 3], [3, 4, 4]))
    assert one.followed_by(two).subject.tolist() == [1, 2, 3, 3, 4, 4]
    assert one.followed_by(two).time.tolist() == [*TIME, *TIME]
    assert one.followed_by(as_target((TIME, EVENT))).subject is None


def test_groups_become_subjects_where_they_keep_subjects_together():
    plain = as_target((TIME, EVENT))
    assert plain.grouped(None) is plain
    assert plain.grouped([1, 1, 2]).subject.tolist() == [1, 1, 2]
    patients = as_target(make_target(TIME, EVENT, subject=["a", "b", "a"]))
    assert patients.grouped(["ward", "ward", "ward"]).n_subjects == 1
    with pytest.raises(TargetError, match="got 2 subjects in the target and 3 pairs"):
        patients.grouped([1, 1, 2])
    with pytest.raises(
        TargetError, match="groups must have one value per row; got 2 values for 3 rows"
    ):
        plain.grouped([1, 2])
    with pytest.raises(TargetError, match="groups must be known in every row"):
        plain.grouped([1, 2, None])


def test_a_subject_for_each_row_is_needed():
    with pytest.raises(
        TargetError, match="subject must have one value per row; got 2 values for 3 times"
    ):
        make_target(TIME, EVENT, subject=[1, 2])


SWAPPED = {
    "booleans": (np.array([True, False, True]), [5.0, 3.0, 8.0]),
    "0 and 1, months": ([1, 0, 1, 1, 0, 1], [5, 3, 8, 2, 12, 7]),
    "0 and 1, fractions": ([1, 0, 1, 1, 0, 1], [5.5, 3, 8, 2, 12, 7]),
    "0 and 1, few months": ([1, 0, 1, 0, 1, 0], [1, 2, 3, 1, 2, 3]),
    "all events, months": ([1, 1, 1, 1], [5, 3, 8, 2]),
}


@pytest.mark.parametrize(("first", "second"), SWAPPED.values(), ids=SWAPPED.keys())
def test_event_before_time_is_refused_with_the_likely_fix(first, second):
    with pytest.raises(TargetError, match=r"make_target\(time, event\).*swap"):
        make_target(first, second)
    with pytest.raises(TargetError, match="swap"):
        as_target((first, second))


def test_times_of_0_and_1_are_fine_where_events_are_too():
    assert as_target(([0, 1, 1], [1, 0, 1])).time.tolist() == [0, 1, 1]
    assert as_target(make_target([0.0, 1.0, 1.5], [1, 0, 2])).n_events == 2


@pytest.mark.parametrize("name", ["entry", "upper"])
def test_booleans_are_no_times(name):
    with pytest.raises(TargetError, match=f"{name} must be numbers; got booleans"):
        make_target([1.0, 2.0], [1, 0], **{name: [True, False]})


@pytest.mark.parametrize("codes", [[1, 2, 2, 1], np.array([1.0, 2, 2, 2])])
def test_the_status_of_r_gives_a_warning_with_the_fix(codes):
    with pytest.warns(
        LifemixWarning, match="no row is censored.*1 = censored, 2 = event.*event=status == 2"
    ):
        make_target([5.0, 3.0, 8.0, 2.0], codes)


def test_several_causes_and_nobody_censored_give_a_warning():
    with pytest.warns(LifemixWarning, match="no row is censored, while there are 3 event types"):
        make_target([5.0, 3.0, 8.0, 2.0], [1, 2, 3, 1])


@pytest.mark.parametrize("codes", [[1, 1, 1], [0, 1, 2], [1]])
def test_usual_codes_give_no_warning(codes):
    make_target(np.arange(1, len(codes) + 1), codes)  # warnings are errors


def test_minus_one_for_censored_is_explained():
    with pytest.raises(TargetError, match="event=status == 1"):
        make_target([1.0, 2.0, 3.0], [-1, 1, 1])


@pytest.mark.parametrize("largest", [1001, 10**6, 10**9, 2**62, 1e300])
def test_event_codes_that_are_no_event_types_are_refused_at_once_and_briefly(largest):
    start = perf_counter()
    with pytest.raises(
        TargetError, match="event types are numbered 1, 2, ... up to 1000"
    ) as caught:
        make_target(np.arange(1.0, 101.0), [largest, *[0, 1] * 49, 1])
    assert len(str(caught.value)) < 300
    assert perf_counter() - start < 0.5


def test_a_target_keeps_its_times_when_the_given_ones_change():
    y = make_target([1.0, 2.0], [1, 0], entry=[0.5, 0.0])
    target = as_target(y)
    y["time"], y["entry"] = 9.0, 8.0
    np.testing.assert_array_equal(target.time, [1.0, 2.0])
    np.testing.assert_array_equal(target.entry, [0.5, 0.0])


LABELS = st.sampled_from(
    [
        st.integers(-(2**63), 2**63 - 1),
        st.text(max_size=5),
        st.tuples(st.integers(0, 3), st.text(max_size=2)),
    ]
)
LISTS = LABELS.flatmap(lambda label: st.lists(label, min_size=1, max_size=20))


@given(LISTS, st.randoms(use_true_random=False))
def test_codes_are_equal_if_identifiers_are_whatever_the_other_rows(labels, random):
    codes = subject_codes(labels)
    assert codes.dtype == np.int64
    code_of = dict(zip(labels, codes.tolist(), strict=True))
    assert len(set(code_of.values())) == len(code_of)
    shuffled = random.sample(labels, len(labels))
    assert subject_codes(shuffled).tolist() == [code_of[label] for label in shuffled]


NUMBERS = {
    "list": [3, 1, 3],
    "small integers": np.array([3, 1, 3], dtype=np.uint8),
    "floats": np.array([3.0, 1.0, 3.0]),
    "column": pd.Series([3, 1, 3], index=[7, 8, 9]),
    "nullable column": pd.Series([3, 1, 3], dtype="Int64"),
    "objects": np.array([3, 1.0, np.int64(3)], dtype=object),
    "categories": pd.Series([3, 1, 3], dtype="category"),
}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS.keys())
def test_a_whole_number_is_its_own_code_in_every_form(values):
    assert subject_codes(values).tolist() == [3, 1, 3]


TEXTS = {
    "list": ["b", "a", "b"],
    "array": np.array(["b", "a", "b"]),
    "column": pd.Series(["b", "a", "b"], dtype="string"),
    "categories": pd.Categorical(["b", "a", "b"]),
    "index": pd.Index(["b", "a", "b"]),
}


@pytest.mark.parametrize("values", TEXTS.values(), ids=TEXTS.keys())
def test_a_text_has_one_code_in_every_form(values):
    assert (
        subject_codes(values).tolist()
        == subject_codes(np.array(["b", "a", "b"], dtype=object)).tolist()
    )


def test_subjects_are_numbered_by_their_first_rows():
    target = as_target(make_target(np.ones(5), np.ones(5), subject=[40, 7, 40, -1, 7]))
    assert target.subject_numbers.tolist() == [0, 1, 0, 2, 1]
    assert target.n_subjects == 3


BAD_SUBJECTS = {
    "missing text": (
        ["a", None, "b", None],
        r"known in every row; got None at row 1 \(2 such rows\)",
    ),
    "missing number": ([1.0, np.nan], "got nan at row 1"),
    "two-dimensional": (np.zeros((2, 2)), r"one-dimensional; got shape \(2, 2\)"),
    "unhashable": ([["a"], ["b"]], "can be hashed; got"),
}


@pytest.mark.parametrize(("values", "message"), BAD_SUBJECTS.values(), ids=BAD_SUBJECTS.keys())
def test_what_names_no_subject_is_refused(values, message):
    with pytest.raises(TargetError, match=message):
        subject_codes(values)


@pytest.mark.parametrize("given", [{2: "b", 1: "a"}, ["a", "b"], ("a", "b")])
def test_a_mapping_and_a_sequence_give_the_same_names(given):
    assert event_names(given, 2) == ("a", "b")


def test_without_names_the_codes_are_told():
    assert event_names(None, 1) == ("event",)
    assert event_names(None, 3) == ("event 1", "event 2", "event 3")


@pytest.mark.parametrize(
    "given", ["ab", {1: "a"}, {0: "censored", 1: "a", 2: "b"}, ["a"], ["a", "b", "c"], 5]
)
def test_names_that_do_not_fit_are_refused(given):
    with pytest.raises(SettingError, match=r"each of the event types 1\.\.2.*got "):
        event_names(given, 2)


@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), torch.tensor([1.0], requires_grad=True)])
def test_lists_of_lists_and_of_tensors_are_refused(value):
    with pytest.raises(TargetError, match="time must be numbers; got"):
        make_target([1.0, value, 3.0], [1, 0, 1])
    with pytest.raises(TargetError, match="event must be numbers; got"):
        make_target([1.0, 2.0, 3.0], [1, value, 1])


@pytest.mark.parametrize("value", [[1], Decimal("sNaN"), 10**400])
def test_subjects_that_cannot_be_hashed_are_refused(value):
    with pytest.raises(TargetError, match="subject must be identifiers that can be hashed"):
        make_target([1.0, 2.0], [1, 0], subject=[1.5, value])
