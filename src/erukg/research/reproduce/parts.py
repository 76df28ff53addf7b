"""What the steps are made from, where it is, and the hash of it by which a finished step is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from erukg.backends.folder import ModelFolder, find_model
from erukg.collection import bundled_collection
from erukg.errors import InputError
from erukg.research.evaluation.provenance import source_hash
from erukg.research.reproduce.plan import BASELINES, Step, parts_of

__all__ = ["Given", "Parts", "corpus_files"]

_TFIDF_CORPUS = "acm.jsonl"
_EVALUATION = "research/evaluation"
#: The code that decides a step's figures; that of the pages and of the plan, which is hashed as data, is not among it.
_CODE = ("core", "backends", "collection", "io", "generator.py", "languages.py", "taggers.py", "research/baselines")
_CODE_OF_TASKS = {
    "retrieval": (f"{_EVALUATION}/retrieval",),
    "ablations": (f"{_EVALUATION}/retrieval",),
    "speed": ("research/benchmark",),
    "throughput": ("research/benchmark",),
    "subjects": (f"{_EVALUATION}/subjects", "subjects"),
}


@dataclass(frozen=True, slots=True)
class Given:
    """Where the user says that things are; None for what was not given."""

    data: Path | None = None
    repository: Path = field(default_factory=Path)
    model: str | None = None
    collection: str | None = None
    baselines: Path | None = None
    vectors: Path | None = None
    variants: Path | None = None
    paper_collection: Path | None = None
    tagger: str | None = None
    subjects: Path | None = None

    def __post_init__(self) -> None:
        for name in ("data", "baselines", "vectors", "variants", "paper_collection", "subjects"):
            path = getattr(self, name)
            if path is not None and not path.is_dir():
                what = "data" if name == "data" else f"--{name.replace('_', '-')}"
                raise InputError(f"There is no folder {path}, which was given as {what}.")


class Parts:
    """The parts that are there, by name, as absolute paths (the tagger: as its name)."""

    def __init__(self, given: Given) -> None:
        self.given = given
        found = {name: _absolute(path) for name, path in _places(given).items() if path is not None}
        self._found: dict[str, Path | str] = {name: path for name, path in found.items() if _is_there(path)}
        if "corpus" in self._found and not corpus_files(self.path("corpus")):
            del self._found["corpus"]
        if given.tagger is not None:
            self._found["tagger"] = given.tagger
        self._hashes: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def path(self, name: str) -> Path:
        """Where a part is that is there."""
        return Path(self._found[name])

    def missing(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self._found]

    def rows(self, step: Step) -> tuple[list[str], dict[str, list[str]]]:
        """The step's systems with their parts filled in, and by row the parts of those that lack any.

        With a model of one's own the rows of other models are not asked for; where there are no others, it stands in.
        """
        rows, lacking = [], {}
        asked = step.rows
        if self.given.model is not None:
            own = (row.replace(",model=small", "").removesuffix(":model=small") for row in step.rows)
            asked = tuple(row for row in step.rows if "model=" not in row) or tuple(r for r in own if "model=" not in r)
        for row in asked:
            if lost := self.missing(parts_of(row)):
                lacking[row] = lost
            else:
                rows.append(row.format_map({name: self._filled(name) for name in parts_of(row)}))
        return rows, lacking

    def _filled(self, name: str) -> str:
        if name == "corpus":
            files = corpus_files(self.path(name))
            chosen = next((path for path in files if path.name.startswith(_TFIDF_CORPUS)), files[0])
            return _plain(chosen)
        return str(self._found[name]) if name == "tagger" else _plain(self.path(name))

    @cached_property
    def shortened(self) -> dict[str, str]:
        """By path what stored runs call it, so that they do not depend on the machine; the longest paths first."""
        paths = [path for path in self._found.values() if isinstance(path, Path)]
        if "corpus" in self:
            paths.append(Path(self._filled("corpus")))
        names = {str(path): path.name for path in paths}
        if self.given.variants is not None:  # what lies in it besides the parts
            names[f"{_absolute(self.given.variants)}/"] = ""
        for given in (self.given.model, self.given.collection):
            if given is not None and Path(given).exists():
                names[given] = Path(given).name
        return dict(sorted(names.items(), key=lambda item: -len(item[0])))

    def fingerprint(self, step: Step, quick: bool) -> str:
        """A hash of everything that decides the step's figures: what it does, its parts, the models, and the code."""
        parts = {name: self.content_hash(name) for name in step.parts if name in self}
        described = {
            "step": {name: value for name, value in asdict(step).items() if name not in ("fills", "on_page")},
            "quick": quick,
            "parts": parts,
            "models": self._models,
            "code": source_hash(*_CODE, *_evaluation_modules(), *_CODE_OF_TASKS.get(step.task, ())),
        }
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _models(self) -> dict[str, str]:
        """The models and collection that need not be named: manifests, which hold the checksums of the rest."""
        model = find_model(self.given.model)
        folders = {"model": model}
        if self.given.model is None:
            folders["small"] = find_model("small")
        collection = self.given.collection or bundled_collection(ModelFolder.open(model).term_space)
        if collection is not None:
            folders["collection"] = Path(collection)
        return {name: _digest(sorted(folder.glob("*.json")), folder) for name, folder in folders.items()}

    def content_hash(self, name: str) -> str:
        """The hash of a part that is there: of its file, or of all files in its folder and their names."""
        if name not in self._hashes:
            part = self._found[name]
            if isinstance(part, str):
                self._hashes[name] = part
            else:
                inside = [part] if part.is_file() else [path for path in sorted(part.rglob("*")) if path.is_file()]
                self._hashes[name] = _digest(inside, part)
        return self._hashes[name]


def corpus_files(folder: Path) -> list[Path]:
    """The documents of a corpus, by name."""
    return sorted(path for path in folder.iterdir() if path.is_file() and ".jsonl" in path.name)


def _places(given: Given) -> dict[str, Path | None]:
    data, variants, baselines, subjects = given.data, given.variants, given.baselines, given.subjects
    return {
        "test": data and data / "keyphrases" / "test",
        "dev": data and data / "keyphrases" / "dev",
        "retrieval": data and data / "retrieval",
        "corpus": data and data / "corpus",
        "readers": given.repository / "tests" / "readers",
        "case": given.repository / "examples" / "case-study.jsonl",
        "base": given.repository / "models" / "base",
        "vectors": given.vectors,
        "paper-collection": given.paper_collection,
        "fp32": variants and variants / "fp32",
        "variants": variants and variants / "models",
        "subjects": data and data / "subjects" / "pubmed_mesh_dev.jsonl.xz",
        "mesh": data and data / "vocabularies" / "mesh_id_label_synonyms.tsv.xz",
        "tagged": subjects and subjects / "tagged",
        "subject-ranking": subjects and subjects / "ranking",
        "annif": subjects and subjects / "annif",
        **{name: baselines and baselines / name for name in BASELINES},
    }


def _absolute(path: Path) -> Path:
    return Path(path).absolute()


def _is_there(path: Path) -> bool:
    return path.is_file() or (path.is_dir() and any(path.iterdir()))


def _plain(path: Path) -> str:
    if "," in str(path):
        raise InputError(f"The path {path} has a comma in it, with which systems cannot be named; move or link it.")
    return str(path)


def _evaluation_modules() -> list[str]:
    """The modules of the evaluation itself, without its sub-packages."""
    folder = Path(__file__).parents[1] / "evaluation"
    return sorted(f"{_EVALUATION}/{path.name}" for path in folder.glob("*.py"))


def _digest(paths: Iterable[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        name = path.name if path == root else path.relative_to(root).as_posix()
        digest.update(f"{name}\0{content}\0".encode())
    return digest.hexdigest()
