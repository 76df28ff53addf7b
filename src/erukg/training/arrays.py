"""Folders of training data: arrays written piece by piece, published whole or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from erukg.errors import TrainingError

__all__ = ["ArrayWriter", "published_folder"]

_HEADER = 128


class ArrayWriter:
    """A .npy file that grows at its end; readable by `numpy.load` once closed.

    With `columns` each row holds that many values, otherwise the array is flat.
    """

    def __init__(self, path: Path, dtype: str, columns: int | None = None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.columns = columns
        self.values = 0
        self._file = path.open("wb")
        self._file.write(self._header())

    def append(self, values: ArrayLike) -> None:
        """Write more values at the end."""
        block = np.ascontiguousarray(values, dtype=self.dtype)
        self.values += block.size
        self._file.write(block.tobytes())

    def close(self) -> None:
        """State the final length in the header and close the file."""
        if not self._file.closed:
            self._file.seek(0)
            self._file.write(self._header())
            self._file.close()

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _header(self) -> bytes:
        shape = (self.values,) if self.columns is None else (self.values // self.columns, self.columns)
        fields = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        text = repr(fields).encode("ascii")
        # Padded to a fixed size, so that the final length fits where the first one stood.
        text += b" " * (_HEADER - 10 - len(text) - 1) + b"\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@contextmanager
def published_folder(out: Path, format: str, keep: Collection[str] = ()) -> Iterator[Path]:
    """A fresh folder beside `out` that takes its name when the block ends well, and vanishes otherwise.

    An earlier folder of the same `format` (stated in its meta.json) is replaced; anything else is refused,
    except a folder that holds only sub-folders named in `keep`. Those move into the new one.
    """
    _refuse_foreign(out, format, keep)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
    temporary.chmod(0o755)
    try:
        yield temporary
        _refuse_foreign(out, format, keep)
        if not out.exists():
            temporary.rename(out)
            return
        old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".old", dir=out.parent))
        out.rename(old)
        for name in keep:
            if (old / name).exists() and not (temporary / name).exists():
                (old / name).rename(temporary / name)
        temporary.rename(out)
        shutil.rmtree(old)
    finally:
        if temporary.exists():
            shutil.rmtree(temporary)


def read_meta(folder: Path) -> dict[str, Any]:
    """The meta.json of a folder; empty when there is none that can be read."""
    try:
        meta = json.loads((folder / "meta.json").read_bytes()[: 2**20])
    except (OSError, ValueError):
        return {}
    return meta if isinstance(meta, dict) else {}


def _refuse_foreign(out: Path, format: str, keep: Collection[str]) -> None:
    if not out.exists():
        return
    if out.is_dir() and (read_meta(out).get("format") == format or all(f.name in keep for f in out.iterdir())):
        return
    raise TrainingError(f"{out} exists and was not made by this command; give another folder or remove it.")
