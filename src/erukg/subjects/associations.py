"""What documents are given when they name a concept: whoever names rats is given "Animals"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Associations"]

# No share counts for certain, however often it was seen.
_MOST = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Associations:
    """Of documents that name concept i, the share shares[k] carries carried[k], for k in indptr[i]:indptr[i + 1]."""

    indptr: NDArray[np.int64]
    carried: NDArray[np.int32]
    shares: NDArray[np.float16]

    def check(self, concepts: int) -> None:
        """A ValueError when the arrays do not belong together."""
        sound = (
            len(self.indptr) == concepts + 1
            and self.indptr[0] == 0
            and self.indptr[-1] == len(self.carried) == len(self.shares)
            and bool(np.all(np.diff(self.indptr) >= 0))
            and bool(np.all((self.carried >= 0) & (self.carried < concepts)))
            and bool(np.all((self.shares >= 0) & (self.shares <= 1)))
        )
        if not sound:
            raise ValueError("its associations of concepts do not belong together")

    def features(self, named: NDArray[np.int64], concepts: NDArray[np.int64]) -> NDArray[np.float32]:
        """Two columns for concepts, ascending: the largest share that a named one gives each, and all of them together.

        No concept speaks for itself.
        """
        out = np.zeros((len(concepts), 2), np.float32)
        for name in named.tolist():
            some = slice(int(self.indptr[name]), int(self.indptr[name + 1]))
            carried, shares = self.carried[some], self.shares[some].astype(np.float32)
            at = np.minimum(np.searchsorted(concepts, carried), max(len(concepts) - 1, 0))
            known = np.flatnonzero((concepts[at] == carried) & (carried != name)) if len(concepts) else at[:0]
            rows, given = at[known], shares[known]
            out[rows, 0] = np.maximum(out[rows, 0], given)
            out[rows, 1] -= np.log1p(-np.minimum(given, _MOST))
        return out
