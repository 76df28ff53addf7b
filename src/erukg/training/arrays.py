"""Arrays on disk that are written piece by piece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ArrayWriter"]


class ArrayWriter:
    """A .npy file that grows at its end; readable by `numpy.load` once closed.

    With `columns` each row holds that many values, otherwise the array is flat.
    """

    def __init__(self, path: Path, dtype: str, columns: int | None = None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.columns = columns
        self.values = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: ArrayLike) -> None:
        """Write more values at the end."""
        block = np.ascontiguousarray(values, dtype=self.dtype)
        self.values += block.size
        self._file.write(block.tobytes())

    def close(self) -> None:
        """State the final length in the header and close the file."""
        if not self._file.closed:
            self._file.seek(0)
            self._write_header()
            self._file.close()

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _write_header(self) -> None:
        # NumPy pads its headers, so that one with a greater length fits where the first one stood.
        shape = (self.values,) if self.columns is None else (self.values // self.columns, self.columns)
        fields = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, fields)
