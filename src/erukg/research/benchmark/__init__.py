"""How fast the package is, and others beside it: ratios between systems measured in one run on the same documents.

`run_benchmark` measures one generator and its competitors, `search_timing.compare_search` the search of
a collection; `erukg benchmark` shows both as tables and JSON.
"""

from erukg.research.benchmark.plan import PARTS, Plan
from erukg.research.benchmark.suite import run_benchmark

__all__ = ["PARTS", "Plan", "run_benchmark"]
