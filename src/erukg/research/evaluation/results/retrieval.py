"""The part of the page on retrieval."""

from __future__ import annotations

from collections.abc import Iterator

from erukg.research.evaluation.results import charts, markdown
from erukg.research.evaluation.results.charts import Plots
from erukg.research.evaluation.results.keyphrases import bar_row, on_sets
from erukg.research.evaluation.results.runs import Runs

__all__ = ["retrieval_part"]

_PLOTTED = {"R@100": "Recall of the best 100 documents", "nDCG@10": "nDCG of the best 10 documents"}


def retrieval_part(runs: Runs, plots: Plots) -> Iterator[str]:
    for number, group in enumerate(runs.retrieval, 1):
        yield f"## Retrieval{on_sets(group, number, runs.retrieval)}\n"
        yield (
            "BM25 with the best present and absent keyphrases added to queries, documents or both, each phrase once. "
            "In brackets the number of queries. Small sets saturate recall at 1000, so read recall at 100 beside it.\n"
        )
        for measure, title in _PLOTTED.items() if group.run else ():
            rows = [bar_row(method, group, measure, method["scores"]) for method in group.run]
            plot = charts.bar_table(title, f"{measure} in percent, by test set", ["average", *group.names], rows)
            yield plots.add(f"retrieval-{measure}", number, f"{title}: {measure}", plot)
        yield markdown.not_run(group.systems)
        for title, table in markdown.retrieval_tables(group):
            yield f"### {title}\n\n{table}"
        notes = [f"- {s['name']}: {note}\n" for s in group.sets for note in s.get("notes", ())]
        if notes:
            yield f"What is odd about the sets:\n\n{''.join(notes)}"
        if group.comparisons:
            table = markdown.comparison_table(group.comparisons)
            yield f"### Differences between methods (paired bootstrap)\n\n{table}"
