"""The calculator in a real browser: Python's numbers, a form for keyboard and screen reader, nothing in or out."""

import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_ndtr

from lifemix import DeepSurvivalMachines, make_target
from lifemix.network import ACTIVATIONS
from lifemix.preprocessing import TabularPreprocessor
from lifemix.primitives.numeric import LARGEST_LOG, LOG_LIMIT
from lifemix.report import calculator
from lifemix.report.calculator import FAMILIES, write_calculator

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]

TIMES = [0.0, 1e-3, 0.5, 2.0, 7.5, 30.0, 31.0, 200.0, 1e5]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM)
        yield started
        started.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Write a calculator and open it; any error or request of the page but for itself fails the test."""
    contexts, troubles = [], []

    def open_(model, options=None, **context):
        path = write_calculator(model, tmp_path / "calculator.html", **(options or {}))
        contexts.append(browser.new_context(**context))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on(
            "request",
            lambda request: troubles.append(request.url) if request.url != path.as_uri() else None,
        )
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert troubles == []


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 95, n),
            "dose": rng.gamma(2.0, 3.0, n),
            "smoker": rng.integers(0, 2, n),
        }
    )
    X["stage"] = rng.choice(["I", "II", "III", None], n, p=[0.4, 0.3, 0.2, 0.1])
    # One value or none: only whether it is missing is informative.
    X["noted"] = np.where(rng.random(n) < 0.3, "yes", None)
    X["site"] = 7.0
    return X.mask(
        pd.DataFrame({"dose": rng.random(n) < 0.2}).reindex(columns=X.columns, fill_value=False)
    )


def target(n=150, n_events=1, seed=0):
    rng = np.random.default_rng(seed)
    return make_target(rng.weibull(1.3, n) * 20, rng.integers(0, n_events + 1, n))


def subjects(n=12, seed=1):
    """Draw rows with values beyond training too, and unknown in any column."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"age": rng.normal(55, 30, n), "dose": rng.normal(6, 6, n), "smoker": rng.integers(0, 2, n)}
    )
    X["stage"], X["noted"], X["site"] = rng.choice(["I", "II", "III"], n), "yes", 7.0
    return X.astype(object).mask(rng.random(X.shape) < 0.25, None)


def as_objects(X):
    return [
        {name: None if pd.isna(v) else v for name, v in row.items()} for row in X.to_dict("records")
    ]


def quick(**settings):
    usual = {"hidden": (8,), "k": 3, "max_epochs": 3, "learning_rate": 0.02, "batch_size": 32}
    return DeepSurvivalMachines(**(usual | settings))


def predicted(page, X):
    return page.evaluate(
        "([subjects, times]) => subjects.map((s) => lifemix.predict(s, times))",
        [as_objects(X), TIMES],
    )


def assert_equal_to_python(page, model, X, tolerance=1e-5):
    results = predicted(page, X)
    distribution = model.predict_distribution(X)
    np.testing.assert_allclose(
        [result["survival"] for result in results],
        distribution.survival(TIMES),
        atol=tolerance,
        rtol=0,
    )
    incidences = distribution.cumulative_incidences(TIMES).swapaxes(0, 1)  # by row
    np.testing.assert_allclose(
        [result["risks"] for result in results], incidences, atol=tolerance, rtol=0
    )
    np.testing.assert_allclose(
        [result["median"] for result in results], distribution.median(), rtol=tolerance
    )
    matrix = model.preprocess(X)
    for m, member in enumerate(model.network_.members()):
        alone = member.distribution(matrix)
        curves = [result["survivalByMember"][m] for result in results]
        np.testing.assert_allclose(curves, alone.survival(TIMES), atol=tolerance, rtol=0)
        curves = [result["riskByMember"][m] for result in results]
        expected = alone.cumulative_incidences(TIMES).swapaxes(0, 1)
        np.testing.assert_allclose(curves, expected, atol=tolerance, rtol=0)


CASES = {
    f"{primitive}, {n_events} events, {members} members": {
        "primitive": primitive, "n_events": n_events, "n_members": members,
    }
    for primitive in FAMILIES
    for n_events, members in ((1, 1), (1, 3), (2, 1), (3, 3))
} | {
    "several families": {"primitive": ["weibull", "lognormal"], "k": 1, "n_members": 2},
    "families by event": {"primitive": {1: {"weibull": 2}, 2: ["gompertz", "spline"]}, "k": 1, "n_events": 2},
    "cure": {"cure": True, "n_events": 2},
    "linear": {"hidden": ()},
    "linear, competing, log-normal": {"hidden": (), "n_events": 2, "primitive": "log-normal"},
    "two layers": {"hidden": (7, 5), "n_members": 2},
    "one component": {"k": 1},
    "piecewise numbers": {"preprocessor": TabularPreprocessor(numbers="piecewise", bins=5)},
    "no bias": {"bias": False, "shift_activation": None, "objective": "elbo"},
    "own filling, no scaling, no indicators": {
        "preprocessor": TabularPreprocessor({"dose": 2.5}, missing_indicators=False, scale=False),
        "learning_rate": 1e-4,
    },
}  # fmt: skip


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES.keys())
def test_results_equal_pythons(settings, open_page):
    settings = dict(settings)
    n_events = settings.pop("n_events", 1)
    model = quick(**settings).fit(table(), target(n_events=n_events))
    assert_equal_to_python(open_page(model), model, subjects())


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation_equals_pythons(activation, open_page):
    model = quick(activation=activation, shift_activation=activation).fit(
        table(), target(n_events=2)
    )
    assert_equal_to_python(open_page(model), model, subjects(8))


def test_the_page_names_the_primitive_by_its_label(open_page):
    page = open_page(quick(primitive="burr").fit(table(), target()))
    assert "a mixture of 3 Burr XII distributions" in page.locator("#about").text_content()
    assert page.locator("#failed").count() == 0


def test_limits_are_those_of_python():
    assert f"const LOG_LIMIT = {LOG_LIMIT:g}, LARGEST_LOG = {LARGEST_LOG:g};" in calculator._read(
        "families.js"
    )


@pytest.mark.parametrize("broken", ["survival: missing", "survival: {"])
def test_a_page_that_cannot_start_says_so(broken, browser, tmp_path, monkeypatch):
    read = calculator._read
    monkeypatch.setattr(
        calculator, "_read", lambda name: read(name).replace("survival: normalSurvival", broken)
    )
    path = write_calculator(quick().fit(table(), target()), tmp_path / "calculator.html")
    page = browser.new_context().new_page()
    page.goto(path.as_uri())
    words = page.locator("#failed").text_content()
    assert "has not started" in words or "could not start: missing is not defined" in words
    page.context.close()


def test_arrays_and_no_preprocessor(open_page):
    X = table()[["age", "smoker"]].to_numpy(float) / 50
    for preprocessor in ("auto", None):
        model = quick(preprocessor=preprocessor).fit(X, target())
        page = open_page(model, {"data": X})
        results = page.evaluate(
            "(t) => lifemix.predict({'feature 1': 1.23, 'feature 2': 0}, t).survival", TIMES
        )
        expected = model.predict_survival_function(np.array([[1.23, 0]]), TIMES)[0]
        np.testing.assert_allclose(results, expected, atol=1e-5)
        n_unknown_boxes = page.locator("input[type=checkbox]").count()
        assert n_unknown_boxes == (2 if preprocessor else 0)


def test_sharp_components_do_not_slip_through_the_quadrature(open_page):
    model = quick(primitive="lognormal", n_members=2).fit(table(), target(n_events=2))
    views = model.network_.architectures[0].layout.views(model.network_.parameters)
    views["base"][:, 0, 1] -= 5  # log sigma of the first event: one part in 150
    views["heads"].mul_(0.1)
    assert_equal_to_python(open_page(model), model, subjects(6), 2e-5)


def test_normal_survival_is_exact_far_into_both_tails(open_page):
    page = open_page(quick().fit(table(), target()))
    z = [*np.linspace(-38, 38, 401), -1e-12, 1e300]
    results = np.array(page.evaluate("(z) => z.map(lifemix.normalSurvival)", z))
    np.testing.assert_allclose(results, np.exp(log_ndtr(-np.array(z))), rtol=3e-13, atol=1e-308)


def test_values_far_from_training_are_refused_as_in_python(open_page):
    page = open_page(
        quick(hidden=(), preprocessor=TabularPreprocessor(scale=False)).fit(table(), target())
    )
    message = page.evaluate(
        "() => { try { lifemix.predict({age: 1e9}, [1]) } catch (error) { return error.message } }"
    )
    assert message == "the values are too far from those of training"
    page.get_by_role("spinbutton", name="age").fill("1e9")
    page.wait_for_function(
        "() => document.querySelector('#headline').textContent.startsWith('No result')"
    )
    page.get_by_role("spinbutton", name="age").fill("50")
    page.wait_for_function("() => document.querySelector('#headline').textContent.includes('%')")


@pytest.mark.parametrize("subject", ["{stage: 'IV'}", "{age: 'old'}", "{age: NaN}"])
def test_values_that_the_model_cannot_have_are_refused(subject, open_page):
    page = open_page(quick().fit(table(), target()))
    assert (
        page.evaluate(
            f"() => {{ try {{ lifemix.predict({subject}, [1]) }} catch (e) {{ return e.name }} }}"
        )
        == "RangeError"
    )


def shown(page, selector="#headline strong"):
    """Return what the page shows once it has come to rest."""
    page.wait_for_timeout(450)
    return page.locator(selector).first.inner_text()


def as_percent(share):
    value = 100 * share
    return (
        f"{value:.1f}".removesuffix(".0") + " %"
        if value < 9.95 or value > 90.05
        else f"{value:.0f} %"
    )


def test_the_form_works_by_keyboard_alone(open_page):
    model = quick(n_members=2).fit(table(), target())
    page = open_page(model, {"horizons": [10.0], "time_unit": "days", "units": {"age": "years"}})
    start = page.evaluate("() => lifemix.current()")
    assert start == page.evaluate("() => lifemix.typical()")
    order = "all-typical all-unknown slider-0 value-0 unknown-0 slider-1 value-1 unknown-1".split()
    for expected in [*order, "value-2", "value-3", "value-4", "reading", "horizons"]:
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.id") == expected
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", expected
    page.locator("#slider-0").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.locator("#value-1").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("12.25")
    page.locator("#value-3").focus()
    page.keyboard.press("End")  # unknown is the last choice
    page.locator("#value-2").focus()
    page.keyboard.press("Home")
    current = page.evaluate("() => lifemix.current()")
    changed = {"age": start["age"] + 2, "dose": 12.25, "stage": None, "smoker": 0}
    assert current == start | changed
    assert page.locator("#value-0").input_value() == str(current["age"])
    expected = model.predict_cumulative_incidence(pd.DataFrame([current]), [10.0])[0, 0]
    assert shown(page) == as_percent(expected)
    page.locator("#unknown-1").focus()
    page.keyboard.press("Space")
    assert page.evaluate("() => lifemix.current().dose") is None
    assert page.locator("#value-1").input_value() == ""
    page.keyboard.press("Space")
    assert page.evaluate("() => lifemix.current().dose") == 12.25
    page.locator("#all-unknown").focus()
    page.keyboard.press("Enter")
    # A constant column has no field.
    assert set(page.evaluate("() => Object.values(lifemix.current())")) == {None, 7}
    unknown = page.evaluate("() => lifemix.current()")
    assert shown(page) == as_percent(
        model.predict_cumulative_incidence(pd.DataFrame([unknown]), [10.0])[0, 0]
    )
    page.locator("#all-typical").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("() => lifemix.current()") == start


def test_a_slider_redraws_while_it_moves(open_page):
    page = open_page(quick().fit(table(), target()))
    paths = set()
    slider = page.locator("#slider-0").bounding_box()
    page.mouse.move(slider["x"] + 10, slider["y"] + slider["height"] / 2)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(slider["x"] + 10 + 40 * step, slider["y"] + slider["height"] / 2)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        page.evaluate("() => new Promise(requestAnimationFrame)")
        paths.add(page.locator("path.curve").get_attribute("d"))
    assert len(paths) == 5
    page.mouse.up()


def test_times_in_the_table_can_be_chosen(open_page):
    model = quick().fit(table(), target(n_events=2))
    page = open_page(model, {"event_names": {1: "relapse", 2: "death"}, "time_unit": "days"})
    page.get_by_label("Times in the table").fill("3, 12.5")
    shown(page)
    rows = page.locator("#numbers tbody tr").all_inner_texts()
    typical = pd.DataFrame([page.evaluate("() => lifemix.current()")])
    risks = [model.predict_cumulative_incidence(typical, [3, 12.5], event)[0] for event in (1, 2)]
    cells = [[as_percent(share) for share in curve] for curve in risks]
    assert rows[0] == "Relapse"
    # The subject is the typical one.
    assert rows[1].split("\t")[:3] == ["3 days", cells[0][0], cells[0][0]]
    assert rows[2].split("\t")[:2] == ["12.5 days", cells[0][1]]
    assert rows[5].split("\t")[:2] == ["12.5 days", cells[1][1]]
    median = float(model.predict_distribution(typical).median()[0])
    assert rows[7].split("\t")[1] == f"{float(f'{median:.3g}'):g} days"
    page.get_by_label("Times in the table").fill("3, x")
    assert page.locator("#horizons").get_attribute("aria-invalid") == "true"
    assert page.locator("#numbers tbody tr").all_inner_texts() == rows


def test_screen_readers_get_names_results_and_the_curve_in_words(open_page):
    model = quick().fit(table(), target())
    page = open_page(
        model, {"horizons": [10.0], "time_unit": "days", "features": {"age": "age in years"}}
    )
    for control in page.locator("input, select, button, summary").all():
        assert control.evaluate(
            "e => e.innerText || e.ariaLabel || [...e.labels].map((l) => l.innerText).join()"
        )
    status = page.get_by_role("status").filter(has_text="of 100")
    texts_at_start = (
        shown(page, "#words"),
        page.get_by_role("img").locator("title").text_content(),
    )
    assert status.get_attribute("aria-live") == "polite"
    page.get_by_role("spinbutton", name="age in years").fill("89")
    after = (shown(page, "#words"), page.get_by_role("img").locator("title").text_content())
    assert all(old != new for old, new in zip(texts_at_start, after, strict=True))
    risk = model.predict_cumulative_incidence(
        pd.DataFrame([page.evaluate("() => lifemix.current()")]), [10.0]
    )[0, 0]
    assert f"by 10 days: about {round(100 * risk)} of 100 such subjects" in after[0]
    assert "Survival curve. This subject:" in after[1]
    assert page.locator("th").evaluate_all("all => all.every((th) => th.scope)")


def test_strange_numbers_are_told_and_change_nothing(open_page):
    page = open_page(
        quick(preprocessor=None).fit(table()[["age", "smoker"]], target()),
        {"data": table()[["age", "smoker"]]},
    )
    age = page.get_by_role("spinbutton", name="age")
    age.fill("130")
    assert "Outside the usual range" in page.locator("#note-0").inner_text()
    age.fill("")
    assert "A value is needed" in page.locator("#note-0").inner_text()
    assert age.get_attribute("aria-invalid") == "true"
    assert page.evaluate("() => lifemix.current().age") == 130
    age.fill("50")
    assert page.locator("#note-0").text_content() == ""


EVIL = [
    "</script><script>window.hacked = 1</script>",
    "\"'><img src=x onerror='window.hacked = 1'>",
    "__proto__",
    "年齢 ♥ \u2028",
]


def test_names_cannot_break_the_page(open_page):
    X = table()[["age", "dose", "smoker", "stage"]].set_axis(EVIL, axis=1)
    X[EVIL[3]] = X[EVIL[3]].map({"I": EVIL[0], "II": EVIL[1], "III": "&lt;b&gt;"})
    model = quick().fit(X, target(n_events=2))
    words = {"title": EVIL[0], "time_unit": EVIL[1], "event_names": {1: EVIL[0], 2: EVIL[1]}}
    page = open_page(model, words | {"features": {EVIL[0]: EVIL[1]}, "units": {EVIL[1]: EVIL[0]}})
    page.locator("#value-3").select_option(index=1)
    shown(page)
    assert page.evaluate(
        "() => window.hacked === undefined && document.querySelector('img') === null"
    )
    assert page.title() == page.locator("h1").inner_text() == EVIL[0]
    assert page.locator("label[for=value-2]").inner_text() == "__proto__"
    assert page.locator("label[for=value-3]").text_content() == EVIL[3]
    rows = X.drop(columns=EVIL[2]).iloc[:5]
    values = [[None if pd.isna(value) else value for value in row] for row in rows.to_numpy(object)]
    # Names as keys of a literal object could set its prototype; JSON.parse makes them plain keys.
    results = page.evaluate(
        "([names, rows, t]) => rows.map((row) => lifemix.predict(JSON.parse('{\"__proto__\": 1, ' + "
        "JSON.stringify(Object.fromEntries(names.map((n, i) => [n, row[i]]))).slice(1)), t).survival)",
        [list(rows.columns), values, TIMES],
    )
    expected = model.predict_survival_function(X.iloc[:5].assign(**{EVIL[2]: 1}), TIMES)
    np.testing.assert_allclose(results, expected, atol=1e-5)


def test_the_page_can_send_nothing(browser, tmp_path):
    path = write_calculator(quick().fit(table(), target()), tmp_path / "page.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    tries = ["fetch('data:,x')", "fetch('http://127.0.0.1:9/')"]
    for attempt in tries:
        assert page.evaluate(f"() => {attempt}.then(() => 'sent', () => 'blocked')") == "blocked"
    page.evaluate(
        "() => { window.seen = []; document.addEventListener('securitypolicyviolation', "
        "(e) => window.seen.push(e.effectiveDirective)); }"
    )
    image = "const image = new Image(); image.onerror = () => done('blocked'); image.src = 'http://127.0.0.1:9/x'"
    assert page.evaluate(f"() => new Promise((done) => {{ {image} }})") == "blocked"
    script = "const s = document.createElement('script'); s.text = 'window.hacked = 1'; document.body.append(s)"
    page.evaluate(f"() => {{ {script} }}")
    assert page.evaluate("() => window.hacked") is None
    assert page.evaluate("() => window.seen") == ["img-src", "script-src-elem"]
    page.close()


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_a_phone_and_has_contrast_by_day_and_night(width, scheme, open_page):
    model = quick(n_members=2).fit(
        table().rename(columns={"dose": "a_very_long_name_of_a_column_" * 3}), target(n_events=2)
    )
    page = open_page(model, viewport={"width": width, "height": 844}, color_scheme=scheme)
    shown(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    colours = page.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; }"
    )
    assert contrast(*colours) > 7
    for selector in (".hint", ".warning", ".column, h1"):
        assert (
            contrast(
                page.locator(selector).first.evaluate("e => getComputedStyle(e).color"), colours[1]
            )
            > 4.5
        )
    top = page.locator(".picture").bounding_box()["y"]
    page.mouse.move(width / 4, 700)
    page.mouse.wheel(0, 900)
    page.wait_for_timeout(100)
    if width < 800:  # the curve stays in view while the form scrolls by
        assert page.locator(".picture").bounding_box()["y"] == 0 < top


def contrast(colour, background):
    """Return the contrast ratio of two colours, ``rgb(r, g, b)``, as the WCAG defines it."""

    def luminance(colour):
        channels = [
            float(channel) / 255
            for channel in colour.removeprefix("rgb(").removesuffix(")").split(",")
        ]
        linear = [
            channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
            for channel in channels
        ]
        return float(np.dot((0.2126, 0.7152, 0.0722), linear))

    low, high = sorted((luminance(colour), luminance(background)))
    return (high + 0.05) / (low + 0.05)


def test_the_warning_is_on_the_page(open_page):
    page = open_page(quick().fit(table(), target()))
    assert page.get_by_role("note").inner_text().startswith("Not a medical device.")
