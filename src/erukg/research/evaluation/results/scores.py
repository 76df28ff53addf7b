"""The part of the page on keyphrases: bars by set, quality against speed, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.reporting import percent
from erukg.research.evaluation.results import charts, markdown, published
from erukg.research.evaluation.results.charts import Plots
from erukg.research.evaluation.results.runs import Group, Runs, is_ours, label, speeds

__all__ = ["keyphrase_part", "on_sets", "times_100"]

_PROTOCOL = PROTOCOLS[0]  # of the plots
_WHAT = {
    "present": ("F@10", "Phrases that stand in the text", published.PRESENT),
    "absent": ("R@10", "Phrases that do not stand in the text", published.ABSENT),
}
_CALIBRATED = ("F@5", "F@10")
_WHY = """\
What differs besides the systems themselves:

- **Candidates.** The paper ran TextRank and MultipartiteRank from the package pke, with its tokens, tags and grammar.
  Here all baselines read the words that erukg reads (hyphenated words whole, markup and line ends cleaned), tagged by
  its tag head; a row "tags by spaCy" shows how much of a difference the tagger makes.
- **Weights.** The paper's EmbedRank used the model all-MiniLM-L12-v2; the name in brackets is the one used here. Both
  take noun phrases by the same grammar.
- **Documents.** KP20k is here the first 1,000 documents of its test set, NUS has its case and digits restored, and
  Krapivin is the split of 460 documents.
"""

_TRAINED = """\
- **Training.** Baselines that learn were trained anew, on other documents than the paper's and for as long as the cards
  in their folders say.
"""


def keyphrase_part(runs: Runs, plots: Plots) -> Iterator[str]:
    for number, group in enumerate(runs.keyphrases, 1):
        yield f"## Keyphrases{on_sets(group, number, runs.keyphrases)}\n"
        if group.run:
            yield from _speed(group, runs, plots, number)
            yield from _bars(group, "present", plots, number)
            yield from _bars(group, "absent", plots, number)
        yield f"### Test sets\n\n{_sizes(group)}"
        yield markdown.not_run(group.systems)
        yield (
            "In brackets how many documents have gold phrases of the kind; averages are plain means over the sets. "
            "Figures in italics are the paper's own, on its copies of the sets.\n"
        )
        for title, table in markdown.keyphrase_tables(group):
            yield f"### {title}\n\n{table}"
        yield from _calibration(group)
        if group.comparisons:
            yield f"### Differences (paired bootstrap)\n\n{markdown.comparison_table(group.comparisons)}"
        if group.run:
            yield f"### What was run\n\n{markdown.provenance(group.run)}"


def _sizes(group: Group) -> str:
    """How large the sets are, and how many of their phrases are absent."""
    rows = []
    for one in group.sets:
        gold = one["gold"][_PROTOCOL]
        phrases = gold["present"] + gold["absent"]
        absent = percent(gold["absent"] / phrases if phrases else None)
        rows.append([one["name"], f"{one['documents']:,}", f"{phrases / one['documents']:.1f}", absent])
        if known := published.known_set(one["name"]):
            documents, a_document, share = published.SIZES[known]
            rows.append([f"*{known}, in the paper*", f"*{documents:,}*", f"*{a_document:.1f}*", f"*{share:.1f}*"])
    return markdown.table(["set", "documents", "phrases a document", f"absent, protocol `{_PROTOCOL}` (%)"], rows)


def on_sets(group: Group, number: int, groups: Sequence[Group]) -> str:
    """What tells a group from others in a heading."""
    return f" on {', '.join(group.names)} ({number} of {len(groups)})" if len(groups) > 1 else ""


def _bar_row(system: Mapping[str, Any], group: Group, metric: str, scores: Mapping[str, Any], kind: str) -> charts.Row:
    """A metric of a system in percent: on average, then on each set."""
    cells = [scores["average"], *(scores["sets"][name] for name in group.names)]
    values = [times_100(cell[kind][metric]) for cell in cells]
    return charts.Row(system["label"], values, "ours" if is_ours(system) else "other")


def _bars(group: Group, kind: str, plots: Plots, number: int) -> Iterator[str]:
    metric, title, in_paper = _WHAT[kind]
    rows = [_bar_row(system, group, metric, system["scores"][_PROTOCOL], kind) for system in group.run]
    rows = [row for row in rows if kind == "present" or any(row.values)]  # who extracts finds none of the others
    if not rows:
        return
    for name in published.SHOWN:
        row = in_paper[name]
        pairs = [row["average"] if published.average_of(group.names) else None]
        pairs += [row.get(known) if (known := published.known_set(s)) else None for s in group.names]
        if any(pairs):
            values = [pair[1] if pair else None for pair in pairs]
            rows.append(charts.Row(f"{name}, in the paper", values, "paper"))
    subtitle = f"{metric} in percent, protocol '{_PROTOCOL}', by test set"
    plot = charts.bar_table(title, subtitle, ["average", *group.names], rows)
    yield plots.add(f"keyphrases-{kind}-{metric}", number, f"{title}: {metric}", plot)


def _speed(group: Group, runs: Runs, plots: Plots, number: int) -> Iterator[str]:
    rows, points = [], []
    for speed in speeds(runs.benchmarks, group.run):
        system = speed.system
        if system is None:
            rows.append([_only_timed(speed.timed), f"{speed.ratio:.3g}", "–"])
            continue
        average = system["scores"][_PROTOCOL]["average"]
        quality = times_100(average["present"]["F@10"])
        rows.append([system["label"], f"{speed.ratio:.3g}", f"{quality:.1f}" if quality is not None else "–"])
        if quality is not None:
            points.append(charts.Point(system["label"], speed.ratio, quality, is_ours(system)))
    if not points:
        return
    title = "Quality against speed"
    subtitle = (
        f"Present phrases, average F@10 over the test sets, protocol '{_PROTOCOL}'. Up and to the right is better."
    )
    axis = "documents per second relative to erukg extract, one document at a time"
    yield plots.add("quality-speed", number, title, charts.scatter(title, subtitle, "F@10 (%)", axis, points))
    yield (
        "Speed is the ratio of documents per second to erukg's extraction in the same run of `erukg benchmark run "
        f"--against …`, where systems take turns on every document{_conditions(runs)}.\n"
    )
    rows.sort(key=lambda row: -float(row[1]))
    yield markdown.table(["system", "speed, erukg extract = 1", "average F@10 (%)"], rows)


def _only_timed(name: str) -> str:
    """What a system is called that has no figures of quality."""
    if name.startswith("paper, "):
        return f"the paper's own pipeline, {name.removeprefix('paper, ')}"
    return name if ", " in name else label({"name": name})


def _conditions(runs: Runs) -> str:
    for run in runs.benchmarks:
        against: Mapping[str, Any] = run.report.get("against", {})
        if against.get("cores"):
            cores = f"{against['cores']} core" + ("s" if against["cores"] > 1 else "")
            return f", on {cores}; baselines that need tags have spaCy's in their time"
    return ""


def times_100(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _calibration(group: Group) -> Iterator[str]:
    """A table of the differences by set, and what explains them; nothing where no such baseline was run."""
    known = [name for name in group.names if published.known_set(name)]
    rows = []
    for system in group.run:
        base = str(system["name"]).partition(":")[0]
        if base in published.COUNTERPARTS and known:
            rows += _calibration_rows(system, published.COUNTERPARTS[base], group, known)
    if not rows:
        return
    yield "### Baselines beside the paper\n"
    yield "Present phrases, protocol `paper`, F@5 / F@10 (%): measured here, in the paper, and the difference.\n"
    yield markdown.table(["system", *known, "average"], rows)
    yield _WHY
    if any(str(system["name"]).partition(":")[0] in published.TRAINED for system in group.run):
        yield _TRAINED


def _calibration_rows(system: Mapping[str, Any], name: str, group: Group, known: list[str]) -> list[list[str]]:
    scores = system["scores"][_PROTOCOL]
    theirs = published.PRESENT[name]
    cells = [scores["sets"][s]["present"] for s in known]
    pairs = [theirs[str(published.known_set(s))] for s in known]
    if published.average_of(group.names):
        cells.append(scores["average"]["present"])
        pairs.append(theirs["average"])
    here, there, apart = [], [], []
    for cell, pair in zip(cells, pairs, strict=True):
        values = [times_100(cell[metric]) for metric in _CALIBRATED]
        here.append(" / ".join(percent(cell[metric]) for metric in _CALIBRATED))
        there.append(f"*{pair[0]:.1f} / {pair[1]:.1f}*")
        apart.append(" / ".join("–" if v is None else f"{v - p:+.1f}" for v, p in zip(values, pair, strict=True)))
    width = len(known) + 1
    lines = [[system["label"], *here], [f"*{name}, in the paper*", *there], ["difference", *apart]]
    return [[*line, *["–"] * (width + 1 - len(line))] for line in lines]
