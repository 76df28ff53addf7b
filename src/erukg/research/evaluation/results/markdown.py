"""Stored runs as Markdown tables, the paper's figures in italics below them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.keyphrases import COMPARED
from erukg.research.evaluation.reporting import percent
from erukg.research.evaluation.results import published
from erukg.research.evaluation.results.runs import Group, label, reason
from erukg.research.evaluation.semantic import SEMANTIC_KINDS

__all__ = ["Row", "ablation_table", "best_in_bold", "comparison_table", "keyphrase_tables", "not_run", "provenance"]
__all__ += ["table"]

_SEMANTIC = ("SemF@5", "SemF@10")
Row: TypeAlias = tuple[str, list[list[float | None]] | str]
"""A system with its cells, or with why it has none; a heading within the table where that is empty."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, its first column to the left and the others to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "".join(f"| {' | '.join(map(_escape, row))} |\n" for row in (header, rule, *rows))


def keyphrase_tables(group: Group) -> Iterable[tuple[str, str]]:
    """For each protocol and kind a title and a table: every system by set and on average, the best in bold."""
    for protocol in PROTOCOLS:
        for kind, metrics in COMPARED.items():
            title = f"{kind.capitalize()} phrases, protocol `{protocol}`: {' / '.join(metrics)} (%)"
            yield title, _scores_table(group, "scores", protocol, kind, metrics)
    if any("semantic" in system for system in group.run):
        for protocol in PROTOCOLS:
            for kind in SEMANTIC_KINDS:
                title = f"Semantic matching, {kind} phrases, protocol `{protocol}`: {' / '.join(_SEMANTIC)} (%)"
                yield title, _scores_table(group, "semantic", protocol, kind, _SEMANTIC)


def _scores_table(group: Group, part: str, protocol: str, kind: str, metrics: Sequence[str]) -> str:
    counts: dict[str, str] = {}
    rows: list[Row] = []
    for system in group.systems:
        if system.get("not_run"):
            rows.append((system["label"], reason(system)))
        elif part in system:
            scores = system[part][protocol]
            cells = [scores["sets"][name][kind] for name in group.names]
            counts |= {name: f"{name} ({cell['documents']})" for name, cell in zip(group.names, cells, strict=True)}
            if kind == "absent" and part == "scores" and not any(cell[m] for cell in cells for m in metrics):
                continue  # finds none by design
            rows.append((system["label"], [[cell[m] for m in metrics] for cell in [*cells, scores["average"][kind]]]))
    in_paper = _paper_rows(group.names, kind) if part == "scores" and protocol == PROTOCOLS[0] else []
    return best_in_bold(["system", *(counts.get(name, name) for name in group.names), "average"], rows, in_paper)


def _paper_rows(names: Sequence[str], kind: str) -> list[list[str]]:
    """The paper's rows for these sets; none where it has figures for none of them."""
    known = [published.known_set(name) for name in names]
    if not any(known):
        return []
    out = []
    whole = published.average_of(names)
    for system, row in (published.PRESENT if kind == "present" else published.ABSENT).items():
        pairs = [row.get(name) if name else None for name in known] + [row["average"] if whole else None]
        if any(pairs):
            cells = [f"*{pair[0]:.1f} / {pair[1]:.1f}*" if pair else "–" for pair in pairs]
            out.append([f"*{system}, in the paper*", *cells])
    return out


def not_run(systems: Sequence[Mapping[str, Any]]) -> str:
    """Why the systems without figures have none, a line each."""
    return "".join(f"- {s['label']}: {reason(s)}\n" for s in systems if s.get("not_run"))


def ablation_table(study: Mapping[str, Any], protocol: str, names: Sequence[str]) -> str:
    """Every variant: present F@5 and F@10, absent R@5 and R@10, on average and by set."""
    rows = []
    for variant in study["variants"]:
        if variant.get("not_run"):
            rows.append([variant["label"], reason(variant), *["–"] * (len(names))])
            continue
        scores = variant["scores"][protocol]
        cells = [scores["average"], *(scores["sets"][name] for name in names)]
        kinds = (
            [" / ".join(percent(cell[k][m]) for m in metrics) for k, metrics in COMPARED.items()] for cell in cells
        )
        rows.append([variant["label"], *map(" · ".join, kinds)])
    return table(["variant", "average", *names], rows)


def comparison_table(comparisons: Sequence[Mapping[str, Any]]) -> str:
    """Differences with their intervals; of several sets the average only."""
    averages = [c for c in comparisons if c["dataset"] == "average"] or comparisons
    rows = []
    for c in averages:
        r = c["result"]
        what = " ".join(filter(None, (c.get("protocol"), c.get("kind"), c.get("metric") or c.get("measure"))))
        interval = f"{100 * r['low']:+.2f} … {100 * r['high']:+.2f}"
        pair = f"{label({'name': c['first']})} minus {label({'name': c['second']})}"
        rows.append([pair, c["dataset"], what, f"{100 * r['difference']:+.2f}", interval, f"{r['p']:.4f}"])
    return table(["systems", "set", "figure", "points", "95 % interval", "p"], rows)


def provenance(systems: Sequence[Mapping[str, Any]]) -> str:
    """What each system was made of: hashes of model and collection, of the code, and the stored predictions."""
    rows = []
    for system in systems:
        described = system["description"]
        settings = ", ".join(f"{name}={value}" for name, value in described.get("settings", {}).items())
        parts = {name: part for name, part in described.items() if isinstance(part, Mapping) and part}
        made_of = "; ".join(f"{name} {_short(part)}" for name, part in parts.items() if name != "settings")
        rows.append([system["label"], made_of or "–", settings or "–", str(described.get("code", "–"))[:12]])
    return table(["system", "made of", "settings", "code"], rows)


def _short(part: Mapping[str, Any]) -> str:
    values = [str(value) for value in part.values() if isinstance(value, str | int | float)]
    return " ".join(value[:12] if len(value) == 64 else value for value in values)


def best_in_bold(header: Sequence[str], rows: Sequence[Row], in_paper: Sequence[Sequence[str]] = ()) -> str:
    """A table of rows, in each column the best figure in bold, and the paper's rows below them."""
    shown = [[[percent(v) for v in cell] for cell in cells] for _, cells in rows if not isinstance(cells, str)]
    many = len(shown) > 1
    best = [[_highest(values) for values in zip(*column, strict=True)] for column in zip(*shown, strict=True)]
    out: list[Sequence[str]] = []
    for name, cells in rows:
        if isinstance(cells, str):
            out.append([name, *["–" if cells else ""] * (len(header) - 2), cells])
            continue
        row = [name]
        for cell, tops in zip(cells, best, strict=True):
            texts = map(percent, cell)
            row.append(" / ".join(f"**{t}**" if many and t == top else t for t, top in zip(texts, tops, strict=True)))
        out.append(row)
    return table(header, [*out, *in_paper])


def _highest(values: Iterable[str]) -> str | None:
    numbers = [value for value in values if value not in ("–", "0.0")]
    return max(numbers, key=float) if numbers else None


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
