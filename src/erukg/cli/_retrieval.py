"""The options of `erukg evaluate retrieval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "AddedPhrases",
    "ComparedMethods",
    "Encoded",
    "Expanded",
    "ExpandingSystems",
    "Methods",
    "OwnExpanded",
    "PredictedQueries",
    "RetrievalSets",
    "T5Folder",
]

RetrievalSets: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="FOLDER...",
        help="Test sets in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv; also .gz "
        "and .xz), or folders of them.",
    ),
]
Methods: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        help="Ways to search, separated by commas: bm25, rm3, rm3-30, doct5query; the controls title, neighbours, "
        "neighbours-rm3, query-appended, appended; query, query-terms, fused; document, own; both, both-terms, "
        "both-fused; sparse, sparse-fused. [default: all]",
        show_default=False,
    ),
]
ExpandingSystems: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        "-s",
        help="Whose keyphrases are used; may be repeated. document, appended and query-appended take any system, the "
        "other methods a model of this package. [default: erukg-generate]",
        show_default=False,
    ),
]
AddedPhrases: TypeAlias = Annotated[
    int,
    typer.Option("--top-k", "-k", min=1, max=50, help="How many phrases of each kind query-appended and appended add."),
]
PredictedQueries: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help='For doct5query: JSON Lines {"id", "predicted_queries"}, or a folder with SET.jsonl for every set.'
    ),
]
T5Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="For doct5query: a folder with a model to predict them, T5 or written by erukg train baseline doct5query."
    ),
]
Expanded: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Documents that were expanded before, here or elsewhere: what erukg expand wrote, or a folder with "
        "SET.jsonl for some of the sets (the others are expanded now)."
    ),
]
OwnExpanded: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="The same for own and both: expanded with a collection that was built from the set's corpus."),
]
Encoded: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="The same for sparse: what erukg encode wrote, or a folder with SET.jsonl for some of the sets."),
]
ComparedMethods: TypeAlias = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="A B",
        help="Two methods as the table names them: A minus B with intervals, by set. All methods are compared with "
        "bm25, rm3-30 and neighbours-rm3 without being asked.",
    ),
]
