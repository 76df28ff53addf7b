"""The part of the page that shows phrases instead of figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from erukg.research.evaluation.results.labels import label, reason
from erukg.research.evaluation.results.markdown import table
from erukg.research.evaluation.results.runs import Runs

__all__ = ["case_part"]


def case_part(runs: Runs) -> Iterator[str]:
    for run in runs.cases:
        report = run.report
        yield "## Case study\n"
        yield f"The best {report['top_k']} phrases of each kind; texts from {report['source']['name']}.\n"
        for text in report["texts"]:
            yield f"### {text['id']}\n\n{_quoted(text['text'])}"
            rows = []
            for system in report["systems"]:
                if system.get("not_run"):
                    rows.append([label(system), reason(system), "–"])
                    continue
                found = system["phrases"][text["id"]]
                rows.append([label(system), _listed(found["present"]), _listed(found["absent"])])
            yield table(["system", "in the text", "not in the text"], rows).replace("---:", "---")


def _quoted(text: str) -> str:
    return "".join(f"> {line}\n" if line.strip() else ">\n" for line in text.replace("\n", "\n\n").split("\n")) + "\n"


def _listed(phrases: Sequence[str]) -> str:
    return " · ".join(phrases) if phrases else "–"
