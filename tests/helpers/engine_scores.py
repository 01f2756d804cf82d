"""A scorer that the workers of a cluster can import."""


def score(model, X, y):
    """Return the model's score."""
    return model.score(X, y)
