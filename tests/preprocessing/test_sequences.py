"""Histories as rows of numbers: padding, scaling on training subjects, marks of missing values."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lifemix.errors import CovariateError, SettingError
from lifemix.histories import Histories, Sources
from lifemix.preprocessing import SequencePreprocessor, TabularPreprocessor, learn_preprocessor

VISITS = """\
id,t,a,b,c
0,0,1,,x
0,1,2,1,y
0,3,3,,x
1,0,4,0,x
2,0,5,1,y
2,2,6,1,y
"""


@pytest.fixture
def histories():
    return Histories.from_long(pd.read_csv(StringIO(VISITS)), "id", "t")


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
    assert_allclose(values[0, :, 2], (a[:3] - a.mean()) / a.std(), rtol=1e-6)
    assert (values[1, 1:] == 0).all()
    assert values[0, :, -1].tolist() == [1.0, 0.0, 1.0]
    assert values[0, 2, 3] == values[0, 1, 3]  # carried forward
    names = fitted.get_feature_names_out()
    assert len(names) == matrix.shape[1]
    assert names[3:6].tolist() == ["visits[0].time", "visits[0].gap", "visits[0].a"]


def test_columns_of_visits_are_matched_by_name(histories):
    fitted = SequencePreprocessor().fit(histories)
    frame = histories.to_long()[["c", "b", "time", "a", "row"]].assign(ward="north")
    matrix = fitted.transform(Histories.from_long(frame, "row", "time"))
    assert_array_equal(matrix, fitted.transform(histories))


def test_statistics_are_those_of_the_training_subjects(histories):
    fitted = SequencePreprocessor().fit(histories[[0, 1]])
    subset = Histories.from_long(histories[[0, 1]].to_long(), "row", "time")
    expected = SequencePreprocessor().fit(subset).transform(subset[[0]])
    assert_array_equal(fitted.transform(histories[[0]]), expected)
    of_all = SequencePreprocessor().fit_transform(histories)
    assert fitted.transform(histories).max() > of_all.max()


def test_landmark_rows_count_each_visit_once(histories):
    repeated = histories.take([0, 0, 1, 2, 2, 2])
    scales = [
        SequencePreprocessor().fit(X).parts_["visits"].time_scale for X in (repeated, histories)
    ]
    assert scales[0] == pytest.approx(scales[1])


def test_the_last_visits_of_longer_histories_are_used(histories):
    assert SequencePreprocessor().fit(histories[[1, 2]]).blocks_[0].shape[0] == 2
    complete = SequencePreprocessor().fit(histories)
    short = SequencePreprocessor(max_visits=2).fit(histories)
    assert short.blocks_[0].shape[0] == 2
    expected = steps(complete, complete.transform(histories))[0, 1:]
    assert_array_equal(steps(short, short.transform(histories))[0], expected)


def test_time_since_the_last_visit_is_an_input(histories):
    fitted = SequencePreprocessor().fit(histories)
    scales, landmarks = fitted.parts_["visits"], np.array([2.5, 4.0, 2.0])
    matrix = fitted.transform(histories.until(landmarks))
    assert_allclose(matrix[:, 1], landmarks / scales.time_scale, rtol=1e-6)
    expected = np.log1p(np.array([1.5, 4.0, 0.0]) / scales.gap_scale)
    assert_allclose(matrix[:, 2], expected, rtol=1e-6)


def test_an_empty_history_is_zero_but_for_the_landmark(histories):
    empty = histories.until(-1.0, empty="keep")
    matrix = SequencePreprocessor().fit(histories).transform(empty)
    assert (matrix[:, [0, *range(3, matrix.shape[1])]] == 0).all()
    with pytest.raises(CovariateError, match="source 'visits': no subject has a visit"):
        SequencePreprocessor().fit(empty)


def test_errors_name_the_source_and_the_shapes(histories):
    table = pd.DataFrame({"age": [50.0, 60.0, 70.0]})
    sources = {"clinic": table, "visits": histories, "scan": np.ones((3, 2, 2))}
    fitted = SequencePreprocessor(sequences=False).fit(sources)
    expected = fitted.transform(sources)
    reordered = dict(reversed(sources.items()))
    assert_array_equal(fitted.transform(reordered), expected)
    scan = r"source 'scan': expected an array of shape \('n', 2, 2\); got \(3, 2, 4\)"
    for X, message in (
        (sources | {"scan": np.ones((3, 2, 4))}, scan),
        (sources | {"scan": np.full((3, 2, 2), np.nan)}, "source 'scan': .* finite numbers"),
        (sources | {"clinic": histories}, "source 'clinic': training had a table here"),
        (sources | {"visits": table}, "source 'visits': training had histories here"),
        (sources | {"clinic": table.add_prefix("x")}, "source 'clinic': X must have the 1 col"),
        (Sources({"visits": histories}), r"sources of training, .*; got \['visits'\]"),
        (table, "takes histories, a dict of sources or an array; got DataFrame"),
    ):
        with pytest.raises(CovariateError, match=message):
            fitted.transform(X)


def test_the_option_preprocessor_of_a_model(histories):
    def learn(preprocessor, **options):
        return learn_preprocessor(preprocessor, histories, sequences=True, **options)

    assert learn("auto", max_visits=2).blocks_[0].shape[0] == 2
    unscaled = learn(None)
    assert steps(unscaled, unscaled.transform(histories))[0, :, 2].tolist() == [1.0, 2.0, 3.0]
    piecewise = learn(TabularPreprocessor(numbers="piecewise", bins=2))
    assert piecewise.blocks_[0].n_values > learn("auto").blocks_[0].n_values
    assert learn(SequencePreprocessor(max_visits=1)).blocks_[0].shape[0] == 1
    with pytest.raises(SettingError, match="with histories or several sources, preprocessor must"):
        learn(object())
