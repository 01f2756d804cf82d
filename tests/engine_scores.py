"""A scorer that writes down in which process it was called, and how many pieces of data that process had read."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from lifemix.estimators.sending import RECEIVED


@dataclass(frozen=True)
class CountedScore:
    folder: str

    def __call__(self, model, X, y):
        (Path(self.folder) / f"{os.getpid()}-{os.urandom(8).hex()}").write_text(str(RECEIVED.n_read))
        return model.score(X, y)

    def pieces_read(self):
        """Return the most that each process had read, {process: number}."""
        most = defaultdict(int)
        for path in Path(self.folder).iterdir():
            process = int(path.name.partition("-")[0])
            most[process] = max(most[process], int(path.read_text()))
        return dict(most)
