"""Self-contained HTML pages: sections, tables, figures and notes in one file that needs nothing else.

::

    page = Page("A title", lead="What it shows.")
    page.add("Results", table([Column("model"), Column("C-index", best="max")], rows, caption="Held-out patients"))
    page.write("report.html")
"""

from .figures import figure, new_figure
from .html import Html, bullets, code, facts, joined, link, note, paragraph, preformatted, safe
from .page import Page, Section
from .tables import Column, Entry, Value, table

__all__ = [
    "Column",
    "Entry",
    "Html",
    "Page",
    "Section",
    "Value",
    "bullets",
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
