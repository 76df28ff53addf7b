"""`erukg evaluate`: measuring quality as commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from erukg.cli._keyphrases import (
    AllGold,
    ComparedSystems,
    ListLength,
    Measures,
    Prmu,
    Semantic,
    Systems,
    WrittenPredictions,
)
from erukg.cli._research import CollectionFolder, Model, Output, Threads, console, task_progress, write_report
from erukg.cli._retrieval import (
    AddedPhrases,
    ComparedMethods,
    Encoded,
    Expanded,
    ExpandingSystems,
    Methods,
    OwnExpanded,
    PredictedQueries,
    RetrievalSets,
    T5Folder,
)
from erukg.cli._subjects import annif, subjects

if TYPE_CHECKING:
    from erukg.research.evaluation.keyphrases import Progress
    from erukg.research.evaluation.systems import System, SystemOptions

__all__ = ["app"]

app = typer.Typer(
    name="evaluate", help="Measure how good keyphrases are on test sets.", no_args_is_help=True, rich_markup_mode=None
)

app.command()(subjects)
app.command()(annif)

# Options that several of the commands share.
Sets: TypeAlias = Annotated[
    list[Path], typer.Argument(metavar="FOLDER...", help="Test sets: JSON Lines files, or folders of them.")
]
Paper: TypeAlias = Annotated[bool, typer.Option("--paper", help="The paper's settings instead of the tuned ones.")]
Samples: TypeAlias = Annotated[int, typer.Option(min=1, max=1_000_000, help="Bootstrap resamples.")]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")]
Changes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting of every system; may be repeated."),
]
DocumentLimit: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Only the first LIMIT documents of every set.")
]
PredictionStore: TypeAlias = Annotated[
    Path, typer.Option(help="Where predictions are kept, so that the same command goes on after a stop.")
]
FreshPredictions: TypeAlias = Annotated[bool, typer.Option("--fresh", help="Make stored predictions again.")]

# Options of `ablations`, apart from it so that the command can be read at a glance.
Studies: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="alpha-beta, neighbours, pruning, position, tags, precision, references, collection or all; may be "
        "repeated. [default: all]",
        show_default=False,
    ),
]
NamedModels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=FOLDER", help="A model trained without a type of reference; may be repeated."),
]
NamedCollections: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FOLDER",
        help="A collection of another size; 'unpruned=FOLDER': one whose glossary was not pruned; with the name of "
        "one of --models: the one made with it. May be repeated.",
    ),
]

SearchedSets: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FOLDER",
        help="Sets in BEIR's layout, or a folder of them: what the phrases of the studies neighbours and references do "
        "for search, behind the queries as in the paper. May be repeated.",
    ),
]


@app.command()
def keyphrases(
    folders: Sets,
    system: Systems = None,
    model: Model = None,
    collection: CollectionFolder = None,
    paper: Paper = False,
    settings: Changes = None,
    compare: ComparedSystems = None,
    samples: Samples = 10_000,
    seed: Seed = 0,
    limit: DocumentLimit = None,
    threads: Threads = None,
    store: PredictionStore = Path("runs/keyphrases"),
    fresh: FreshPredictions = False,
    semantic: Semantic = None,
    measures: Measures = None,
    top_k: ListLength = 50,
    prmu: Prmu = False,
    all_gold: AllGold = False,
    predictions: WrittenPredictions = None,
    output: Output = None,
) -> None:
    """F1, precision and recall at 5 and 10 by set and on average, under the protocols 'paper' and 'stemmed'.

    Prints tables to standard output and progress to standard error. Stopped with Ctrl-C, the same command
    continues. docs/measures.md says what each measure means and which papers use it; --output stores the common ones
    whether they are printed or not.
    """
    from erukg.research.evaluation import load_sets
    from erukg.research.evaluation.keyphrase_report import Shown, print_report, to_json
    from erukg.research.evaluation.keyphrases import Scoring, compared, evaluate
    from erukg.research.evaluation.keyphrases import compare as compare_results
    from erukg.research.evaluation.measures import measure_names
    from erukg.research.evaluation.metrics import DEPTH, STORED
    from erukg.research.evaluation.semantic import PhraseVectors

    names = measure_names(measures or ())
    options = replace(_options(model, collection, paper, settings, threads), top_k=min(top_k, DEPTH))
    # What is compared must be run, whether it was also named or not.
    systems = _systems([*(system or []), *(compare or ())], options)
    datasets = [dataset.first(limit) for dataset in load_sets(folders)]
    vectors = None if semantic is None else PhraseVectors.load(semantic)
    scoring = Scoring(tuple(dict.fromkeys((*STORED, *names))), top_k, vectors, wider=True)
    with _progress() as progress:
        results = evaluate(systems, datasets, store, progress, fresh=fresh, scoring=scoring, written=predictions)
    by_name = {result.name: result for result in results}
    pair = [by_name[name] for name in compare or ()]
    comparisons = compare_results(pair[0], pair[1], samples, seed, compared(names)) if pair else []
    found = to_json(datasets, results, comparisons, None if vectors is None else vectors.describe(), top_k)
    print_report(console(), found, comparisons, Shown(names, prmu, all_gold))
    write_report(found, output)


@app.command()
def retrieval(
    folders: RetrievalSets,
    method: Methods = None,
    system: ExpandingSystems = None,
    top_k: AddedPhrases = 10,
    model: Model = None,
    collection: CollectionFolder = None,
    paper: Paper = False,
    settings: Changes = None,
    predicted_queries: PredictedQueries = None,
    t5: T5Folder = None,
    expanded: Expanded = None,
    own_expanded: OwnExpanded = None,
    encoded: Encoded = None,
    split: Annotated[str, typer.Option(help="Which file of a folder qrels/ is used.")] = "test",
    compare: ComparedMethods = None,
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
    """nDCG at 10 and recall at 100 and 1000 of BM25 with and without expansion, by set and on average.

    Prints tables to standard output and progress to standard error. Stopped with Ctrl-C, the same command
    continues.
    """
    from erukg.errors import InputError
    from erukg.research.evaluation.retrieval import (
        METHODS,
        DocumentFiles,
        compare_all,
        evaluate,
        find_sets,
        make_methods,
    )
    from erukg.research.evaluation.retrieval.retrieval_report import print_report, to_json

    wanted = [name.strip() for names in method or [",".join(METHODS)] for name in names.split(",") if name.strip()]
    systems = _systems(system, _options(model, collection, paper, settings, threads))
    given = DocumentFiles(expanded, own_expanded, encoded)
    methods = make_methods(wanted, systems, top_k=top_k, files=given, predicted_queries=predicted_queries, t5=t5)
    for name in compare or ():
        if name not in [m.name for m in methods if not m.not_run]:
            raise InputError(
                f"There is no method '{name}' to compare; those run: {', '.join(m.name for m in methods)}."
            )
    files = find_sets(folders, split)
    with _progress() as progress:
        sets, results = evaluate(methods, files, store, progress, limit=limit, fresh=fresh)
        comparisons = compare_all(results, [compare] if compare else (), samples, seed, progress)
    print_report(console(), sets, results, comparisons, compare)
    write_report(to_json(sets, results, comparisons), output)


@app.command()
def ablations(
    folders: Sets,
    study: Studies = None,
    model: Model = None,
    collection: CollectionFolder = None,
    models: NamedModels = None,
    collections: NamedCollections = None,
    tagger: Annotated[
        str | None, typer.Option(metavar="spacy:NAME", help="The tagger that the tag head is compared with.")
    ] = None,
    fp32: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The model with 32-bit weights, to compare with 8-bit ones.")
    ] = None,
    retrieval: SearchedSets = None,
    paper: Paper = False,
    settings: Changes = None,
    samples: Samples = 10_000,
    seed: Seed = 0,
    limit: DocumentLimit = None,
    threads: Threads = None,
    store: PredictionStore = Path("runs/keyphrases"),
    fresh: FreshPredictions = False,
    output: Output = None,
) -> None:
    """What each part of the method is worth: F1 and recall at 5 and 10 with one thing changed at a time.

    Every variant is compared with the method as it is, with paired-bootstrap intervals, over one collection. A variant
    that lacks something (a collection, a folder, a tagger) is shown as not run, and why. Stopped with Ctrl-C, the same
    command continues.
    """
    from erukg.research.evaluation import load_sets
    from erukg.research.evaluation.ablation_report import print_ablations, to_json
    from erukg.research.evaluation.ablation_runs import run_studies
    from erukg.research.evaluation.ablations import StudyInputs, make_studies, named

    options = _options(model, collection, paper, settings, threads)
    folders_by_name = named(models or (), "--models"), named(collections or (), "--collections")
    datasets = [dataset.first(limit) for dataset in load_sets(folders)]
    searched = []
    if retrieval:
        from erukg.research.evaluation.retrieval import find_sets

        searched = find_sets(retrieval)
    studies = make_studies(study or ["all"], StudyInputs(options, *folders_by_name, tagger, fp32))
    drawn = {"samples": samples, "seed": seed}
    with _progress() as progress:
        results = run_studies(studies, datasets, store, progress, fresh=fresh, retrieval=searched, **drawn)
    found = to_json(datasets, studies, results, limit)
    print_ablations(console(), found)
    write_report(found, output)


@app.command()
def case(
    texts: Annotated[
        Path, typer.Argument(help="JSON Lines with a few documents or queries: fields id, title, abstract, text.")
    ],
    system: Systems = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=50, help="Phrases shown of each kind.")] = 10,
    model: Model = None,
    collection: CollectionFolder = None,
    paper: Paper = False,
    settings: Changes = None,
    output: Output = None,
) -> None:
    """Phrases instead of figures: what each system finds in a few texts, side by side."""
    from erukg.research.evaluation.case import print_case, run_case

    found = run_case(texts, _systems(system, _options(model, collection, paper, settings, None)), top_k)
    print_case(console(), found)
    write_report(found, output)


@app.command()
def readers(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SET...", help="The readers' set: JSON Lines files, or a folder of them (tests/readers)."
        ),
    ] = None,
    system: Systems = None,
    model: Model = None,
    collection: CollectionFolder = None,
    paper: Paper = False,
    settings: Changes = None,
    samples: Samples = 10_000,
    seed: Seed = 0,
    threads: Threads = None,
    output: Output = None,
) -> None:
    """What a person would say of the phrases: those that must and must not come, repetition, silence, headings.

    The set is in tests/readers of the repository. Prints a table by kind of text for every system.
    """
    from erukg.research.evaluation.readers import load_readers, run_readers
    from erukg.research.evaluation.readers_report import print_readers, to_json
    from erukg.research.evaluation.reporting import write_json

    loaded = load_readers(folders or ())
    systems = _systems(system, _options(model, collection, paper, settings, threads))
    with _progress() as progress:
        results = run_readers(systems, loaded, progress, samples=samples, seed=seed)
    print_readers(console(), loaded, results)
    if output is not None:
        write_json(to_json(loaded, results), output)


@app.command()
def calibration(
    folders: Sets,
    model: Model = None,
    collection: CollectionFolder = None,
    limit: DocumentLimit = None,
    output: Output = None,
) -> None:
    """Whether confidence is right: what it says of phrases against how many of them people chose.

    Prints the coefficients that would suit the sets best; those in use are in erukg/core/confidence.py. The report
    command draws the plot from the file that --output writes.
    """
    from erukg.research.evaluation import calibration as found
    from erukg.research.evaluation import load_sets
    from erukg.research.evaluation.generator_system import make

    system = make("erukg-generate", _options(model, collection, False, None, None))
    datasets = [dataset.first(limit) for dataset in load_sets(folders)]
    with _progress() as progress:
        results = found.run_calibration(system, datasets, progress)
    found.print_calibration(console(), results)
    write_report(found.to_json(system, datasets, results), output)


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


def _options(
    model: str | None, collection: str | None, paper: bool, changes: Sequence[str] | None, threads: int | None
) -> SystemOptions:
    from erukg.research.evaluation.systems import SystemOptions, parse_setting

    style = "paper" if paper else "balanced"
    return SystemOptions(model, collection, style, threads, dict(parse_setting(text) for text in changes or ()))


def _systems(names: Sequence[str] | None, options: SystemOptions) -> list[System]:
    from erukg.research.evaluation.systems import make_system

    return [make_system(name, options) for name in dict.fromkeys(names or ["erukg-generate"])]


@contextmanager
def _progress() -> Iterator[Progress]:
    with task_progress() as tell:
        yield lambda system, dataset, done, total: tell(f"{system}  {dataset}", done, total)
