"""Lines of test files, plain or compressed, with complaints that name file and line."""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from erukg.errors import InputError
from erukg.io.streams import open_bytes

__all__ = ["json_object", "numbered_lines"]

_MAX_LINE = 32 << 20  # bytes; a longer line is not one document but a file of another kind, or a trap


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Every line with its number from 1, its end included; .gz and .xz are unpacked."""
    try:
        with open_bytes(path) as stream:
            number = 0
            while line := stream.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise InputError(
                        f"{path}, line {number} is over {_MAX_LINE >> 20} MiB long; put one document a line."
                    )
                yield number, line
    except FileNotFoundError as error:
        raise InputError(f"There is no file or folder {path}; give a test set or a folder of them.") from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}); it may be damaged or not packed as it is named.") from error


def json_object(line: bytes, where: str) -> dict[str, Any]:
    """The JSON object on a line; `where` opens the complaint when there is none."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 ({error.reason} at byte {error.start}); re-encode the file.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON ({error}); repair or remove the line.") from error
    if not isinstance(row, dict):
        raise InputError(f"{where} is not a JSON object; every line must be one document in braces.")
    return row
