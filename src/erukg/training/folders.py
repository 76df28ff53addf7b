"""Folders that are whole or not there, and the JSON files and arrays in them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from erukg.errors import ModelError, TrainingError
from erukg.io.publish import publish_folder, publish_text

__all__ = [
    "MODEL_FILES",
    "ArrayWriter",
    "add_section",
    "claim_work",
    "list_files",
    "new_folder",
    "prepared_folder",
    "read_json",
    "replace_folder",
    "write_json",
]

#: What exports write; a folder that holds anything else is not theirs to replace.
MODEL_FILES = frozenset(
    "README.md affinity.safetensors config.json encoder.int8.onnx encoder.onnx head.safetensors ranker.safetensors "
    "tagger.onnx tokenizer.json 1_SpladePooling config_sentence_transformers.json model.safetensors modules.json "
    "sentence_bert_config.json tags.safetensors tokenizer_config.json".split()
)


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """A new folder that takes the place of `path` when the block ends without an error; else it is removed.

    What a killed process left half written is removed by the next one.
    """
    part, old = path.with_name(f".{path.name}.part"), path.with_name(f".{path.name}.old")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        shutil.rmtree(old, ignore_errors=True)
        if path.exists():
            path.rename(old)
        publish_folder(part, path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_json(path: Path, values: Any) -> None:
    """Write JSON; a reader sees the old file or the new one, never half of it."""
    publish_text(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The JSON of a file; raises OSError or ValueError."""
    return json.loads(path.read_text("utf-8"))


def claim_work(path: Path, format: str, key: str, refusal: str) -> None:
    """Take a folder for unfinished work: a new one, or that of the same `format` and `key`, by its meta.json.

    Any other is refused, with the folder in front of the `refusal`.
    """
    path.mkdir(parents=True, exist_ok=True)
    meta = {"format": format, "key": key}
    try:
        held = read_json(path / "meta.json")
    except (OSError, ValueError):
        held = None
    if held == meta:
        return
    if held is not None or any(path.iterdir()):
        raise TrainingError(f"{path} {refusal}")
    write_json(path / "meta.json", meta)


def add_section(card: str, section: str) -> str:
    """A model's card with one section more, in front of that on limits if there is one."""
    before, limits, after = card.partition("## Limits")
    return before + section + limits + after if limits else f"{card.rstrip()}\n\n{section.rstrip()}\n"


@contextmanager
def prepared_folder(path: Path, format: str, keep: Collection[str] = ()) -> Iterator[Path]:
    """`replace_folder` for prepared data: only a folder of the same `format`, by its meta.json, is replaced.

    Sub-folders named in `keep` were made by other steps: they are copied into the new folder, and a folder that
    holds nothing else may be replaced too.
    """
    _refuse_foreign(path, format, keep)
    with replace_folder(path) as part:
        yield part
        _refuse_foreign(path, format, keep)
        for name in keep:
            if (path / name).exists() and not (part / name).exists():
                shutil.copytree(path / name, part / name)


def _refuse_foreign(path: Path, format: str, keep: Collection[str]) -> None:
    if not path.exists():
        return
    try:
        meta = read_json(path / "meta.json")
    except (OSError, ValueError):
        meta = None
    own = isinstance(meta, dict) and meta.get("format") == format
    if not path.is_dir() or not (own or all(inside.name in keep for inside in path.iterdir())):
        raise TrainingError(f"{path} exists and was not made by this command; give another folder or remove it.")


@contextmanager
def new_folder(path: Path, overwrite: bool) -> Iterator[Path]:
    """`replace_folder` for a model, which refuses a folder that exists unless it is one and may be overwritten."""
    if path.exists():
        if not overwrite:
            raise ModelError(f"{path} exists already; give another folder or allow overwriting it.")
        strange = [path.name] if not path.is_dir() else sorted({each.name for each in path.iterdir()} - MODEL_FILES)
        if strange:
            named = ", ".join(strange[:3]) + (", …" if len(strange) > 3 else "")
            raise ModelError(f"{path} is not replaced, as it holds what is no part of a model ({named}).")
    with replace_folder(path) as part:
        yield part


def list_files(folder: Path) -> dict[str, dict[str, int | str]]:
    """Size and checksum of each file of a model folder, as its config.json lists them; all become readable to all."""
    files: dict[str, dict[str, int | str]] = {}
    for path in sorted(folder.iterdir()):
        path.chmod(0o644)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        files[path.name] = {"bytes": path.stat().st_size, "sha256": digest}
    return files


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

    def __enter__(self) -> ArrayWriter:
        return self

    def close(self, *error: object) -> None:
        """State the final length in the header and close the file."""
        self._file.seek(0)
        self._write_header()
        self._file.close()

    __exit__ = close

    def _write_header(self) -> None:
        # NumPy pads its headers, so that one with a greater length fits where the first one stood.
        shape = (self.values,) if self.columns is None else (self.values // self.columns, self.columns)
        fields = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, fields)
