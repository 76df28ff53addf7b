"""Baselines that the paper also ran, beside its figures: whether the measuring stick here is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.results import published
from erukg.research.evaluation.results.markdown import table
from erukg.research.evaluation.results.runs import Group

__all__ = ["calibration"]

_METRICS = ("F@5", "F@10")
_WHY = """\
What differs besides the systems themselves:

- **Candidates.** The paper ran TextRank and MultipartiteRank from the package pke, with its tokens, tags and grammar.
  Here all baselines read the words that erukg reads (hyphenated words whole, markup and line ends cleaned), tagged by
  its tag head; a row "tags by spaCy" shows how much of a difference the tagger makes.
- **Weights.** The paper's EmbedRank used the model all-MiniLM-L12-v2; the name in brackets is the one used here. Both
  take noun phrases by the same grammar.
- **Documents.** KP20k is here the first 1,000 documents of its test set, NUS has its case and digits restored, and
  Krapivin is the split of 460 documents.
"""


def calibration(group: Group) -> Iterator[str]:
    """A table of the differences by set, and what explains them; nothing where no such baseline was run."""
    known = [name for name in group.names if published.known_set(name)]
    rows = []
    for system in group.run:
        base = str(system["name"]).partition(":")[0]
        if base in published.COUNTERPARTS and known:
            rows += _rows(system, published.COUNTERPARTS[base], group, known)
    if not rows:
        return
    yield "### Baselines beside the paper\n"
    yield "Present phrases, protocol `paper`, F@5 / F@10 (%): measured here, in the paper, and the difference.\n"
    yield table(["system", *known, "average"], rows)
    yield _WHY


def _rows(system: Mapping[str, Any], name: str, group: Group, known: list[str]) -> list[list[str]]:
    scores = system["scores"][PROTOCOLS[0]]
    theirs = published.PRESENT[name]
    cells = [scores["sets"][s]["present"] for s in known]
    pairs = [theirs[str(published.known_set(s))] for s in known]
    if published.average_of(group.names):
        cells.append(scores["average"]["present"])
        pairs.append(theirs["average"])
    here, there, apart = [], [], []
    for cell, pair in zip(cells, pairs, strict=True):
        values = [None if cell[metric] is None else 100 * cell[metric] for metric in _METRICS]
        here.append(" / ".join("–" if v is None else f"{v:.1f}" for v in values))
        there.append(f"*{pair[0]:.1f} / {pair[1]:.1f}*")
        apart.append(" / ".join("–" if v is None else f"{v - p:+.1f}" for v, p in zip(values, pair, strict=True)))
    width = len(known) + 1
    lines = [[system["label"], *here], [f"*{name}, in the paper*", *there], ["difference", *apart]]
    return [[*line, *["–"] * (width + 1 - len(line))] for line in lines]
