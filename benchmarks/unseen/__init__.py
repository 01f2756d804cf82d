"""Models with their defaults on tables that nobody here had prepared: ``python -m benchmarks.unseen``.

Two sets of tables: ``choosing``, on which defaults may be chosen, and ``confirming``, which are run once at the end
and reported whatever comes out. The tables come from the package SurvSet (measurement only; ``pip install SurvSet``)
and from the data sets of lifemix. Every table is split into stratified folds; a model is fitted with nothing tuned.
"""
