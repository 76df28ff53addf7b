"""How the folded words of a text lie in it, worked out once for everything that looks phrases up there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Layout"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Plain lists, as they are read one entry at a time.

    tokens  the folded words, split where a fold holds spaces
    owners  the word each token is of, and a last entry that is no word
    where   the places in `tokens` at which a word begins with this token
    starts  where each word stands in the text
    ends
    runs    words with the same number have no break between them
    counts  how many words, punctuation not counted, stand before each word, and how many there are in all
    ahead   how many words, punctuation not counted, end before each word starts
    first   the first word that starts where, or after, this one does: itself, but where markup stood for several words
    last    the first word that ends where, or after, this one does
    """

    tokens: list[str]
    owners: list[int]
    where: dict[str, list[int]]
    starts: list[int]
    ends: list[int]
    runs: list[int]
    counts: list[int]
    ahead: list[int]
    first: Sequence[int]
    last: Sequence[int]

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        folded: Sequence[str],
        starts: NDArray[np.int32],
        ends: NDArray[np.int32],
        breaks: NDArray[np.bool_],
        usable: NDArray[np.bool_],
    ) -> Layout:
        tokens: list[str] = []
        owners: list[int] = []
        where: defaultdict[str, list[int]] = defaultdict(list)
        if " " not in "".join(folded):
            tokens = list(filter(None, folded))
            owners = [i for i, fold in enumerate(folded) if fold]
            for at, token in enumerate(tokens):
                where[token].append(at)
            folded = ()
        for i, fold in enumerate(folded):
            if " " in fold:
                parts = fold.split()
                where[parts[0]].append(len(tokens))
                tokens += parts
                owners += [i] * len(parts)
            elif fold:
                where[fold].append(len(tokens))
                tokens.append(fold)
                owners.append(i)
        owners.append(-1)
        counted = usable.copy()
        for i in np.flatnonzero(~usable).tolist():
            if words[i].isalnum() or (len(words[i]) > 1 and any(map(str.isalnum, words[i]))):
                counted[i] = True
        counts = np.zeros(len(words) + 1, np.int64)
        np.cumsum(counted, out=counts[1:])
        first: Sequence[int]
        last: Sequence[int]
        ahead, first, last = counts[:-1], range(len(words)), range(len(words))
        if not ((starts < ends).all() and (ends[:-1] <= starts[1:]).all()):
            ahead = counts[ends.searchsorted(starts, side="right")]
            first, last = starts.searchsorted(starts).tolist(), ends.searchsorted(ends).tolist()
        return cls(
            tokens,
            owners,
            where,
            starts.tolist(),
            ends.tolist(),
            breaks.cumsum().tolist(),
            counts.tolist(),
            ahead.tolist(),
            first,
            last,
        )
