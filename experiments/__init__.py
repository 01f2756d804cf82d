"""The paper's experiments: its protocol, its published numbers, ours beside them.

========================================================  =============================================================
``protocol``, ``selection``, ``scores``                   data, folds, horizons; how settings are selected; what is
                                                          measured
``learners``, ``best``, ``truth``, ``representations``,   the models, and the settings of each
``vae``
``published``                                             the numbers that the paper printed
``table_study``, ``transfer``, ``scaling``                the experiments: their studies and jobs
``study``, ``runner``, ``records``                        what a study is, how its jobs run, where their records go
``cells``, ``comparison``, ``tables``, ``pages``          from records to tables, comparisons and pages
========================================================  =============================================================
"""

from .reproduction import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
