"""Files of models whose content was changed at random: each is refused, or the model predicts."""

import copy
import functools
import json
import operator
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.small_models import MODELS, TIMES, fitted, table
from lifemix import load, save
from lifemix.errors import LifemixError, ModelFileError
from lifemix.files import read_arrays, write_arrays
from lifemix.persistence import _Decoder, _Encoder

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.text(max_size=5) | st.integers(-3, 3) | st.tuples(st.booleans(), st.text(max_size=2))
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=10)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(st.fixed_dictionaries({"a": inner, "b": st.floats()}), min_size=8, max_size=9)
    ),
    max_leaves=12,
)


@given(value=VALUES)
def test_values_come_back(value):
    encoder = _Encoder()
    content = json.loads(json.dumps(encoder.encode(value, "x")))
    assert repr(_Decoder(encoder.arrays, {}).decode(content)) == repr(value)


@cache
def written(name):
    with TemporaryDirectory() as folder:
        save(fitted(name), Path(folder) / "model")
        return read_arrays(Path(folder) / "model")


def paths_of(value, path=()):
    """Yield the path of every value in JSON content."""
    if path:
        yield path
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        yield from paths_of(child, (*path, key))


def mutated_value(draw, value):
    choices = [
        VALUES.filter(lambda v: json.dumps(v, default=str, skipkeys=True)),
        st.just("KaplanMeier"),
    ]
    if isinstance(value, (int, float)):
        choices += [st.sampled_from([-value, value + 1, 0, 10**9, 1e308, not value])]
    elif isinstance(value, list):
        choices += [st.sampled_from([value[:-1], value + value, value[::-1], []])]
    elif isinstance(value, dict) and value:
        name = draw(st.sampled_from(sorted(value)))
        choices.append(st.just({key: item for key, item in value.items() if key != name}))
    return json.loads(json.dumps(draw(st.one_of(choices)), default=str, skipkeys=True))


def mutated_array(draw, array):
    change = draw(st.sampled_from(["number", "length", "shape", "type", "order", "zero"]))
    if change == "number" and array.size:
        array = array.copy()
        special = (
            [0, -1, 1, 100]
            if array.dtype.kind == "i"
            else [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 2.0]
        )
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(special))
        return array
    if change == "length" and array.ndim:
        return draw(st.sampled_from([array[:-1], np.concatenate([array, array]), array[:0]]))
    if change == "shape":
        return draw(st.sampled_from([array.reshape(-1), array[None], array.T]))
    if change == "type":
        return array.astype(
            draw(st.sampled_from(["float64", "float32", "int64", "int32", "uint8", "bool"]))
        )
    return array[::-1] if change == "order" and array.ndim else np.zeros_like(array)


@pytest.mark.parametrize("name", MODELS)
@settings(suppress_health_check=list(HealthCheck))
@given(choices=st.data())
def test_a_mutated_file_is_refused_or_predicts(name, choices):
    content, arrays = copy.deepcopy(written(name))
    X = table(fitted(name).n_events_)[0][:9]
    with (
        TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        if choices.draw(st.booleans()):
            *parents, last = choices.draw(st.sampled_from(list(paths_of(content["model"]))))
            parent = functools.reduce(operator.getitem, parents, content["model"])
            parent[last] = mutated_value(choices.draw, parent[last])
        else:
            which = choices.draw(st.sampled_from(sorted(arrays)))
            arrays[which] = np.array(mutated_array(choices.draw, arrays[which]), order="C")
        write_arrays(Path(folder) / "model", content, arrays)
        try:
            model = load(Path(folder) / "model")
        except ModelFileError:
            return
        try:
            curves, risk = model.predict_survival_function(X, TIMES), model.predict(X)
        except LifemixError:  # for example other columns than the table has
            return
        assert curves.shape == (len(X), len(TIMES))
        assert not (np.diff(curves) > 1e-9).any()
        assert risk.shape == (len(X),)
