"""Compare the results and the public names of two checkouts: ``make golden OLD=<checkout>``.

Every checkout runs the cases of this folder in a process of its own, with one thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

from .compare import Results, compare, read, write

TESTS = Path(__file__).parents[2]


def main() -> int:
    """Run both checkouts at the same time, print the comparison and return the exit code."""
    parser = argparse.ArgumentParser(prog="references.golden", description=__doc__)
    parser.add_argument("old", type=Path, help="checkout of the reference")
    parser.add_argument("new", type=Path, help="checkout to compare with it")
    parser.add_argument(
        "--folder", type=Path, default=Path("build/golden"), help="where the arrays are written"
    )
    parser.add_argument(
        "--only", default="", metavar="WORD", help="only cases whose name contains the word"
    )
    parser.add_argument("--arrays", action="store_true", help="list every array that differs")
    parser.add_argument(
        "--tolerance", type=float, default=np.inf, help="exit with 1 if a difference is larger"
    )
    options = parser.parse_args()
    folders = {
        label: (options.folder / label).resolve() for label in ("old-results", "new-results")
    }
    checkouts = (options.old, options.new)
    processes = [
        start(*pair, options.only) for pair in zip(checkouts, folders.values(), strict=True)
    ]
    exit_codes = [process.wait() for process in processes]
    if any(exit_codes):
        return 2
    lines, is_within = compare(*map(read, folders.values()), options.tolerance, options.arrays)
    print("\n".join(lines))
    return 0 if is_within else 1


def start(checkout: Path, folder: Path, only: str) -> subprocess.Popen[bytes]:
    """Start the process that runs the cases of this script with the package of a checkout."""
    source = (checkout / "src").resolve()
    if not (source / "lifemix" / "__init__.py").exists():
        raise SystemExit(
            f"{checkout} is no checkout of lifemix: {source / 'lifemix'} does not exist."
        )
    variables = {
        "PYTHONPATH": f"{source}{os.pathsep}{TESTS}",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    arguments = [str(checkout.resolve()), str(folder), only]
    code = "import sys; from references.golden.__main__ import run; run(*sys.argv[1:])"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=os.environ | variables)


def run(checkout: str, folder: str, only: str) -> None:
    """Run the cases with the package that this process imports, and write what they return."""
    import torch

    import lifemix

    from .cases import CASES
    from .signatures import signatures

    if not Path(lifemix.__file__).is_relative_to(checkout):
        raise SystemExit(f"lifemix comes from {lifemix.__file__}, not from {checkout}.")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results = Results(api=signatures(Path(checkout)))
    for name, case in CASES.items():
        if only not in name:
            continue
        try:
            results.cases[name] = {array: np.asarray(values) for array, values in case().items()}
        except Exception as error:  # reported by the comparison
            results.errors[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    write(results, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
