"""Histories as rows of numbers: padding, scaling on training subjects, marks of missing values."""

import numpy as np
import pandas as pd
import pytest

from lifemix.errors import CovariateError, SettingError
from lifemix.histories import Histories, Sources
from lifemix.preprocessing import SequencePreprocessor, TabularPreprocessor, learn_preprocessor


@pytest.fixture
def histories():
    frame = pd.DataFrame(
        {
            "id": [0, 0, 0, 1, 2, 2],
            "t": [0.0, 1.0, 3.0, 0.0, 0.0, 2.0],
            "a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "b": [np.nan, 1.0, np.nan, 0.0, 1.0, 1.0],
            "c": ["x", "y", "x", "x", "y", "y"],
        }
    )
    return Histories.from_long(frame, "id", "t")


def steps(fitted, matrix):
    block = fitted.blocks_[0]
    return matrix[:, 3:].reshape(len(matrix), *block.shape)


def test_visits_stand_in_order_and_are_padded_behind(histories):
    fitted = SequencePreprocessor().fit(histories)
    matrix = fitted.transform(histories)
    assert fitted.blocks_[0].shape == (3, 2 + 4 + 1)  # time, gap; a, b, c=x, c=y; missing b
    assert matrix.dtype == np.float32
    assert matrix[:, 0].tolist() == [3, 1, 2]
    values = steps(fitted, matrix)
    a = np.arange(1.0, 7.0)
    np.testing.assert_allclose(values[0, :, 2], (a[:3] - a.mean()) / a.std(), rtol=1e-6)
    assert (values[1, 1:] == 0).all()
    assert values[0, :, -1].tolist() == [1.0, 0.0, 1.0]
    assert values[0, 2, 3] == values[0, 1, 3]  # carried forward
    assert len(fitted.get_feature_names_out()) == matrix.shape[1]
    assert fitted.get_feature_names_out()[3:6].tolist() == [
        "visits[0].time",
        "visits[0].gap",
        "visits[0].a",
    ]


def test_columns_of_visits_are_matched_by_name(histories):
    fitted = SequencePreprocessor().fit(histories)
    frame = histories.to_long()
    other = frame[["c", "b", "time", "a", "row"]].assign(ward="north")
    np.testing.assert_array_equal(
        fitted.transform(Histories.from_long(other, "row", "time")), fitted.transform(histories)
    )


def test_statistics_are_those_of_the_training_subjects(histories):
    fitted = SequencePreprocessor().fit(histories[[0, 1]])
    alone = Histories.from_long(histories[[0, 1]].to_long(), "row", "time")
    again = SequencePreprocessor().fit(alone)
    np.testing.assert_array_equal(fitted.transform(histories[[0]]), again.transform(alone[[0]]))
    assert (
        fitted.transform(histories).max()
        > SequencePreprocessor().fit(histories).transform(histories).max()
    )


def test_landmark_rows_count_each_visit_once(histories):
    twice = histories.take([0, 0, 1, 2, 2, 2])
    assert SequencePreprocessor().fit(twice).parts_["visits"].time_scale == pytest.approx(
        SequencePreprocessor().fit(histories).parts_["visits"].time_scale
    )


def test_of_longer_histories_the_last_visits_are_kept(histories):
    short = SequencePreprocessor().fit(histories[[1, 2]])
    assert short.blocks_[0].shape[0] == 2
    whole = SequencePreprocessor().fit(histories)
    assert SequencePreprocessor(max_visits=2).fit(histories).blocks_[0].shape[0] == 2
    cut = SequencePreprocessor(max_visits=2).fit(histories)
    np.testing.assert_array_equal(
        steps(cut, cut.transform(histories))[0], steps(whole, whole.transform(histories))[0, 1:]
    )


def test_time_since_the_last_visit_is_known(histories):
    fitted = SequencePreprocessor().fit(histories)
    part = fitted.parts_["visits"]
    matrix = fitted.transform(histories.until([2.5, 4.0, 2.0]))
    np.testing.assert_allclose(matrix[:, 1], np.array([2.5, 4.0, 2.0]) / part.time_scale, rtol=1e-6)
    np.testing.assert_allclose(
        matrix[:, 2], np.log1p(np.array([1.5, 4.0, 0.0]) / part.gap_scale), rtol=1e-6
    )


def test_an_empty_history_is_zero_but_for_the_landmark(histories):
    fitted = SequencePreprocessor().fit(histories)
    row = fitted.transform(histories.until(-1.0, empty="keep"))
    assert (row[:, 3:] == 0).all()
    assert (row[:, 0] == 0).all()
    with pytest.raises(CovariateError, match="source 'visits': no subject has a visit"):
        SequencePreprocessor().fit(histories.until(-1.0, empty="keep"))


def test_errors_name_the_source_and_the_shapes(histories):
    table = pd.DataFrame({"age": [50.0, 60.0, 70.0]})
    fitted = SequencePreprocessor(sequences=False).fit(
        {"clinic": table, "visits": histories, "scan": np.ones((3, 2, 2))}
    )
    good = {"clinic": table, "visits": histories, "scan": np.ones((3, 2, 2))}
    assert (
        fitted.transform({name: good[name] for name in ("scan", "clinic", "visits")}).shape[0] == 3
    )
    for change, message in (
        (
            {"scan": np.ones((3, 2, 4))},
            r"source 'scan': expected an array of shape \('n', 2, 2\); got \(3, 2, 4\)",
        ),
        ({"scan": np.full((3, 2, 2), np.nan)}, "source 'scan': an array must hold finite numbers"),
        ({"clinic": histories}, "source 'clinic': training had a table here"),
        ({"visits": table}, "source 'visits': training had histories here"),
        (
            {"clinic": table.rename(columns={"age": "years"})},
            "source 'clinic': X must have the 1 columns",
        ),
    ):
        with pytest.raises(CovariateError, match=message):
            fitted.transform(good | change)
    with pytest.raises(
        CovariateError,
        match=r"sources of training, \['clinic', 'visits', 'scan'\]; got \['visits'\]",
    ):
        fitted.transform(Sources({"visits": histories}))
    with pytest.raises(
        CovariateError, match="takes histories, a dict of sources or an array; got DataFrame"
    ):
        fitted.transform(table)


def test_the_option_preprocessor_of_a_model(histories):
    assert (
        learn_preprocessor("auto", histories, max_visits=2, sequences=True).blocks_[0].shape[0] == 2
    )
    unscaled = learn_preprocessor(None, histories, sequences=True)
    assert steps(unscaled, unscaled.transform(histories))[0, :, 2].tolist() == [1.0, 2.0, 3.0]
    pieces = learn_preprocessor(
        TabularPreprocessor(numbers="piecewise", bins=2), histories, sequences=True
    )
    assert (
        pieces.blocks_[0].n_values
        > learn_preprocessor("auto", histories, sequences=True).blocks_[0].n_values
    )
    own = learn_preprocessor(SequencePreprocessor(max_visits=1), histories, sequences=True)
    assert own.blocks_[0].shape[0] == 1
    with pytest.raises(
        SettingError, match="with histories or several sources, preprocessor must be"
    ):
        learn_preprocessor(object(), histories, sequences=True)
