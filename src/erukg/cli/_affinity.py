"""`erukg train affinity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from erukg.cli._learning import AnyModel, Overwrite, end_learning, say_bad
from erukg.cli._options import FieldOptions
from erukg.errors import require
from erukg.io import Limits, check_extras

__all__ = ["affinity"]


def affinity(
    sources: Annotated[list[str], Argument(help="Texts of the kinds to be read; every file counts alike.")],
    fields: FieldOptions,
    out: Annotated[Path, Option("--output", "-o", help="Folder to write the model with what it learned to.")],
    teacher: Annotated[Path, Option(help="Folder of a sentence-transformers model, whose cosines are learned.")],
    model: AnyModel = None,
    collection: Annotated[
        Path | None, Option(help="Collection whose phrases are learned, too. [default: the bundled one]")
    ] = None,
    documents: Annotated[int, Option(min=1, help="How many documents are drawn of each file, at most.")] = 5_000,
    steps: Annotated[int, Option(min=1, help="How many steps are trained.")] = 4_000,
    seed: Annotated[int, Option(min=0, help="The same seed and files give the same numbers.")] = 0,
    work: Annotated[
        Path | None, Option(help="Folder from which an interrupted run goes on. [default: OUTPUT.work]")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Learn how near phrases come to a text in meaning, as a large sentence encoder finds them."""
    require("torch", "train", "Training what tells how near phrases are")
    require("sentence_transformers", "train", "Training what tells how near phrases are")
    check_extras(sources)
    from erukg.io.progress import progress
    from erukg.training.affinity.learning import AffinityFit
    from erukg.training.affinity.run import AffinityOptions, train_affinity

    chosen = AffinityOptions(documents=documents, seed=seed, fit=AffinityFit(steps=steps, seed=seed))
    with progress("texts") as texts, progress("steps") as trained:
        bars = {"texts": texts, "steps": trained}
        report = train_affinity(
            sources,
            out,
            teacher=teacher,
            model=model,
            collection=collection,
            options=chosen,
            work=work,
            overwrite=overwrite,
            limits=Limits(names=fields.names),
            on_bad=say_bad,
            on_progress=lambda kind, done, total: bars[kind].update(done, total),
        )
    typer.echo(
        f"{report.texts:,} texts taught; within texts held out the correlation with the teacher is "
        f"{report.agreement:.2f}; the model is in {out}."
    )
    end_learning(report.bad)
