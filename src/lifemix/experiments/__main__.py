"""``python -m lifemix.experiments NAME``: the paper's experiments from the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..errors import LifemixError
from .experiments import GRIDS
from .reproduction import EXPERIMENTS, reproduce
from .runner import BACKENDS

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment; return 0, or 2 where an option cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m lifemix.experiments", description=reproduce.__doc__)
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--out", default="results", help="the folder of all results")
    parser.add_argument("--quick", action="store_true", help="fewer settings, folds and levels of censoring")
    parser.add_argument("--selection", choices=("paper", "nested", "both"), default="both")
    parser.add_argument("--jobs", type=int, default=1, help="how many jobs run side by side")
    parser.add_argument("--backend", choices=BACKENDS, default="loky")
    parser.add_argument("--models", help="only these, with commas between: dsm,cph")
    parser.add_argument("--data", help="your own file, for synthetic and seer")
    parser.add_argument("--grid", choices=GRIDS, default="reduced", help="of settings with competing risks")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = vars(parser.parse_args(arguments))
    models = options.pop("models")
    try:
        pages = reproduce(models=models.split(",") if models else None, **options)
    except LifemixError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not options["quiet"]:
        print("\n".join(f"page: {page}" for page in pages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
