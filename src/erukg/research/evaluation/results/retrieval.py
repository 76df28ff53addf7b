"""The part of the page on retrieval: what the methods are, bars, tables by measure, and where RM3 wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from erukg.research.evaluation.results import charts, markdown, published
from erukg.research.evaluation.results.charts import Plots
from erukg.research.evaluation.results.runs import Group, Runs, label, reason
from erukg.research.evaluation.results.scores import on_sets, times_100
from erukg.research.evaluation.retrieval.measures import MEASURES, PADDED
from erukg.research.evaluation.retrieval.methods import GROUPS, METHODS, REFERENCES

__all__ = ["retrieval_part"]

_PLOTTED = {"nDCG@10": "nDCG of the best 10 documents", "R@100": "Recall of the best 100 documents"}
_COMPARED = ("nDCG@10", "R@100", PADDED)
_RIVALS = REFERENCES[1:]  # than which a method with keyphrases should be better
_OTHERS = ("Baselines", "Controls")
_INTRODUCTION = f"""\
BM25 (k1 = 0.9, b = 0.4), with what a method adds. Phrases in queries have weights, beside which the query's own words
keep theirs; phrases of documents stand in a field of their own, with its own statistics and a boost of 0.4, and not in
the text. RM3 (30 terms) is the one to beat: it makes queries longer without any model. The controls show what is gained
without keyphrases, or by adding them as the paper does; methods with keyphrases in both must be better than neighbours
+ RM3, which makes documents and queries longer without any model.

The weights of phrases, the boost and the fusion were chosen by figures on acm-cr, cisi, cranfield, csfcube and
nfcorpus, while RM3 has only 10 and 30 terms to choose from; so leads on those sets flatter our methods, and small ones
mean nothing. Every interval is that of one comparison, and there are many.

Read nDCG@10 first. R@1000 as others publish it rewards queries that match more documents, whichever they are; so
{PADDED} is what it would be on average if every run were filled up to 1,000 with the other documents in random order.
In brackets the number of queries.
"""


def retrieval_part(runs: Runs, plots: Plots) -> Iterator[str]:
    for number, group in enumerate(runs.retrieval, 1):
        methods = _sorted(group.systems)
        yield f"## Retrieval{on_sets(group, number, runs.retrieval)}\n"
        yield _INTRODUCTION
        yield _described(methods)
        yield f"### Retrieval sets\n\n{_sizes(group)}"
        run = [method for method in methods if not method.get("not_run")]
        for measure, title in _PLOTTED.items() if run else ():
            rows = [_bar_row(method, group, measure) for method in run]
            plot = charts.bar_table(title, f"{measure} in percent, by test set", ["average", *group.names], rows)
            yield plots.add(f"retrieval-{measure}", number, f"{title}: {measure}", plot)
        yield markdown.not_run(methods)
        yield from _comparisons(group, methods)
        for measure in MEASURES:
            yield f"### {measure} (%)\n\n{_table(group, methods, measure)}"
        notes = [f"- {s['name']}: {note}\n" for s in group.sets for note in s.get("notes", ())]
        if notes:
            yield f"What is odd about the sets:\n\n{''.join(notes)}"


def _sizes(group: Group) -> str:
    """How large the sets are."""
    rows = []
    for one in group.sets:
        a_query = f"{one['relevant'] / one['queries']:.1f}"
        rows.append([one["name"], f"{one['queries']:,}", f"{one['documents']:,}", a_query])
        if known := published.retrieval_set(one["name"]):
            queries, documents, relevant = published.SEARCHED[known]
            rows.append([f"*{known}, in the paper*", f"*{queries:,}*", f"*{documents:,}*", f"*{relevant:.1f}*"])
    return markdown.table(["set", "queries", "documents", "relevant documents a query"], rows)


def _kind(method: Mapping[str, Any]) -> str:
    return str((method.get("description") or {}).get("kind") or method["name"])


def _sorted(methods: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """In the order of the list of methods; several systems of one method in that of the runs."""
    order = list(METHODS)
    return sorted(methods, key=lambda m: order.index(kind) if (kind := _kind(m)) in order else len(order))


def _by_group(methods: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    for title, kinds in GROUPS.items():
        if inside := [method for method in methods if _kind(method) in kinds]:
            yield title, inside


def _is_ours(method: Mapping[str, Any]) -> bool:
    return not any(_kind(method) in GROUPS[title] for title in _OTHERS)


def _described(methods: Sequence[Mapping[str, Any]]) -> str:
    """What each method is, and which models were used."""
    kinds = dict.fromkeys(map(_kind, methods))
    rows = [[label({"name": kind}), METHODS[kind]] for kind in kinds if kind in METHODS]
    used = "; ".join(dict.fromkeys(name for method in methods for name in _models(method)))
    out = markdown.table(["method", "what it is"], rows).replace("---:", "---")
    return f"{out}\nModels: {used}.\n" if used else out


def _models(method: Mapping[str, Any]) -> Iterator[str]:
    described = method.get("description") or {}
    for part in ("query_expansion", "document_expansion", "encoder"):
        model = (described.get(part) or {}).get("model")
        if isinstance(model, Mapping) and "weights" in model:  # one of this package's; others are named by the method
            yield f"{model.get('name', 'a model')} ({str(model['weights'])[:12]})"


def _bar_row(method: Mapping[str, Any], group: Group, measure: str) -> charts.Row:
    scores = method["scores"]
    cells = [scores["average"], *(scores["sets"][name] for name in group.names)]
    values = [times_100(cell[measure]) for cell in cells]
    return charts.Row(method["label"], values, "ours" if _is_ours(method) else "other")


def _table(group: Group, methods: Sequence[Mapping[str, Any]], measure: str) -> str:
    """Every method by set and on average, the best in bold, under the names of their groups."""
    header = ["method", *(f"{s['name']} ({s['queries']})" for s in group.sets), "average"]
    rows: list[markdown.Row] = []
    for title, inside in _by_group(methods):
        rows.append((f"*{title}*", ""))
        for method in inside:
            if method.get("not_run"):
                rows.append((method["label"], reason(method)))
                continue
            scores = method["scores"]
            cells = [*(scores["sets"][name] for name in group.names), scores["average"]]
            rows.append((method["label"], [[cell[measure]] for cell in cells]))
    return markdown.best_in_bold(header, rows, _in_paper(group) if measure == "R@1000" else ())


def _in_paper(group: Group) -> list[list[str]]:
    known = [published.retrieval_set(name) for name in group.names]
    if not any(known):
        return []
    return [
        [
            f"*{name}, in the paper*",
            *(f"*{row[column]:.1f}*" if column else "–" for column in known),
            f"*{row['six sets']:.1f} (its six sets)*",
        ]
        for name, row in published.RETRIEVAL.items()
    ]


def _comparisons(group: Group, methods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Differences to the references with intervals, and where a rival is ahead of a method with keyphrases."""
    for reference in (*_RIVALS, REFERENCES[0]):
        against = [c for c in group.comparisons if c["second"] == reference]
        if not against:
            continue
        name = label({"name": reference})
        yield f"### Minus {name} (paired bootstrap)\n"
        where = "on average" if any(c["dataset"] == "average" for c in against) else f"on {against[0]['dataset']}"
        yield f"Points {where} with 95 % intervals over queries; in bold where 0 lies outside.\n"
        yield _differences(against, methods)
        if reference in _RIVALS:
            yield f"{name} is ahead (* where the interval has no 0 in it):\n\n{_ahead(against, methods)}"
    asked = [c for c in group.comparisons if c["second"] not in REFERENCES]
    if asked:
        yield f"### Other differences (paired bootstrap)\n\n{markdown.comparison_table(asked)}"


def _differences(comparisons: Sequence[Mapping[str, Any]], methods: Sequence[Mapping[str, Any]]) -> str:
    shown = [c for c in comparisons if c["dataset"] == "average"] or comparisons
    results = {(c["first"], c["measure"]): c["result"] for c in shown}
    rows = []
    for title, inside in _by_group(methods):
        cells = [
            [method["label"], *(_interval(results[method["name"], measure]) for measure in _COMPARED)]
            for method in inside
            if (method["name"], _COMPARED[0]) in results
        ]
        rows += [[f"*{title}*", *[""] * len(_COMPARED)], *cells] if cells else []
    return markdown.table(["method", *_COMPARED], rows)


def _interval(result: Mapping[str, float]) -> str:
    points = f"{100 * result['difference']:+.1f}"
    shown = f"**{points}**" if _is_sure(result) else points
    return f"{shown} ({100 * result['low']:+.1f} … {100 * result['high']:+.1f})"


def _is_sure(result: Mapping[str, float]) -> bool:
    return result["low"] > 0 or result["high"] < 0


def _ahead(comparisons: Iterable[Mapping[str, Any]], methods: Sequence[Mapping[str, Any]]) -> str:
    """For each measure the methods with keyphrases that a rival beats, and on which sets by how many points."""
    ours = {str(method["name"]): method["label"] for method in methods if _is_ours(method)}
    behind: dict[str, dict[str, list[str]]] = {measure: {} for measure in _COMPARED}
    for c in comparisons:
        result = c["result"]
        points = f"{-100 * result['difference']:.1f}"
        if c["first"] in ours and c["measure"] in behind and result["difference"] < 0 and points != "0.0":
            where = "on average" if c["dataset"] == "average" else f"on {c['dataset']}"
            behind[c["measure"]].setdefault(c["first"], []).append(
                f"{where} by {points}{'*' if _is_sure(result) else ''}"
            )
    lines = []
    for measure, found in behind.items():
        told = "; ".join(f"of {ours[name]} {', '.join(found[name])}" for name in ours if name in found)
        lines.append(f"- {measure}: {told or 'of none of the methods with keyphrases, nor of the encoder'}.\n")
    return "".join(lines)
