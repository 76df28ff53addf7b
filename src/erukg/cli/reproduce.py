"""`erukg reproduce`: every table and figure, from data to stored run to page, by one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, say
from erukg.cli._research import CollectionFolder, Model, Threads, console, task_progress

if TYPE_CHECKING:
    from rich.table import Table

    from erukg.research.reproduce import Outcome, Parts, Step

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)

Data: TypeAlias = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        help="Folder with keyphrases/test, keyphrases/dev, retrieval and corpus; what is missing is said.",
        show_default=False,
    ),
]
ResultsFolder: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", help="Folder for runs/*.json, README.md, the plots and store/.")
]
Quick: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--quick", help="The first 20 documents of each set and small collections, marked as such: a trial, no figures."
    ),
]
Only: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="STEP", help="Only this step, or several with commas; may be repeated.", show_default=False),
]
Listed: TypeAlias = Annotated[
    bool, typer.Option("--list", help="Run nothing; show the steps, what each needs and which tables it fills.")
]
Pages: TypeAlias = Annotated[
    bool, typer.Option("--pages", help="Run nothing; make the pages anew from the runs in the folder of results.")
]
Readme: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write the figures into this README, between its two marks."),
]
Baselines: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Baselines with weights, in folders by name: copyrnn, tpg, autokeygen, uokg, promptkp, promptrank, "
        "doct5query, llm.",
    ),
]
Vectors: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="A sentence-transformers model, for EmbedRank and KeyBERT.")
]
Variants: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="For ablations: fp32, models/NAME (no-query, no-citation, no-title, control) and collections/NAME.",
    ),
]
PaperCollection: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="A collection with term weights for what is run with the paper's settings. [default: the bundled one]",
        show_default=False,
    ),
]
Tagger: TypeAlias = Annotated[
    str | None, typer.Option(metavar="spacy:NAME", help="The tagger that the tag head is compared with.")
]
SubjectsFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--subjects",
        metavar="FOLDER",
        help="For subjects: tagged (collection build --tags), ranking (train suggest), annif/NAME.jsonl.",
    ),
]
Repository: TypeAlias = Annotated[
    Path, typer.Option(metavar="FOLDER", help="erukg's repository, for models/base, tests/readers and examples.")
]
Store: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Where predictions are kept, so that the same command goes on after a stop. [default: store in --output]",
        show_default=False,
    ),
]


@app.callback()
def _group() -> None:
    pass


@app.command()
def reproduce(
    data: Data = None,
    output: ResultsFolder = Path("results"),
    quick: Quick = False,
    only: Only = None,
    listed: Listed = False,
    pages: Pages = False,
    readme: Readme = None,
    baselines: Baselines = None,
    vectors: Vectors = None,
    variants: Variants = None,
    paper_collection: PaperCollection = None,
    tagger: Tagger = None,
    subjects: SubjectsFolder = None,
    model: Model = None,
    collection: CollectionFolder = None,
    repository: Repository = Path(),
    store: Store = None,
    threads: Threads = None,
) -> None:
    """Every table and figure of the paper, of README and of the results: from data to stored runs to pages.

    Steps that were finished with the same sets, models and code are kept. Stopped with Ctrl-C or killed, the same
    command continues. A step whose data is missing is named with what it needs, and the exit code is 3.
    """
    from erukg.research.reproduce import Given, Parts, Results, choose_steps, run_steps

    if quick and readme is not None:
        raise typer.BadParameter("A quick run has no figures for a front page.", param_hint="--readme")
    steps = choose_steps([name.strip() for names in only or () for name in names.split(",") if name.strip()])
    results = Results(output, store or output / "store", quick)
    if pages:
        results.check()
        _say_written(results.write_pages(readme))
        return
    if data is None and not listed:
        raise typer.BadParameter("Give the folder of data sets (or --list, or --pages).", param_hint="DATA")
    parts = Parts(
        Given(data, repository, model, collection, baselines, vectors, variants, paper_collection, tagger, subjects)
    )
    if listed:
        console().print(_plan(steps, parts))
        return
    with task_progress() as tell:
        outcomes = run_steps(
            steps,
            parts,
            results,
            threads=threads,
            progress=lambda system, dataset, done, total: tell(f"{system}  {dataset}".strip(), done, total),
            tell=lambda outcome: say(_told(outcome, quick)),
        )
    if results.runs_on_page():
        _say_written(results.write_pages(readme))
    console().print(_summary(outcomes, quick))
    if not any(outcome.status in ("made", "stored") for outcome in outcomes):
        say("No step could be run; the table says what each needs.")
        raise typer.Exit(NOTHING_DONE)
    if not all(outcome.complete for outcome in outcomes):
        raise typer.Exit(SOME_SKIPPED)


def _say_written(paths: list[Path]) -> None:
    for path in paths:
        typer.echo(path)


def _told(outcome: Outcome, quick: bool) -> str:
    took = f" in {outcome.seconds:.0f} s" if outcome.seconds else ""
    why = f": {outcome.reason}" if outcome.reason else ""
    return f"{outcome.step.name}{' (quick)' if quick else ''}: {outcome.status}{took}{why}"


def _plan(steps: list[Step], parts: Parts) -> Table:
    """What would be run; a dash behind a part that is not there."""

    def marked(names: tuple[str, ...]) -> str:
        return ", ".join(name if name in parts else f"{name} (–)" for name in names)

    table = _table("steps; (–): not there", "step", "needs", "takes in", "fills")
    for step in steps:
        others = tuple(name for name in step.parts if name not in step.needs)
        table.add_row(step.name, marked(step.needs), marked(others), "; ".join(step.fills))
    return table


def _summary(outcomes: list[Outcome], quick: bool) -> Table:
    from rich.text import Text

    table = _table("quick run: not the figures" if quick else "runs", "step", "result", "what it lacked")
    for outcome in outcomes:
        lines = [outcome.reason] if outcome.reason else []
        lines += [f"without {row}: {why}" for row, why in outcome.lacking.items()]
        table.add_row(outcome.step.name, outcome.status, Text("\n".join(lines)))
    return table


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "step")
    return table
