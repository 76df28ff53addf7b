"""`erukg train tune`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from erukg.cli._common import SOME_SKIPPED, say
from erukg.cli._options import FieldOptions
from erukg.errors import InputError, require
from erukg.io import Limits, check_extras

if TYPE_CHECKING:
    from erukg.training.tuning.measure import Gain
    from erukg.training.tuning.run import TuneReport

__all__ = ["tune"]

_STAGES = {"before": "documents measured", "learning": "% learned", "after": "documents measured again"}


def tune(
    sources: Annotated[list[str], Argument(help="Your documents, with a title and a text (or abstract) each.")],
    fields: FieldOptions,
    out: Annotated[Path, Option("--output", "-o", help="Folder to write the tuned model to.")],
    model: Annotated[str, Option("--from", help="Model to start from: small, tiny or a folder.")] = "small",
    references: Annotated[
        list[Path] | None,
        Option(
            help='What else refers to the documents, JSON Lines: {"reference", "id"}, {"query", "doc_id"} or '
            '{"context", "cited_id"}; may be repeated.'
        ),
    ] = None,
    minutes: Annotated[float | None, Option(min=0.0, help="How long to learn. [default: 20]")] = None,
    steps: Annotated[int | None, Option(min=1, help="How many steps to learn instead; repeatable to the bit.")] = None,
    collection: Annotated[Path | None, Option(help="Collection to measure with. [default: the bundled one]")] = None,
    held_out: Annotated[
        float, Option(min=0.01, max=0.5, help="Share of the documents that is only measured on, at most 1,000 of them.")
    ] = 0.15,
    rate: Annotated[float, Option(min=1e-7, max=1.0, help="Learning rate; higher learns and forgets faster.")] = 3e-4,
    leash: Annotated[float, Option(min=0.0, help="How strongly the original's term weights are held on to.")] = 0.04,
    seed: Annotated[int, Option(min=0, help="Which documents are held out, and their order.")] = 0,
    anyway: Annotated[bool, Option("--anyway", help="Write the model even if nothing was gained.")] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the folder if it exists.")] = False,
    threads: Annotated[int | None, Option(min=1, help="Cores. [default: all]")] = None,
) -> None:
    """Adapt a model to your field: an hour or less on a CPU, from titles alone, and what it gained.

    A part of the documents is held out. The model is written only if it finds more of their hidden titles than before.
    If the command is stopped, the same command goes on.
    """
    torch = require("torch", "train", "Tuning a model")
    require("onnx", "train", "Tuning a model")
    if minutes is not None and steps is not None:
        raise InputError("Tuning takes --minutes or --steps, not both.")
    check_extras(sources)
    from erukg.training.tuning.learning import Learning
    from erukg.training.tuning.run import TuneOptions
    from erukg.training.tuning.run import tune as run

    if threads is not None:
        torch.set_num_threads(threads)
    seconds = None if steps is not None else 60 * (20.0 if minutes is None else minutes)
    learning = Learning(seconds=seconds, steps=steps, rate=rate, leash=leash, seed=seed)
    with _bars() as tell:
        report = run(
            sources,
            out,
            model=model,
            collection=collection,
            references=references or (),
            options=TuneOptions(held_out=held_out, learning=learning),
            anyway=anyway,
            overwrite=overwrite,
            threads=threads,
            limits=Limits(names=fields.names),
            on_bad=lambda bad: say(f"{bad.place}: {bad.message}"),
            on_progress=tell,
        )
    _show(report, out, model)
    if report.bad:
        say(f"{report.bad:,} documents skipped.")
        raise typer.Exit(SOME_SKIPPED)


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None]]:
    """One bar after the other, each for as long as its stage lasts."""
    from contextlib import ExitStack

    from erukg.io.progress import Progress, progress

    with ExitStack() as stack:
        shown: dict[str, Progress] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in shown:
                stack.close()
                shown[stage] = stack.enter_context(progress(_STAGES[stage], total, lines=True))
            shown[stage].update(done, total)

        yield tell


def _show(report: TuneReport, out: Path, source: str) -> None:
    others = f" and {report.references:,} other references" if report.references else ""
    typer.echo(
        f"Learned from {report.documents:,} documents with their titles{others}: {report.steps:,} steps, "
        f"{report.seconds / 60:.0f} minutes. Measured on {report.held_out:,} others, whose titles were hidden."
    )
    if report.untitled or report.short:
        typer.echo(f"Left out: {report.untitled:,} documents without a title, {report.short:,} with too short a text.")
    typer.echo("")
    typer.echo(f"{'phrases of the hidden title':<34}{'before':>8}{'after':>8}{'gain':>7}  95 % interval")
    rows = {"in the text, among ten present": report.comparison.present}
    rows |= {"not in it, among ten absent": report.comparison.absent}
    for name, gain in rows.items():
        if gain is not None and (gain.before or gain.after):
            typer.echo(f"{name:<34}{_row(gain)}")
    typer.echo("")
    typer.echo(f"{100 * report.comparison.same:.0f} % of the present phrases are those of {source}.")
    typer.echo(_verdict(report, out, source))


def _row(gain: Gain) -> str:
    gap = gain.difference
    return (
        f"{100 * gain.before:>7.1f}%{100 * gain.after:>7.1f}%{100 * gap.difference:>+7.1f}  "
        f"{100 * gap.low:+.1f} to {100 * gap.high:+.1f} ({gain.documents:,} documents)"
    )


def _verdict(report: TuneReport, out: Path, source: str) -> str:
    present = report.comparison.present
    where = f"The tuned model is in {out}." if report.written else f"{out} was not written: go on using {source}."
    if present is not None and present.sure:
        return f"It gained. {where}"
    what = "It lost" if present is not None and present.lost else "It gained nothing that chance could not give"
    advice = "" if report.written else " More documents or minutes may help; --anyway writes the model all the same."
    return f"{what}. {where}{advice}"
