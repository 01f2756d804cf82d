"""The pages in a real browser: nothing runs or is fetched, they fit a phone, and read well in the dark and on paper."""

import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
PAGES = ("index.html", "support.html", "synthetic-quick.html", "transfer.html", "scaling.html")

# The contrast of every piece of text with what is behind it, by the formula of the WCAG; the smallest ones first.
CONTRAST = """
() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !node.offsetParent || node.closest("[aria-hidden]")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), walk.currentNode.textContent.slice(0, 40)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}
"""
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
WIDTHS = "() => [document.documentElement.scrollWidth, innerWidth]"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def view(browser, site):
    """Open a page; what it asks for and what it complains about is kept."""
    contexts = []

    def show(name, width=1200, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        shown = context.new_page()
        shown.set_default_timeout(120_000)  # the machine may be busy
        shown.requests, shown.complaints = [], []
        shown.on("request", lambda request: shown.requests.append(request.url))
        shown.on("console", lambda message: shown.complaints.append(message.text))
        shown.on("pageerror", lambda error: shown.complaints.append(str(error)))
        shown.goto((site / name).as_uri())
        return shown

    yield show
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched_and_nothing_is_complained_about(view, name):
    shown = view(name)
    assert [url for url in shown.requests if not url.startswith("data:")] == [shown.url]
    assert shown.complaints == []
    assert shown.evaluate(
        "() => [...document.images].every(image => image.complete && image.naturalWidth > 0)"
    )


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [390, 1200])
def test_a_page_is_never_wider_than_the_screen(view, name, width):
    content, screen = view(name, width).evaluate(WIDTHS)
    assert content <= screen


def test_wide_tables_scroll_inside_on_a_phone_with_the_models_in_sight(view):
    shown = view("synthetic-quick.html", 390)
    moved = shown.evaluate(
        """() => {
          const box = [...document.querySelectorAll(".scroll")].find(b => b.scrollWidth > b.clientWidth + 100);
          const before = box.querySelector("tbody th").getBoundingClientRect().left;
          const number = box.querySelector("tbody td").getBoundingClientRect().left;
          box.scrollLeft = 100;
          return [box.querySelector("tbody th").getBoundingClientRect().left - before,
                  box.querySelector("tbody td").getBoundingClientRect().left - number];
        }"""
    )
    assert moved == [0, -100]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(view, name, scheme):
    shown = view(name, scheme=scheme)
    background = shown.evaluate(BACKGROUND)
    assert (max(background) < 50) if scheme == "dark" else (min(background) > 240)
    contrasts = shown.evaluate(CONTRAST)
    assert len(contrasts) > 10
    assert contrasts[0][0] >= 4.5, contrasts[:5]


def test_pictures_are_on_a_light_card_in_the_dark(view):
    shown = view("support.html", scheme="dark")
    colours = "() => [...document.querySelectorAll('.card')].map(c => getComputedStyle(c).backgroundColor)"
    assert set(shown.evaluate(colours)) == {"rgb(255, 255, 255)"}


def test_on_paper_all_columns_are_there_and_ink_is_dark_on_white(view):
    shown = view("synthetic-quick.html", 700, scheme="dark")
    shown.emulate_media(media="print", color_scheme="dark")
    assert shown.evaluate(BACKGROUND) == [255, 255, 255]
    assert shown.evaluate(CONTRAST)[0][0] >= 7
    assert shown.evaluate("() => getComputedStyle(document.querySelector('nav')).display") == "none"
    cut = shown.evaluate(
        """() => [...document.querySelectorAll("table")]
             .filter(t => t.getBoundingClientRect().right > innerWidth + 1).map(t => t.caption.textContent)"""
    )
    assert cut == []
    assert shown.pdf(format="A4").startswith(b"%PDF")


def test_contents_lead_to_sections_in_sight(view):
    shown = view("support.html")
    shown.click("nav a[href='#support-paired']")
    shown.wait_for_function(
        "() => Math.abs(document.querySelector('#support-paired').getBoundingClientRect().top) < innerHeight / 2"
    )


def test_a_screenshot_is_neither_empty_nor_flat(view, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    shown = view("support.html")
    shown.screenshot(path=tmp_path / "page.png", full_page=True)
    picture = image.open(tmp_path / "page.png").convert("L")
    assert picture.size[0] == 1200
    assert picture.size[1] > 3000
    low, high = picture.getextrema()
    assert low < 60
    assert high == 255
