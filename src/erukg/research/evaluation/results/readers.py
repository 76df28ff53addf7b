"""The readers' set on the page: every system by kind of text."""

from __future__ import annotations

from collections.abc import Iterator

from erukg.research.evaluation.readers import FIGURES
from erukg.research.evaluation.readers_report import TOTAL, shown
from erukg.research.evaluation.results import markdown
from erukg.research.evaluation.results.runs import Runs, label

__all__ = ["readers_part"]


def readers_part(runs: Runs) -> Iterator[str]:
    for run in runs.readers:
        report = run.report
        yield "## Readers\n"
        yield (
            "Texts of many kinds with what a person expects of their phrases (`tests/readers`), in percent, the count "
            "as it is; the last two rows are the 95 % interval over texts. The set was edited once after reading "
            "erukg's own output (its README says how), so the comparison with other systems is not blind.\n"
        )
        yield "".join(
            f"- {name}: {text} ({'more' if more else 'less'} is better)\n" for name, (text, more) in FIGURES.items()
        )
        yield markdown.not_run([{**system, "label": label(system)} for system in report["systems"]])
        for system in (one for one in report["systems"] if not one["not_run"]):
            scores = system["scores"]
            rows = [(f"{kind} ({n})", scores["kinds"][kind]) for kind, n in report["kinds"].items()]
            rows.append((f"**{TOTAL} ({report['english']})**", scores["total"]))
            for end, place in (("from", 0), ("to", 1)):
                rows.append((f"95 %, {end}", {name: pair[place] for name, pair in scores["intervals"].items()}))
            cells = [[name, *(shown(figure, figures.get(figure)) for figure in FIGURES)] for name, figures in rows]
            yield f"### {label(system)}\n"
            yield markdown.table(["kind (texts)", *FIGURES], cells)
