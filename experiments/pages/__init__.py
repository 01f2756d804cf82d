"""The pages of the experiments: our numbers, the paper's, the differences, figures, and how all was made."""

from .facts import RunFacts
from .index import write_index
from .page import write_page

__all__ = ["RunFacts", "write_index", "write_page"]
