"""`erukg serve`: the HTTP service and its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erukg.cli._options import ModelOptions, option, options
from erukg.core.settings import Settings
from erukg.serving import require_service
from erukg.serving.keys import VARIABLE, load_keys
from erukg.serving.limits import ServiceLimits

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator
    from erukg.serving.service import Comparisons

__all__ = ["app"]

app = typer.Typer()


@app.command()
@options(without={"device"})
def serve(
    parts: ModelOptions,
    settings: Settings,
    limits: ServiceLimits,
    host: Annotated[str, option("--host", help="Address to listen on; 0.0.0.0 means all.")] = "127.0.0.1",
    port: Annotated[int, option("--port", min=0, max=65_535, help="Port; 0 picks a free one.")] = 8000,
    workers: Annotated[int, option("--workers", min=1, max=256, help="Worker processes.")] = 1,
    threads: Annotated[
        int | None,
        option("--threads", min=1, help="Documents at a time per worker.", show_default="one per core in all"),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        option(
            "--api-key-file",
            help=f"File of API keys, one per line; the variable {VARIABLE} holds one more.",
            show_default="none: no key is needed",
        ),
    ] = None,
    cors: Annotated[
        list[str] | None,
        option("--cors", metavar="ORIGIN", help="An origin whose pages may use the service; may be repeated."),
    ] = None,
    drain_seconds: Annotated[
        float,
        option("--drain-seconds", min=0, max=3_600, help="On SIGTERM, seconds to keep accepting connections."),
    ] = 0.5,
    grace_seconds: Annotated[
        float,
        option("--grace-seconds", min=1, max=3_600, help="Then, seconds to finish accepted requests."),
    ] = 60.0,
    request_log: Annotated[
        bool, option("--request-log/--no-request-log", help="One line of JSON per request on standard error.")
    ] = True,
) -> None:
    """Serve keyphrases over HTTP, with a page to explore them, by default at http://127.0.0.1:8000.

    SIGTERM stops it once all accepted requests are answered. For example: erukg serve --port 8080 --workers 2
    """
    require_service()
    from erukg.research.baselines.comparisons import comparisons
    from erukg.serving.server import ServerOptions, run

    def load() -> tuple[KeyphraseGenerator, Comparisons]:
        generator = parts.load(settings)
        return generator, comparisons(generator)

    service = ServerOptions(
        host=host,
        port=port,
        workers=workers,
        threads=threads,
        limits=limits,
        keys=load_keys(api_key_file),
        cors=tuple(cors or ()),
        drain_seconds=drain_seconds,
        grace_seconds=grace_seconds,
        request_log=request_log,
    )
    raise typer.Exit(run(load, service))
