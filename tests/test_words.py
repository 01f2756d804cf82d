"""The words of the field in source and documentation: what this package once called by names of its own."""

import re
from pathlib import Path

import pytest

import lifemix

PACKAGE = Path(lifemix.__file__).parent
ROOT = Path(__file__).parents[1]

_PART = (
    "batch|candidate|category|cause|column|command|component|curve|epoch|event|factor|feature|fleet|fold|group|horizon|"
    "item|job|kind|label|layer|leaf|level|line|member|metric|model|name|node|observation|page|parameter|patient|"
    "primitive|record|row|setting|step|subject|time|value|variable"
)
_WHOLE = (
    "columns?|distributions?|entry|epochs?|floats?|lines?|names?|numbers?|one|parameters?|points?|records?|rows?|"
    "shifts?|tensors?|values?|weights?"
)
# What must not come back: a pattern, and what to write.
PRIVATE = {
    rf"\b({_WHOLE}) an? ({_PART})\b": "one per row",
    r"\bkinds? of events?\b": "event type, or cause under competing risks",
    r"(?<!power-)\blaws?\b": "distribution",
    r"where all random numbers come from": "random seed",
    r"\bspeaks? against\b": "evidence of miscalibration",
    r"\bdrawn towards\b": "shrunk 20 % towards the marginal curve",
    r"\bhazard_so_far\b": "cumulative_hazard",
    r"\bwhole_file\b": "atomic_write",
    r"\bAsItIs\b": "Passthrough",
}


def private_words(text):
    """Return the lines of a text with a private word, each with what to write in its place."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, instead in PRIVATE.items():
            if match := re.search(pattern, line, flags=re.IGNORECASE):
                found.append(f"line {number}: {match[0]!r}, write {instead!r}")
    return found


def sources():
    """Return the files of the package that hold code or text, without the data."""
    kinds = {".py", ".js", ".css", ".html"}
    return sorted(path for path in PACKAGE.rglob("*") if path.suffix in kinds)


def pages():
    """Return the pages and programs beside the package, where they are there; the changelog names what was renamed."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.rst")]
    programs = [
        path
        for folder in ("benchmarks", "docs/figures", "examples", "scripts")
        for path in ROOT.glob(f"{folder}/**/*.py")
    ]
    return sorted(path for path in (*texts, *programs) if path.name != "CHANGELOG.md")


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_package_uses_the_words_of_the_field(path):
    assert not private_words(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_and_programs_use_the_words_of_the_field(path):
    assert not private_words(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "Return one value a row.",
        "one a member",
        "the kind of event",
        "two kinds of events",
        "the law of T",
        "Laws of single components",
        "nothing speaks against the calibration",
        "random_state: where all random numbers come from.",
    ],
)
def test_private_words_are_found(text):
    assert len(private_words(f"first\n{text}")) == 1
    assert private_words(text)[0].startswith("line 1: ")


@pytest.mark.parametrize(
    "text", ["one value per row", "flawless", "fit a model", "a new row at time 3", "see a model"]
)
def test_plain_words_are_not(text):
    assert private_words(text) == []
