"""`erukg serve`: the HTTP service and its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from erukg.cli._options import ModelOptions, given, options
from erukg.core.settings import Settings
from erukg.errors import require
from erukg.serving.limits import ServerOptions, ServiceLimits

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator
    from erukg.serving.service import Comparisons
    from erukg.serving.subjects import SubjectsByName

__all__ = ["app"]

app = typer.Typer()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOptions:
    """What to suggest concepts from."""

    vocabulary: list[str] | None = given(  # noqa: RUF009 (it is a field)
        None,
        "A vocabulary to suggest concepts from, a file or a folder; may be repeated.",
        metavar="NAME=PATH",
        panel="Concepts",
    )
    tagged: str | None = given(
        None,
        "Folder of a collection whose documents carry tags; similar ones vote for theirs.",
        metavar="FOLDER",
        panel="Concepts",
    )
    ranking: list[str] | None = given(  # noqa: RUF009 (it is a field)
        None,
        "A ranking learned by `erukg train suggest`; with several vocabularies the one it is for; may be repeated.",
        metavar="[NAME=]FOLDER",
        panel="Concepts",
    )


@app.command()
@options(without={"device"})
def serve(
    parts: ModelOptions, subjects: SubjectOptions, settings: Settings, limits: ServiceLimits, server: ServerOptions
) -> None:
    """Serve keyphrases over HTTP, with a page to explore them, by default at http://127.0.0.1:8000.

    SIGTERM stops it once all accepted requests are answered. For example: erukg serve --port 8080 --workers 2
    """
    for module in ("starlette", "uvicorn", "httptools", "python_multipart", "pydantic"):
        require(module, "serve", "The service")
    from erukg.research.baselines.comparisons import comparisons
    from erukg.serving.server import run
    from erukg.serving.subjects import load_subjects

    def load() -> tuple[KeyphraseGenerator, Comparisons, SubjectsByName]:
        generator = parts.load(settings)
        sources = load_subjects(generator, subjects.vocabulary or (), subjects.tagged, subjects.ranking or ())
        return generator, comparisons(generator), sources

    raise typer.Exit(run(load, server, limits))
