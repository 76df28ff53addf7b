"""Systems side by side on a few texts: phrases to look at instead of figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from erukg.core.inputs import document_from
from erukg.research.evaluation.datasets import content_hash, read_by_id
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.reporting import report_head
from erukg.research.evaluation.systems import NotAvailableError, System

__all__ = ["print_case", "run_case"]

_MOST = 100  # texts; more are no longer looked at one by one


def run_case(path: Path, systems: Sequence[System], top_k: int = 10) -> dict[str, Any]:
    """The phrases of every system for each text of a JSON Lines file, documents and queries alike, as plain data.

    Lines are as everywhere: `id`, `title`, `abstract`, `text`.
    """

    def parse(row: dict[str, Any], number: int) -> tuple[str, Record]:
        found = document_from(row, path.name, number)
        return found.id, Record(found.id, "", found.text, ())

    records = list(read_by_id(path, parse, _MOST).values())
    return {
        **report_head("case"),
        "source": {"name": path.name, "sha256": content_hash(path)},
        "top_k": top_k,
        "texts": [{"id": record.id, "text": record.text} for record in records],
        "systems": [_one(system, records, top_k) for system in systems],
    }


def _one(system: System, records: Sequence[Record], top_k: int) -> dict[str, Any]:
    try:
        description = system.describe()
    except NotAvailableError as error:
        return {"name": system.name, "not_run": str(error)}
    phrases = {
        record.id: {"present": list(present[:top_k]), "absent": list(absent[:top_k])}
        for record, (present, absent) in zip(records, system.predict(records), strict=True)
    }
    return {"name": system.name, "not_run": None, "description": description, "phrases": phrases}


def print_case(console: Console, report: dict[str, Any]) -> None:
    """One table per text: what each system finds in it, and beside it."""
    for text in report["texts"]:
        table = Table(title=text["id"], title_justify="left", title_style="bold", show_lines=True)
        for column in ("system", "in the text", "not in the text"):
            table.add_column(column, overflow="fold")
        for system in report["systems"]:
            if system["not_run"]:
                table.add_row(Text(system["name"]), Text(f"not run: {system['not_run']}"), "–")
                continue
            found = system["phrases"][text["id"]]
            cells = (Text(", ".join(found[kind]) or "–") for kind in ("present", "absent"))
            table.add_row(Text(system["name"]), *cells)
        console.print(Text(text["text"]), table)
