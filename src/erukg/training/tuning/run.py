"""`erukg train tune`: documents, learning, measuring, model folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from erukg.backends import OnnxBackend, find_model
from erukg.backends.folder import ModelFolder
from erukg.collection import Collection, bundled_collection
from erukg.core.document import Document
from erukg.core.generator import Generator
from erukg.core.results import Keyphrases
from erukg.errors import InputError
from erukg.generator import KeyphraseGenerator
from erukg.io import BadDocument, Limits, read_documents, source_key
from erukg.training.folders import claim_work
from erukg.training.ranking.samples import Hidden
from erukg.training.tuning.documents import read_parts, read_references
from erukg.training.tuning.folder import publish, write_tuned
from erukg.training.tuning.learning import CollapsedError, Learner, Learning, Texts
from erukg.training.tuning.measure import Comparison, Gain, compare, find_all, wanted_of_all
from erukg.training.tuning.restore import restore

__all__ = ["TuneOptions", "TuneReport", "tune"]

_FORMAT = "erukg-tuning"
_OTHER_RUN = "holds a run of other documents or options; remove it or give another output folder."
OnProgress = Callable[[str, int, int], None]
"""Is told the stage, and how much of it is done."""


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """What is learned from, and how.

    held_out  share of the documents that is only measured on
    most      held-out documents, at most
    """

    held_out: float = 0.15
    most: int = 1000
    learning: Learning = field(default_factory=Learning)


@dataclass(frozen=True, slots=True)
class TuneReport:
    """What was learned from and what it gained; `written` says whether the tuned model is in its folder."""

    documents: int
    held_out: int
    references: int
    untitled: int
    short: int
    bad: int
    steps: int
    seconds: float
    comparison: Comparison
    written: bool

    @property
    def present(self) -> Gain | None:
        return self.comparison.present


def tune(
    sources: Sequence[str | Path],
    out: Path,
    *,
    model: str | Path | None = None,
    collection: str | Path | Literal[False] | None = None,
    references: Sequence[Path] = (),
    options: TuneOptions | None = None,
    work: Path | None = None,
    anyway: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    limits: Limits | None = None,
    on_bad: Callable[[BadDocument], None] | None = None,
    on_progress: OnProgress | None = None,
) -> TuneReport:
    """Adapt a model folder to documents with titles; `out` gets the tuned one if more of hidden titles is found.

    With `anyway` it is written whatever it has gained. The run is kept in `work` (by default beside `out`), from which
    the same call goes on; once the model is written, it is removed.
    """
    chosen, work = options or TuneOptions(), work or out.with_name(f"{out.name}.run")
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; give another folder or allow overwriting it.")
    for path in references:
        if not path.is_file():
            raise InputError(f"There is no file {path} of references.")
    source = ModelFolder.open(find_model(model))
    network = restore(source)
    backend, background = OnnxBackend.load(source.path), _open(collection, source.term_space)
    generator = KeyphraseGenerator(backend, background)
    commit = None if background is None else background.manifest.commit.crc32
    key = source_key([*sources, *references], [source.fingerprint, commit, asdict(chosen)])
    rows = read_documents(sources, limits=limits)
    parts = read_parts(rows, chosen.held_out, chosen.most, chosen.learning.seed, on_bad)
    referred = read_references(references, parts.train, parts.held_out)
    claim_work(work, _FORMAT, key, _OTHER_RUN)
    tell = on_progress or (lambda stage, done, total: None)
    before = _found(generator, parts.held_out, threads, tell, "before")
    wanted = wanted_of_all(generator, parts.held_out, threads)
    texts = _texts(generator, parts.train, referred)
    learner = Learner(network, backend.vocabulary, texts, chosen.learning, tagging=not source.has_tagger)
    try:
        steps = learner.run(work / "checkpoints", lambda share: tell("learning", int(100 * share), 100))
    except CollapsedError:
        shutil.rmtree(work)  # a model that has collapsed is no place to go on from
        raise
    exported = write_tuned(learner.model, source, work / "model", out.name)
    tuned = KeyphraseGenerator(OnnxBackend.load(exported), background)
    comparison = compare(wanted, before, _found(tuned, parts.held_out, threads, tell, "after"))
    written = anyway or (comparison.present is not None and comparison.present.sure)
    count = sum(map(len, referred.values()))
    report = TuneReport(
        len(parts.train),
        len(parts.held_out),
        count,
        parts.untitled,
        parts.short,
        parts.bad,
        steps,
        learner.state.elapsed,
        comparison,
        written,
    )
    if written:
        publish(exported, source, out, _facts(report, chosen.learning, source), overwrite)
        shutil.rmtree(work)
    return report


def _open(collection: str | Path | Literal[False] | None, term_space: str) -> Collection | None:
    path = bundled_collection(term_space) if collection is None else collection
    return None if path is None or path is False else Collection.open(path)


def _found(
    generator: Generator, documents: Sequence[Hidden], threads: int | None, tell: OnProgress, stage: str
) -> list[Keyphrases]:
    return find_all(generator, documents, threads, lambda done: tell(stage, done, len(documents)))


def _texts(generator: Generator, documents: Sequence[Hidden], referred: dict[str, list[str]]) -> Texts:
    def pieces(text: str) -> Any:
        return generator.backend.pieces(Document.parse(text).words).ids

    return Texts(
        [pieces(hidden.text) for hidden in documents],
        [[pieces(text) for text in (hidden.title, *referred.get(hidden.id, ()))] for hidden in documents],
    )


def _facts(report: TuneReport, learning: Learning, source: ModelFolder) -> dict[str, Any]:
    """What the model's config.json keeps of how it came about."""
    present, absent = report.comparison.present, report.comparison.absent
    return {
        "from": source.name,
        "from_weights": source.fingerprint,
        "documents": report.documents,
        "held_out": report.held_out,
        "references": report.references,
        "steps": report.steps,
        "seconds": round(report.seconds),
        "rate": learning.rate,
        "leash": learning.leash,
        "batch": learning.batch,
        "seed": learning.seed,
        "present": None if present is None else present.to_dict(),
        "absent": None if absent is None else absent.to_dict(),
        "phrases_alike": round(report.comparison.same, 3),
    }
