"""Other keyphrase systems, to be measured beside this package's own: one file each.

Extractors are `Baseline`s: `extract(text, top_k)` gives phrases of the text with positive scores, best first. Trained
networks are `GenerativeBaseline`s: `phrases(text, top_k)` gives phrases of the text and others.
`erukg.research.evaluation` runs them by name; nothing here knows of it.
"""

from erukg.research.baselines.base import Baseline, GenerativeBaseline, best

__all__ = ["Baseline", "GenerativeBaseline", "best"]
