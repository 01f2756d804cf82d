"""``python -m benchmarks.fuzz [--files N] [--others N] [--seed S] [--only KIND:NUMBER]``: print every problem."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from .cases import CASES, FILE_KINDS


def run_case(kind: str, number: int, seed: int = 0) -> str | None:
    """Run one case in a new folder; return its problem, or None."""
    rng = np.random.default_rng([seed, number, sorted(CASES).index(kind)])
    with TemporaryDirectory(prefix="fuzz-") as folder:
        return CASES[kind](rng, Path(folder))


def main() -> None:
    """Read the command line and run the cases."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("--files", type=int, default=20_000, help="model files and checkpoints")
    parser.add_argument(
        "--others", type=int, default=2_000, help="tables, commands, times, settings"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one case, KIND:NUMBER")
    options = parser.parse_args()
    if options.only:
        kind, number = options.only.split(":")
        print(run_case(kind, int(number), options.seed) or "no problem")
        return
    start, n_problems = time.perf_counter(), 0
    other_kinds = [kind for kind in CASES if kind not in FILE_KINDS]
    for kinds, n_cases in ((FILE_KINDS, options.files), (other_kinds, options.others)):
        for number in range(n_cases):
            kind = kinds[number % len(kinds)]
            problem = run_case(kind, number, options.seed)
            if problem:
                n_problems += 1
                print(f"{kind}:{number} (seed {options.seed}): {problem}", flush=True)
    seconds = time.perf_counter() - start
    print(f"{options.files + options.others:,} cases, {n_problems} problems, {seconds:.0f} s")
    raise SystemExit(1 if n_problems else 0)


if __name__ == "__main__":
    main()
