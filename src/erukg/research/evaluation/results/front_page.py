"""The figures on the front page of the repository, filled into a template from stored runs and from nothing else.

The template is front_page.md beside this module. In it,

    {{keyphrases SYSTEM KIND WHERE METRICS}}
        figures in percent, protocol 'paper'; several metrics as F@5/F@10. WHERE is a set or average
    {{published SYSTEM KIND WHERE METRICS}}
        the same of the paper
    {{retrieval METHOD WHERE MEASURE}}
        WHERE is a set or average
    {{readers SYSTEM WHERE FIGURE}}
        WHERE is a kind of text or total; !FIGURE is what is left of 100 %
    {{label SYSTEM}}, {{corpus SYSTEM}}, {{documents}}, {{documents SET}}, {{texts}}, {{searched}}, {{file NAME}}
        names, numbers, and the way to a file of the results
    {{if A < B}} … {{end}}
        what is said only where it is true of the figures as they are shown

A figure ends in `.0f` where it is wanted without a decimal. A system is named as its run names it, options after
colons and paths without their folders, and may end in `*`. A row of a table, or else a paragraph, whose figures are
not among the runs is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from erukg.errors import InputError
from erukg.io.publish import publish_text
from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.keyphrases import COMPARED
from erukg.research.evaluation.results import published
from erukg.research.evaluation.results.runs import Group, Runs, key, load_runs

__all__ = ["BEGIN", "END", "render_front_page", "write_front_page"]

BEGIN, END = "<!-- figures:begin -->\n", "<!-- figures:end -->"
_FIELD = re.compile(r"\{\{(?!if |end\})(.+?)\}\}")
_SPAN = re.compile(r"\{\{if (?P<condition>[^}]+)\}\}(?P<text>.*?)\{\{end\}\}", re.DOTALL)
_CONDITION = re.compile(r"(.+?) (<=|<|>|=) (.+)")
_TESTS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "=": lambda a, b: a == b,
}
_T = TypeVar("_T")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class _MissingFigureError(Exception):
    """The runs do not have it."""


def write_front_page(runs: Sequence[Path], results: Path, readme: Path) -> None:
    """Write the figures of the runs between the marks of `readme`; `results` is where the page and its plots are."""
    try:
        text = readme.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{readme} cannot be read ({error}); give the README that is to have the figures.") from error
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{readme} has no lines '{BEGIN.strip()}' and '{END}'; put them where the figures belong.")
    folder = os.path.relpath(results, readme.parent).replace(os.sep, "/")
    names = {path.name for path in results.iterdir() if path.is_file()}
    block = render_front_page(load_runs(runs), {name: f"{folder}/{name}" for name in names})
    publish_text(readme, f"{before}{begin}{block}{end}{after}")


def render_front_page(runs: Runs, ways: Mapping[str, str]) -> str:
    """The text between the marks; `ways` has by name how the front page links to each file of the results."""
    if runs.quick:
        raise InputError("These runs are quick ones, on a few documents; a front page takes whole runs alone.")
    template = (files(__package__) / "front_page.md").read_text("utf-8")
    figures = _Figures(runs, ways)
    blocks = (_block(block, figures) for block in template.split("\n\n"))
    return "\n\n".join(block.strip("\n") for block in blocks if block) + "\n"


def _block(text: str, figures: _Figures) -> str:
    """A paragraph or table with its figures; nothing where they are missing."""
    if "\n|--" not in text:
        try:
            return figures.fill(_spans(text, figures)).strip()
        except _MissingFigureError:
            return ""
    rows = []
    for line in text.strip().split("\n"):
        try:
            rows.append(figures.fill(line))
        except _MissingFigureError:
            continue
    return "\n".join(rows) if len(rows) > 2 else ""


def _spans(text: str, figures: _Figures) -> str:
    def shown(found: re.Match[str]) -> str:
        try:
            if figures.holds(found["condition"]):
                return figures.fill(found["text"])
        except _MissingFigureError:
            pass
        return ""

    return _SPAN.sub(shown, text)


@dataclass(frozen=True)
class _Figures:
    """What the fields of the template stand for."""

    runs: Runs
    ways: Mapping[str, str]

    def fill(self, text: str) -> str:
        return _FIELD.sub(lambda found: self.value(found[1]), text)

    def holds(self, condition: str) -> bool:
        parts = _CONDITION.fullmatch(condition)
        assert parts is not None, condition
        first, second = (float(self.value(part) if " " in part else part) for part in (parts[1], parts[3]))
        return _TESTS[parts[2]](first, second)

    def value(self, field: str) -> str:
        name, *words = field.split()
        made: str = getattr(self, f"_{name}")(*words)
        return made

    def _keyphrases(self, system: str, kind: str, where: str, metrics: str) -> str:
        group = self._group()
        scores = _named(group.run, system)["scores"][PROTOCOLS[0]]
        by_set = {str(published.known_set(name)): scores["sets"][name][kind] for name in group.names}
        cells = {**by_set, "average": scores["average"][kind]}
        return _cell({place: [_percent(cell[m]) for m in metrics.split("/")] for place, cell in cells.items()}, where)

    def _published(self, system: str, kind: str, where: str, metrics: str) -> str:
        rows = published.PRESENT if kind == "present" else published.ABSENT
        row = next(cells for name, cells in rows.items() if fnmatchcase(name, system))
        chosen = [COMPARED[kind].index(metric) for metric in metrics.split("/")]
        return _cell({place: [f"{pair[i]:.1f}" for i in chosen] for place, pair in row.items()}, where)

    def _retrieval(self, method: str, where: str, measure: str) -> str:
        for group in self.runs.retrieval:
            scores = _named(group.run, method)["scores"]
            cell = scores["average"] if where == "average" else scores["sets"].get(where)
            if cell is not None:
                return _percent(cell[measure])
        raise _MissingFigureError

    def _readers(self, system: str, where: str, figure: str, form: str = ".1f") -> str:
        for run in self.runs.readers:
            scores = _named(run.report["systems"], system)["scores"]
            cell = scores["total"] if where == "total" else scores["kinds"].get(where, {})
            if (value := cell.get(figure.removeprefix("!"))) is not None:
                return _percent(1 - value if figure.startswith("!") else value, form)
        raise _MissingFigureError

    def _label(self, system: str) -> str:
        return str(_named(self._group().run, system)["label"])

    def _corpus(self, system: str) -> str:
        return f"{_named(self._group().run, system)['description']['corpus']['documents']:,}"

    def _documents(self, where: str | None = None) -> str:
        sizes = {published.known_set(s["name"]): f"{s['documents']:,}" for s in self._group().sets}
        return " + ".join(sizes.values()) if where is None else sizes[where]

    def _texts(self) -> str:
        return f"{_first(self.runs.readers).report['english']:,}"

    def _searched(self) -> str:
        names = _first(self.runs.retrieval).names
        return _NUMBERS[len(names)] if len(names) < len(_NUMBERS) else f"{len(names)}"

    def _file(self, name: str) -> str:
        if name not in self.ways:
            raise _MissingFigureError
        return self.ways[name]

    def _group(self) -> Group:
        """The systems on the five sets of the paper."""
        return _first([group for group in self.runs.keyphrases if published.average_of(group.names)])


def _first(runs: Sequence[_T]) -> _T:
    if not runs:
        raise _MissingFigureError
    return runs[0]


def _named(systems: Sequence[Mapping[str, Any]], pattern: str) -> Mapping[str, Any]:
    found = [s for s in systems if not s.get("not_run") and fnmatchcase(key(str(s["name"])), pattern)]
    if not found:
        raise _MissingFigureError
    return found[0]


def _cell(values: Mapping[str, Sequence[str]], where: str) -> str:
    if where not in values:
        raise _MissingFigureError
    return " / ".join(values[where])


def _percent(value: float | None, form: str = ".1f") -> str:
    if value is None:
        raise _MissingFigureError
    return f"{100 * value:{form}}"
