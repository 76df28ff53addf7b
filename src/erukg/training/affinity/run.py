"""`erukg train affinity`: texts, what a sentence encoder says of them and of phrases, networks, the model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends import OnnxBackend, find_model
from erukg.backends.affinity_file import write_affinity
from erukg.backends.folder import ModelFolder
from erukg.core.affinity import AffinityArrays
from erukg.errors import InputError, ModelError, TrainingError
from erukg.generator import KeyphraseGenerator
from erukg.io import BadDocument, Limits, read_documents, source_key
from erukg.training.affinity.learning import AffinityFit, agreement, fit_affinity
from erukg.training.affinity.lessons import Encode, Lessons, gather_lessons
from erukg.training.model_parts import write_with_part
from erukg.training.words.texts import drawn_texts

__all__ = ["AffinityOptions", "AffinityReport", "train_affinity", "write_with_affinity"]

_HELD_OUT = 0.05


@dataclass(frozen=True, slots=True)
class AffinityOptions:
    """What it is learned from and how: at most so many `documents` of each source."""

    documents: int = 5_000
    seed: int = 0
    fit: AffinityFit = field(default_factory=AffinityFit)


@dataclass(frozen=True, slots=True)
class AffinityReport:
    """How many texts were learned from, how many documents were unreadable, and the correlation on texts held out."""

    texts: int
    bad: int
    agreement: float


def train_affinity(
    sources: Sequence[str | Path],
    out: Path,
    *,
    teacher: Path,
    model: str | Path | None = None,
    collection: Path | None = None,
    options: AffinityOptions | None = None,
    work: Path | None = None,
    overwrite: bool = False,
    limits: Limits | None = None,
    on_bad: Callable[[BadDocument], None] | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> AffinityReport:
    """Teach `model` what the sentence encoder in the folder `teacher` says; `out` gets the model with what was learned.

    Lessons are kept in the folder `work` (by default beside `out`), from which the same call goes on.
    """
    chosen = options or AffinityOptions()
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; give another folder or allow overwriting it.")
    folder = ModelFolder.open(find_model(model))
    encode = _sentence_encoder(teacher)
    tell = on_progress or (lambda *_: None)
    texts: list[str] = []
    bad = 0
    for source in sources:
        drawn, unreadable = drawn_texts(read_documents([source], limits=limits), chosen.documents, chosen.seed, on_bad)
        texts += drawn
        bad += unreadable
    generator = KeyphraseGenerator.from_pretrained(folder.path, collection, language="en")
    key = source_key(sources, [str(teacher), folder.fingerprint, chosen.documents, chosen.seed])
    work = work or out.with_name(f"{out.name}.work")
    lessons = gather_lessons(texts, generator, encode, work, key, lambda done: tell("texts", done, len(texts)))
    order = np.random.default_rng(chosen.seed).permutation(len(lessons))
    held = round(_HELD_OUT * len(lessons))
    if len(lessons) - held < 1:
        raise TrainingError("No text with phrases was read; give files with texts of a sentence or more.")
    backend = OnnxBackend.load(folder.path)
    embeddings = backend.head.scaled_rows(backend.every_term)
    arrays = fit_affinity(_some(lessons, order[held:]), embeddings, chosen.fit, partial(_step, tell, chosen.fit.steps))
    alike = agreement(arrays, embeddings, _some(lessons, order[:held]))
    facts = {"teacher": Path(teacher).name, "texts": len(lessons), "agreement": round(alike, 4), **asdict(chosen.fit)}
    write_with_affinity(folder, out, arrays, facts, overwrite=overwrite)
    return AffinityReport(len(lessons), bad, alike)


def _step(tell: Callable[[str, int, int], None], steps: int, done: int) -> None:
    tell("steps", done, steps)


def _some(lessons: Lessons, which: NDArray[np.int64]) -> Lessons:
    """The lessons of these texts, in ascending order."""
    kept = np.sort(which)
    mine = np.isin(lessons.owners, kept)
    owners = np.searchsorted(kept, lessons.owners[mine])
    return Lessons(lessons.vectors[kept], owners, lessons.pieces[mine], lessons.near[mine])


def _sentence_encoder(folder: Path) -> Encode:
    """A sentence-transformers model in a local folder as a teacher."""
    if not (folder / "modules.json").is_file():
        raise ModelError(f"{folder} is no folder of a sentence-transformers model: it has no modules.json.")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # ours tells of the whole
    try:
        model = SentenceTransformer(str(folder), local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(f"{folder} cannot be read as a sentence-transformers model: {error}.") from error

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        found = model.encode(list(texts), normalize_embeddings=True, batch_size=64, show_progress_bar=False)
        return np.asarray(found, np.float32)

    return encode


def write_with_affinity(
    source: ModelFolder, out: Path, arrays: AffinityArrays, facts: dict[str, Any], *, overwrite: bool
) -> None:
    """Write to `out` the model with this, in place of what it may have had; `facts` tell how it was made."""

    def write(path: Path) -> dict[str, Any]:
        write_affinity(path, arrays)
        return facts

    text = (
        f"Learned from {facts['texts']:,} texts what {facts['teacher']} says of how near phrases, their own and those "
        f"of similar documents, come to each: {facts['steps']:,} steps of {facts['texts_a_step']} texts, AdamW "
        f"{facts['rate']:g}, seed {facts['seed']}. Within a text held out, the correlation with the teacher is "
        f"{facts['agreement']:.2f} on average."
    )
    write_with_part(
        source,
        out,
        "affinity",
        write,
        file=source.affinity.name,
        title="Nearness of phrases",
        text=text,
        overwrite=overwrite,
    )
