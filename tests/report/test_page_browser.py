"""The page in a real browser: nothing fetched, nothing complained of, readable on a phone and in the dark."""

import pytest

from lifemix.baselines import CoxPH
from lifemix.report import write_report

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["single", "competing"])
def test_the_page_opens_clean_and_readable(name, scheme, width, request, open_file, check_readable):
    path = request.getfixturevalue(f"{name}_file")
    page = open_file(path, viewport={"width": width, "height": 844}, color_scheme=scheme)
    check_readable(page, scheme)
    broken = "[...document.images].filter(image => !image.complete || !image.naturalWidth).length"
    assert page.evaluate(broken) == 0
    links = page.locator("nav a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert len(links) == 14
    assert all(page.locator(link).count() == 1 for link in links)


def test_a_name_that_contains_a_script_stays_text(single, open_file, tmp_path):
    _, X, (times, event) = single
    name = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    X, y = X[["age", "dose"]].set_axis(["age", name], axis=1)[:60], (times[:60], event[:60])
    model = CoxPH().fit(X, y)
    path = write_report(model, X, y, tmp_path / "r.html", n_bootstrap=2, event_names=[name])
    page = open_file(path)
    assert page.evaluate("window.hacked") is None
    assert page.locator("th", has_text=name).count() > 1


def test_the_page_fits_on_paper(competing_file, open_file):
    page = open_file(competing_file, viewport={"width": 794, "height": 1123})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    assert not page.locator("nav").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
