"""A report as tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["print_gpu", "print_report", "print_search"]


def print_report(console: Console, report: Mapping[str, Any]) -> None:
    """Every part that was measured, and why the others were not."""
    texts, machine = report["settings"]["texts"], report["environment"]
    kind = "built-in documents" if texts["built_in"] else "documents"
    console.print(
        f"{texts['documents']} {kind} of {texts['mean_words']:.0f} words on average; "
        f"{machine['processor']}, {machine['cores']} cores."
    )
    for part, show in _PARTS.items():
        if part in report:
            console.print(show(report[part]))
    if len(report.get("against", {}).get("sets", ())) > 1:
        console.print(_sets(report["against"]))
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
    rows = []
    for name, stream in report["stream"].items():
        single, cpu, host = report["single"][name], report["cpu"][name], report["host"][name]["ms"]
        agreed = report["agreement"][name]["present"]
        rate = stream["documents_per_second"] or stream["documents_per_second_with_start"]
        rates = f"{single['documents_per_second']:.1f}", f"{cpu['documents_per_second']:.1f}"
        near = f"{agreed['rank_correlation']:.4f}", f"{agreed['overlap']:.4f}"
        beside = f"{host['read'] + host['finish']:.2f}"
        rows.append([name, f"{rate:,.0f}", f"{stream['seconds_to_first']:.1f}", *rates, beside, *near])
    console.print(_table("On the device", names, rows))
    console.print(report["note"])


def print_search(console: Console, report: Mapping[str, Any]) -> None:
    """Search against other engines at every size of D."""
    names = ("documents", "queries", "erukg ms", "growth", "per document", "recall", "error", "MB")
    rows, others = [], []
    for row in report["sizes"]:
        size, queries = f"{row['documents']:,}", f"{row['queries']:,}"
        growth = [f"{row[key]:.2f} ×" for key in ("times_first", "times_first_per_document")]
        near = _maybe(row["recall"], ".4f"), _maybe(row["error"], ".1e")
        rows.append([size, queries, f"{row['erukg_ms']:.3f}", *growth, *near, f"{row['bytes'] / 1e6:.0f}"])
        for name, other in row["engines"].items():
            figures = f"{other['queries']:,}", f"{other['ms']:.3f}", f"{other['ratio']:.2f} ×"
            others.append([size, name, *figures, _maybe(other["recall"], ".4f")])
    console.print(_table("Search with whole documents as queries, one thread each", names, rows))
    if others:
        columns = ("documents", "engine", "queries", "ms", "erukg is faster", "recall")
        console.print(_table("Other engines in the same run", columns, others))
    for name, how in report["settings"]["engines"].items():
        console.print(f"{name}: {how}.", markup=False)
    for name, why in report["not_run"].items():
        console.print(f"{name}: {why}", markup=False)
    console.print("Recall and error are against bm25s.")
    console.print(report["note"])


def _maybe(figure: float | None, form: str) -> str:
    return "–" if figure is None else format(figure, form)


def _table(title: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table

    # A title is wrapped to the width of its table.
    table = Table(title=title, title_justify="left", min_width=len(title))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _rates(title: str, measured: Mapping[str, Any], latencies: Sequence[str] = ()) -> Table:
    """Rates by task and cores, with the latencies of single documents where there are any."""
    rows = []
    for where, by_task in measured.items():
        for name, row in by_task.items():
            figures = [f"{row[key.replace(' ', '_')]:.2f}" for key in latencies]
            relative = [f"{row[key]:.2f} ×" for key in ("times_extract", "times_one_core")]
            rows.append([name, where, f"{row['documents_per_second']:.1f}", *figures, *relative])
    return _table(title, ["task", "cores", "documents/s", *latencies, "time / extraction", "speed / one core"], rows)


def _stages(measured: Mapping[str, Any]) -> Table:
    rows = []
    for stage in next(iter(measured.values()))["stages"]:
        cells = [by_task["stages"][stage] for by_task in measured.values()]
        rows.append([stage, *(f"{cell['ms']:.2f}  {cell['share']:>4.0%}" for cell in cells)])
    return _table("Time by stage, one core: ms per document and share", ["stage", *measured], rows)


def _cold(measured: Mapping[str, Any]) -> Table:
    rows = [[r["command"], f"{r['first_ever_s']:.2f}", _maybe(r["warm_s"], ".2f")] for r in measured.values()]
    return _table("Cold start: process start to first result, seconds", ["command", "first ever", "later"], rows)


def _memory(measured: Mapping[str, Any]) -> str:
    return (
        f"Memory: {measured['peak_mb']:.0f} MB at most over a stream of {measured['documents']} documents "
        f"({measured['loaded_mb']:.0f} MB after loading, {measured['growth_after_quarter']:+.1%} after the first "
        "quarter).\n"
    )


def _lengths(measured: Sequence[Mapping[str, Any]]) -> Table:
    names = list(measured[0]["ms"])
    rows = []
    for row in measured:
        cells = [text for n in names for text in (f"{row['ms'][n]:.1f}", f"{row['times_first_per_word'][n]:.2f} ×")]
        rows.append([f"{row['words']:,}", *cells])
    columns = ["words", *(text for name in names for text in (f"{name} ms", "per word / first"))]
    return _table("Growth with the document, one core", columns, rows)


def _cores(measured: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("cores", "processes: documents/s", "× one", "seconds to start", "threads: documents/s", "× one")
    rows = []
    for row in measured:
        cells = [f"{row['cores']}"]
        for how in ("processes", "threads"):
            rate, first = row[f"{how}_per_second"], measured[0][f"{how}_per_second"]
            cells += [f"{rate:,.1f}", f"{rate / first:.2f}"]
            cells += [f"{row['processes_seconds_to_start']:.1f}"] if how == "processes" else []
        rows.append(cells)
    return _table("A long stream on more cores", columns, rows)


def _sets(measured: Mapping[str, Any]) -> Table:
    rows = [
        [name, *(f"{part[name]['documents_per_second']:.1f}" for part in measured["sets"].values())]
        for name in measured["systems"]
    ]
    return _table("Documents per second by set", ["system", *measured["sets"]], rows)


def _against(measured: Mapping[str, Any]) -> Table:
    ours = [name for name in measured["systems"] if name not in measured["ratios"]]
    rows = []
    for name, row in measured["systems"].items():
        cells = [f"{measured['ratios'][name][own]:.1f} ×" for own in ours] if name in measured["ratios"] else []
        rows.append([name, f"{row['documents_per_second']:.1f}", *cells])
    turns = "every document, 1 core" if measured["cores"] == 1 else f"blocks of documents, {measured['cores']} cores"
    title = f"Against others, in turn on {turns}: how many times as fast"
    return _table(title, ["system", "documents/s", *ours], rows)


_PARTS: dict[str, Callable[[Any], Table | str]] = {
    "single": lambda part: _rates("One document at a time", part, ("p50 ms", "p95 ms", "p99 ms")),
    "stream": lambda part: _rates("Streams", part),
    "stages": _stages,
    "cold_start": _cold,
    "memory": _memory,
    "length": _lengths,
    "cores": _cores,
    "against": _against,
}
