"""The background collection D: build it, let it grow, search it (`Collection` is what a generator uses)."""

from erukg.collection.bundled import bundled_collection
from erukg.collection.calibration import calibrate
from erukg.collection.encoded import Analyser, DocumentRecord, EncodedDocument, Phrase
from erukg.collection.inspection import Info, info, verify
from erukg.collection.reader import Collection, Hits
from erukg.collection.slimming import slim
from erukg.collection.tags import Tag
from erukg.collection.writer import Writer

__all__ = [
    "Analyser",
    "Collection",
    "DocumentRecord",
    "EncodedDocument",
    "Hits",
    "Info",
    "Phrase",
    "Tag",
    "Writer",
    "bundled_collection",
    "calibrate",
    "info",
    "slim",
    "verify",
]
