"""Every error a user can meet. Each message is one sentence: what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType

__all__ = [
    "CollectionError",
    "ErukgError",
    "ErukgWarning",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "SettingsError",
    "TrainingError",
    "did_you_mean",
    "require",
]


class ErukgError(Exception):
    """Base of all errors raised on purpose by this package."""


class InputError(ErukgError, ValueError):
    """A document, file or argument given by the caller cannot be used."""


class SettingsError(ErukgError, ValueError):
    """A setting is unknown or out of its range."""


class ModelError(ErukgError):
    """A model folder is missing, damaged or of another kind."""


class CollectionError(ErukgError):
    """A collection is missing, damaged, locked or made with another model."""


class TrainingError(ErukgError):
    """Training data or a training run cannot be used."""


class MissingExtraError(ErukgError, ImportError):
    """An optional part of the package is not installed."""


class ErukgWarning(UserWarning):
    """Something the user should know that does not stop the work."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional `module`, or say which extra provides it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package '{error.name or module}'; install it with: pip install 'erukg[{extra}]'"
        ) from error


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "known names: {known}.") -> str:
    """The end of a sentence that refuses an unknown name: the nearest known one, or else all of them."""
    names = list(known)
    lowered = {known_name.lower(): known_name for known_name in names}
    near = difflib.get_close_matches(str(name)[:100].lower(), lowered, 1, 0.4)
    return f"did you mean '{lowered[near[0]]}'?" if near else otherwise.format(known=", ".join(names))
