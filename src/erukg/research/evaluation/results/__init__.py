"""A folder of tables and plots made from stored runs, and from nothing else: README.md and the plots it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from erukg.errors import InputError
from erukg.research.evaluation.results import markdown
from erukg.research.evaluation.results.ablations import ablation_part
from erukg.research.evaluation.results.calibration import calibration_part
from erukg.research.evaluation.results.charts import Plots
from erukg.research.evaluation.results.readers import readers_part
from erukg.research.evaluation.results.retrieval import retrieval_part
from erukg.research.evaluation.results.runs import Runs, label, load_runs, reason
from erukg.research.evaluation.results.scores import keyphrase_part
from erukg.research.evaluation.results.subjects import subjects_part

__all__ = ["write_results"]

_QUICK = "Quick run: not the figures"
_QUICK_MEANS = """\
**On this page are the first few documents, queries or texts of each set alone, and small collections: it shows that
everything runs, and says nothing about how good anything is.**
"""


def write_results(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Tables and plots of the stored runs; returns the files written, README.md first.

    The same runs give the same bytes. Nothing else in the folder is touched.
    """
    try:
        # All of it in memory, so that a bad run leaves no half-made folder.
        runs = load_runs(paths)
        plots = Plots(_QUICK if runs.quick else "")
        text = "\n".join(filter(None, _page(runs, plots)))
        if runs.quick:  # in every heading, as parts of a page are quoted without the rest
            text = re.sub(r"^(##+ .*)$", r"\1 (quick run)", text, flags=re.MULTILINE)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        names = ", ".join(path.name for path in paths)
        raise InputError(f"One of {names} is not a whole run ({error!r}); make it again.") from error
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in {"README.md": text, **plots.files}.items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
        written.append(folder / name)
    return written


def _page(runs: Runs, plots: Plots) -> Iterator[str]:
    yield f"# {_QUICK}\n\n{_QUICK_MEANS}" if runs.quick else "# Results\n"
    yield "Every figure and plot on this page is read from stored runs by one command, which stands at the end.\n"
    yield from keyphrase_part(runs, plots)
    yield from retrieval_part(runs, plots)
    yield from ablation_part(runs, plots)
    yield from subjects_part(runs)
    yield from readers_part(runs)
    yield from calibration_part(runs, plots)
    yield from _case_part(runs)
    yield from _sources(runs)


def _case_part(runs: Runs) -> Iterator[str]:
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
            yield markdown.table(["system", "in the text", "not in the text"], rows).replace("---:", "---")


def _quoted(text: str) -> str:
    return "".join(f"> {line}\n" if line.strip() else ">\n" for line in text.replace("\n", "\n\n").split("\n")) + "\n"


def _listed(phrases: Sequence[str]) -> str:
    return " · ".join(phrases) if phrases else "–"


def _sources(runs: Runs) -> Iterator[str]:
    names = " ".join(run.name for run in runs.files)
    yield f"## Made from\n\n    erukg evaluate report {names} -o docs/results\n"
    rows = []
    for run in runs.files:
        made_with = [f"{name} {version}" for name, version in run.report.get("versions", {}).items() if version]
        if machine := run.report.get("environment", {}):
            made_with.append(f"{machine.get('processor')}, {machine.get('cores')} cores")
        rows.append([run.name, run.report.get("task", "benchmark"), run.sha256[:12], ", ".join(made_with) or "–"])
    yield markdown.table(["run", "task", "sha256", "made with"], rows)
    sets = {(s["name"], _hash(s["sha256"])) for run in runs.files for s in run.report.get("sets", ())}
    if sets:
        yield markdown.table(["test set", "sha256"], sorted(sets)).replace("---:", "---")


def _hash(given: object) -> str:
    """A set's hash, or those of its files."""
    if isinstance(given, dict):
        return ", ".join(f"{part} {value[:12]}" for part, value in given.items())
    return str(given)[:12]
