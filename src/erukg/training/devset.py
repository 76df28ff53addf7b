"""Development sets in the form that training scores itself on: word pieces, candidates and gold, no text.

Candidates are found once, with a tagger, so that extraction quality depends on term weights alone. Phrases
are told apart by their stems (protocol `paper` of the evaluation) and numbered within each document.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erukg.backends.vocabulary import Vocabulary
from erukg.core.candidates import noun_phrases
from erukg.core.document import Document
from erukg.core.tagging import tag_classes
from erukg.errors import TrainingError
from erukg.research.evaluation.datasets import load_set
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import gold
from erukg.research.evaluation.stemming import phrase_key
from erukg.taggers import Tagger
from erukg.training.pieces import load_tokenizer
from erukg.training.progress import progress

__all__ = ["LONGEST", "DevSummary", "dev_files", "prepare_dev"]

LONGEST = 510


@dataclass(frozen=True, slots=True)
class DevSummary:
    """What was written; `reachable` is the share of the present gold that is among the candidates."""

    file: Path
    documents: int
    without_gold: int
    gold: int
    reachable: float
    candidates: float

    def __str__(self) -> str:
        return (
            f"{self.file}: {self.documents:,} documents ({self.without_gold:,} without present gold), "
            f"{self.gold / max(1, self.documents):.1f} present gold phrases "
            f"and {self.candidates:.1f} candidates each, "
            f"{self.reachable:.1%} of the gold among the candidates"
        )


def dev_files(paths: Sequence[str | Path]) -> list[Path]:
    """The files given and the JSON Lines files of the folders given, plain or compressed."""
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(f for f in path.iterdir() if ".jsonl" in f.suffixes) if path.is_dir() else [path]
        if not inside:
            raise TrainingError(f"The folder {path} holds no .jsonl file; give one with sets of keyphrases.")
        found += inside
    return found


def prepare_dev(
    keyphrases: str | Path, tokenizer: str | Path, tagger: Tagger, out: str | Path, *, quiet: bool = False
) -> DevSummary:
    """Write the set in file `keyphrases` to `out`/<set>.jsonl.

    Documents without a present gold phrase are left out: they do not count in the protocol.
    """
    data = load_set(keyphrases)
    vocabulary = Vocabulary(load_tokenizer(tokenizer), Path(tokenizer))
    counts: Counter[str] = Counter()
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{data.name}.jsonl"
    temporary = out / f".{data.name}.partial"
    with progress(data.name, quiet=quiet) as advance, temporary.open("w", encoding="utf-8") as lines:
        for record in data.records:
            advance(1)
            row = _row(record, vocabulary, tagger)
            if not row["gold"]:
                counts["without"] += 1
                continue
            lines.write(json.dumps(row, separators=(",", ":")) + "\n")
            keys = {candidate["key"] for candidate in row["candidates"]}
            counts["documents"] += 1
            counts["candidates"] += len(row["candidates"])
            counts["gold"] += len(row["gold"])
            counts["reached"] += sum(number in keys for number in row["gold"])
    temporary.replace(file)
    return DevSummary(
        file=file,
        documents=counts["documents"],
        without_gold=counts["without"],
        gold=counts["gold"],
        reachable=counts["reached"] / max(1, counts["gold"]),
        candidates=counts["candidates"] / max(1, counts["documents"]),
    )


def _row(record: Record, vocabulary: Vocabulary, tagger: Tagger) -> dict[str, Any]:
    truth = gold(record, "paper")
    document = Document.parse(record.text)
    candidates = noun_phrases(document, tag_classes(tagger, document))
    terms = vocabulary.phrase_terms(candidates.forms)
    # Gold phrases have the first numbers, all alternatives of one the same; other stems follow as they come.
    numbers = dict(truth.present)
    following = truth.n_present
    rows: list[dict[str, Any]] = []
    for i, form in enumerate(candidates.forms):
        key = phrase_key(form, truth.variant)
        if key not in numbers:
            numbers[key] = following
            following += 1
        rows.append(
            {
                "terms": terms.ids[terms.indptr[i] : terms.indptr[i + 1]].tolist(),
                "position": int(candidates.positions[i]),
                "count": int(candidates.counts[i]),
                "key": numbers[key],
            }
        )
    return {
        "ids": vocabulary.pieces(document.words).ids[:LONGEST].tolist(),
        "candidates": rows,
        "n_candidates_total": int(candidates.counts.sum()),
        "gold": list(range(truth.n_present)),
    }
