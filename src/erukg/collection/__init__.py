"""The background collection D: build it, let it grow, search it (`Collection` is what a generator uses)."""

from erukg.collection.encoded import Analyser, DocumentRecord, EncodedDocument, Phrase, best_phrases
from erukg.collection.reader import Collection, Hits
from erukg.collection.writer import Writer

__all__ = [
    "Analyser",
    "Collection",
    "DocumentRecord",
    "EncodedDocument",
    "Hits",
    "Phrase",
    "Writer",
    "best_phrases",
]
