"""`erukg evaluate`: the measuring stick as commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from erukg.research.evaluation.keyphrases import Progress

__all__ = ["app"]

app = typer.Typer(
    name="evaluate",
    help="Measure how good keyphrases are on test sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# Options that several of the commands share.
Model = Annotated[str | None, typer.Option(help="Model folder or name instead of the bundled one.")]
CollectionFolder = Annotated[str | None, typer.Option(help="Collection folder instead of the bundled one.")]
Paper = Annotated[bool, typer.Option("--paper", help="The paper's settings instead of the tuned ones.")]
Samples = Annotated[int, typer.Option(min=1, max=1_000_000, help="Bootstrap resamples.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Documents worked on at once. [default: all cores]")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Also write the results as JSON to this file.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting of every system; may be repeated."),
]
DocumentLimit = Annotated[int | None, typer.Option(min=1, help="Only the first LIMIT documents of every set.")]
PredictionStore = Annotated[
    Path, typer.Option(help="Where predictions are kept, so that the same command goes on after a stop.")
]
FreshPredictions = Annotated[bool, typer.Option("--fresh", help="Make stored predictions again.")]


@app.callback()
def _group() -> None:
    """Measure how good keyphrases are on test sets."""


@app.command()
def keyphrases(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER...", help="Test sets: JSON Lines files, or folders of them."),
    ],
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            "-s",
            help="A system to run; may be repeated. Variants: NAME:paper, NAME:alpha=1,beta=0.6, "
            "NAME:model=FOLDER. [default: erukg-generate]",
            show_default=False,
        ),
    ] = None,
    model: Model = None,
    collection: CollectionFolder = None,
    paper: Paper = False,
    settings: Changes = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Two of the systems: A minus B with paired-bootstrap intervals."),
    ] = None,
    samples: Samples = 10_000,
    seed: Seed = 0,
    limit: DocumentLimit = None,
    threads: Threads = None,
    store: PredictionStore = Path("runs/keyphrases"),
    fresh: FreshPredictions = False,
    semantic: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also match by meaning, with a sentence-transformers folder or a file of word vectors.",
        ),
    ] = None,
    output: Output = None,
) -> None:
    """F1, precision and recall at 5 and 10 by set and on average, under the protocols 'paper' and 'stemmed'.

    Prints tables to standard output and progress to standard error. Stopped with Ctrl-C, the same command
    continues.
    """
    from erukg.research.evaluation import load_sets
    from erukg.research.evaluation.keyphrases import compare as compare_results
    from erukg.research.evaluation.keyphrases import evaluate
    from erukg.research.evaluation.report import print_report, to_json, write_json
    from erukg.research.evaluation.semantic import PhraseVectors
    from erukg.research.evaluation.systems import Options, make_system, parse_setting

    options = Options(model, collection, paper, threads, dict(parse_setting(text) for text in settings or ()))
    # What is compared must be run, whether it was also named or not.
    names = list(dict.fromkeys([*(system or []), *(compare or ())])) or ["erukg-generate"]
    systems = [make_system(name, options) for name in names]
    datasets = [dataset.first(limit) for dataset in load_sets(folders)]
    vectors = None if semantic is None else PhraseVectors.load(semantic)
    with _progress() as progress:
        results = evaluate(systems, datasets, store, progress, fresh=fresh, semantic=vectors)
    comparisons = []
    if compare is not None:
        by_name = dict(zip(names, results, strict=True))
        comparisons = compare_results(by_name[compare[0]], by_name[compare[1]], samples, seed)
    print_report(_console(), datasets, results, comparisons)
    if output is not None:
        described = None if vectors is None else vectors.describe()
        write_json(to_json(datasets, results, comparisons, described), output)


@app.command()
def retrieval(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="Test sets in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv; also .gz "
            "and .xz), or folders of them.",
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="Ways to search, several parted by commas: bm25, rm3, query, document, both, doct5query. "
            "[default: all]",
            show_default=False,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            "-s",
            help="Whose keyphrases query, document and both add; may be repeated. [default: erukg-generate]",
            show_default=False,
        ),
    ] = None,
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", min=1, max=50, help="Present and absent phrases added, of each so many.")
    ] = 10,
    model: Model = None,
    collection: CollectionFolder = None,
    paper: Paper = False,
    settings: Changes = None,
    predicted_queries: Annotated[
        Path | None,
        typer.Option(
            help='For doct5query: JSON Lines {"id", "predicted_queries"}, or a folder with SET.jsonl for every set.'
        ),
    ] = None,
    t5: Annotated[Path | None, typer.Option(help="For doct5query: a folder with a T5 model to predict them.")] = None,
    expanded: Annotated[
        Path | None,
        typer.Option(
            help="Documents that were expanded before, here or elsewhere: what erukg expand wrote, or a folder with "
            "SET.jsonl for some of the sets (the others are expanded now)."
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="Which file of a folder qrels/ is used.")] = "test",
    qrels_by_position: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SET",
            help="A set whose judgements give the place of a query in its file (1 is the first) instead of its id, as "
            "in some copies of Cranfield; may be repeated.",
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Two methods as the table names them: A minus B with intervals."),
    ] = None,
    samples: Samples = 10_000,
    seed: Seed = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first LIMIT queries of every set.")] = None,
    threads: Threads = None,
    store: Annotated[
        Path, typer.Option(help="Where phrases and runs are kept, so that the same command goes on after a stop.")
    ] = Path("runs/retrieval"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Make stored phrases and runs again.")] = False,
    output: Output = None,
) -> None:
    """Recall at 1000 and 100 and nDCG at 10 of BM25 with and without expansion, by set and on average.

    Prints tables to standard output and progress to standard error. Stopped with Ctrl-C, the same command
    continues.
    """
    from erukg.errors import InputError
    from erukg.research.evaluation.report import write_json
    from erukg.research.evaluation.retrieval import METHODS, evaluate, find_sets, make_methods
    from erukg.research.evaluation.retrieval import compare as compare_results
    from erukg.research.evaluation.retrieval.report import print_report, to_json
    from erukg.research.evaluation.systems import Options, make_system, parse_setting

    options = Options(model, collection, paper, threads, dict(parse_setting(text) for text in settings or ()))
    wanted = [name.strip() for names in method or [",".join(METHODS)] for name in names.split(",") if name.strip()]
    systems = [make_system(name, options) for name in dict.fromkeys(system or ["erukg-generate"])]
    methods = make_methods(wanted, systems, top_k=top_k, expanded=expanded, predicted_queries=predicted_queries, t5=t5)
    for name in compare or ():
        if name not in [m.name for m in methods if not m.not_run]:
            raise InputError(
                f"There is no method '{name}' to compare; those run: {', '.join(m.name for m in methods)}."
            )
    files = find_sets(folders, split, qrels_by_position or ())
    with _progress() as progress:
        sets, results = evaluate(methods, files, store, progress, limit=limit, fresh=fresh)
    comparisons = []
    if compare is not None:
        by_name = {result.name: result for result in results}
        comparisons = compare_results(by_name[compare[0]], by_name[compare[1]], samples, seed)
    print_report(_console(), sets, results, comparisons)
    if output is not None:
        write_json(to_json(sets, results, comparisons), output)


@app.command()
def ablations(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="SETS...", help="Test sets: JSON Lines files, or folders of them."),
    ],
    study: Annotated[
        list[str] | None,
        typer.Option(
            help="alpha-beta, neighbours, pruning, position, tags, precision, references, collection or all; may be "
            "repeated. [default: all]",
            show_default=False,
        ),
    ] = None,
    model: Model = None,
    collection: CollectionFolder = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FOLDER", help="A model trained without a type of reference; may be repeated."),
    ] = None,
    collections: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FOLDER",
            help="A collection of another size; 'unpruned=FOLDER': one whose glossary was not pruned; with the name of "
            "one of --models: the one made with it. May be repeated.",
        ),
    ] = None,
    tagger: Annotated[
        str | None, typer.Option(metavar="spacy:NAME", help="The tagger that the tag head is compared with.")
    ] = None,
    fp32: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The model with 32-bit weights, to compare with 8-bit ones.")
    ] = None,
    paper: Paper = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting of every variant; may be repeated."),
    ] = None,
    limit: DocumentLimit = None,
    threads: Threads = None,
    store: PredictionStore = Path("runs/keyphrases"),
    fresh: FreshPredictions = False,
    output: Output = None,
) -> None:
    """What each part of the method is worth: F1 and recall at 5 and 10 with one thing changed at a time.

    A variant that lacks something (a collection, a folder, a tagger) is shown as not run, and why. Stopped with
    Ctrl-C, the same command continues.
    """
    from erukg.research.evaluation import load_sets
    from erukg.research.evaluation.ablation_report import print_ablations, to_json
    from erukg.research.evaluation.ablations import Given, make_studies, named, run_studies
    from erukg.research.evaluation.report import write_json
    from erukg.research.evaluation.systems import Options, parse_setting

    options = Options(model, collection, paper, threads, dict(parse_setting(text) for text in settings or ()))
    given = Given(options, named(models or (), "--models"), named(collections or (), "--collections"), tagger, fp32)
    datasets = [dataset.first(limit) for dataset in load_sets(folders)]
    studies = make_studies(study or ["all"], given)
    with _progress() as progress:
        results = run_studies(studies, datasets, store, progress, fresh=fresh)
    print_ablations(_console(), datasets, results)
    if output is not None:
        write_json(to_json(datasets, results, paper=paper), output)


@app.command()
def case(
    texts: Annotated[
        Path,
        typer.Argument(help="JSON Lines with a few documents or queries: fields id, title, abstract, text."),
    ],
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", "-s", help="A system to run; may be repeated. [default: erukg-generate]", show_default=False
        ),
    ] = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=50, help="Phrases shown of each kind.")] = 10,
    model: Model = None,
    collection: CollectionFolder = None,
    paper: Paper = False,
    settings: Changes = None,
    output: Output = None,
) -> None:
    """Phrases instead of figures: what each system finds in a few texts, side by side."""
    from erukg.research.evaluation.case import print_case, run_case
    from erukg.research.evaluation.report import write_json
    from erukg.research.evaluation.systems import Options, make_system, parse_setting

    options = Options(model, collection, paper, None, dict(parse_setting(text) for text in settings or ()))
    systems = [make_system(name, options) for name in dict.fromkeys(system or ["erukg-generate"])]
    found = run_case(texts, systems, top_k)
    print_case(_console(), found)
    if output is not None:
        write_json(found, output)


@app.command()
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS...", help="JSON files that the other commands, or the benchmark, wrote with -o."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for README.md and the plots (SVG).")
    ] = Path("docs/results"),
) -> None:
    """Tables and plots of stored runs as a folder to publish; only what the runs hold, the same every time."""
    from erukg.research.evaluation.results import write_results

    for path in write_results(runs, output):
        typer.echo(path)


def _console() -> Console:
    from rich.console import Console

    console = Console(soft_wrap=False)
    # In a file or pipe nothing bounds the width.
    return console if console.is_terminal else Console(width=160)


@contextmanager
def _progress() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[tuple[str, str], TaskID] = {}

        def progress(system: str, dataset: str, done: int, total: int) -> None:
            task = tasks.get((system, dataset))
            if task is None:
                task = tasks[system, dataset] = bars.add_task(f"{system}  {dataset}", total=total)
            bars.update(task, completed=done)

        yield progress
