"""Sending the fleets of a search to other processes: what belongs to the rows goes to every worker once.

A fleet is pickled without the tables, targets and row numbers that fleets share; each of those is a ``Piece``, which is
stored where all workers can read it: processes of this machine map one file into their memory, Ray has its object
store, and Dask scatters the arguments that it has met before. What is sent for each fleet is a few kilobytes.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import cloudpickle
from sklearn.utils import _safe_indexing

from .fleets import Planned

__all__ = ["RECEIVED", "Piece", "Sender", "is_local", "read_fleet", "storage"]

_LARGE = 1 << 20  # bytes that Dask is told: it scatters what has more than a kilobyte
_ALIGNED = 64  # bytes: where the memory of an array begins


class Received:
    """What this process has read of the search that it last worked for, each piece once."""

    def __init__(self) -> None:
        self.search = ""
        self.values: dict[int, Any] = {}
        self.n_read = 0  # pieces read since the process began

    def get(self, search: str, number: int, read: Callable[[], Any]) -> Any:
        """Return a piece of a search, which is read where it has not been; an earlier search is forgotten."""
        if search != self.search:
            self.search, self.values = search, {}
        if number not in self.values:
            self.values[number] = read()
            self.n_read += 1
        return self.values[number]


RECEIVED = Received()


class Piece:
    """An object that many fleets share; Dask sends it as it is, once, since it is large."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __sizeof__(self) -> int:
        return _LARGE

    def __setstate__(self, state: dict[str, Any]) -> None:
        RECEIVED.n_read += 1
        self.__dict__.update(state)

    @property
    def value(self) -> Any:
        """The object."""
        return self._value


@dataclass(frozen=True)
class _InFile:
    """A piece in a file of this machine; arrays are mapped, so that the processes share their memory."""

    folder: str
    number: int

    @classmethod
    def written(cls, folder: str, number: int, value: Any) -> _InFile:
        """Write a piece: its pickle, and beside it the memory of its arrays."""
        buffers: list[pickle.PickleBuffer] = []
        body = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        places, end = [], 0
        with open(_path(folder, number, "arrays"), "wb") as file:
            for buffer in (one.raw() for one in buffers):
                file.write(bytes(-end % _ALIGNED))
                start = end + -end % _ALIGNED
                end = start + file.write(buffer)
                places.append((start, end))
        with open(_path(folder, number, "pickle"), "wb") as file:
            pickle.dump((body, places), file)
        return cls(folder, number)

    @property
    def value(self) -> Any:
        """The object; it is read once in each process."""
        return RECEIVED.get(self.folder, self.number, self._read)

    def _read(self) -> Any:
        with open(_path(self.folder, self.number, "pickle"), "rb") as file:
            body, places = pickle.load(file)
        if not places or places[-1][1] == 0:
            return pickle.loads(body, buffers=[b"" for _ in places])
        with open(_path(self.folder, self.number, "arrays"), "rb") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return pickle.loads(body, buffers=[memory[start:end] for start, end in places])


def _path(folder: str, number: int, kind: str) -> str:
    return os.path.join(folder, f"{number}.{kind}")


@dataclass(frozen=True, eq=False)
class _InRay:
    """A piece in the object store of Ray."""

    search: str
    number: int
    reference: Any

    @property
    def value(self) -> Any:
        """The object; it is fetched once in each process."""
        import ray

        return RECEIVED.get(self.search, self.number, lambda: ray.get(self.reference))


AnyPiece = Piece | _InFile | _InRay
Put = Callable[[int, Any], AnyPiece]


def is_local(backend: Any) -> bool:
    """Tell whether a backend is one of joblib's own, on this machine."""
    return type(backend).__module__ == "joblib._parallel_backends"


@contextmanager
def storage(backend: Any) -> Iterator[Put]:
    """Yield a function that stores a numbered object where the workers of a backend of joblib can read it."""
    if type(backend).__module__.startswith("ray."):
        yield _ray_storage()
    elif is_local(backend) and not getattr(backend, "uses_threads", False):
        with tempfile.TemporaryDirectory(prefix="lifemix-", dir=os.environ.get("JOBLIB_TEMP_FOLDER")) as folder:
            yield partial(_InFile.written, folder)
    else:
        yield lambda number, value: Piece(value)


def _ray_storage() -> Put:
    import ray

    search = os.urandom(8).hex()
    return lambda number, value: _InRay(search, number, ray.put(value))


class Sender:
    """Makes of each fleet a few bytes and the pieces that go with them."""

    def __init__(self, put: Put, whole_table: bool) -> None:
        self._put, self._whole_table = put, whole_table
        self._light: dict[int, tuple[Any, Any]] = {}  # by the id of the object, which is kept so that its id stays
        self._pieces: dict[int, tuple[Any, AnyPiece]] = {}

    def pack(self, fleet: Sequence[Planned]) -> tuple[bytes, list[AnyPiece]]:
        """Return a fleet without what it shares with others, and the pieces that hold this, in the order of use."""
        light = [self._lightened(one) for one in fleet]
        shared = {id(part): part for one in light for part in _shared_parts(one)}
        places = {number: place for place, number in enumerate(shared)}
        file = io.BytesIO()
        _Pickler(file, places).dump(light)
        return file.getvalue(), [self._piece(part) for part in shared.values()]

    def _piece(self, part: Any) -> AnyPiece:
        if id(part) not in self._pieces:
            self._pieces[id(part)] = part, self._put(len(self._pieces), part)
        return self._pieces[id(part)][1]

    def _lightened(self, one: Planned) -> Planned:
        """Keep of the tables one row for the names, and the test table for a scorer of the user's."""
        sample = self._once(one.plan.sample, lambda sample: replace(sample, matrix=sample.matrix[:1].copy()))
        test = one.test if self._whole_table else self._once(one.test, lambda test: replace(test, X=None, y=None))
        return replace(one, X=_safe_indexing(one.X, [0]), plan=replace(one.plan, sample=sample), test=test)

    def _once(self, whole: Any, make: Callable[[Any], Any]) -> Any:
        if id(whole) not in self._light:
            self._light[id(whole)] = whole, make(whole)
        return self._light[id(whole)][1]


def _shared_parts(one: Planned) -> list[Any]:
    """Return what grows with the rows or the columns, and is the same object in many plans."""
    plan = one.plan
    rows = [part for job in plan.jobs for part in (job.train_rows, job.validation_rows)]
    return [plan.data, plan.sample, plan.preprocessor, one.test, *rows]


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles functions and classes of the user's too; objects that have a place among the pieces as that place."""

    def __init__(self, file: io.BytesIO, places: dict[int, int]) -> None:
        super().__init__(file, protocol=5)
        self._places = places

    def persistent_id(self, obj: Any) -> int | None:
        """Return the place of a piece; None for what is pickled as it is."""
        return self._places.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Reads what ``_Pickler`` wrote."""

    def __init__(self, file: io.BytesIO, pieces: Sequence[AnyPiece]) -> None:
        super().__init__(file)
        self._pieces = pieces

    def persistent_load(self, pid: int) -> Any:
        """Return the object of a piece."""
        return self._pieces[pid].value


def read_fleet(body: bytes, pieces: Sequence[AnyPiece]) -> list[Planned]:
    """Return the fleet that ``Sender.pack`` was given."""
    fleet: list[Planned] = _Unpickler(io.BytesIO(body), pieces).load()
    return fleet
