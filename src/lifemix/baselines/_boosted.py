"""The trees of scikit-learn's histogram gradient boosting as flat arrays, with the same probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.extmath import softmax

from .._types import FloatArray, IntArray
from ..registry import check_finite, register_model
from ._trees import Trees

__all__ = ["BoostedClassifier"]


@register_model
@dataclass(frozen=True, eq=False)
class BoostedClassifier:
    """A fitted ``HistGradientBoostingClassifier`` of numbers without missing values.

    ``trees`` come round by round, one tree per score in each; with two classes the score is the log-odds of the second.
    One class alone, which scikit-learn does not foresee, has probability 1.
    """

    classes: IntArray  # (n_classes,)
    baseline: FloatArray  # (n_scores,)
    trees: Trees

    def __post_init__(self) -> None:
        check_finite("classes", self.classes, (None,))
        if not isinstance(self.trees, Trees) or not len(self.classes) or self.classes.min() < 0:
            raise ValueError("trees and one or more classes expected")
        n_scores = 1 if len(self.classes) == 2 else len(self.classes)
        check_finite("baseline", self.baseline, (n_scores,))
        if len(self.trees) % n_scores:
            raise ValueError(f"{len(self.trees)} trees for {n_scores} scores")

    @classmethod
    def of(cls, booster: Any) -> BoostedClassifier:
        """Take over the trees of a fitted ``HistGradientBoostingClassifier``."""
        nodes = [tree.nodes for trees in booster._predictors for tree in trees]
        trees = Trees.join(
            (
                np.where(part["is_leaf"], -1, part["feature_idx"]),
                part["num_threshold"],
                part["left"],
                part["right"],
                part["value"],
            )
            for part in nodes
        )
        classes = np.asarray(booster.classes_, dtype=np.int64)
        return cls(
            classes, np.asarray(booster._baseline_prediction, dtype=np.float64).reshape(-1), trees
        )

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Return the probabilities of the classes, (n, n_classes), bit for bit those of scikit-learn."""
        scores = np.zeros((len(self.baseline), len(x))) + self.baseline[:, None]
        for tree, leaves in enumerate(
            self.trees.leaves(x)
        ):  # one by one: sums in scikit-learn's order
            scores[tree % len(self.baseline)] += self.trees.value.take(leaves)
        if len(self.classes) != 2:
            return np.asarray(softmax(scores.T, copy=False))
        second = expit(scores[0])
        return np.stack([1 - second, second], axis=1)
