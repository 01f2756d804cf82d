"""The HTML toolkit, private to lifemix: sections, tables, figures and notes as one file that needs nothing else.

::

    page = Page("A title", lead="What it shows.")
    columns = [TableColumn("model"), TableColumn("C-index", best="max")]
    page.add("Results", table(columns, rows, caption="Held-out patients"))
    page.write("report.html")
"""

from .figures import check_figures, figure, new_figure
from .page import Page, Section
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
    "facts",
    "figure",
    "joined",
    "link",
    "new_figure",
    "note",
    "paragraph",
    "preformatted",
    "safe",
    "table",
]
