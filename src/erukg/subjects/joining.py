"""What labels in a text and the votes of tagged documents say together, without having learned from any tag.

The labels' odds come from trees that learned from hidden titles (`erukg.training.suggest.titles`), the votes' from
documents in the same position as the text (`TaggedDocuments.likewise`). How near the text lies to the documents of each
concept (`Centres`) is told beside them. The few constants that join all this were chosen on the development set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erukg.subjects.evidence import Evidence
from erukg.subjects.learned import SubjectRanking

__all__ = ["joint_odds", "label_odds"]

# What titles teach too little of: what similar texts have as keyphrases is more often chosen, a common word less often.
_LENT, _COMMON, _USUAL_FREQUENCY = 60.0, 0.2, -5.0
# Indexers choose more than titles say: what the log odds of titles are worth beside theirs.
_SLOPE, _SHIFT = 0.46, -0.3
# The votes count for less than they say, as what joins them says part of the same: for a concept named in the text how
# its labels stand there, and for any how near its documents lie, most of all where no label speaks for it. A name is
# not outweighed by documents that lie farther than usual, or of which there are none.
_VOTES, _LABELS, _NEAR_NAMED, _NEAR_UNNAMED, _JOINT_SHIFT = 0.8, 0.4, 0.5, 2.5, 1.1
_USUALLY_NEAR = -1.0
_FIRMEST = 6.0
_SURE = 1e-4


def label_odds(ranking: SubjectRanking, evidence: Evidence) -> NDArray[np.float64]:
    """The log odds of each concept by its labels alone; next to none for what only votes speak for."""
    lent, frequency = evidence.column("lent"), evidence.column("frequency")
    titled = ranking.log_odds(evidence) + _LENT * lent - _COMMON * (frequency - _USUAL_FREQUENCY)
    return np.where(evidence.present | (lent > 0), _SLOPE * titled + _SHIFT, -np.inf)


def joint_odds(labels: NDArray[np.float64], evidence: Evidence) -> NDArray[np.float64]:
    """The log odds of each concept by its labels, the votes and the centre of its documents together."""
    share = np.clip(evidence.column("likewise").astype(np.float64), _SURE, 1 - _SURE)
    votes, near = _VOTES * np.log(share / (1 - share)), evidence.column("near").astype(np.float64)
    titled = np.clip((labels - _SHIFT) / _SLOPE, -_FIRMEST, _FIRMEST)
    named = _LABELS * titled + _NEAR_NAMED * np.maximum(near, _USUALLY_NEAR)
    return votes + np.where(evidence.present, named, _NEAR_UNNAMED * near) + _JOINT_SHIFT
