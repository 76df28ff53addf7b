"""Models and what runs them: words in; term weights, tag classes and a document vector out."""

from erukg.backends.device import find_device
from erukg.backends.folder import ModelFolder, find_model
from erukg.backends.model import ModelBackend
from erukg.backends.onnx_backend import OnnxBackend
from erukg.backends.vocabulary import Vocabulary

__all__ = [
    "ModelBackend",
    "ModelFolder",
    "OnnxBackend",
    "Vocabulary",
    "find_device",
    "find_model",
]
