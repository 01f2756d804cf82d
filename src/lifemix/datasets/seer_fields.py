"""The fields of SEER that the package knows: where they stand, what they are called, which codes mean "unknown"."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BREAST",
    "COVARIATES",
    "FIELDS",
    "HEART",
    "RECORD_LENGTH",
    "REGISTRIES",
    "VESSELS",
    "Field",
    "field_of",
]

RECORD_LENGTH = 362  # of the ASCII releases 1973-2014 and 1973-2015


@dataclass(frozen=True)
class Field:
    """One field.

    start, width: its place in a record of the ASCII release, counted from 1.
    listing: its names in SEER*Stat case listings.
    numeric: whether it holds numbers; otherwise codes or labels.
    unknown: codes that stand for "unknown" or "not a count".
    """

    name: str
    start: int
    width: int
    meaning: str
    listing: tuple[str, ...] = ()
    numeric: bool = False
    unknown: tuple[str, ...] = ()


_NOT_A_COUNT = ("95", "96", "97", "98", "99", "126")
_AGES = (
    "Age at diagnosis",
    *(f"Age recode with single ages and {oldest}+" for oldest in (100, 90, 85)),
    *("Age recode with <1 year olds", "Age recode with <1 year olds and 90+"),
)
_RACES = ("Race/ethnicity", "Race recode (W, B, AI, API)", "Race recode (White, Black, Other)")
_GRADES = ("Grade", "Grade (thru 2017)", "Grade Recode (thru 2017)")
_TUMORS = "Total number of {} tumors for patient"
_SITE_SURGERY = "Site specific surgery (1973-1997{})"

# fmt: off
_TABLE = (
    Field("PUBCSNUM", 1, 8, "patient", ("Patient ID",)),
    Field("REG", 9, 10, "registry", ("SEER registry", "Registry")),
    Field("MAR_STAT", 19, 1, "marital status", ("Marital status at diagnosis",), unknown=("9",)),
    Field("RACE1V", 20, 2, "race", _RACES, unknown=("99",)),
    Field("SEX", 24, 1, "sex", ("Sex",), unknown=("9",)),
    Field("AGE_DX", 25, 3, "age at diagnosis in years", _AGES, numeric=True, unknown=("999",)),
    Field("SEQ_NUM", 35, 2, "place among the patient's tumours", ("Sequence number",), unknown=("99",)),
    Field("YEAR_DX", 39, 4, "year of diagnosis", ("Year of diagnosis",), numeric=True),
    Field("PRIMSITE", 43, 4, "primary site", ("Primary Site", "Primary Site - labeled")),
    Field("LATERAL", 47, 1, "laterality", ("Laterality",), unknown=("9",)),
    Field("HISTO3V", 53, 4, "histologic type", ("Histologic Type ICD-O-3",)),
    Field("BEHO3V", 57, 1, "behaviour", ("Behavior code ICD-O-3", "Behavior recode for analysis")),
    Field("GRADE", 58, 1, "grade", _GRADES, unknown=("9",)),
    Field("DX_CONF", 59, 1, "diagnostic confirmation", ("Diagnostic Confirmation",), unknown=("9",)),
    Field("REPT_SRC", 60, 1, "type of reporting source", ("Type of Reporting Source",)),
    Field("EOD10_SZ", 61, 3, "tumour size in mm, to 2003", ("EOD 10 - size (1988-2003)",), True, ("999",)),
    Field("EOD10_EX", 64, 2, "extension of the tumour, to 2003", ("EOD 10 - extent (1988-2003)",), unknown=("99",)),
    Field("EOD10_ND", 68, 1, "lymph node involvement, to 2003", ("EOD 10 - nodes (1988-2003)",), unknown=("9",)),
    Field("EOD10_PN", 69, 2, "positive lymph nodes", ("Regional nodes positive (1988+)",), True, _NOT_A_COUNT),
    Field("EOD10_NE", 71, 2, "examined lymph nodes", ("Regional nodes examined (1988+)",), True, _NOT_A_COUNT),
    Field("CSTUMSIZ", 96, 3, "tumour size in mm, 2004-2015", ("CS tumor size (2004-2015)",), True, ("888", "999")),
    Field("SURGPRIF", 159, 2, "surgery of the primary site, 1998 on",
          ("RX Summ--Surg Prim Site (1998+)",), unknown=("99",)),
    Field("SURGSITF", 162, 1, "surgery beyond the primary site, 2003 on",
          ("RX Summ--Surg Oth Reg/Dis (2003+)",), unknown=("9",)),
    Field("NUMNODES", 163, 2, "lymph nodes examined, 1998-2002",
          ("RX Summ--Reg LN Examined (1998-2002)",), True, _NOT_A_COUNT),
    Field("NO_SURG", 166, 1, "reason for no surgery", ("Reason no cancer-directed surgery",), unknown=("9",)),
    Field("SS_SURG", 170, 2, "type of surgery, to 1997",
          (_SITE_SURGERY.format(""), _SITE_SURGERY.format(" varying detail by year and site")), unknown=("99",)),
    Field("SURGSITE", 175, 1, "surgery of distant lymph nodes or other tissues, 1998-2002",
          ("Surgery of oth reg/dis sites (1998-2002)",), unknown=("9",)),
    Field("FIRSTPRM", 245, 1, "first malignant primary", ("First malignant primary indicator",)),
    Field("CODPUB", 255, 5, "cause of death", ("COD to site recode",)),
    Field("STAT_REC", 265, 1, "vital status", ("Vital status recode (study cutoff used)",)),
    Field("ERSTATUS", 278, 1, "oestrogen receptor", ("ER Status Recode Breast Cancer (1990+)",), unknown=("9",)),
    Field("PRSTATUS", 279, 1, "progesterone receptor", ("PR Status Recode Breast Cancer (1990+)",), unknown=("9",)),
    Field("SRV_TIME_MON", 301, 4, "survival in months", ("Survival months",), True, ("9999",)),
    Field("MALIGCOUNT", 359, 2, "number of malignant tumours", (_TUMORS.format("in situ/malignant"),), True, ("99",)),
    Field("BENBORDCOUNT", 361, 2, "number of benign tumours", (_TUMORS.format("benign/borderline"),), True, ("99",)),
)
# fmt: on
FIELDS = {field.name: field for field in _TABLE}
_BY_LISTING = {name: field for field in _TABLE for name in field.listing}


def field_of(name: str) -> Field | None:
    """Return the field of this name, its own or that of a case listing."""
    return FIELDS.get(name) or _BY_LISTING.get(name)


# A list that fits the paper's text and its table of missing values; the paper names the 21 only in part.
COVARIATES = (
    "AGE_DX RACE1V SEX MAR_STAT PRIMSITE LATERAL HISTO3V BEHO3V GRADE DX_CONF REPT_SRC EOD10_SZ EOD10_EX EOD10_ND "
    "MALIGCOUNT NO_SURG SS_SURG SURGPRIF SURGSITF SURGSITE NUMNODES"
).split()

REGISTRIES = {
    "Alaska": "1529",
    "San Jose-Monterey": "1531",
    "Los Angeles": "1535",
    "Rural Georgia": "1537",
}

# Causes of death, as codes of the ASCII release and as labels of SEER*Stat.
BREAST = ("26000", "Breast")
HEART = ("50060", "Diseases of Heart")
VESSELS = (
    *("50070", "Hypertension without Heart Disease"),
    *("50080", "Cerebrovascular Diseases"),
    *("50090", "Atherosclerosis"),
    *("50100", "Aortic Aneurysm and Dissection"),
    *("50110", "Other Diseases of Arteries, Arterioles, Capillaries"),
)
