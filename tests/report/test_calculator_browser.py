"""The calculator in a real browser: Python's numbers, a form for keyboard and screen reader, nothing in or out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from lifemix import DeepSurvivalMachines, make_target
from lifemix.network import ACTIVATIONS
from lifemix.preprocessing import TabularPreprocessor
from lifemix.primitives.numeric import LARGEST_LOG, LOG_LIMIT
from lifemix.report import calculator
from lifemix.report.calculator import FAMILIES, write_calculator

pytestmark = pytest.mark.slow

TIMES = [0.0, 1e-3, 0.5, 2.0, 7.5, 30.0, 31.0, 200.0, 1e5]
N_ROWS = 150


@pytest.fixture
def open_page(open_file, tmp_path):
    """Return a function that writes a calculator and opens it."""

    def open_(model, options=None, **context):
        path = write_calculator(model, tmp_path / "calculator.html", **(options or {}))
        return open_file(path, **context)

    return open_


def draw_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 95, N_ROWS), "dose": rng.gamma(2.0, 3.0, N_ROWS)})
    X["smoker"] = rng.integers(0, 2, N_ROWS)
    X["stage"] = rng.choice(["I", "II", "III", None], N_ROWS, p=[0.4, 0.3, 0.2, 0.1])
    # With a single value, only whether it is missing is informative.
    X["noted"] = np.where(rng.random(N_ROWS) < 0.3, "yes", None)
    X["site"] = 7.0
    X.loc[rng.random(N_ROWS) < 0.2, "dose"] = np.nan
    return X


X = draw_table()


def fit(X=X, n_events=1, **settings):
    rng = np.random.default_rng(0)
    y = make_target(rng.weibull(1.3, N_ROWS) * 20, rng.integers(0, n_events + 1, N_ROWS))
    usual = {"hidden": (8,), "k": 3, "max_epochs": 3, "learning_rate": 0.02, "batch_size": 32}
    return DeepSurvivalMachines(**(usual | settings)).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fit(n_members=2)


def draw_subjects(n_rows=12):
    """Draw rows with values beyond training too, and unknown in any column."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"age": rng.normal(55, 30, n_rows), "dose": rng.normal(6, 6, n_rows)})
    rows = rows.assign(smoker=rng.integers(0, 2, n_rows), stage=rng.choice(["I", "II"], n_rows))
    rows = rows.assign(noted="yes", site=7.0).astype(object)
    return rows.mask(rng.random(rows.shape) < 0.25, None)


def assert_equal_to_python(page, model, rows, tolerance=1e-5):
    records = [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in rows.to_dict("records")
    ]
    predict = "([subjects, times]) => subjects.map((s) => lifemix.predict(s, times))"
    results = pd.DataFrame(page.evaluate(predict, [records, TIMES]))

    def compare(name, expected):
        assert_allclose(results[name].tolist(), expected, atol=tolerance, rtol=0)

    def incidences(distribution):
        return distribution.cumulative_incidences(TIMES).swapaxes(0, 1)  # by row

    distribution = model.predict_distribution(rows)
    compare("survival", distribution.survival(TIMES))
    compare("risks", incidences(distribution))
    assert_allclose(results["median"], distribution.median(), rtol=tolerance)
    matrix = model.preprocess(rows)
    members = [member.distribution(matrix) for member in model.network_.members()]
    compare("survivalByMember", np.stack([member.survival(TIMES) for member in members], axis=1))
    compare("riskByMember", np.stack([incidences(member) for member in members], axis=1))


CASES = {
    **{
        f"{primitive}, competing": {"primitive": primitive, "n_events": 2} for primitive in FAMILIES
    },
    **{primitive: {"primitive": primitive, "n_members": 2} for primitive in FAMILIES},
    **{name: {"activation": name, "shift_activation": name} for name in ACTIVATIONS},
    "3 events, 3 members": {"n_events": 3, "n_members": 3},
    "families by event": {
        "primitive": {1: {"weibull": 2}, 2: ["gompertz", "spline"]},
        "k": 1,
        "n_events": 2,
    },
    "cure": {"cure": True, "n_events": 2},
    "linear": {"hidden": ()},
    "linear, competing": {"hidden": (), "n_events": 2, "primitive": "log-normal"},
    "two layers": {"hidden": (7, 5), "n_members": 2},
    "1 component": {"k": 1},
    "piecewise numbers": {"preprocessor": TabularPreprocessor(numbers="piecewise", bins=5)},
    "no bias": {"bias": False, "shift_activation": None, "objective": "elbo"},
    "filling, no scaling, no indicators": {
        "preprocessor": TabularPreprocessor({"dose": 2.5}, missing_indicators=False, scale=False),
        "learning_rate": 1e-4,
    },
}


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES.keys())
def test_results_equal_pythons(settings, open_page):
    model = fit(**settings)
    assert_equal_to_python(open_page(model), model, draw_subjects())


def test_sharp_components_do_not_slip_through_the_quadrature(open_page):
    model = fit(primitive="lognormal", n_members=2, n_events=2)
    views = model.network_.architectures[0].layout.views(model.network_.parameters)
    views["base"][:, 0, 1] -= 5  # log sigma of the first event: a width of 1/150
    views["heads"].mul_(0.1)
    assert_equal_to_python(open_page(model), model, draw_subjects(6), 2e-5)


def test_normal_survival_is_exact_far_into_both_tails(open_page, model):
    z = np.array([*np.linspace(-38, 38, 401), -1e-12, 1e300])
    values = open_page(model).evaluate("(z) => z.map(lifemix.normalSurvival)", z.tolist())
    assert_allclose(values, np.exp(log_ndtr(-z)), rtol=3e-13, atol=1e-308)
    limits = f"const LOG_LIMIT = {LOG_LIMIT:g}, LARGEST_LOG = {LARGEST_LOG:g};"
    assert limits in calculator._read("families.js")


def test_the_page_names_the_primitive_and_warns(open_page):
    page = open_page(fit(primitive="burr"))
    assert "a mixture of 3 Burr XII distributions" in page.locator("#about").text_content()
    assert page.locator("#failed").count() == 0
    assert page.get_by_role("note").inner_text().startswith("Not a medical device.")


@pytest.mark.parametrize("broken", ["survival: missing", "survival: {"])
def test_a_page_that_cannot_start_says_so(broken, browser, model, tmp_path, monkeypatch):
    read = calculator._read
    correct = "survival: normalSurvival"
    monkeypatch.setattr(calculator, "_read", lambda name: read(name).replace(correct, broken))
    path = write_calculator(model, tmp_path / "calculator.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    words = page.locator("#failed").text_content()
    assert "has not started" in words or "could not start: missing is not defined" in words
    page.close()


@pytest.mark.parametrize("preprocessor", ["auto", None])
def test_arrays_and_no_preprocessor(preprocessor, open_page):
    array = X[["age", "smoker"]].to_numpy(float) / 50
    model = fit(array, preprocessor=preprocessor)
    page = open_page(model, {"data": array})
    predict = "(t) => lifemix.predict({'feature 1': 1.23, 'feature 2': 0}, t).survival"
    expected = model.predict_survival_function(np.array([[1.23, 0]]), TIMES)[0]
    assert_allclose(page.evaluate(predict, TIMES), expected, atol=1e-5)
    n_unknown_boxes = page.locator("input[type=checkbox]").count()
    assert n_unknown_boxes == (2 if preprocessor else 0)


def wait_for(page, condition):
    page.wait_for_function(f"() => document.querySelector('#headline').textContent.{condition}")


@pytest.mark.parametrize("subject", ["age: 1e9", "stage: 'IV'", "age: 'old'", "age: NaN"])
def test_values_that_the_model_cannot_have_are_refused(subject, open_page):
    page = open_page(fit(hidden=(), preprocessor=TabularPreprocessor(scale=False)))
    call = f"lifemix.predict({{{subject}}}, [1])"
    name, message = page.evaluate(
        f"() => {{ try {{ {call} }} catch (e) {{ return [e.name, e.message] }} }}"
    )
    if subject == "age: 1e9":
        assert message == "the values are too far from those of training"
        page.get_by_role("spinbutton", name="age").fill("1e9")
        wait_for(page, "startsWith('No result')")
        page.get_by_role("spinbutton", name="age").fill("50")
        wait_for(page, "includes('%')")
    else:
        assert name == "RangeError"


def text_at_rest(page, selector="#headline strong"):
    """Return the text of an element when the page has been redrawn."""
    page.wait_for_timeout(450)
    return page.locator(selector).first.inner_text()


def as_percent(share):
    value = 100 * share
    digits = 1 if value < 9.95 or value > 90.05 else 0
    return f"{value:.{digits}f}".removesuffix(".0") + " %"


def current(page):
    return page.evaluate("() => lifemix.current()")


def risk_of(model, page, times, event=1):
    return model.predict_cumulative_incidence(pd.DataFrame([current(page)]), times, event)[0]


def test_the_form_works_by_keyboard_alone(open_page, model):
    page = open_page(model, {"horizons": [10.0], "time_unit": "days", "units": {"age": "years"}})
    start = current(page)
    assert start == page.evaluate("() => lifemix.typical()")
    order = "all-typical all-unknown slider-0 value-0 unknown-0 slider-1 value-1 unknown-1 value-2"
    for expected in [*order.split(), "value-3", "value-4", "reading", "horizons"]:
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.id") == expected
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", expected

    def press(selector, *keys):
        page.locator(selector).focus()
        for key in keys:
            page.keyboard.press(key)

    press("#slider-0", "ArrowRight", "ArrowRight")
    press("#value-1", "Control+A")
    page.keyboard.type("12.25")
    press("#value-3", "End")  # unknown is the last choice
    press("#value-2", "Home")
    changed = {"age": start["age"] + 2, "dose": 12.25, "stage": None, "smoker": 0}
    assert current(page) == start | changed
    assert page.locator("#value-0").input_value() == str(changed["age"])
    assert text_at_rest(page) == as_percent(risk_of(model, page, [10.0])[0])
    press("#unknown-1", "Space")
    assert current(page)["dose"] is None
    assert page.locator("#value-1").input_value() == ""
    press("#unknown-1", "Space")
    assert current(page)["dose"] == 12.25
    press("#all-unknown", "Enter")
    assert set(current(page).values()) == {None, 7}  # a constant column has no field
    assert text_at_rest(page) == as_percent(risk_of(model, page, [10.0])[0])
    press("#all-typical", "Enter")
    assert current(page) == start


def test_a_slider_redraws_while_it_moves(open_page, model):
    page = open_page(model)
    paths = set()
    slider = page.locator("#slider-0").bounding_box()
    x, y = slider["x"] + 10, slider["y"] + slider["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(x + 40 * step, y)
        for _ in range(2):
            page.evaluate("() => new Promise(requestAnimationFrame)")
        paths.add(page.locator("path.curve").get_attribute("d"))
    assert len(paths) == 5


def test_times_in_the_table_can_be_chosen(open_page):
    model = fit(n_events=2)
    page = open_page(model, {"event_names": {1: "relapse", 2: "death"}, "time_unit": "days"})
    page.get_by_label("Times in the table").fill("3, 12.5")
    text_at_rest(page)
    rows = page.locator("#numbers tbody tr").all_inner_texts()
    cells = [list(map(as_percent, risk_of(model, page, [3, 12.5], event))) for event in (1, 2)]
    assert rows[0] == "Relapse"
    assert rows[1].split("\t")[:3] == ["3 days", cells[0][0], cells[0][0]]  # of the typical subject
    assert rows[2].split("\t")[:2] == ["12.5 days", cells[0][1]]
    assert rows[5].split("\t")[:2] == ["12.5 days", cells[1][1]]
    median = float(model.predict_distribution(pd.DataFrame([current(page)])).median()[0])
    assert rows[7].split("\t")[1] == f"{float(f'{median:.3g}'):g} days"
    page.get_by_label("Times in the table").fill("3, x")
    assert page.locator("#horizons").get_attribute("aria-invalid") == "true"
    assert page.locator("#numbers tbody tr").all_inner_texts() == rows


def test_screen_readers_get_names_results_and_the_curve_in_words(open_page):
    model = fit()
    names = {"horizons": [10.0], "time_unit": "days", "features": {"age": "age in years"}}
    page = open_page(model, names)
    label = "e => e.innerText || e.ariaLabel || [...e.labels].map((l) => l.innerText).join()"
    for control in page.locator("input, select, button, summary").all():
        assert control.evaluate(label)

    def texts():
        title = page.get_by_role("img").locator("title")
        return text_at_rest(page, "#words"), title.text_content()

    status = page.get_by_role("status").filter(has_text="of 100")
    assert status.get_attribute("aria-live") == "polite"
    start = texts()
    page.get_by_role("spinbutton", name="age in years").fill("89")
    after = texts()
    assert all(old != new for old, new in zip(start, after, strict=True))
    risk = round(100 * risk_of(model, page, [10.0])[0])
    assert f"by 10 days: about {risk} of 100 such subjects" in after[0]
    assert "Survival curve. This subject:" in after[1]
    assert page.locator("th").evaluate_all("all => all.every((th) => th.scope)")


def test_strange_numbers_are_noted_and_change_nothing(open_page):
    table = X[["age", "smoker"]]
    page = open_page(fit(table, preprocessor=None), {"data": table})
    age, note = page.get_by_role("spinbutton", name="age"), page.locator("#note-0")
    age.fill("130")
    assert "Outside the usual range" in note.inner_text()
    age.fill("")
    assert "A value is needed" in note.inner_text()
    assert age.get_attribute("aria-invalid") == "true"
    assert current(page)["age"] == 130
    age.fill("50")
    assert note.text_content() == ""


SCRIPT = "</script><script>window.hacked = 1</script>"
IMAGE = "\"'><img src=x onerror='window.hacked = 1'>"
UNICODE = "年齢 ♥ \u2028"


def test_names_cannot_break_the_page(open_page):
    names = [SCRIPT, IMAGE, "__proto__", UNICODE]
    table = X[["age", "dose", "smoker", "stage"]].set_axis(names, axis=1)
    table[UNICODE] = table[UNICODE].map({"I": SCRIPT, "II": IMAGE, "III": "&lt;b&gt;"})
    model = fit(table, n_events=2)
    words = {"title": SCRIPT, "time_unit": IMAGE, "event_names": {1: SCRIPT, 2: IMAGE}}
    page = open_page(model, words | {"features": {SCRIPT: IMAGE}, "units": {IMAGE: SCRIPT}})
    page.locator("#value-3").select_option(index=1)
    text_at_rest(page)
    assert page.evaluate("window.hacked === undefined && document.querySelector('img') === null")
    assert page.title() == page.locator("h1").inner_text() == SCRIPT
    assert page.locator("label[for=value-2]").inner_text() == "__proto__"
    assert page.locator("label[for=value-3]").text_content() == UNICODE
    rows = table.drop(columns="__proto__").iloc[:5]
    # Names as keys of a literal object could set its prototype; JSON.parse makes them plain keys.
    predict = (
        "([rows, t]) => JSON.parse(rows).map((row) => lifemix.predict("
        "JSON.parse('{\"__proto__\": 1, ' + JSON.stringify(row).slice(1)), t).survival)"
    )
    results = page.evaluate(predict, [rows.to_json(orient="records"), TIMES])
    expected = model.predict_survival_function(rows.assign(__proto__=1), TIMES)
    assert_allclose(results, expected, atol=1e-5)


def test_the_page_can_send_nothing(browser, model, tmp_path):
    path = write_calculator(model, tmp_path / "page.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    for address in ("data:,x", "http://127.0.0.1:9/"):
        fetch = f"() => fetch('{address}').then(() => 'sent', () => 'blocked')"
        assert page.evaluate(fetch) == "blocked"
    page.evaluate(
        "() => { window.violations = []; document.addEventListener('securitypolicyviolation', "
        "(e) => window.violations.push(e.effectiveDirective)); }"
    )
    image = "const image = new Image(); image.onerror = () => done('blocked'); image.src = "
    image += "'http://127.0.0.1:9/x'"
    assert page.evaluate(f"() => new Promise((done) => {{ {image} }})") == "blocked"
    script = "const s = document.createElement('script'); s.text = 'window.hacked = 1'; "
    page.evaluate(f"() => {{ {script} document.body.append(s) }}")
    assert page.evaluate("() => window.hacked") is None
    assert page.evaluate("() => window.violations") == ["img-src", "script-src-elem"]
    page.close()


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_a_phone_and_is_legible_by_day_and_night(width, scheme, open_page, check_readable):
    model = fit(X.rename(columns={"dose": "a_very_long_name_of_a_column_" * 3}), n_members=2)
    page = open_page(model, viewport={"width": width, "height": 844}, color_scheme=scheme)
    text_at_rest(page)
    check_readable(page, scheme)
    top = page.locator(".picture").bounding_box()["y"]
    page.mouse.move(width / 4, 700)
    page.mouse.wheel(0, 900)
    page.wait_for_timeout(100)
    if width < 800:  # the curve stays in view while the form scrolls by
        assert page.locator(".picture").bounding_box()["y"] == 0 < top
