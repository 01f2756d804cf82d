"""Run cases and sum up their problems: ``python -m benchmarks.fuzz [--cases N] [--kind KIND] [--seed S]``.

``--only KIND:NUMBER`` repeats one case, as the line of its problem says.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from .cases import CASES


def run_case(kind: str, number: int, seed: int = 0) -> str | None:
    """Run one case in a new folder; return its problem, or None."""
    kind_number = sorted(CASES).index(kind)
    rng = np.random.default_rng([seed, number, kind_number])
    with TemporaryDirectory(prefix="fuzz-") as folder:
        return CASES[kind](rng, Path(folder))


def main() -> None:
    """Read the command line, run the cases in turn and print how often each problem occurred."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("--cases", type=int, default=20_000, help="number of cases")
    parser.add_argument("--kind", choices=CASES, help="cases of one kind; default all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="KIND:NUMBER", help="repeat one case")
    options = parser.parse_args()
    if options.only:
        kind, number = options.only.split(":")
        print(run_case(kind, int(number), options.seed) or "no problem")
        return
    kinds = [options.kind] if options.kind else list(CASES)
    start = time.perf_counter()
    n_cases: Counter[str] = Counter()
    n_problems: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    for number in range(options.cases):
        kind = kinds[number % len(kinds)]
        problem = run_case(kind, number, options.seed)
        n_cases[kind] += 1
        if problem:
            n_problems[kind] += 1
            occurrences[re.sub(r"\d+", "N", problem)] += 1  # equal but for numbers
            print(f"--seed {options.seed} --only {kind}:{number}: {problem}", flush=True)
    print(f"\n{'kind':<20} {'cases':>8} {'problems':>8}")
    for kind in kinds:
        print(f"{kind:<20} {n_cases[kind]:8,} {n_problems[kind]:8,}")
    for problem, n_times in occurrences.most_common():
        print(f"{n_times:,} times: {problem}")
    seconds = time.perf_counter() - start
    print(f"{options.cases:,} cases, {n_problems.total():,} problems, {seconds:.0f} s")
    raise SystemExit(1 if n_problems else 0)


if __name__ == "__main__":
    main()
