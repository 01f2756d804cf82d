"""Small models with one and with two event types, new rows for them, their reports, and a browser."""

import shutil

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines
from lifemix.report import write_report

# The contrast of the text of every element with its background, as the WCAG defines it.
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
  const names = 'p, li, td, th, dt, dd, h1, h2, h3, a, figcaption, caption, small, aside, label';
  const texts = [...document.querySelectorAll(names)];
  return texts.filter(e => e.textContent.trim()).map(e => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.tagName];
  });
}"""


def draw(seed, n_rows, n_events=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60, 10, n_rows), "dose": rng.gamma(2.0, 1.0, n_rows)})
    X["arm"] = rng.choice(["a", "b", "c"], n_rows)
    X.loc[rng.random(n_rows) < 0.1, "dose"] = np.nan
    rates = [np.exp(0.06 * (X["age"] - 60)), np.exp(0.5 * (X["arm"] == "b")) / 2][:n_events]
    latent = np.stack([rng.weibull(1.3, n_rows) / rate for rate in rates])
    censoring = rng.uniform(0, 4, n_rows)
    event = np.where(latent.min(0) <= censoring, latent.argmin(0) + 1, 0)
    return X, (np.minimum(latent.min(0), censoring), event)


def fit_and_draw(n_events, n_members):
    settings = {"k": 2, "hidden": (8,), "max_epochs": 25, "learning_rate": 5e-3}
    model = DeepSurvivalMachines(n_members=n_members, **settings)
    return model.fit(*draw(0, 600, n_events)), *draw(1, 120, n_events)


@pytest.fixture(scope="session")
def single():
    return fit_and_draw(1, 2)


@pytest.fixture(scope="session")
def competing():
    return fit_and_draw(2, 1)


@pytest.fixture(scope="session")
def single_file(single, tmp_path_factory):
    path = tmp_path_factory.mktemp("single") / "report.html"
    return write_report(*single, path, n_bootstrap=5, time_unit="years", title="A <b>title</b>")


@pytest.fixture(scope="session")
def competing_file(competing, tmp_path_factory):
    path = tmp_path_factory.mktemp("competing") / "report.html"
    return write_report(*competing, path, n_bootstrap=5, event_names={1: "relapse", 2: "death"})


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()


@pytest.fixture
def open_file(browser):
    """Return a function that opens a page; messages and requests of the page fail the test."""
    contexts, problems = [], []

    def log_request(request):
        if not request.url.startswith(("data:", "file:")):
            problems.append(request.url)

    def open_(path, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))
        page.on("request", log_request)
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def check_readable():
    """Return a function that checks that a page is as wide as its window, and legible."""

    def check(page, scheme):
        width = page.viewport_size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        contrasts = page.evaluate(CONTRASTS)
        assert min(contrasts)[0] >= 4.5, min(contrasts)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")

    return check
