"""Where references come from: one reader for each form of file, all behind `Reader`."""

from erukg.training.references.base import Reader
from erukg.training.references.corpus import CitationContexts, Corpus, Queries, Titles
from erukg.training.references.plain import Plain
from erukg.training.references.scirepeval import SciRepEval
from erukg.training.references.unarxive import Unarxive

__all__ = ["CitationContexts", "Corpus", "Plain", "Queries", "Reader", "SciRepEval", "Titles", "Unarxive"]
