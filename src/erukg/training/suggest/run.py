"""`erukg train suggest`: tagged documents, lessons, ranking."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from erukg.backends import OnnxBackend, find_model
from erukg.collection import Collection, bundled_collection
from erukg.core.generator import Generator
from erukg.errors import InputError
from erukg.io import BadDocument, Limits, read_documents
from erukg.subjects import Suggester, Vocabulary
from erukg.subjects.votes import TaggedDocuments
from erukg.training.folders import new_folder
from erukg.training.suggest.fitting import SubjectFit, fit_archive
from erukg.training.suggest.kept import kept_folder, kept_lessons
from erukg.training.suggest.samples import read_lessons, tagged_texts

__all__ = ["SuggestOptions", "SuggestReport", "train_suggest"]


@dataclass(frozen=True, slots=True)
class SuggestOptions:
    """What a ranking is learned from and how: the most documents whose evidence is gathered, and the most in all."""

    documents: int = 10_000
    most: int = 100_000
    fit: SubjectFit = field(default_factory=SubjectFit)


@dataclass(frozen=True, slots=True)
class SuggestReport:
    """How many documents taught something, how many of them by their evidence, and how many could not be read."""

    documents: int
    taught: int
    bad: int


def train_suggest(
    sources: Sequence[str | Path],
    out: Path,
    *,
    collection: str | Path,
    vocabulary: Vocabulary | str | Path | None = None,
    model: str | Path | None = None,
    options: SuggestOptions | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    limits: Limits | None = None,
    on_bad: Callable[[BadDocument], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SuggestReport:
    """Learn to rank the concepts of a vocabulary from a tagged collection and the files it was built from.

    Without a vocabulary the collection's own tags are ranked. `out` gets the ranking, a folder for `suggest`. A run
    that was stopped goes on where it was when it is started again.
    """
    chosen = options or SuggestOptions()
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; give another folder or allow overwriting it.")
    backend = OnnxBackend.load(find_model(model))
    folder = bundled_collection(backend.term_space)
    generator = Generator(backend, Collection.open(folder) if folder is not None else None)
    tagged = Collection.open(collection)
    opened = Vocabulary.load(vocabulary) if isinstance(vocabulary, str | Path) else vocabulary
    suggester = Suggester(generator, opened, tagged)
    archive = TaggedDocuments(tagged, suggester.vocabulary)
    texts, bad = tagged_texts(read_documents(sources, limits=limits), tagged, archive, chosen.fit.seed, on_bad)
    if not texts:
        raise InputError(
            "There is nothing to learn from: none of these documents is in the collection with a tag of the "
            "vocabulary; "
            "give the files that the collection was built from, and the vocabulary that its tags are of."
        )
    texts = texts[: chosen.most]
    made_from = (
        generator.backend.term_space,
        str(chosen.documents),
        suggester.vocabulary.fingerprint,
        *(f"{file.bytes} {file.crc32}" for file in tagged.manifest.files),
    )
    kept = kept_folder(out)
    lessons = []
    for lesson in kept_lessons(
        kept,
        made_from,
        texts,
        lambda first, last: read_lessons(suggester, texts[first:last], chosen.documents - first, threads),
    ):
        lessons.append(lesson)
        if on_progress is not None:
            on_progress(len(lessons), len(texts))
    ranking = fit_archive(lessons, suggester.vocabulary.fingerprint, len(suggester.vocabulary), chosen.fit)
    with new_folder(out, overwrite) as part:
        ranking.save(part)
    shutil.rmtree(kept, ignore_errors=True)
    return SuggestReport(len(lessons), int(ranking.facts["taught"]), bad)
