"""`erukg train ranker`: samples, trees, model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from erukg.backends import OnnxBackend, find_model
from erukg.collection import Collection, bundled_collection
from erukg.core.absent_features import FEATURES
from erukg.core.generator import Generator
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.io import BadDocument, Limits, read_documents, source_key
from erukg.training.ranking.fitting import FitOptions, fit_ranker
from erukg.training.ranking.folder import write_with_ranker
from erukg.training.ranking.samples import gather_samples, hidden_titles

__all__ = ["RankingOptions", "RankingReport", "train_ranker"]


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """What the ranking is learned from and how.

    documents  how many are drawn; about a fifth of them teach something
    negatives  wrong candidates of a document, at most
    """

    documents: int = 12_000
    negatives: int = 180
    seed: int = 0
    fit: FitOptions = field(default_factory=FitOptions)


@dataclass(frozen=True, slots=True)
class RankingReport:
    """How many documents were drawn, were left out as the collection holds them itself or as they are unreadable, and
    taught something.
    """

    drawn: int
    inside: int
    bad: int
    samples: int


def train_ranker(
    sources: Sequence[str | Path],
    out: Path,
    *,
    model: str | Path | None = None,
    collection: str | Path | None = None,
    options: RankingOptions | None = None,
    work: Path | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    limits: Limits | None = None,
    on_bad: Callable[[BadDocument], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> RankingReport:
    """Learn to rank absent phrases for a model and a collection, from documents outside it; `out` gets the model.

    Samples are kept in the folder `work` (by default beside `out`), from which the same call goes on.
    """
    chosen = options or RankingOptions()
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; give another folder or allow overwriting it.")
    backend = OnnxBackend.load(find_model(model))
    folder = Path(collection) if collection is not None else bundled_collection(backend.term_space)
    if folder is None:
        raise InputError("There is no bundled collection for this model; give one.")
    background = Collection.open(folder)
    # The candidates are those of plain settings; a ranking that the model may have has no say in them.
    generator = Generator(backend, background, settings=Settings(coined=True))
    made_of = [backend.fingerprint, background.manifest.commit.crc32, list(FEATURES)]
    key = source_key(sources, [*made_of, chosen.documents, chosen.negatives, chosen.seed])
    rows = read_documents(sources, limits=limits)
    drawn = hidden_titles(rows, background, chosen.documents, chosen.seed, on_bad)
    documents = drawn.documents
    if not documents:
        raise InputError(
            "There is nothing to learn from; give documents outside the collection that have a title and an abstract."
        )
    samples = gather_samples(
        generator,
        documents,
        work or out.with_name(f"{out.name}.samples"),
        key,
        negatives=chosen.negatives,
        seed=chosen.seed,
        threads=threads,
        on_progress=None if on_progress is None else lambda done: on_progress(done, len(documents)),
    )
    ranker = fit_ranker(samples, chosen.fit)
    facts = {
        "documents": len(documents),
        "samples": len(samples),
        "collection_documents": len(background),
        "negatives": chosen.negatives,
        **asdict(chosen.fit),
        "seed": chosen.seed,
    }
    write_with_ranker(backend.folder, out, ranker, facts, overwrite=overwrite)
    return RankingReport(len(documents), drawn.inside, drawn.bad, len(samples))
