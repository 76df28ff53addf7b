"""The model: words in; term weights, tag classes and a document vector out."""

from erukg.backends.batch import BatchEncoder
from erukg.backends.device import find_device, load_encoder
from erukg.backends.folder import ModelFolder, find_model
from erukg.backends.onnx_encoder import Encoder, Encoding, TermEncoder
from erukg.backends.vocabulary import Pieces, Vocabulary

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
