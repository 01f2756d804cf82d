"""A tiny protocol: two of three folds of 240 rows of METABRIC."""

from experiments.protocol import Protocol

TINY = Protocol("metabric", None, (0, 1), (0.0, 0.5), 3, "quick", 240)
MODELS = ("cph", "floor")
