"""`erukg train tagger`: texts, what another tagger says of them, the network, the model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from erukg.backends import OnnxBackend, find_model
from erukg.backends.folder import ModelFolder
from erukg.core.tagging import tag_classes
from erukg.errors import InputError
from erukg.io import BadDocument, Limits, read_documents, source_key
from erukg.taggers import load_tagger
from erukg.training.model_parts import write_with_part
from erukg.training.words.fitting import Fit, agreement, fit_words
from erukg.training.words.network import WordNetwork, write_graph
from erukg.training.words.texts import Classify, TaggedTexts, drawn_texts, hand_tagged, tag_texts

__all__ = ["TaggerOptions", "TaggerReport", "train_tagger"]

_HELD_OUT = 0.02


@dataclass(frozen=True, slots=True)
class TaggerOptions:
    """What the tagger is learned from and how: at most so many `documents` of each source."""

    documents: int = 30_000
    seed: int = 0
    fit: Fit = field(default_factory=Fit)


@dataclass(frozen=True, slots=True)
class TaggerReport:
    """How many texts and words were learned from, how many documents were unreadable, and the agreement on others.

    `right` is the share of words in held-out texts that get the class a person gave them, if there are such texts.
    """

    texts: int
    words: int
    bad: int
    agreement: float
    right: float | None = None


def train_tagger(
    sources: Sequence[str | Path],
    out: Path,
    *,
    tagged: Sequence[str | Path] = (),
    teacher: str = "small",
    model: str | Path | None = None,
    options: TaggerOptions | None = None,
    work: Path | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    limits: Limits | None = None,
    on_bad: Callable[[BadDocument], None] | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> TaggerReport:
    """Learn what `teacher` (a model, nltk, spacy or spacy:PIPELINE) says of words; `out` gets `model` with the tagger.

    `tagged` are CoNLL-U files whose words people have tagged: each is learned from as it is, and counts as a source.

    Tagged texts and the state of training are kept in the folder `work` (by default beside `out`), from which the same
    call goes on.
    """
    chosen = options or TaggerOptions()
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; give another folder or allow overwriting it.")
    folder = ModelFolder.open(find_model(model))
    classify = _classify(teacher)
    work = work or out.with_name(f"{out.name}.work")
    tell = on_progress or (lambda *_: None)
    parts: list[TaggedTexts] = []
    bad = 0
    for number, source in enumerate(sources):
        rows = read_documents([source], limits=limits)
        texts, unreadable = drawn_texts(rows, chosen.documents, chosen.seed, on_bad)
        bad += unreadable
        key = source_key([source], [teacher, chosen.documents, chosen.seed])
        parts.append(tag_texts(texts, classify, work / f"texts-{number:03d}", key, threads, partial(tell, "texts")))
    by_hand = [hand_tagged(path, chosen.seed) for path in tagged]
    held, learned = zip(*map(_split, parts + by_hand), strict=True) if parts or by_hand else ((), ())
    training = work / f"training-{source_key([*sources, *tagged], [teacher, asdict(chosen), len(by_hand)])[:16]}"
    network = fit_words(learned, chosen.fit, training, lambda k: tell("steps", k, chosen.fit.steps))
    alike = _mean_agreement(network, held[: len(parts)])
    right = _mean_agreement(network, held[len(parts) :]) if by_hand else None
    count, total = sum(map(len, parts + by_hand)), sum(len(part.classes) for part in parts + by_hand)
    facts = {"teacher": teacher, "texts": count, "words": total, "agreement": round(alike, 4)}
    facts |= {"steps": chosen.fit.steps, "step_words": chosen.fit.words, "rate": chosen.fit.rate, "seed": chosen.seed}
    if right is not None:
        facts |= {"tagged": sum(map(len, by_hand)), "right": round(right, 4)}
    _write(folder, out, network, facts, overwrite=overwrite)
    return TaggerReport(count, total, bad, alike, right)


def _mean_agreement(network: WordNetwork, held: Sequence[TaggedTexts]) -> float:
    """The share of words in these texts to which the network gives the class that they have."""
    words = [len(part.classes) for part in held]
    shares = [agreement(network, part) for part in held]
    return float(np.average(shares, weights=words)) if sum(words) else 0.0


def _classify(teacher: str) -> Classify:
    if teacher.partition(":")[0] in ("nltk", "spacy"):
        tagger = load_tagger(teacher)
        assert tagger is not None
        return partial(tag_classes, tagger)
    backend = OnnxBackend.load(find_model(teacher))
    nothing = np.empty(0, np.int32)
    return lambda words: backend.encode(backend.pieces(words), nothing).tags


def _split(texts: TaggedTexts) -> tuple[TaggedTexts, TaggedTexts]:
    """The last of the texts, which were drawn by chance, and the others."""
    count = len(texts) - round(_HELD_OUT * len(texts))
    at = int(texts.offsets[count])
    held = TaggedTexts(texts.traits[at:], texts.classes[at:], texts.offsets[count:] - at)
    return held, TaggedTexts(texts.traits[:at], texts.classes[:at], texts.offsets[: count + 1])


def _write(source: ModelFolder, out: Path, network: WordNetwork, facts: dict[str, Any], *, overwrite: bool) -> None:
    """The model with this tagger, in place of one that it may have had; `facts` tell how it was made."""

    def write(path: Path) -> dict[str, Any]:
        write_graph(network, path)
        return facts

    text = (
        f"Learned from {facts['texts']:,} texts, {facts['words'] / 1e6:.1f} million words, tagged by "
        f"{facts['teacher']}: {facts['steps']:,} steps of {facts['step_words']:,} words, AdamW {facts['rate']:g}, "
        f"seed {facts['seed']}. Of words in texts held out, {100 * facts['agreement']:.1f} % have the teacher's class."
    )
    if "right" in facts:
        text += (
            f" {facts['tagged']:,} of the texts were tagged by people; of words in such texts held out, "
            f"{100 * facts['right']:.1f} % get the right class."
        )
    write_with_part(
        source,
        out,
        "tagger",
        write,
        file=source.tagger.name,
        title="Tagger of words",
        text=text,
        overwrite=overwrite,
    )
