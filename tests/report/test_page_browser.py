"""The page in a real browser: nothing fetched, nothing complained of, readable on a phone and in the dark."""

import re
import shutil

import pytest

from lifemix.baselines import CoxPH
from lifemix.report import write_report

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the page is looked at with playwright"
)
pytest.importorskip("matplotlib", reason="the report draws with matplotlib")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to open the page with"),
]

CONTRASTS = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const light = colour => colour.slice(0, 3)
    .map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const names = 'p, li, td, th, dt, dd, h1, h2, h3, a, figcaption, caption, small, aside';
  const texts = [...document.querySelectorAll(names)];
  return texts.filter(e => e.textContent.trim()).map(e => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.tagName];
  });
}"""


@pytest.fixture(scope="module", params=["single", "competing"])
def page_file(request):
    return request.getfixturevalue(f"{request.param}_file")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
def test_the_page_opens_clean_and_readable(page_file, browser, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [page_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    broken = (
        "[...document.images].filter(image => !image.complete || image.naturalWidth === 0).length"
    )
    assert page.evaluate(broken) == 0
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 100
    assert min(contrasts)[0] >= 4.5, min(contrasts)
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    ) == (scheme == "light")
    page.close()


def test_a_name_that_contains_a_script_stays_text(single, browser, tmp_path):
    _, X, (times, event) = single
    name = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    X, y = X[["age", "dose"]].set_axis(["age", name], axis=1)[:60], (times[:60], event[:60])
    model = CoxPH().fit(X, y)
    path = write_report(model, X, y, tmp_path / "r.html", n_bootstrap=2, event_names=[name])
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.hacked") is None
    assert page.locator("th", has_text=name).count() > 1
    page.close()


def test_every_entry_of_the_contents_leads_somewhere(page_file, browser):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    targets = page.evaluate(
        "[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))"
    )
    assert len(targets) == 14
    for target in targets:
        assert re.fullmatch(r"#[\w-]+", target)
        assert page.evaluate(f"document.getElementById({target[1:]!r}) !== null")
    page.close()


def test_the_page_fits_on_paper(page_file, browser, tmp_path):
    page = browser.new_page(viewport={"width": 794, "height": 1123})
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    assert not page.locator("nav").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
