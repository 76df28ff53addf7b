"""How good suggested concepts are: documents that indexers have tagged, rows to compare, measures, a stored run."""

from __future__ import annotations

from erukg.research.evaluation.subjects.measures import BANDS, MEASURES
from erukg.research.evaluation.subjects.records import CHECK_TAGS, load_mesh, load_tagged, read_uris
from erukg.research.evaluation.subjects.rows import ROWS, Parts, make_rows
from erukg.research.evaluation.subjects.run import compare, evaluate

__all__ = ["BANDS", "CHECK_TAGS", "MEASURES", "ROWS", "Parts", "compare", "evaluate", "load_tagged", "make_rows"]
__all__ += ["load_mesh", "read_uris"]
