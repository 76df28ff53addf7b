"""A report as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["print_gpu", "print_report", "print_search"]


def print_report(console: Console, report: Mapping[str, Any]) -> None:
    """Every part that was measured, and why the others were not."""
    settings, machine = report["settings"], report["environment"]
    texts = settings["texts"]
    kind = "built-in documents" if texts["built_in"] else "documents"
    console.print(
        f"{texts['documents']} {kind} of {texts['mean_words']:.0f} words on average; "
        f"{machine['processor']}, {machine['cores']} cores."
    )
    if "single" in report:
        console.print(_rates("One document at a time", report["single"], latencies=True))
        console.print(_rates("Streams", report["stream"]))
    if "stages" in report:
        console.print(_stages(report["stages"]))
    if "cold_start" in report:
        console.print(_cold(report["cold_start"]))
    if "memory" in report:
        memory = report["memory"]
        console.print(
            f"Memory: {memory['peak_mb']:.0f} MB at most over a stream of {memory['documents']} documents "
            f"({memory['loaded_mb']:.0f} MB after loading, {memory['growth_after_quarter']:+.1%} after the first "
            "quarter).\n"
        )
    if "length" in report:
        console.print(_lengths(report["length"]))
    if "against" in report:
        console.print(_against(report["against"]))
    for what, why in {**report["not_run"], **report.get("against", {}).get("not_run", {})}.items():
        console.print(f"{what}: {why}", markup=False)
    console.print(report["note"])


def print_gpu(console: Console, report: Mapping[str, Any]) -> None:
    """Streams and single documents on a device beside the CPU, and how far the results agree."""
    device, settings = report["device"], report["settings"]
    console.print(
        f"{device.get('gpu', device['name'])}, {settings['arithmetic']}, {settings['workers']} worker processes; "
        f"{settings['texts']['documents']} documents of {settings['texts']['mean_words']:.0f} words on average."
    )
    names = ("", "stream/s", "start s", "one at a time/s", "CPU stream/s", "host ms", "rank correlation", "overlap")
    table = _table("On the device", *names)
    for name, stream in report["stream"].items():
        host = report["host"][name]["ms"]
        agreed = report["agreement"][name]["present"]
        rate = stream["documents_per_second"] or stream["documents_per_second_with_start"]
        table.add_row(
            name,
            f"{rate:,.0f}",
            f"{stream['seconds_to_first']:.1f}",
            f"{report['single'][name]['documents_per_second']:.1f}",
            f"{report['cpu'][name]['documents_per_second']:.1f}",
            f"{host['read'] + host['finish']:.2f}",
            f"{agreed['rank_correlation']:.4f}",
            f"{agreed['overlap']:.4f}",
        )
    console.print(table)
    console.print(report["note"])


def print_search(console: Console, report: Mapping[str, Any]) -> None:
    """Search against other engines at every size of D."""
    names = ("documents", "queries", "erukg ms", "growth", "per document", "recall", "error", "MB")
    table = _table("Search with whole documents as queries, one thread each", *names)
    columns = ("engine", "queries", "ms", "erukg is faster", "recall")
    others = _table("Other engines in the same run", "documents", *columns)
    for row in report["sizes"]:
        table.add_row(
            f"{row['documents']:,}",
            f"{row['queries']:,}",
            f"{row['erukg_ms']:.3f}",
            f"{row['times_first']:.2f} ×",
            f"{row['times_first_per_document']:.2f} ×",
            _maybe(row["recall"], ".4f"),
            _maybe(row["error"], ".1e"),
            f"{row['bytes'] / 1e6:.0f}",
        )
        for name, other in row["engines"].items():
            figures = (f"{other['queries']:,}", f"{other['ms']:.3f}", f"{other['ratio']:.2f} ×")
            others.add_row(f"{row['documents']:,}", name, *figures, _maybe(other["recall"], ".4f"))
    console.print(table)
    if others.row_count:
        console.print(others)
    for name, how in report["settings"]["engines"].items():
        console.print(f"{name}: {how}.", markup=False)
    for name, why in report["not_run"].items():
        console.print(f"{name}: {why}", markup=False)
    console.print("Recall and error are against bm25s.")
    console.print(report["note"])


def _maybe(figure: float | None, form: str) -> str:
    return "–" if figure is None else format(figure, form)


def _table(title: str, first: str, *columns: str) -> Table:
    from rich.table import Table

    # A title is wrapped to the width of its table.
    table = Table(title=title, title_justify="left", min_width=len(title))
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _rates(title: str, measured: Mapping[str, Any], latencies: bool = False) -> Table:
    """Rates by task and cores, with the latencies of single documents where there are any."""
    shown = {"p50 ms": "p50_ms", "p95 ms": "p95_ms", "p99 ms": "p99_ms"} if latencies else {}
    table = _table(title, "task", "cores", "documents/s", *shown, "time / extraction", "speed / one core")
    for where, by_task in measured.items():
        for name, row in by_task.items():
            relative = [f"{row[key]:.2f} ×" for key in ("times_extract", "times_one_core")]
            figures = [f"{row[key]:.2f}" for key in shown.values()]
            table.add_row(name, where, f"{row['documents_per_second']:.1f}", *figures, *relative)
    return table


def _stages(measured: Mapping[str, Any]) -> Table:
    table = _table("Time by stage, one core: ms per document and share", "stage", *measured)
    stages = next(iter(measured.values()))["stages"]
    for stage in stages:
        cells = [by_task["stages"][stage] for by_task in measured.values()]
        table.add_row(stage, *(f"{cell['ms']:.2f}  {cell['share']:>4.0%}" for cell in cells))
    return table


def _cold(measured: Mapping[str, Any]) -> Table:
    table = _table("Cold start: process start to first result, seconds", "command", "first ever", "later")
    for row in measured.values():
        later = f"{row['warm_s']:.2f}" if row["warm_s"] is not None else "–"
        table.add_row(row["command"], f"{row['first_ever_s']:.2f}", later)
    return table


def _lengths(rows: list[dict[str, Any]]) -> Table:
    names = list(rows[0]["ms"])
    columns = [text for name in names for text in (f"{name} ms", "per word / first")]
    table = _table("Growth with the document, one core", "words", *columns)
    for row in rows:
        cells = [text for n in names for text in (f"{row['ms'][n]:.1f}", f"{row['times_first_per_word'][n]:.2f} ×")]
        table.add_row(f"{row['words']:,}", *cells)
    return table


def _against(measured: Mapping[str, Any]) -> Table:
    ours = [name for name in measured["systems"] if name not in measured["ratios"]]
    turns = "every document, 1 core" if measured["cores"] == 1 else f"blocks of documents, {measured['cores']} cores"
    title = f"Against others, in turn on {turns}: how many times as fast"
    table = _table(title, "system", "documents/s", *ours)
    for name, row in measured["systems"].items():
        cells = [f"{measured['ratios'][name][own]:.1f} ×" for own in ours] if name in measured["ratios"] else []
        table.add_row(name, f"{row['documents_per_second']:.1f}", *cells)
    return table
