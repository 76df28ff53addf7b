"""What labels in a text and the votes of tagged documents say together, without having learned from any tag.

The labels' odds come from trees that learned from hidden titles (`erukg.training.suggest.titles`), the votes' from
documents in the same position as the text (`TaggedDocuments.likewise`). The few constants that join them were chosen on
the development set.
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
# A concept named in the text has the odds of the votes, moved by how its labels stand there beside the usual; one that
# is not named has those of the votes, more sharply.
_LABELS, _USUAL_LABELS, _UNNAMED = 0.4, -1.0, 1.2
_FIRMEST = 6.0
_JOINT_SLOPE, _JOINT_SHIFT = 0.9, 0.3
_SURE = 1e-4


def label_odds(ranking: SubjectRanking, evidence: Evidence) -> NDArray[np.float64]:
    """The log odds of each concept by its labels alone; next to none for what only votes speak for."""
    lent, frequency = evidence.column("lent"), evidence.column("frequency")
    titled = ranking.log_odds(evidence) + _LENT * lent - _COMMON * (frequency - _USUAL_FREQUENCY)
    return np.where(evidence.present | (lent > 0), _SLOPE * titled + _SHIFT, -np.inf)


def joint_odds(labels: NDArray[np.float64], evidence: Evidence) -> NDArray[np.float64]:
    """The log odds of each concept by its labels and the votes together."""
    share = np.clip(evidence.column("likewise").astype(np.float64), _SURE, 1 - _SURE)
    votes = np.log(share / (1 - share))
    titled = np.clip((labels - _SHIFT) / _SLOPE, -_FIRMEST, _FIRMEST)
    named = votes + _LABELS * (titled - _USUAL_LABELS)
    return _JOINT_SLOPE * np.where(evidence.present, named, _UNNAMED * votes) + _JOINT_SHIFT
