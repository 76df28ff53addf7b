"""The streams there are: keyphrases, and what collections keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from erukg.backends.batch import BatchEncoder
from erukg.collection import Collection
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.gpu.jobs import CollectionJob, KeyphraseJob
from erukg.gpu.pipeline import CHUNK, Standing, stream
from erukg.gpu.queries import SPARE, SearchPlan
from erukg.gpu.server import Model

if TYPE_CHECKING:
    from erukg.collection.encoded import EncodedDocument
    from erukg.core.results import Keyphrases
    from erukg.generator import KeyphraseGenerator

__all__ = ["keyphrase_job", "standing_encoded", "standing_keyphrases", "stream_encoded", "stream_keyphrases"]

SearchOn: TypeAlias = Literal["device", "workers"]


def stream_keyphrases(
    generator: KeyphraseGenerator,
    items: Iterable[tuple[str | None, str]],
    top_k: int,
    settings: Settings,
    *,
    explain: bool = False,
    workers: int | None = None,
    chunk: int = CHUNK,
    search: SearchOn | None = None,
) -> Iterator[Keyphrases]:
    """`generator.generate` for (id, text) pairs; `workers` is the number of processes beside the model's.

    `search` is where neighbours are searched for: where the model runs ("device"), or in the processes beside it
    ("workers"), which also do so when the device has too little memory; None is the device if that is a GPU.
    """
    model, job = keyphrase_job(generator, top_k, settings, explain, search)
    return stream(model, job, items, workers, chunk)


def standing_keyphrases(
    generator: KeyphraseGenerator,
    top_k: int,
    settings: Settings,
    *,
    explain: bool = False,
    workers: int | None = None,
    search: SearchOn | None = None,
) -> Standing:
    """The same for many streams, one after the other, whose processes start only once."""
    return Standing(*keyphrase_job(generator, top_k, settings, explain, search), workers)


def keyphrase_job(
    generator: KeyphraseGenerator, top_k: int, settings: Settings, explain: bool, search: SearchOn | None
) -> tuple[Model, KeyphraseJob]:
    """What the server and the workers of such a stream are told."""
    encoder, background = generator.encoder, generator.background
    if not isinstance(encoder, BatchEncoder):
        raise InputError("This generator's model does not run on a device; make it with from_pretrained(device=...).")
    if background is not None and not isinstance(background, Collection):
        raise InputError("Streams on a device need a collection that is stored in a folder.")
    if generator.tagger is not None:
        raise InputError("Streams on a device take the model's own tags; leave the tagger out, or use the device cpu.")
    job = KeyphraseJob(
        encoder.folder.path.absolute(),
        background.folder.absolute() if background is not None else None,
        background.manifest.number if background is not None else 0,
        top_k,
        settings,
        explain,
    )
    plan = None
    if search is None:
        search = "workers" if encoder.device_name == "cpu" else "device"
    if job.collection is not None and settings.uses_neighbours and search == "device":
        plan = SearchPlan(job.collection, job.commit, settings.neighbours + SPARE)
    return replace(_model(encoder, job.top), search=plan), job


def stream_encoded(
    encoder: BatchEncoder,
    texts: Iterable[str],
    *,
    top: int,
    phrases: int,
    settings: Settings,
    workers: int | None = None,
) -> Iterator[EncodedDocument]:
    """What a collection keeps of each text."""
    job = CollectionJob(encoder.folder.path.absolute(), top, phrases, settings)
    return stream(_model(encoder, job.top), job, texts, workers)


def standing_encoded(
    encoder: BatchEncoder, *, top: int, phrases: int, settings: Settings, workers: int | None = None
) -> Standing:
    """The same for many streams, one after the other, whose processes start only once."""
    job = CollectionJob(encoder.folder.path.absolute(), top, phrases, settings)
    return Standing(_model(encoder, job.top), job, workers)


def _model(encoder: BatchEncoder, top: int) -> Model:
    return Model(
        encoder.folder.path.absolute(),
        encoder.folder.precision,
        encoder.device_name,
        encoder.arithmetic,
        encoder.compiled,
        top,
    )
