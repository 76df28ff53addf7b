"""Suggested concepts on the page: every row, with and without check tags, and by how often a concept was used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from erukg.research.evaluation.reporting import percent
from erukg.research.evaluation.results import markdown
from erukg.research.evaluation.results.runs import Runs
from erukg.research.evaluation.subjects.measures import BANDS, MEASURES
from erukg.research.evaluation.subjects.report import TITLES

__all__ = ["subjects_part"]

_MEANS = {
    "label match": "label match (number of occurrences)",
    "rank": "erukg rank, labels and synonyms",
    "labels": "erukg suggest, labels",
    "neighbours": "erukg suggest, votes of tagged neighbours",
    "fused": "label match and votes, by reciprocal ranks",
    "both": "erukg suggest, labels and votes",
    "learned": "erukg suggest, a ranking learned from the archive",
}


def subjects_part(runs: Runs) -> Iterator[str]:
    for run in runs.subjects:
        report = run.report
        documents, archive = report["sets"][0], report["archive"]
        yield "## Subjects\n"
        yield (
            f"Concepts suggested for the {documents['documents']:,} documents of {documents['name']}, against those "
            f"that indexers chose; the archive has {archive['documents']:,} documents with {archive['tags']:,} "
            "concepts. In percent, with the 95 % interval over documents; `docs/suggest.md` says what the rows are.\n"
        )
        yield "".join(_taught(report["rows"]))
        for scope, title in TITLES.items():
            rows = [row for row in report["rows"] if scope in row["scores"]]
            if rows:
                yield f"### Subjects, {title} ({rows[0]['scores'][scope]['documents']} documents)\n"
                yield _measures(rows, scope)
                yield "Recall at 10 of the concepts that so many documents of the archive have:\n"
                yield _bands(rows, scope)
        if report["without"]:
            yield f"Left out: {', '.join(f'`{uri}`' for uri in report['without'])}.\n"
        if report["comparisons"]:
            yield _comparisons(report["comparisons"])


def _taught(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What rankings have learned from, where they say so: a row that knows such documents is not an untrained one."""
    for row in rows:
        facts = row["description"].get("ranking", {}).get("facts", {})
        if "learned_from" in facts:
            lessons = f"{facts['documents']:,} lessons, each a text with a vocabulary"
            yield f"- {_label(row['name'])}: learned from {lessons}: {facts['learned_from']}\n"


def _label(name: str) -> str:
    return _MEANS.get(name, name)


def _measures(rows: Sequence[Mapping[str, Any]], scope: str) -> str:
    best = {m: percent(max(row["scores"][scope]["measures"][m] for row in rows)) for m in MEASURES}
    cells = []
    for row in rows:
        scores, line = row["scores"][scope], [_label(row["name"])]
        for measure in MEASURES:
            value, (low, high) = percent(scores["measures"][measure]), scores["intervals"][measure]
            shown = f"**{value}**" if value == best[measure] and len(rows) > 1 else value
            line.append(f"{shown} ({percent(low)}–{percent(high)})")
        cells.append(line)
    return markdown.table(["row", *MEASURES], cells)


def _bands(rows: Sequence[Mapping[str, Any]], scope: str) -> str:
    gold = rows[0]["scores"][scope]["bands"]
    header = ["row", *(f"{band.name} ({gold[band.name]['gold']:,})" for band in BANDS)]
    cells = [
        [_label(row["name"]), *(percent(row["scores"][scope]["bands"][band.name]["recall"]) for band in BANDS)]
        for row in rows
    ]
    return markdown.table(header, cells)


def _comparisons(comparisons: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for c in comparisons:
        r = c["result"]
        interval = f"{100 * r['low']:+.2f} … {100 * r['high']:+.2f}"
        pair = f"{_label(c['first'])} minus {_label(c['second'])}"
        rows.append(
            [pair, TITLES[c["scope"]], c["measure"], f"{100 * r['difference']:+.2f}", interval, f"{r['p']:.4f}"]
        )
    return markdown.table(["rows", "concepts", "measure", "points", "95 % interval", "p"], rows)
