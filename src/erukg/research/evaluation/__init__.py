"""Measuring keyphrases: test sets, ground truth, metrics, significance and reports.

>>> from erukg.research.evaluation import load_sets, score
>>> for dataset in load_sets(["folder"]):
...     predictions = [(present, absent) for present, absent in my_system(dataset.records)]
...     print(dataset.name, score(predictions, dataset, "paper").present["F@5"])
"""

from __future__ import annotations

from erukg.research.evaluation.datasets import Dataset, load_set, load_sets
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.metrics import Scores, average, score

__all__ = ["Dataset", "Record", "Scores", "average", "load_set", "load_sets", "score"]
