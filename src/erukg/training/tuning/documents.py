"""What a model is tuned on: documents with a title of their own, a part of them kept aside, and references to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from erukg.core.inputs import BadDocument, InputDocument
from erukg.errors import InputError
from erukg.training.ranking.samples import Hidden, draw
from erukg.training.references.base import canonical_id
from erukg.training.references.rows import Problems, Row, parse_rows, text_of

__all__ = ["FEWEST", "Parts", "read_parts", "read_references"]

#: Fewer documents than this teach nothing that could be told from chance.
FEWEST = 300
_FEWEST_TITLE_WORDS = 2
_SHORTEST = 100  # characters; shorter texts say too little without their title
_TEXTS = ("reference", "query", "context")
_IDS = ("id", "document", "doc_id", "cited_id")


@dataclass(frozen=True, slots=True)
class Parts:
    """The documents to learn from, those held out, and how many lack a title, are too short or are unreadable."""

    train: list[Hidden]
    held_out: list[Hidden]
    untitled: int
    short: int
    bad: int


def read_parts(
    rows: Iterable[InputDocument | BadDocument],
    share: float,
    most: int,
    seed: int,
    on_bad: Callable[[BadDocument], None] | None = None,
) -> Parts:
    """All documents that have a title and a text of their own, once each, in an order drawn by `seed`.

    A `share` of them, at most `most`, is held out; which ones does not depend on the order of the files.
    """
    found: dict[str, Hidden] = {}
    texts: set[str] = set()
    untitled = short = bad = 0
    first: BadDocument | None = None
    for row in rows:
        if isinstance(row, BadDocument):
            bad, first = bad + 1, first or row
            if on_bad is not None:
                on_bad(row)
            continue
        title = row.title.strip()
        if len(title.split()) < _FEWEST_TITLE_WORDS or not row.text.startswith(row.title):
            untitled += 1
            continue
        text = row.text[len(row.title) :].strip()
        if len(text) < _SHORTEST:
            short += 1
        # The same text under two ids must not lie on both sides.
        elif row.id not in found and text not in texts:
            texts.add(text)
            found[row.id] = Hidden(row.id, text, title)
    order = sorted(found.values(), key=lambda hidden: (draw(seed, hidden.id), hidden.id))
    _refuse_few(len(order), untitled, short, bad, first)
    aside = min(most, round(share * len(order)))
    return Parts(order[aside:], order[:aside], untitled, short, bad)


def _refuse_few(usable: int, untitled: int, short: int, bad: int, first: BadDocument | None) -> None:
    if usable >= FEWEST:
        return
    if first is not None and not usable and bad >= untitled:
        raise InputError(f"No document could be read ({first.place}: {first.message}).")
    if untitled > max(usable, short):
        raise InputError(
            f"{untitled:,} documents have no title beside their text, and {usable:,} have one; titles are what is "
            "learned from, so name their field with --title-field and that of the text with --text-field."
        )
    if not usable and short:
        raise InputError(
            f"{short:,} documents have a title and hardly any text besides; name the text's field with --text-field."
        )
    raise InputError(
        f"There are {usable:,} documents with a title and a text ({short:,} more are shorter than {_SHORTEST} "
        f"characters); tuning needs at least {FEWEST}, and a few thousand to gain much."
    )


def read_references(
    files: Sequence[Path], documents: Iterable[Hidden], held_out: Iterable[Hidden]
) -> dict[str, list[str]]:
    """References by the id of their document: queries, citing sentences and whatever else people write of it.

    A row has the text under "reference", "query" or "context", and the id of the document under "id", "document",
    "doc_id" or "cited_id". Those of documents that are held out are left out.
    """
    known = {canonical_id(hidden.id): hidden.id for hidden in documents}
    aside = {canonical_id(hidden.id) for hidden in held_out}
    found: dict[str, list[str]] = {}
    rows = others = 0
    for text, id in parse_rows(files, Problems(), _reference):
        rows += 1
        if id in known:
            found.setdefault(known[id], []).append(text)
        elif id not in aside:
            others += 1
    if rows and others == rows:
        raise InputError(
            f"None of the {rows:,} references names a document that was given; they must have the ids of the documents."
        )
    return found


def _reference(row: Row) -> tuple[str, str]:
    text = text_of(row, *_TEXTS)
    if not text:
        raise InputError("'reference' (or 'query' or 'context') is missing or empty")
    id = next((row[name] for name in _IDS if row.get(name) not in (None, "")), None)
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise InputError("'id' (or 'doc_id' or 'cited_id') is missing")
    return text, canonical_id(str(id))
