"""SEER itself cannot be shipped: these tests make files in its two layouts."""

import gzip

import numpy as np
import pandas as pd
import pytest

from lifemix.datasets import load_seer
from lifemix.datasets.seer import COVARIATES, RECORD_LENGTH, read_fields
from lifemix.errors import CovariateError, LifemixWarning, SettingError

POSITIONS = {name: field["position"] for name, field in read_fields().items()}
PATIENT = {
    "PUBCSNUM": "00000001", "REG": "0000001535", "MAR_STAT": "2", "RACE1V": "01", "SEX": "2", "AGE_DX": "063",
    "SEQ_NUM": "00", "YEAR_DX": "1995", "PRIMSITE": "C504", "LATERAL": "1", "HISTO3V": "8500", "BEHO3V": "3",
    "GRADE": "2", "DX_CONF": "1", "REPT_SRC": "1", "EOD10_SZ": "025", "EOD10_EX": "10", "EOD10_ND": "0",
    "NO_SURG": "0", "SS_SURG": "50", "CODPUB": "00000", "STAT_REC": "1", "SRV_TIME_MON": "0081", "MALIGCOUNT": "01",
}  # fmt: skip


def dead(cause, months="0050", **changes):
    return {"CODPUB": cause, "STAT_REC": "4", "SRV_TIME_MON": months, **changes}


def patients(*changes):
    return [PATIENT | {"PUBCSNUM": f"{i:08d}"} | change for i, change in enumerate(changes)]


def record(values, places=None, length=RECORD_LENGTH):
    characters = [" "] * length
    for name, text in values.items():
        start, width = (places or POSITIONS)[name]
        characters[start - 1 : start - 1 + width] = text.rjust(width)
    return "".join(characters)


def write_ascii(path, rows, **layout):
    path.write_text("".join(record(row, **layout) + "\r\n" for row in rows), newline="")
    return path


@pytest.fixture
def ascii_file(tmp_path):
    return lambda *changes: write_ascii(tmp_path / "BREAST.TXT", patients(*changes))


def test_causes_of_death_and_the_limit_of_ten_years(ascii_file):
    causes = ["26000", "50060", "50080", "50110", "20030"]
    path = ascii_file(
        {},
        *map(dead, causes),
        dead("26000", "0120"),
        dead("26000", "0121"),
        {"SRV_TIME_MON": "0200"},
    )
    data = load_seer(path)
    assert data.y["event"].tolist() == [0, 1, 2, 0, 0, 0, 1, 0, 0]
    assert data.y["time"].tolist() == [81, 50, 50, 50, 50, 50, 120, 120, 120]
    assert load_seer(path, cvd="wide").y["event"].tolist() == [0, 1, 2, 2, 2, 0, 1, 0, 0]
    assert load_seer(path, max_months=60).y["time"].max() == 60
    assert data.time_unit == "months"


def test_the_21_covariates(ascii_file):
    data = load_seer(ascii_file({}, {"AGE_DX": "105", "GRADE": "4"}))
    assert list(data.X.columns) == COVARIATES
    assert data.X.shape == (2, 21)
    assert data.X["AGE_DX"].tolist() == [63, 105]
    assert data.X["EOD10_SZ"].tolist() == [25, 25]
    assert data.X["GRADE"].astype(object).tolist() == ["2", "4"]
    assert data.X["RACE1V"].astype(object).tolist() == ["01", "01"]
    numbers = data.X.select_dtypes("number").columns.tolist()
    assert numbers == ["AGE_DX", "EOD10_SZ", "MALIGCOUNT", "NUMNODES"]
    assert data.X[["SURGPRIF", "SURGSITF", "SURGSITE", "NUMNODES"]].isna().all(axis=None)  # blank
    assert all(data.features.values())


def test_unknown_codes_are_missing_or_kept(ascii_file):
    path = ascii_file(
        {
            "AGE_DX": "999",
            "GRADE": "9",
            "EOD10_SZ": "999",
            "RACE1V": "99",
            "NUMNODES": "97",
            "PRIMSITE": "C509",
        },
        {"NUMNODES": "09", "MALIGCOUNT": "09"},
    )
    X = load_seer(path).X
    assert X.loc[0, ["AGE_DX", "GRADE", "EOD10_SZ", "RACE1V", "NUMNODES"]].isna().all()
    assert X.loc[0, "PRIMSITE"] == "C509"
    assert X.loc[1, "NUMNODES"] == X.loc[1, "MALIGCOUNT"] == 9
    kept = load_seer(path, unknown="kept").X
    assert kept.loc[0, ["AGE_DX", "GRADE", "EOD10_SZ", "NUMNODES"]].tolist() == [999, "9", 999, 97]


def test_cohort_is_selected_and_every_record_left_out_is_counted(ascii_file):
    path = ascii_file(
        {"YEAR_DX": "1991"},
        {"YEAR_DX": "1992"},
        {"YEAR_DX": "2007"},
        {"YEAR_DX": "2008"},
        {"REG": "0000001502"},
        {"SRV_TIME_MON": "9999"},
        {"PUBCSNUM": "00000077", "YEAR_DX": "2000", "SEQ_NUM": "02", "AGE_DX": "065"},
        {"PUBCSNUM": "00000077", "YEAR_DX": "1999", "SEQ_NUM": "01", "AGE_DX": "064"},
        {"PUBCSNUM": "00000088", "YEAR_DX": "1999", "SEQ_NUM": "02", "AGE_DX": "041"},
        {"PUBCSNUM": "00000088", "YEAR_DX": "1999", "SEQ_NUM": "01", "AGE_DX": "040"},
    )
    data = load_seer(path)
    assert data.X["AGE_DX"].tolist() == [63, 63, 64, 40]
    assert (
        "10 read, 2 diagnosed outside of 1992-2007, 1 of other registries, 2 later ones of the same patient, "
        "1 of unknown survival time."
    ) in data.description
    assert len(load_seer(path, years=None, registries=None).X) == 7
    assert len(load_seer(path, registries=["1502"]).X) == 1


def test_paper_counts_from_records_of_its_coding_eras(tmp_path):
    """28,957 patients to 1997, 30,338 of 1998-2002 and 6,186 of 2003 give the paper's five counts of missing values."""
    eras = [
        (28_957, {"YEAR_DX": "1995", "SS_SURG": "50"}),
        (30_338, {"YEAR_DX": "2000", "SURGPRIF": "22", "SURGSITE": "0", "NUMNODES": "12"}),
        (6_186, {"YEAR_DX": "2003", "SURGPRIF": "22", "SURGSITF": "0"}),
    ]
    base = {name: text for name, text in PATIENT.items() if name != "SS_SURG"}
    lines = [record(base | era)[8:] for count, era in eras for _ in range(count)]
    causes = iter([record(base | dead("26000"))] * 13_564 + [record(base | dead("50060"))] * 4_245)
    outcome = slice(254, 304)
    lines = [
        f"{i:08d}"
        + (line[:246] + cause[outcome] + line[296:] if (cause := next(causes, None)) else line)
        for i, line in enumerate(lines)
    ]
    with gzip.open(tmp_path / "BREAST.TXT.gz", "wt") as file:
        file.write("\n".join(lines))
    data = load_seer(tmp_path / "BREAST.TXT.gz", unknown="kept")
    assert data.X.shape == (65_481, 21)
    assert data.counts == {0: 47_672, 1: 13_564, 2: 4_245}
    missing = data.X.isna().sum()
    assert missing[missing > 0].to_dict() == {
        "SS_SURG": 36_524, "SURGPRIF": 28_957, "SURGSITF": 59_295, "SURGSITE": 35_143, "NUMNODES": 35_143,
    }  # fmt: skip


def test_positions_of_another_release(tmp_path):
    start, places = 1, {}
    for name, (_, width) in POSITIONS.items():
        places[name] = (start, width)
        start += width
    path = write_ascii(
        tmp_path / "BREAST.TXT", patients({}, dead("26000")), places=places, length=start - 1
    )
    data = load_seer(path, positions=places)
    assert data.y["event"].tolist() == [0, 1]
    assert data.X["HISTO3V"].tolist() == ["8500", "8500"]
    with pytest.raises(
        CovariateError, match=rf"records with 362 characters; got {start - 1}.*positions="
    ):
        load_seer(path)
    del places["REPT_SRC"]
    with pytest.raises(CovariateError, match=r"where \['REPT_SRC'\] are"):
        load_seer(path, positions=places)


LISTING = {
    "Patient ID": ["7", "8", "9", "9"],
    "SEER registry": [
        "Los Angeles - 1992+",
        "Alaska Natives - 1992+",
        "San Jose-Monterey - 1992+",
        "Rural Georgia",
    ],
    "Sex": ["Female", "Male", "Female", "Female"],
    "Year of diagnosis": ["1995", "1999", "2003", "2001"],
    "Age recode with <1 year olds": ["65-69 years", "85+ years", "40-44 years", "40-44 years"],
    "Sequence number": [
        "One primary only",
        "1st of 2 or more primaries",
        "2nd of 2 or more primaries",
        "1st of 2",
    ],
    "Laterality": [
        "Right - origin of primary",
        "Unknown",
        "Left - origin of primary",
        "Left - origin of primary",
    ],
    "Regional nodes examined (1988+)": ["12", "98", "Blank(s)", "00"],
    "CS tumor size (2004-2015)": ["Blank(s)", "Blank(s)", "025", "999"],
    "ER Status Recode Breast Cancer (1990+)": [
        "Positive",
        "Recode not available",
        "Negative",
        "Positive",
    ],
    "COD to site recode": ["Alive", "Diseases of Heart", "Breast", "Breast"],
    "Survival months": ["0081", "0012", "0150", "Unknown"],
}
CHOSEN = ["Sex", "AGE_DX", "Laterality", "EOD10_NE", "CS tumor size (2004-2015)", "ERSTATUS"]


def write_listing(path, columns=LISTING, delimiter="\t", header=True):
    frame = pd.DataFrame(columns)
    frame.to_csv(path, sep=delimiter, header=header, index=False)
    return path


def check_listing(data):
    assert list(data.X.columns) == CHOSEN
    assert data.y["event"].tolist() == [0, 2]
    assert data.y["time"].tolist() == [81, 12]
    assert data.X["EOD10_NE"].tolist()[0] == 12
    assert np.isnan(data.X["EOD10_NE"][1])  # 98 is not a count
    assert data.X["AGE_DX"].tolist() == ["65-69 years", "85+ years"]
    assert data.X["Laterality"].isna().tolist() == [False, True]
    assert data.X["ERSTATUS"].isna().tolist() == [False, True]
    assert "4 read, 0 diagnosed outside" in data.description


@pytest.mark.parametrize("delimiter", ["\t", ","])
def test_case_listing_with_names(tmp_path, delimiter):
    check_listing(
        load_seer(write_listing(tmp_path / "export.txt", delimiter=delimiter), covariates=CHOSEN)
    )


def test_case_listing_without_names_is_refused(tmp_path):
    path = write_listing(tmp_path / "export.txt", header=False)
    with pytest.raises(CovariateError, match=r"first line must hold the names.*'7', 'Los Angeles"):
        load_seer(path)


def test_first_record_of_a_patient_with_unknown_time_leaves_the_patient_out(tmp_path):
    data = load_seer(write_listing(tmp_path / "export.txt"), covariates=CHOSEN)
    assert "1 later ones of the same patient, 1 of unknown survival time" in data.description


def test_single_ages_of_a_listing_are_numbers(tmp_path):
    columns = dict(LISTING)
    columns["Age recode with single ages and 90+"] = [
        "063 years",
        "90+ years",
        "041 years",
        "Unknown",
    ]
    path = write_listing(tmp_path / "export.txt", columns)
    data = load_seer(path, covariates=["AGE_DX"])
    assert data.X["AGE_DX"].tolist() == [63, 90]


def test_more_numeric_columns_can_be_named(tmp_path):
    columns = {**LISTING, "Days from diagnosis to treatment": ["010", "020", "030", "040"]}
    path = write_listing(tmp_path / "export.txt", columns)
    name = "Days from diagnosis to treatment"
    assert load_seer(path, covariates=[name]).X[name].tolist() == ["010", "020"]
    assert load_seer(path, covariates=[name], numeric=[name]).X[name].tolist() == [10, 20]


def test_listing_without_registries_keeps_all_with_a_warning(tmp_path):
    columns = {name: values for name, values in LISTING.items() if name != "SEER registry"}
    path = write_listing(tmp_path / "export.txt", columns)
    with pytest.warns(
        LifemixWarning,
        match=r"no column \['SEER registry', 'Registry'\]: records of all registries",
    ):
        assert len(load_seer(path, covariates=["SEX"]).X) == 2
    load_seer(path, covariates=["SEX"], registries=None)


def change(name, values):
    return {**LISTING, name: values}


BAD_LISTINGS = {
    "no such covariate": (
        LISTING,
        {"covariates": ["Stage"]},
        r"lacks columns for \{'Stage': 'Stage'\}",
    ),
    "the paper's 21": (
        LISTING,
        {},
        r"lacks columns for .*'MAR_STAT': \['Marital status at diagnosis'\]",
    ),
    "no patients": (
        {name: values for name, values in LISTING.items() if name != "Patient ID"},
        {"covariates": ["SEX"]},
        r"lacks columns for \{'PUBCSNUM': \['Patient ID'\]\}",
    ),
    "months": (
        change("Survival months", ["0081", "12 months", "1", "2"]),
        {"covariates": ["SEX"]},
        r"column SRV_TIME_MON must hold a number; got '12 months' at line 3 \(1 such lines\)",
    ),
    "node count": (
        change("Regional nodes examined (1988+)", ["12", "many", "1", "2"]),
        {"covariates": ["EOD10_NE"]},
        "column EOD10_NE must hold a number; got 'many' at line 3",
    ),
    "year": (
        change("Year of diagnosis", ["1995", "", "2000", "2000"]),
        {"covariates": ["SEX"]},
        "a year.*line 3",
    ),
    "cause": (
        change("COD to site recode", ["A", "B", "C", "D"]),
        {"covariates": ["SEX"]},
        r"must hold 'Alive', 'Breast' and other causes.*got \['A', 'B'\]",
    ),
    "no cause": (
        change("COD to site recode", ["Alive", "", "C", "D"]),
        {"covariates": ["SEX"]},
        "column CODPUB must hold a cause of death, or Alive; got None at line 3",
    ),
    "nobody": (
        LISTING,
        {"covariates": ["SEX"], "years": (1980, 1990)},
        "no record is left: 4 read, 4 diagnosed",
    ),
}


@pytest.mark.parametrize(
    ("columns", "options", "message"), BAD_LISTINGS.values(), ids=BAD_LISTINGS.keys()
)
def test_listings_that_cannot_be_used_are_refused_by_column_and_line(
    tmp_path, columns, options, message
):
    with pytest.raises(CovariateError, match=message):
        load_seer(write_listing(tmp_path / "export.txt", columns), **options)


def test_uneven_lines_are_named(tmp_path):
    path = write_listing(tmp_path / "export.txt")
    path.write_text(path.read_text() + "1\t2\n")
    with pytest.raises(
        CovariateError,
        match=r"must have 12 fields, one per column; got 2 at line 6 \(1 such lines\)",
    ):
        load_seer(path, covariates=["SEX"])


BAD_RECORDS = {
    "vital status": (
        {"STAT_REC": "7"},
        r"STAT_REC must hold 1 \(alive\) or 4 \(dead\); got '7' at line 2",
    ),
    "months": ({"SRV_TIME_MON": "00x1"}, "SRV_TIME_MON must hold a number; got '00x1' at line 2"),
    "age": ({"AGE_DX": "6a"}, "AGE_DX must hold a number; got '6a' at line 2"),
    "patient": ({"PUBCSNUM": ""}, "PUBCSNUM must hold the number of a patient; got None at line 2"),
    "cause of a death": (dead(""), "CODPUB must hold a cause of death"),
}


@pytest.mark.parametrize(("changes", "message"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_records_that_do_not_parse_are_named_by_field_and_line(ascii_file, changes, message):
    with pytest.raises(CovariateError, match=message):
        load_seer(ascii_file({}, changes))


def test_short_and_empty_files_are_refused(tmp_path):
    path = write_ascii(tmp_path / "BREAST.TXT", patients({}))
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
        (
            {"covariates": ["SEX", "Survival months"]},
            r"known at diagnosis; got the outcome \['Survival months'\]",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_refused(ascii_file, options, message):
    with pytest.raises(SettingError, match=message):
        load_seer(ascii_file({}), **options)
