"""Words to word pieces, with the work done once per distinct word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.backend import Pieces
from erukg.core.neighbours import Terms
from erukg.errors import ModelError

__all__ = ["Vocabulary"]

_CACHE_WORDS = 1 << 15
_ID_BYTES = np.dtype(np.int32).itemsize


class Vocabulary:
    """A WordPiece tokenizer that remembers the pieces of words it has seen."""

    def __init__(self, tokenizer: Any, source: Path) -> None:
        self._tokenizer = tokenizer
        # As bytes, which are laid end to end far quicker than numbers.
        self._pieces: dict[str, bytes] = {}
        self.size: int = tokenizer.get_vocab_size(with_added_tokens=True)
        special = [tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]")]
        if special[0] is None or special[1] is None:
            raise ModelError(f"The tokenizer in {source} has no [CLS] and [SEP]; it does not belong to such a model.")
        self.cls: int = special[0]
        self.sep: int = special[1]
        self.special: NDArray[np.int32] = np.array(sorted(t for t in special if t is not None), np.int32)

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the tokenizers library raises bare Exception
            raise ModelError(f"{path} cannot be read as a tokenizer: {error}.") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(tokenizer, path)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The written form of pieces, for people."""
        return [self._tokenizer.id_to_token(int(i)) or "" for i in ids]

    def pieces(self, words: Sequence[str]) -> Pieces:
        """The pieces of each word, without [CLS] and [SEP]."""
        rows = self._rows(words)
        return Pieces(_ids(rows), _starts(rows, _ID_BYTES))

    def phrase_terms(self, phrases: Sequence[str]) -> Terms:
        """The pieces c_i of each phrase c."""
        split = [phrase.split() for phrase in phrases]
        rows = self._rows(list(chain.from_iterable(split)))
        return Terms(_starts(rows, _ID_BYTES)[_starts(split)], _ids(rows))

    def _rows(self, words: Sequence[str]) -> list[bytes]:
        cache = self._pieces
        try:
            return list(map(cache.__getitem__, words))
        except KeyError:
            pass
        missing = [word for word in dict.fromkeys(words) if word not in cache]
        if missing:
            if len(cache) + len(missing) > _CACHE_WORDS:
                # A fresh dict, not clear(): another thread may be reading the old one.
                cache = self._pieces = {}
                missing = list(dict.fromkeys(words))
            # Lone surrogates cannot be handed to the tokenizer; they are no word of any vocabulary.
            clean = [word.encode("utf-8", "replace").decode() for word in missing]
            encoding = self._tokenizer.encode(clean, is_pretokenized=True, add_special_tokens=False)
            found: list[list[int]] = [[] for _ in missing]
            for piece, word_index in zip(encoding.ids, encoding.word_ids, strict=True):
                found[word_index].append(piece)
            cache.update((word, np.array(ids, np.int32).tobytes()) for word, ids in zip(missing, found, strict=True))
        return [cache[word] for word in words]


def _ids(rows: Sequence[bytes]) -> NDArray[np.int32]:
    return np.frombuffer(b"".join(rows), np.int32)


def _starts(rows: Sequence[Sized], size: int = 1) -> NDArray[np.int64]:
    """Where each of the rows of entries of this size begins when they are laid end to end, and where the last ends."""
    starts = np.zeros(len(rows) + 1, np.int64)
    np.fromiter(map(len, rows), np.int64, len(rows)).cumsum(out=starts[1:])
    return starts // size
