"""The model: words in; term weights, tag classes and a document vector out."""

from erukg.encoder.batch import BatchEncoder
from erukg.encoder.device import find_device, load_encoder
from erukg.encoder.encoder import Encoder, Encoding, TermEncoder
from erukg.encoder.folder import ModelFolder, find_model
from erukg.encoder.vocabulary import Pieces, Vocabulary

__all__ = [
    "BatchEncoder",
    "Encoder",
    "Encoding",
    "ModelFolder",
    "Pieces",
    "TermEncoder",
    "Vocabulary",
    "find_device",
    "find_model",
    "load_encoder",
]
