"""SEER itself cannot be shipped: these tests make files in its two layouts."""

import gzip

import numpy as np
import pytest

from lifemix.datasets import load_seer
from lifemix.datasets.seer import COVARIATES, RECORD_LENGTH, read_fields
from lifemix.errors import CovariateError, LifemixWarning, SettingError

POSITIONS = {name: field["position"] for name, field in read_fields().items()}
PATIENT = (
    "REG=0000001535 MAR_STAT=2 RACE1V=01 SEX=2 AGE_DX=063 SEQ_NUM=00 YEAR_DX=1995 PRIMSITE=C504 "
    "LATERAL=1 HISTO3V=8500 BEHO3V=3 GRADE=2 DX_CONF=1 REPT_SRC=1 EOD10_SZ=025 EOD10_EX=10 EOD10_ND=0 "
    "NO_SURG=0 SS_SURG=50 CODPUB=00000 STAT_REC=1 SRV_TIME_MON=0081 MALIGCOUNT=01 "
)
DEAD = "STAT_REC=4 SRV_TIME_MON=0050 CODPUB="


def record(changes="", positions=POSITIONS, length=RECORD_LENGTH):
    """Return a record of the ASCII layout, of a patient with changes such as "SEX=1 GRADE="."""
    characters = [" "] * length
    for name, text in dict(field.split("=") for field in (PATIENT + changes).split()).items():
        start, width = positions[name]
        characters[start - 1 : start - 1 + width] = text.rjust(width)
    return "".join(characters)


def write(path, changes, **layout):
    records = (f"PUBCSNUM={i:08d} {change}" for i, change in enumerate(changes))
    path.write_text("".join(record(row, **layout) + "\r\n" for row in records), newline="")
    return path


@pytest.fixture
def ascii_file(tmp_path):
    return lambda *changes, **layout: write(tmp_path / "BREAST.TXT", changes, **layout)


def test_causes_of_death_and_the_limit_of_ten_years(ascii_file):
    causes = [DEAD + cause for cause in ("26000", "50060", "50080", "50110", "20030")]
    times = [f"{DEAD}26000 SRV_TIME_MON={months}" for months in ("0120", "0121")]
    path = ascii_file("", *causes, *times, "SRV_TIME_MON=0200")
    data = load_seer(path)
    assert data.y["event"].tolist() == [0, 1, 2, 0, 0, 0, 1, 0, 0]
    assert data.y["time"].tolist() == [81, 50, 50, 50, 50, 50, 120, 120, 120]
    assert load_seer(path, cvd="wide").y["event"].tolist() == [0, 1, 2, 2, 2, 0, 1, 0, 0]
    assert load_seer(path, max_months=60).y["time"].max() == 60
    assert data.time_unit == "months"


def test_the_21_covariates(ascii_file):
    data = load_seer(ascii_file("", "AGE_DX=105 GRADE=4"))
    assert list(data.X) == COVARIATES
    assert data.X["AGE_DX"].tolist() == [63, 105]
    assert data.X["EOD10_SZ"].tolist() == [25, 25]
    assert data.X["GRADE"].astype(object).tolist() == ["2", "4"]
    assert data.X["RACE1V"].astype(object).tolist() == ["01", "01"]
    assert [*data.X.select_dtypes("number")] == ["AGE_DX", "EOD10_SZ", "MALIGCOUNT", "NUMNODES"]
    assert data.X[["SURGPRIF", "SURGSITF", "SURGSITE", "NUMNODES"]].isna().all(axis=None)  # blank
    assert all(data.features.values())


def test_unknown_codes_are_missing_or_values(ascii_file):
    unknown = "AGE_DX=999 GRADE=9 EOD10_SZ=999 NUMNODES=97 RACE1V=99 PRIMSITE=C509"
    path = ascii_file(unknown, "NUMNODES=09 MALIGCOUNT=09")
    X = load_seer(path).X
    names = ["AGE_DX", "GRADE", "EOD10_SZ", "NUMNODES"]
    assert X.loc[0, [*names, "RACE1V"]].isna().all()
    assert X.loc[0, "PRIMSITE"] == "C509"
    assert X.loc[1, "NUMNODES"] == X.loc[1, "MALIGCOUNT"] == 9
    assert load_seer(path, unknown="kept").X.loc[0, names].tolist() == [999, "9", 999, 97]


def test_cohort_is_selected_and_every_record_left_out_is_counted(ascii_file):
    path = ascii_file(
        *(f"YEAR_DX={year}" for year in (1991, 1992, 2007, 2008)),
        "REG=0000001502",
        "SRV_TIME_MON=9999",
        "PUBCSNUM=00000077 YEAR_DX=2000 SEQ_NUM=02 AGE_DX=065",
        "PUBCSNUM=00000077 YEAR_DX=1999 SEQ_NUM=01 AGE_DX=064",
        "PUBCSNUM=00000088 YEAR_DX=1999 SEQ_NUM=02 AGE_DX=041",
        "PUBCSNUM=00000088 YEAR_DX=1999 SEQ_NUM=01 AGE_DX=040",
    )
    data = load_seer(path)
    assert data.X["AGE_DX"].tolist() == [63, 63, 64, 40]
    assert "10 read, 2 diagnosed outside of 1992-2007, 1 of other registries" in data.description
    assert "2 later ones of the same patient, 1 of unknown survival time." in data.description
    assert len(load_seer(path, years=None, registries=None).X) == 7
    assert len(load_seer(path, registries=["1502"]).X) == 1


def test_missing_values_of_the_coding_eras(tmp_path):
    """A thousandth of the paper's patients to 1997, of 1998-2002 and of 2003, with its pattern of missing values."""
    no_surgery = "SS_SURG= SURGPRIF=22 YEAR_DX="
    eras = {
        "": 29,
        f"{no_surgery}2000 SURGSITE=0 NUMNODES=12": 30,
        f"{no_surgery}2003 SURGSITF=0": 6,
    }
    rows = [era for era, count in eras.items() for _ in range(count)]
    path = write(tmp_path / "BREAST.TXT", rows)
    packed = tmp_path / "BREAST.TXT.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    missing = load_seer(packed, unknown="kept").X.isna().sum()
    expected = {"SS_SURG": 36, "SURGPRIF": 29, "SURGSITF": 59, "SURGSITE": 35, "NUMNODES": 35}
    assert missing[missing > 0].to_dict() == expected


def test_positions_of_another_release(ascii_file):
    length, positions = 0, {}
    for name, (_, width) in POSITIONS.items():
        positions[name] = (length + 1, width)
        length += width
    path = ascii_file("", f"{DEAD}26000", positions=positions, length=length)
    data = load_seer(path, positions=positions)
    assert data.y["event"].tolist() == [0, 1]
    assert data.X["HISTO3V"].tolist() == ["8500", "8500"]
    with pytest.raises(CovariateError, match=rf"with 362 characters; got {length}.*positions="):
        load_seer(path)
    del positions["REPT_SRC"]
    with pytest.raises(CovariateError, match=r"where \['REPT_SRC'\] are"):
        load_seer(path, positions=positions)


LISTING = """\
Patient ID|7|8|9|9
SEER registry|Los Angeles - 1992+|Alaska Natives - 1992+|San Jose-Monterey - 1992+|Rural Georgia
Sex|Female|Male|Female|Female
Year of diagnosis|1995|1999|2003|2001
Age recode with <1 year olds|65-69 years|85+ years|40-44 years|40-44 years
Age recode with single ages and 90+|063 years|90+ years|041 years|Unknown
Sequence number|One primary only|1st of 2 or more primaries|2nd of 2 or more primaries|1st of 2
Laterality|Right - origin of primary|Unknown|Left - origin of primary|Left - origin of primary
Regional nodes examined (1988+)|12|98|Blank(s)|00
CS tumor size (2004-2015)|Blank(s)|Blank(s)|025|999
ER Status Recode Breast Cancer (1990+)|Positive|Recode not available|Negative|Positive
Days to treatment|010|020|030|040
COD to site recode|Alive|Diseases of Heart|Breast|Breast
Survival months|0081|0012|0150|Unknown
"""


@pytest.fixture
def listing(tmp_path):
    """Return a function that writes the listing without some columns, or with other columns."""

    def write_listing(omitted=(), changes=(), delimiter="\t", header=True):
        columns = [line.split("|") for line in LISTING.splitlines()]
        changed = {line.split("|")[0]: line.split("|") for line in changes}
        columns = [changed.get(name, [name, *v]) for name, *v in columns if name not in omitted]
        lines = [delimiter.join(values) for values in zip(*columns, strict=True)]
        path = tmp_path / "export.txt"
        path.write_text("\n".join(lines[not header :]) + "\n")
        return path

    return write_listing


SINGLE_AGES = "Age recode with single ages and 90+"


@pytest.mark.parametrize("delimiter", ["\t", ","])
def test_case_listing_with_names(listing, delimiter):
    covariates = [
        "Sex",
        "AGE_DX",
        "Laterality",
        "EOD10_NE",
        "CS tumor size (2004-2015)",
        "ERSTATUS",
    ]
    data = load_seer(listing([SINGLE_AGES], delimiter=delimiter), covariates=covariates)
    assert list(data.X) == covariates
    assert data.y["event"].tolist() == [0, 2]
    assert data.y["time"].tolist() == [81, 12]
    np.testing.assert_array_equal(data.X["EOD10_NE"], [12, np.nan])  # 98 is not a count
    assert data.X["AGE_DX"].tolist() == ["65-69 years", "85+ years"]
    assert data.X[["Laterality", "ERSTATUS"]].isna().to_numpy().tolist() == [
        [False] * 2,
        [True] * 2,
    ]
    assert "4 read, 0 diagnosed outside" in data.description
    assert "1 later ones of the same patient, 1 of unknown survival time" in data.description


def test_numeric_columns_of_a_listing(listing):
    path, name = listing(["Age recode with <1 year olds"]), "Days to treatment"
    assert load_seer(path, covariates=["AGE_DX"]).X["AGE_DX"].tolist() == [63, 90]
    assert load_seer(path, covariates=[name]).X[name].tolist() == ["010", "020"]
    assert load_seer(path, covariates=[name], numeric=[name]).X[name].tolist() == [10, 20]


def test_listing_without_registries_keeps_all_with_a_warning(listing):
    path = listing(["SEER registry"])
    with pytest.warns(LifemixWarning, match="no column .*: records of all registries"):
        assert len(load_seer(path, covariates=["SEX"]).X) == 2
    load_seer(path, covariates=["SEX"], registries=None)


@pytest.mark.parametrize(
    ("change", "covariates", "message"),
    [
        ("", ["Stage"], r"lacks columns for \{'Stage': 'Stage'\}"),
        ("", None, r"lacks columns for .*'MAR_STAT': \['Marital status at diagnosis'\]"),
        ("Survival months|0081|12 months|1|2", ["SEX"],
         r"SRV_TIME_MON must hold a number; got '12 months' at line 3 \(1 such lines\)"),
        ("Regional nodes examined (1988+)|12|many|1|2", ["EOD10_NE"], "EOD10_NE.*'many' at line 3"),
        ("Year of diagnosis|1995||2000|2000", ["SEX"], "a year.*line 3"),
        ("COD to site recode|A|B|C|D", ["SEX"], r"'Breast' and other causes.*got \['A', 'B'\]"),
        ("COD to site recode|Alive||C|D", ["SEX"], "a cause of death, or Alive; got None at line 3"),
    ],
)  # fmt: skip
def test_listings_that_cannot_be_used_are_refused(listing, change, covariates, message):
    with pytest.raises(CovariateError, match=message):
        load_seer(listing(changes=[change]), covariates=covariates)


def test_listings_without_patients_names_or_rows_are_refused(listing):
    with pytest.raises(CovariateError, match=r"lacks columns for \{'PUBCSNUM': \['Patient ID'\]\}"):
        load_seer(listing(["Patient ID"]), covariates=["SEX"])
    with pytest.raises(CovariateError, match="no record is left: 4 read, 4 diagnosed"):
        load_seer(listing(), covariates=["SEX"], years=(1980, 1990))
    with pytest.raises(CovariateError, match=r"first line must hold the names.*'7', 'Los Angeles"):
        load_seer(listing(header=False))
    path = listing()
    path.write_text(path.read_text() + "1\t2\n")
    with pytest.raises(CovariateError, match=r"must have 14 fields, .* got 2 at line 6 \(1 such"):
        load_seer(path, covariates=["SEX"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("STAT_REC=7", r"STAT_REC must hold 1 \(alive\) or 4 \(dead\); got '7' at line 2"),
        ("SRV_TIME_MON=00x1", "SRV_TIME_MON must hold a number; got '00x1' at line 2"),
        ("AGE_DX=6a", "AGE_DX must hold a number; got '6a' at line 2"),
        ("PUBCSNUM=", "PUBCSNUM must hold the number of a patient; got None at line 2"),
        (DEAD, "CODPUB must hold a cause of death"),
    ],
)
def test_records_that_do_not_parse_are_named_by_field_and_line(ascii_file, change, message):
    with pytest.raises(CovariateError, match=message):
        load_seer(ascii_file("", change))


def test_short_and_empty_files_are_refused(ascii_file):
    path = ascii_file("")
    path.write_text(path.read_text() + "0000000112\n\n")
    with pytest.raises(CovariateError, match=r"at least 360 characters; got 10 at line 2"):
        load_seer(path)
    path.write_text("\n")
    with pytest.raises(CovariateError, match="BREAST.TXT holds no records"):
        load_seer(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cvd": "all"}, "cvd must be one of 'narrow', 'wide'; got 'all'"),
        ({"layout": "csv"}, "layout must be one of"),
        ({"unknown": "drop"}, "unknown must be one of"),
        ({"max_months": 0}, "max_months must be a number above 0; got 0"),
        ({"covariates": ["SEX", "Survival months"]}, "got the outcome .'Survival months'"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(ascii_file, options, message):
    with pytest.raises(SettingError, match=message):
        load_seer(ascii_file(""), **options)
