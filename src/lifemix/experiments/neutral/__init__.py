"""A second place to check this package: our models on the tables and folds of a public comparison.

``folder``   what a folder of a comparison holds, read and checked
``job``      one model on one fold of one table
``summary``  mean ranks among the published learners, tests against one of them, skill, the worst table
``run``      all of it from start to end
"""

from .folder import NeutralFolder, read_folder
from .run import run_neutral
from .summary import NeutralSummary, summarise_neutral

__all__ = ["NeutralFolder", "NeutralSummary", "read_folder", "run_neutral", "summarise_neutral"]
