"""API keys: who may use the service."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from erukg.errors import InputError
from erukg.serving.limits import KEY_VARIABLE

__all__ = ["Keys", "load_keys"]

_SHORTEST = 8
_LARGEST_FILE = 1_000_000


class Keys:
    """The accepted keys; without any, no key is needed."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = [_digest(key.encode()) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def admit(self, headers: Mapping[str, str]) -> bool:
        """Whether `Authorization: Bearer KEY` or `X-API-Key: KEY` holds an accepted one, or the password of Basic does.

        The last is for clients that can be given nothing but an address, as http://user:KEY@host/.
        """
        if not self._digests:
            return True
        given = _credential(headers.get("authorization", "")) or headers.get("x-api-key", "")
        digest = _digest(given.encode("latin-1", "replace"))
        # Digests have one length, and all are compared: the time taken reveals nothing about any key.
        return sum(hmac.compare_digest(digest, known) for known in self._digests) > 0


def _credential(authorization: str) -> str:
    scheme, _, given = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return given.strip()
        case "basic":
            try:
                return base64.b64decode(given.strip(), validate=True).decode("latin-1").partition(":")[2]
            except ValueError:
                return ""
    return ""


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def load_keys(file: Path | None) -> Keys:
    """The keys in the environment variable and in the file, one per line; lines that begin with # are comments."""
    found = [os.environ[KEY_VARIABLE]] if os.environ.get(KEY_VARIABLE) else []
    if file is not None:
        try:
            with file.open("rb") as stream:
                lines = stream.read(_LARGEST_FILE).decode("ascii").splitlines()
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}; name a file with one API key per line.") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{file} has a key that is not plain ASCII; use letters and digits.") from error
        keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        if not keys:
            raise InputError(f"{file} holds no API key; write one per line.")
        found += keys
    for key in found:
        if len(key) < _SHORTEST or not (key.isascii() and key.isprintable()) or " " in key:
            raise InputError(f"An API key must be {_SHORTEST} or more printable ASCII characters without spaces.")
    return Keys(found)
