"""The model: words in; term weights, tag classes and a document vector out."""

from erukg.encoder.encoder import Encoder, Encoding, TermEncoder
from erukg.encoder.folder import ModelFolder, find_model
from erukg.encoder.vocabulary import Pieces, Vocabulary

__all__ = ["Encoder", "Encoding", "ModelFolder", "Pieces", "TermEncoder", "Vocabulary", "find_model"]
