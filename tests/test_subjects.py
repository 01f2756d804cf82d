import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.errors import TargetError
from lifemix.target import first_appearance, subject_codes

LABELS = (
    st.integers(-(2**70), 2**70)
    | st.text(max_size=5)
    | st.tuples(st.integers(0, 3), st.text(max_size=2))
    | st.booleans()
)


@given(st.lists(LABELS, min_size=1, max_size=30))
def test_codes_are_equal_exactly_where_identifiers_are(labels):
    codes = subject_codes(labels)
    assert codes.dtype == np.int64
    for i in range(len(labels)):
        for j in range(i):
            assert (codes[i] == codes[j]) == (labels[i] == labels[j])


@given(st.lists(LABELS, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_codes_do_not_depend_on_the_other_rows(labels, random):
    shuffled = random.sample(labels, len(labels))
    known = dict(zip(map(repr, labels), subject_codes(labels).tolist(), strict=True))
    again = dict(zip(map(repr, shuffled), subject_codes(shuffled).tolist(), strict=True))
    assert all(known[label] == again[label] for label in known)


FORMS = {
    "list": [3, 1, 3],
    "small integers": np.array([3, 1, 3], dtype=np.uint8),
    "floats": np.array([3.0, 1.0, 3.0]),
    "column": pd.Series([3, 1, 3], index=[7, 8, 9]),
    "nullable column": pd.Series([3, 1, 3], dtype="Int64"),
    "objects": np.array([3, 1.0, np.int64(3)], dtype=object),
    "categories": pd.Series([3, 1, 3], dtype="category"),
}


@pytest.mark.parametrize("values", FORMS.values(), ids=FORMS.keys())
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
    numbers, count = first_appearance(np.array([40, 7, 40, -1, 7]))
    assert numbers.tolist() == [0, 1, 0, 2, 1]
    assert count == 3


BAD = {
    "missing text": (
        ["a", None, "b", None],
        r"known in every row; got None at row 1 \(2 such rows\)",
    ),
    "missing number": ([1.0, np.nan], "got nan at row 1"),
    "two-dimensional": (np.zeros((2, 2)), r"one-dimensional; got shape \(2, 2\)"),
    "unhashable": ([["a"], ["b"]], "can be hashed; got list"),
}


@pytest.mark.parametrize(("values", "message"), BAD.values(), ids=BAD.keys())
def test_what_names_no_subject_is_refused(values, message):
    with pytest.raises(TargetError, match=message):
        subject_codes(values)
