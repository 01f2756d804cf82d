"""The four functions of ``lifemix.report``: one import, nothing heavy until one is used."""

import subprocess
import sys

import lifemix
from lifemix.report import calculator, doctor, page


def test_every_door_leads_to_the_same_function():
    assert lifemix.report.write_report is page.write_report
    assert lifemix.report.write_calculator is calculator.write_calculator
    assert lifemix.report.check_table is doctor.check_table
    assert lifemix.report.check_model is doctor.check_model


def test_the_doors_cost_nothing_until_they_are_used():
    code = (
        "import sys, lifemix; lifemix.report.check_table; "
        "assert not {'torch', 'matplotlib'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
