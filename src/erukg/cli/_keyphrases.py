"""The options of `erukg evaluate keyphrases`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["AllGold", "ComparedSystems", "ListLength", "Measures", "Prmu", "Semantic", "Systems", "WrittenPredictions"]

Systems: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        "-s",
        help="A system to run; may be repeated. Variants: NAME:STYLE, NAME:alpha=1,beta=0.6, NAME:model=FOLDER. "
        "file:PATH has the predictions of a file. [default: erukg-generate]",
        show_default=False,
    ),
]
ComparedSystems: TypeAlias = Annotated[
    tuple[str, str] | None,
    typer.Option(metavar="A B", help="Two of the systems: A minus B with paired-bootstrap intervals."),
]
Semantic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL", help="Also match by meaning, with a sentence-transformers folder or a file of word vectors."
    ),
]
Measures: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="The measures in the tables, separated by commas: F@5, P@10, R@M, F@O, F@5u (unpadded), micro-F@5, "
        "catseq-F@M and the like. [default: F, P and R at 5 and 10]",
        show_default=False,
    ),
]
ListLength: TypeAlias = Annotated[
    int,
    typer.Option(
        "--top-k",
        "-k",
        min=1,
        max=1000,
        help="How long a list of each kind systems are asked for: the M of F@M is at most that. Only the lists of "
        "file:PATH can be longer than 50.",
    ),
]
Prmu: TypeAlias = Annotated[
    bool, typer.Option("--prmu", help="Also recall of present, reordered, mixed and unseen gold phrases.")
]
AllGold: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--all-gold", help="Also F at 5, 10 and 15 of one list against all gold, as extraction papers report."
    ),
]
WrittenPredictions: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--predictions", metavar="FOLDER", help="Also write predictions, in KPEval's form, to files in this folder."
    ),
]
