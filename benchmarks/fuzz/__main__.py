"""``python -m benchmarks.fuzz [--files N] [--others N] [--seed S] [--only KIND:NUMBER]``: print what is wrong."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from .kinds import FILES, KINDS, OTHERS

__all__ = ["run_case"]


def run_case(kind: str, number: int, seed: int = 0) -> str | None:
    """Run one case in a new folder; return what is wrong, or None."""
    folder = Path(mkdtemp(prefix="fuzz-"))
    try:
        return KINDS[kind](np.random.default_rng([seed, number, sorted(KINDS).index(kind)]), folder)
    finally:
        shutil.rmtree(folder)


def _cases(files: int, others: int) -> Iterator[tuple[str, int]]:
    for kinds, total in ((FILES, files), (OTHERS, others)):
        yield from ((list(kinds)[number % len(kinds)], number) for number in range(total))


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument(
        "--files", type=int, default=20_000, help="mutated model, checkpoint and store files"
    )
    parser.add_argument(
        "--others", type=int, default=2_000, help="tables, command lines, times and settings"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one case, KIND:NUMBER")
    options = parser.parse_args()
    if options.only:
        kind, number = options.only.split(":")
        print(run_case(kind, int(number), options.seed) or "nothing is wrong")
        return
    start, findings = time.perf_counter(), 0
    counts = dict.fromkeys(KINDS, 0)
    for kind, number in _cases(options.files, options.others):
        counts[kind] += 1
        wrong = run_case(kind, number, options.seed)
        if wrong:
            findings += 1
            print(f"{kind}:{number} (seed {options.seed}): {wrong}", flush=True)
    print(", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count))
    print(
        f"{sum(counts.values()):,} cases, {findings} findings, {time.perf_counter() - start:.0f} s"
    )
    raise SystemExit(1 if findings else 0)


if __name__ == "__main__":
    main()
