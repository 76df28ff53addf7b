"""Measuring what keyphrases do for search: test sets, BM25, RM3, expansion, trec_eval measures.

>>> from erukg.research.evaluation.retrieval import evaluate, find_sets, make_methods
>>> sets, results = evaluate(make_methods(["bm25", "rm3"]), find_sets(["folder"]))
>>> print(results[0].scores[0]["R@100"])
"""

from __future__ import annotations

from erukg.research.evaluation.retrieval.beir import RetrievalSet, find_sets, load_retrieval_set
from erukg.research.evaluation.retrieval.experiment import MethodResult, compare, compare_all, evaluate
from erukg.research.evaluation.retrieval.methods import METHODS, DocumentFiles, Method, make_methods

__all__ = [
    "METHODS",
    "DocumentFiles",
    "Method",
    "MethodResult",
    "RetrievalSet",
    "compare",
    "compare_all",
    "evaluate",
    "find_sets",
    "load_retrieval_set",
    "make_methods",
]
