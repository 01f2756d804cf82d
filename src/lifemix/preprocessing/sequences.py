"""From histories, alone or beside tables and arrays, to one row of numbers per subject (see ``histories.Block``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._types import Float32Array
from ..checks import Whole
from ..errors import CovariateError, SettingError
from ..histories import ArrayRows, Block, Histories, Sources, as_input
from ..registry import register_model
from .packing import ArrayPart, Part, TablePart, VisitsPart
from .tabular import TabularPreprocessor

__all__ = ["SequencePreprocessor"]

_ALONE: dict[type[Any], str] = {Histories: "visits", ArrayRows: "array"}
_PARTS = (ArrayPart, TablePart, VisitsPart)
_MAX_WIDTH = 2**26  # a larger number in a model file is forged


@register_model
class SequencePreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode, scale and pack histories, and the tables and arrays beside them, with statistics of the training rows.

    Measurements are encoded as ``table`` does it with the columns of a table: the statistics are those of the visits of
    the training rows. A missing value becomes the subject's last known one, or else what ``table`` imputes; columns
    with missing values in training are followed by a mark for each visit. Each visit also has its time and the gap to
    the one before. Only the last ``max_visits`` visits are kept. Arrays are taken as they are.

    Parameters
    ----------
    table : TabularPreprocessor, optional
        How the columns of tables and visits are encoded; None is one with the defaults.
    max_visits : int, optional
        The longest sequence; None: that of the training rows.
    sequences : bool, default True
        Whether an array of three dimensions holds histories (subjects, steps, columns); otherwise it is left as it is.

    Attributes
    ----------
    blocks_ : tuple of Block
        Where each source stands in a row.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.histories import Histories
    >>> from lifemix.preprocessing import SequencePreprocessor
    >>> histories = Histories.from_array(np.random.default_rng(0).normal(size=(5, 3, 2)))
    >>> fitted = SequencePreprocessor().fit(histories)
    >>> fitted.blocks_
    (Block(name='visits', kind='visits', shape=(3, 4), n_values=2),)
    >>> fitted.transform(histories).shape
    (5, 15)
    """

    parts_: dict[str, Part]

    def __init__(
        self,
        table: TabularPreprocessor | None = None,
        max_visits: int | None = None,
        sequences: bool = True,
    ) -> None:
        self.table = table
        self.max_visits = max_visits
        self.sequences = sequences

    def fit(self, X: Any, y: Any = None) -> SequencePreprocessor:
        """Learn from the training rows.

        Parameters
        ----------
        X : Histories, Sources, dict or array
            The training rows.
        y : ignored
            As scikit-learn's transformers have it.

        Returns
        -------
        SequencePreprocessor
            Itself.

        Raises
        ------
        CovariateError
            Where a source cannot be used; the message names it.
        """
        Whole(1, optional=True)("max_visits", self.max_visits)
        if self.table is not None and not isinstance(self.table, TabularPreprocessor):
            raise SettingError(
                f"table must be a TabularPreprocessor or None; got {type(self.table).__name__}."
            )
        table = TabularPreprocessor() if self.table is None else self.table
        self.parts_ = {}
        for name, source in _sources(X, self.sequences).items():
            with _naming(name):
                if isinstance(source, Histories):
                    self.parts_[name] = VisitsPart.learn(clone(table), source, self.max_visits)
                elif isinstance(source, ArrayRows):
                    self.parts_[name] = ArrayPart(source.values.shape[1:])
                else:
                    self.parts_[name] = TablePart(clone(table).fit(source))
        return self

    def _validate(self) -> None:
        """Check a preprocessor that was read from a model file."""
        if not self.parts_ or not all(isinstance(part, _PARTS) for part in self.parts_.values()):
            raise ValueError("parts_ must be the encoded sources by name")
        if sum(block.width for block in self.blocks_) > _MAX_WIDTH:
            raise ValueError(f"a row must have at most {_MAX_WIDTH} numbers")

    @property
    def blocks_(self) -> tuple[Block, ...]:
        """Where each source stands in a row."""
        check_is_fitted(self, "parts_")
        return tuple(part.block(name) for name, part in self.parts_.items())

    def transform(self, X: Any) -> Float32Array:
        """Return one row of numbers per subject.

        Parameters
        ----------
        X : Histories, Sources, dict or array
            The sources of training.

        Returns
        -------
        array of shape (n, n_outputs), float32
            The blocks one after the other.

        Raises
        ------
        CovariateError
            Where a source is missing or has another shape; the message names it.
        """
        check_is_fitted(self, "parts_")
        sources = _sources(
            X, {name for name, part in self.parts_.items() if isinstance(part, VisitsPart)}
        )
        if list(sources) != list(self.parts_):
            sources = self._matched(sources)
        result = np.zeros(
            (len(next(iter(sources.values()))), sum(block.width for block in self.blocks_)),
            np.float32,
        )
        start = 0
        for name, part in self.parts_.items():
            width = part.block(name).width
            with _naming(name), np.errstate(over="ignore"):
                part.write(sources[name], result[:, start : start + width])
            start += width
        return result

    def _matched(self, sources: Mapping[str, Any]) -> dict[str, Any]:
        if set(sources) != set(self.parts_):
            raise CovariateError(
                f"X must have the sources of training, {list(self.parts_)}; got {list(sources)}. Give a dict with a "
                "source under each of these names."
            )
        return {name: sources[name] for name in self.parts_}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the outputs.

        Parameters
        ----------
        input_features : ignored
            As scikit-learn's transformers have it.

        Returns
        -------
        array of str
            Such as ``clinic.age`` and ``visits[0].bili``, the first visit kept.
        """
        check_is_fitted(self, "parts_")
        names = [f"{name}{own}" for name, part in self.parts_.items() for own in part.names()]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags


def _sources(X: Any, sequences: bool | set[str]) -> dict[str, Any]:
    """Return the sources by name; arrays of three dimensions as histories where that is what they are: all, or some."""
    X = as_input(X)
    if isinstance(X, Sources):
        found = dict(X.parts)
    elif type(X) in _ALONE:
        found = {"visits" if sequences else _ALONE[type(X)]: X}
    else:
        raise CovariateError(
            f"this model takes histories, a dict of sources or an array; got {type(X).__name__} of shape "
            f"{getattr(X, 'shape', None)}."
        )
    for name, source in found.items():
        if isinstance(source, ArrayRows) and (
            sequences is True or (sequences and name in sequences)
        ):
            with _naming(name):
                found[name] = Histories.from_array(source.values)
    return found


class _naming:  # noqa: N801
    """Put the name of the source before the message of an error."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, CovariateError):
            raise CovariateError(f"source {self.name!r}: {error}") from None
