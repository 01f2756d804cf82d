"""The paper's experiments: its protocol, its published numbers, and ours beside them.

==============================================  ===================================================
``protocol``                                    data sets, folds, artificial censoring, horizons
``models``                                      one table: title, settings and factory of each model
``horizon_tables``, ``transfer``, ``scaling``   the experiments: which fits, and what is recorded
``run``, ``records``                            jobs that run in parallel and resume; their records
``results``, ``compare``, ``published``         from records to cells; differences; the paper's cells
``tables``, ``page``, ``figures``               Markdown, HTML pages, the numbers in the docs
``unseen``, ``pbc``                             models with their defaults on other tables
==============================================  ===================================================
"""
