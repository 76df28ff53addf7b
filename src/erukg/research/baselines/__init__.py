"""Other keyphrase extractors, to be measured beside this package's own: one file each, one protocol.

Every one is a `Baseline`: `extract(text, top_k)` gives phrases of the text with positive scores, best first.
`erukg.research.evaluation` runs them by name; nothing here knows of it.
"""

from erukg.research.baselines.base import Baseline, best

__all__ = ["Baseline", "best"]
