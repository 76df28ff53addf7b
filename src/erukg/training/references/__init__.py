"""Where references come from: one reader for each form of file, all behind `Reader`."""

from __future__ import annotations

from erukg.training.references.base import Reader, Reference
from erukg.training.references.corpus_references import CitationContexts, Queries
from erukg.training.references.library import Citation, Library, Paper, canonical_id
from erukg.training.references.plain import Plain
from erukg.training.references.rows import Problems
from erukg.training.references.scirepeval import SciRepEval
from erukg.training.references.titles import Corpus, Titles
from erukg.training.references.unarxive import Unarxive

__all__ = [
    "Citation",
    "CitationContexts",
    "Corpus",
    "Library",
    "Paper",
    "Plain",
    "Problems",
    "Queries",
    "Reader",
    "Reference",
    "SciRepEval",
    "Titles",
    "Unarxive",
    "canonical_id",
]
