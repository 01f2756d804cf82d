"""Make the pictures of pages that the documentation shows: ``python docs/screenshots/make.py``.

Needs Chromium. A model of SUPPORT is fitted to four of five folds; the report is about the fifth.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from lifemix import DeepSurvivalMachines, datasets
from lifemix.report.calculator import write_calculator
from lifemix.report.model_report import write_report
from lifemix.splits import EventStratifiedKFold

HERE = Path(__file__).parent


def main() -> None:
    """Fit, write the pages, take their pictures."""
    data = datasets.load_support()
    train, test = next(EventStratifiedKFold(5).split(data.X, data.y))
    model = DeepSurvivalMachines(n_members=4, dropout=0.25).fit(data.X.iloc[train], data.y[train])
    with TemporaryDirectory() as folder, sync_playwright() as play:
        pages = {
            "calculator": write_calculator(model, Path(folder) / "calculator.html", time_unit="days"),
            "report": write_report(
                model, data.X.iloc[test], data.y[test], Path(folder) / "report.html", time_unit="days"
            ),
        }
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path in pages.items():
            page = browser.new_page(viewport={"width": 1000, "height": 1300})
            page.goto(path.as_uri())
            page.screenshot(path=str(HERE / f"{name}.png"))
        browser.close()


if __name__ == "__main__":
    main()
