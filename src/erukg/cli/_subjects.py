"""`erukg evaluate subjects` and `erukg evaluate annif`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from erukg.cli._research import Model, Output, Threads, console, task_progress, write_report

__all__ = ["annif", "subjects"]

Tagged: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON Lines: documents with the concepts that indexers chose.")
]
VocabularyPath: TypeAlias = Annotated[
    Path, typer.Option("--vocabulary", "-v", help="The concepts: a file, or a folder of 'erukg vocabulary build'.")
]
TagField: TypeAlias = Annotated[str, typer.Option("--tags", help="The field with the concepts of a document.")]
Limit: TypeAlias = Annotated[int | None, typer.Option(min=1, help="Only the first LIMIT documents.")]


def subjects(
    documents: Tagged,
    vocabulary: VocabularyPath,
    collection: Annotated[Path, typer.Option(help="The archive: a collection built with --tags.")],
    ranking: Annotated[
        Path | None, typer.Option(help="A ranking of 'erukg train suggest', for the row 'learned'.")
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--row",
            help="'label match', rank, labels, neighbours, fused, both or learned; may be repeated. [default: all "
            "there are parts for]",
            show_default=False,
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE.jsonl",
            help='A row of what another program suggests, lines {"id", "uris"}; may be repeated. See: erukg evaluate '
            "annif --help",
        ),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(
            metavar="mesh|FILE",
            help="Also score without these concepts: the check tags of MeSH, or a file with a URI on each line.",
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Two rows: A minus B with paired-bootstrap intervals; may be repeated.",
            show_default=False,
        ),
    ] = None,
    tags: TagField = "subjects",
    model: Model = None,
    samples: Annotated[int, typer.Option(min=1, max=1_000_000, help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    limit: Limit = None,
    threads: Threads = None,
    store: Annotated[
        Path, typer.Option(help="Where suggestions are kept, so that the same command goes on after a stop.")
    ] = Path("runs/subjects"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Make stored suggestions again.")] = False,
    output: Output = None,
) -> None:
    """F1@5, F1@10 and nDCG@10 of suggested concepts, and recall by how often a concept was used before."""
    from erukg.collection import Collection
    from erukg.errors import InputError
    from erukg.generator import KeyphraseGenerator
    from erukg.research.evaluation import subjects as wing
    from erukg.research.evaluation.subjects.report import print_subjects, to_json
    from erukg.subjects.learned import SubjectRanking
    from erukg.subjects.vocabulary import Vocabulary

    loaded = wing.load_tagged(documents, tags, limit)
    left = frozenset[str]() if without is None else wing.CHECK_TAGS.get(without) or wing.read_uris(Path(without))
    tagged = Collection.open(collection)
    if not tagged.has_tags:
        raise InputError(f"The documents of {collection} have no tags; build it with: erukg collection build --tags.")
    learned = None if ranking is None else SubjectRanking.load(ranking)
    parts = wing.Parts(
        lambda: KeyphraseGenerator.from_pretrained(model), Vocabulary.load(vocabulary), tagged, learned, threads
    )
    names = rows or [name for name in wing.ROWS if name != "learned" or learned is not None]
    made = wing.make_rows(names, parts, predictions or ())
    pairs = [_pair(given, [row.name for row in made]) for given in compare or ()]
    counts = tagged.tag_counts()
    with task_progress() as tell:
        results = wing.evaluate(made, loaded, counts, left, store, tell, fresh=fresh)
    archive = {"documents": len(tagged), "tags": len(counts)}
    compared = wing.compare(results, pairs, samples, seed)
    found = to_json(loaded, archive, left, results, compared, samples, seed)
    print_subjects(console(), found)
    write_report(found, output)


def _pair(given: str, names: list[str]) -> tuple[str, str]:
    from erukg.errors import InputError

    first, _, second = (part.strip() for part in given.partition(","))
    for name in (first, second):
        if name not in names:
            raise InputError(f"There is no row '{name}' to compare; those run: {', '.join(names)}.")
    return first, second


def annif(
    documents: Tagged,
    vocabulary: VocabularyPath,
    train: Annotated[Path, typer.Option(help="JSON Lines: the tagged documents that Annif learns from.")],
    output: Annotated[Path, typer.Option("--output", "-o", help='The file for lines {"id", "uris"}.')],
    back_end: Annotated[str, typer.Option(help="tfidf, mllm or omikuji.")] = "tfidf",
    command: Annotated[Path, typer.Option(help="Annif's command, in an environment of its own.")] = Path("annif"),
    folder: Annotated[Path, typer.Option(help="Where Annif keeps its project.")] = Path("runs/annif"),
    train_limit: Annotated[int | None, typer.Option(min=1, help="Learn from the first so many documents only.")] = None,
    tags: TagField = "subjects",
    limit: Limit = None,
) -> None:
    """What a back end of Annif suggests, for `erukg evaluate subjects --predictions`; runs Annif's own command."""
    import shutil

    from erukg.errors import InputError
    from erukg.research.evaluation.subjects.annif import predict
    from erukg.research.evaluation.subjects.records import load_tagged
    from erukg.subjects.vocabulary import Vocabulary

    found = shutil.which(command)
    if found is None:
        raise InputError(
            f"There is no command {command}; install Annif in an environment of its own and give its path."
        )
    learned = load_tagged(train, tags, train_limit)
    loaded = load_tagged(documents, tags, limit)
    predict(Path(found), back_end, Vocabulary.load(vocabulary), learned.records, loaded, folder / back_end, output)
    typer.echo(output)
