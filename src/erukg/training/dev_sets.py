"""Development sets for training: texts with their tags and gold phrases, tagged and stemmed beforehand.

Tags come from a tagger and not from the model in training, so that scores depend on term weights alone. Stems are
stored, so that the machine that trains needs neither tagger nor stemmer.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.settings import Settings
from erukg.core.tagging import Tagger, tag_classes
from erukg.io.progress import progress
from erukg.io.publish import published
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import gold
from erukg.research.evaluation.stemming import phrase_key

__all__ = ["DevSummary", "prepare_dev"]


@dataclass(frozen=True, slots=True)
class DevSummary:
    """What was written; `reached` of the present gold phrases are among the candidates."""

    file: Path
    documents: int = 0
    without_gold: int = 0
    gold: int = 0
    reached: int = 0
    candidates: int = 0

    def __str__(self) -> str:
        each = max(1, self.documents)
        return (
            f"{self.file}: {self.documents:,} documents ({self.without_gold:,} without present gold), "
            f"{self.gold / each:.1f} present gold phrases and {self.candidates / each:.1f} candidates each, "
            f"{self.reached / max(1, self.gold):.1%} of the gold among the candidates"
        )


def prepare_dev(data: Dataset, tagger: Tagger, out: str | Path, *, quiet: bool = False) -> DevSummary:
    """Write a set to `out`/<set>.jsonl.

    Documents without a present gold phrase are left out: they do not count in the protocol `paper`.
    """
    counts: Counter[str] = Counter()
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{data.name}.jsonl"
    with (
        progress(f"documents of {data.name}", len(data), show=not quiet, lines=True) as bar,
        published(file, "w", encoding="utf-8") as lines,
    ):
        for record in data.records:
            bar.advance()
            row = _row(record, tagger)
            if not row["gold"]:
                counts["without_gold"] += 1
                continue
            lines.write(json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n")
            counts["documents"] += 1
            counts["candidates"] += len(row["stems"])
            counts["gold"] += len(set(row["gold"].values()))
            counts["reached"] += len({row["gold"][stem] for stem in row["stems"].values() if stem in row["gold"]})
    return DevSummary(file, **counts)


def _row(record: Record, tagger: Tagger) -> dict[str, Any]:
    """The text, one digit per word for its tag class, the stems of each candidate by its fold, and those of the gold.

    Stems that are alternatives of one gold phrase have the same number.
    """
    truth = gold(record, "paper")
    document = Document.parse(record.text)
    classes = tag_classes(tagger, document.words)
    longest = Settings().max_words
    # Training scores its models by the paper's candidates too.
    candidates = [each for whole in (True, False) for each in find_candidates(document, classes, longest, whole=whole)]
    stems = (phrase_key(candidate.form, truth.variant) for candidate in candidates)
    return {
        "text": record.text,
        "tags": "".join(map(str, classes.tolist())),
        "stems": dict(zip([candidate.fold for candidate in candidates], stems, strict=True)),
        "gold": truth.present,
    }
