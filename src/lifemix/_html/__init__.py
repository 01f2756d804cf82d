"""The HTML toolkit, private to lifemix: sections, tables, figures and notes as one file that needs nothing else.

::

    page = Page("A title", lead="What it shows.")
    columns = [TableColumn("model"), TableColumn("C-index", best="max")]
    page.add("Results", table(columns, rows, caption="Held-out patients"))
    page.write("report.html")
"""

from .figures import check_figures, figure
from .page import Page, Section
from .pages import environment, figure_uri, new_figure, number, write_page
from .pieces import Html, bullets, code, facts, joined, link, note, paragraph, preformatted, safe
from .tables import Entry, TableColumn, Value, table

__all__ = [
    "Entry",
    "Html",
    "Page",
    "Section",
    "TableColumn",
    "Value",
    "bullets",
    "check_figures",
    "code",
    "environment",
    "facts",
    "figure",
    "figure_uri",
    "joined",
    "link",
    "new_figure",
    "note",
    "number",
    "paragraph",
    "preformatted",
    "safe",
    "table",
    "write_page",
]
