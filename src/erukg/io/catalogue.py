"""Suggested concepts as catalogues take them: Annif's TSV, CSV, Parquet and JSON-LD.

Rows are what `Suggestions.to_dict` gives.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from typing import IO, Any

from erukg.errors import require
from erukg.io.columns import no_formula
from erukg.io.writers import ParquetWriter, Row, Utf8

__all__ = ["JsonLdWriter", "SubjectCsvWriter", "SubjectParquetWriter", "TsvWriter"]

_CSV = ("id", "kind", "rank", "uri", "label", "notation", "score", "confidence", "matches", "votes", "titles")
# What RFC 3987 allows in an IRI, near enough to tell one from a tag of a person's own.
_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+')
_SKOS = "http://www.w3.org/2004/02/skos/core#"


def _row(row: Row) -> Mapping[str, Any]:
    assert isinstance(row, Mapping)
    return row


class TsvWriter:
    """Annif's lines `<uri>`, label, score, the score being the confidence; with `ids`, the document's id is the last.

    A tag that has no URI stands there as it is: programs that want one find none.
    """

    def __init__(self, stream: IO[bytes], *, ids: bool) -> None:
        self._write, self._ids = Utf8(stream).write, ids

    def write(self, row: Row) -> None:
        found = _row(row)
        for one in found["suggestions"]:
            cells = [f"<{one['uri']}>", one["label"], f"{one['confidence']:.4f}"]
            cells += [found["id"] or ""] if self._ids else []
            self._write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")

    def close(self) -> None:
        """There is nothing behind the last line."""


class SubjectCsvWriter:
    """CSV with a header: one row per concept, and one per new term, which has no URI.

    Matches are `start-end`, votes `id=share`, several separated by spaces, the voters' titles by ";".
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._rows = csv.writer(Utf8(stream), lineterminator="\n")
        self._rows.writerow(_CSV)

    def write(self, row: Row) -> None:
        found = _row(row)
        self._rows.writerows(_concept_cells(found["id"], found["suggestions"]))
        for rank, term in enumerate(found["new_terms"], 1):
            spans = _spans(term.get("spans", ()))
            confidence = term.get("confidence", "")
            self._rows.writerow(
                (found["id"], "new term", rank, "", no_formula(term["phrase"]), "", "", confidence, spans, "", "")
            )

    def close(self) -> None:
        """There is nothing behind the last row."""


class SubjectParquetWriter(ParquetWriter):
    """Parquet: one row per document; `why`, whose names depend on the vocabulary, is JSON."""

    def __init__(self, stream: Any) -> None:
        pa = require("pyarrow", "parquet", "Writing Parquet")
        words, number, place = pa.string(), pa.float64(), [("start", pa.int64()), ("end", pa.int64())]
        vote = pa.struct([("id", words), ("share", number), ("title", words)])
        concept = [(name, words) for name in ("uri", "label", "notation")]
        concept += [("score", number), ("confidence", number), ("why", words)]
        concept += [("matches", pa.list_(pa.struct([("label", words), *place]))), ("votes", pa.list_(vote))]
        term = [("phrase", words), ("present", pa.bool_()), ("confidence", number)]
        term += [("spans", pa.list_(pa.struct(place)))]
        notice = pa.struct([("code", words), ("message", words)])
        lists = {"suggestions": pa.struct(concept), "new_terms": pa.struct(term), "notices": notice}
        schema = pa.schema([("id", words), *((name, pa.list_(kind)) for name, kind in lists.items())])
        super().__init__(stream, schema)

    def write(self, row: Row) -> None:
        found = _row(row)
        concepts = [{**one, "why": _json(one["why"]) if "why" in one else None} for one in found["suggestions"]]
        terms = [
            {**term, "spans": [{"start": start, "end": end} for start, end in term.get("spans", ())]}
            for term in found["new_terms"]
        ]
        super().write({"notices": [], **found, "suggestions": concepts, "new_terms": terms})


def _concept_cells(id: str | None, suggestions: Iterable[Mapping[str, Any]]) -> Iterable[tuple[object, ...]]:
    for rank, one in enumerate(suggestions, 1):
        uri, label, notation = (no_formula(one.get(name, "")) for name in ("uri", "label", "notation"))
        matches = _spans((match["start"], match["end"]) for match in one["matches"])
        votes = " ".join(f"{vote['id']}={vote['share']:.6g}" for vote in one["votes"])
        titles = no_formula("; ".join(vote["title"] for vote in one["votes"] if vote.get("title")))
        figures = repr(one["score"]), repr(one["confidence"])
        yield (id, "concept", rank, uri, label, notation, *figures, matches, votes, titles)


def _spans(spans: Iterable[Iterable[int]]) -> str:
    return " ".join("-".join(map(str, span)) for span in spans)


class JsonLdWriter:
    """One JSON-LD document: every text with its concepts as `dcterms:subject`, and new terms as `dc:subject`.

    Confidence is not in it: what is written are subjects, so choose them by a least confidence before. `language` is
    that of the labels, where it is known.
    """

    def __init__(self, stream: IO[bytes], *, language: str | None = None) -> None:
        self._write = Utf8(stream).write
        label = {"@id": f"{_SKOS}prefLabel", **({"@language": language} if language else {})}
        context = {
            "dc": "http://purl.org/dc/elements/1.1/",
            "dcterms": "http://purl.org/dc/terms/",
            "skos": _SKOS,
            "skos:prefLabel": label,
        }
        self._write(f'{{"@context": {_json(context)},\n"@graph": [')
        self._begun = False

    def write(self, row: Row) -> None:
        found = _row(row)
        # Ids such as a path are none of the Web's, and a reader would take them for relative to wherever it reads.
        node: dict[str, Any] = {"@id": found["id"]} if _is_iri(found["id"]) else {}
        if found["id"] is not None:
            node["dcterms:identifier"] = found["id"]
        node["dcterms:subject"] = [_concept(one) for one in found["suggestions"]]
        if found["new_terms"]:
            node["dc:subject"] = [term["phrase"] for term in found["new_terms"]]
        self._write(f"{',' if self._begun else ''}\n{_json(node)}")
        self._begun = True

    def close(self) -> None:
        self._write("\n]}\n")


def _concept(one: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"@id": one["uri"]} if _is_iri(one["uri"]) else {}
    out |= {"@type": "skos:Concept", "skos:prefLabel": one["label"]}
    return out | ({"skos:notation": one["notation"]} if one.get("notation") else {})


def _is_iri(text: str | None) -> bool:
    return text is not None and _IRI.fullmatch(text) is not None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
