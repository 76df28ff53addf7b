"""`erukg serve`: the HTTP service and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from erukg.cli._options import ModelOptions, options
from erukg.core.settings import Settings
from erukg.errors import require
from erukg.serving.limits import ServerOptions, ServiceLimits

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator
    from erukg.serving.service import Comparisons

__all__ = ["app"]

app = typer.Typer()


@app.command()
@options(without={"device"})
def serve(parts: ModelOptions, settings: Settings, limits: ServiceLimits, server: ServerOptions) -> None:
    """Serve keyphrases over HTTP, with a page to explore them, by default at http://127.0.0.1:8000.

    SIGTERM stops it once all accepted requests are answered. For example: erukg serve --port 8080 --workers 2
    """
    for module in ("starlette", "uvicorn", "httptools", "python_multipart", "pydantic"):
        require(module, "serve", "The service")
    from erukg.research.baselines.comparisons import comparisons
    from erukg.serving.server import run

    def load() -> tuple[KeyphraseGenerator, Comparisons]:
        generator = parts.load(settings)
        return generator, comparisons(generator)

    raise typer.Exit(run(load, server, limits))
