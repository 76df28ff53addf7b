"""Finding a model folder and checking it before anything in it is trusted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from erukg.errors import ModelError

__all__ = ["DEFAULT_MODEL", "FORMAT", "ModelFolder", "find_model"]

FORMAT = "erukg-model"
VERSION = 1
DEFAULT_MODEL = "small"
_MAX_CONFIG_BYTES = 1 << 20
_MAX_FILE_BYTES = 200 << 20
_GRAPHS = {"int8": "encoder.int8.onnx", "fp32": "encoder.onnx"}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A checked model folder: its configuration and the paths of its parts.

    The layout is `config.json`, `tokenizer.json`, `head.safetensors` and `encoder.int8.onnx` or `encoder.onnx`, and
    `ranker.safetensors` in a model that has learned to rank absent phrases.
    `term_space` is the fingerprint of the model whose term weights this one was taught to give, its own otherwise:
    models of one term space read the same collections.
    """

    path: Path
    name: str
    precision: str
    graph: Path
    vocab_size: int
    hidden_size: int
    max_length: int
    window: int
    fingerprint: str
    term_space: str
    config: dict[str, Any]

    @classmethod
    def open(cls, path: Path, precision: str | None = None) -> ModelFolder:
        """Read and check `config.json` and the sizes of the files it lists."""
        config = _read_config(path)
        if precision is not None and precision not in _GRAPHS:
            raise ModelError(f"There is no precision '{precision}'; use one of: {', '.join(_GRAPHS)}.")
        wanted = [precision] if precision else list(_GRAPHS)
        have = [p for p in wanted if (path / _GRAPHS[p]).is_file()]
        if not have:
            names = " or ".join(_GRAPHS[p] for p in wanted)
            raise ModelError(f"The model folder {path} has no {names}; export it again with: erukg train export.")
        folder = cls(
            path=path,
            name=str(config.get("name", path.name)),
            precision=have[0],
            graph=path / _GRAPHS[have[0]],
            vocab_size=_whole(config, "vocab_size", path, 1, 1 << 24),
            hidden_size=_whole(config, "hidden_size", path, 1, 1 << 14),
            max_length=_whole(config, "max_length", path, 8, 1 << 16),
            window=_whole(config, "window", path, 8, 1 << 16),
            fingerprint=_digest(config, "weights", path),
            term_space=_digest(config, "term_space" if "term_space" in config else "weights", path),
            config=config,
        )
        if folder.window > folder.max_length:
            raise ModelError(f"The model in {path} has a window longer than its max_length; its config.json is wrong.")
        folder._check_sizes()
        return folder

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def head(self) -> Path:
        return self.path / "head.safetensors"

    @property
    def ranker(self) -> Path:
        return self.path / "ranker.safetensors"

    @property
    def _parts(self) -> tuple[Path, ...]:
        """The files that running the model reads."""
        ranker = () if self.config.get("ranker") is None else (self.ranker,)
        return (self.tokenizer, self.head, self.graph, *ranker)

    def _check_sizes(self) -> None:
        listed = self.config.get("files")
        if not isinstance(listed, dict):
            raise ModelError(f"The model in {self.path} lists no files in its config.json; export it again.")
        for part in self._parts:
            if not part.is_file():
                raise ModelError(f"The model folder {self.path} has no {part.name}; copy or export it again.")
            size = part.stat().st_size
            entry = listed.get(part.name)
            expected = entry.get("bytes") if isinstance(entry, dict) else None
            if size != expected or size > _MAX_FILE_BYTES:
                raise ModelError(
                    f"{part} has {size} bytes where config.json says {expected}; the model is damaged, copy it again."
                )

    def verify(self) -> None:
        """Compare every file that is listed with its checksum; raises ModelError naming the first that differs."""
        for name in self.config["files"]:
            if Path(name).name != name or not (self.path / name).is_file():
                raise ModelError(f"The model folder {self.path} has no {name}; copy or export it again.")
        self._compare([self.path / name for name in self.config["files"]])

    def verify_parts(self) -> None:
        """`verify` for the files that running the model reads."""
        self._compare(self._parts)

    def _compare(self, files: Sequence[Path]) -> None:
        # Side by side: hashing lets other threads run, and takes as long as the largest file does.
        with ThreadPoolExecutor(len(files) or 1) as threads:
            for file, found in zip(files, threads.map(_sha256, files), strict=True):
                entry = self.config["files"].get(file.name)
                if not isinstance(entry, dict) or found != entry.get("sha256"):
                    raise ModelError(f"{file} does not match its checksum; the model is damaged, copy it again.")


def _sha256(file: Path) -> str:
    try:
        if not file.stat().st_size:  # which cannot be mapped
            return hashlib.sha256().hexdigest()
        with file.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
            return hashlib.sha256(data).hexdigest()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}; copy the model again.") from error


def _read_config(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    if not path.is_dir():
        raise ModelError(f"There is no model folder at {path}; give a folder written by: erukg train export.")
    try:
        if file.stat().st_size > _MAX_CONFIG_BYTES:
            raise ModelError(f"{file} is too large to be a model's config.json.")
        config = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path} is not a model folder: it has no config.json.") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read as JSON: {error}.") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelError(f"{file} does not describe an erukg model; export one with: erukg train export.")
    if config.get("version") != VERSION:
        raise ModelError(
            f"The model in {path} has format version {config.get('version')!r}, this program reads {VERSION}; "
            "use a matching erukg or export the model again."
        )
    return config


def _whole(config: dict[str, Any], field: str, path: Path, low: int, high: int) -> int:
    value = config.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ModelError(f"The model in {path} has no usable '{field}' in its config.json ({value!r}).")
    return value


def _digest(config: dict[str, Any], field: str, path: Path) -> str:
    value = config.get(field)
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{64}", value):
        raise ModelError(f"The model in {path} has no usable '{field}' fingerprint in its config.json.")
    return value


def bundled(name: str) -> Path:
    """Where a model of that name would lie inside the package."""
    return Path(str(files("erukg"))) / "assets" / "models" / name


def find_model(model: str | Path | None = None) -> Path:
    """The folder of a model: None for the bundled default, a bundled name, a local folder, or a hub name."""
    if model is None:
        model = DEFAULT_MODEL
        if not bundled(model).is_dir():
            raise ModelError("This installation has no bundled model; give a model folder.")
    text = str(model)
    if Path(text).is_dir():
        return Path(text)
    if re.fullmatch(r"[a-z0-9][a-z0-9-]*", text) and bundled(text).is_dir():
        return bundled(text)
    if isinstance(model, str) and re.fullmatch(r"[\w.-]+/[\w.-]+", text) and not text.startswith("."):
        return _from_hub(text)
    raise ModelError(f"There is no model folder or bundled model '{text}'.")


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    patterns = ["config.json", "tokenizer.json", "head.safetensors", "ranker.safetensors", "encoder*.onnx"]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # the hub client raises many unrelated kinds; all mean the same to the caller
        raise ModelError(
            f"'{name}' is neither a local folder nor a model the hub could give ({type(error).__name__}); "
            "check the name and the network."
        ) from error
