"""Finding a model folder and checking it before anything in it is trusted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from erukg.core.arguments import checked
from erukg.errors import ModelError, require

__all__ = ["DEFAULT_MODEL", "FORMAT", "ModelFolder", "bundled_models", "download_model", "find_model", "lasting_name"]

FORMAT = "erukg-model"
VERSION = 1
DEFAULT_MODEL = "tiny"
_MAX_CONFIG_BYTES = 1 << 20
_MAX_FILE_BYTES = 200 << 20
_HASHING_THREADS = 4
_HUB = re.compile(r"hub:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
_GRAPHS = {"int8": "encoder.int8.onnx", "fp32": "encoder.onnx"}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A checked model folder: its configuration and the paths of its parts.

    The layout is `config.json`, `tokenizer.json`, `head.safetensors` and `encoder.int8.onnx` or `encoder.onnx`, and
    `ranker.safetensors` in a model that has learned to rank absent phrases, `tagger.onnx` in one with a tagger of words
    and `affinity.safetensors` in one that tells how near phrases come to a text.
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
    @checked
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
    def tagger(self) -> Path:
        return self.path / "tagger.onnx"

    @property
    def affinity(self) -> Path:
        return self.path / "affinity.safetensors"

    @property
    def extras(self) -> dict[str, Path]:
        """What this model has beside what every model has, by its name in `config.json`."""
        known = {"ranker": self.ranker, "tagger": self.tagger, "affinity": self.affinity}
        return {name: path for name, path in known.items() if self.config.get(name) is not None}

    @property
    def has_tagger(self) -> bool:
        return "tagger" in self.extras

    @property
    def _parts(self) -> tuple[Path, ...]:
        """The files that running the model reads."""
        return (self.tokenizer, self.head, self.graph, *self.extras.values())

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

    def faults(self) -> list[str]:
        """What is wrong with the files that are listed, a sentence each; none means that all are as written."""
        return list(self._faults([self.path / name for name in self.config["files"]]))

    def verify(self) -> None:
        """Compare every file that is listed with its checksum; raises ModelError naming the first that differs."""
        for fault in self.faults():
            raise ModelError(fault)

    def verify_parts(self) -> None:
        """`verify` for the files that running the model reads."""
        for fault in self._faults(self._parts):
            raise ModelError(fault)

    def _faults(self, files: Sequence[Path]) -> Iterator[str]:
        # Side by side: hashing lets other threads run, and takes as long as the largest file does.
        with ThreadPoolExecutor(_HASHING_THREADS) as threads:
            yield from filter(None, threads.map(self._fault, files))

    def _fault(self, file: Path) -> str | None:
        if file.parent != self.path or not file.is_file():
            return f"The model folder {self.path} has no {file.name}; copy or export it again."
        entry = self.config["files"].get(file.name)
        try:
            found = _sha256(file)
        except OSError as error:
            return f"{file} cannot be read: {error.strerror}; copy the model again."
        if not isinstance(entry, dict) or found != entry.get("sha256"):
            return f"{file} does not match its checksum; the model is damaged, copy it again."
        return None


def _sha256(file: Path) -> str:
    if not file.stat().st_size:  # which cannot be mapped
        return hashlib.sha256().hexdigest()
    with file.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
        return hashlib.sha256(data).hexdigest()


def _read_config(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    if not path.is_dir():
        raise ModelError(f"There is no model folder at {path}; give a folder written by: erukg train export.")
    if not file.is_file():  # reading a pipe would wait for ever
        raise ModelError(f"{path} is not a model folder: it has no config.json.")
    try:
        if file.stat().st_size > _MAX_CONFIG_BYTES:
            raise ModelError(f"{file} is too large to be a model's config.json.")
        config = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
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


def bundled_models() -> list[str]:
    """The names of the models inside the package."""
    return sorted(path.name for path in bundled("").glob("*") if path.is_dir())


def lasting_name(path: Path) -> str:
    """What finds the model again from any folder and, where it is bundled, on any machine."""
    return path.name if path.name in bundled_models() and path == bundled(path.name) else str(path.absolute())


@checked
def find_model(model: str | Path | None = None) -> Path:
    """The folder of a model: None for the bundled default, a bundled name, a local folder, or hub:OWNER/NAME@REVISION.

    A bundled name means the bundled model, whatever folders there are; "./small" and Path("small") are folders. Nothing
    is downloaded unless the name says so.
    """
    if model is None:
        model = DEFAULT_MODEL
        if not bundled(model).is_dir():
            raise ModelError("This installation has no bundled model; give a model folder.")
    text = str(model)
    if (hub := _HUB.fullmatch(text)) is not None:
        return download_model(*hub.groups())
    names = bundled_models()
    if isinstance(model, str) and text in names:
        return bundled(text)
    if text and _is_folder(text):
        return Path(text)
    raise ModelError(
        f"There is no model folder or bundled model '{text[:200]}'; bundled are {', '.join(names) or 'none'}, and "
        "hub:OWNER/NAME@REVISION downloads one."
    )


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):  # a name that the system does not take
        return False


def download_model(name: str, revision: str | None, more: Sequence[str] = (), **options: Any) -> Path:
    """The folder with a model of the hub, and files that match `more`; `options` as for `snapshot_download` there."""
    if revision is None:
        raise ModelError(f"Say which version of '{name}' to download, as hub:{name}@REVISION: a commit or a tag.")
    hub = require("huggingface_hub", "hub", "A model of the Hugging Face hub")
    patterns = ["README.md", "config.json", "tokenizer.json", "head.safetensors", "ranker.safetensors"]
    patterns += ["encoder*.onnx", "tagger.onnx", "affinity.safetensors"]
    try:
        return Path(hub.snapshot_download(name, revision=revision, allow_patterns=[*patterns, *more], **options))
    except Exception as error:  # the hub client raises many unrelated kinds; all mean the same to the caller
        raise ModelError(
            f"The hub could not give '{name}' at revision '{revision}' ({type(error).__name__}); check the name, the "
            "revision and the network."
        ) from error
