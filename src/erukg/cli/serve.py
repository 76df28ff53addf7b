"""`erukg serve`: the HTTP service and its page."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from erukg.cli._options import CollectionFolder, Model, NoCollection, TaggerName, TaggerOption, settings_options
from erukg.cli.generate import load_generator
from erukg.core.settings import Settings
from erukg.serving import require_service
from erukg.serving.keys import VARIABLE, load_keys
from erukg.serving.limits import ServiceLimits

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator
    from erukg.serving.service import Comparisons

__all__ = ["app"]

app = typer.Typer()

_PANEL = "Limits"


def _limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option `--max-…` for every field of `ServiceLimits`; it takes one argument, `limits`."""
    fields = dataclasses.fields(ServiceLimits)

    def run(**given: Any) -> None:
        limits = ServiceLimits(**{field.name: given.pop(field.name) for field in fields})
        command(**given, limits=limits)

    parameters = [p for p in inspect.signature(command).parameters.values() if p.name != "limits"]
    for field in fields:
        option = typer.Option(
            "--max-" + field.name.replace("_", "-"), help=field.metadata["help"], rich_help_panel=_PANEL
        )
        kind = int if str(field.type) == "int" else float
        parameters.append(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=Annotated[kind, option]
            )
        )
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


@app.command()
@_limit_options
@settings_options()
def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 is all of them.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port; 0 takes any free one.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, max=256, help="Worker processes.")] = 1,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Documents at a time, a worker.", show_default="one a core in all"),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            "--api-key-file",
            help=f"File of API keys, one a line; the variable {VARIABLE} holds one more.",
            show_default="none: everybody may ask",
        ),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", metavar="ORIGIN", help="An origin whose pages may use the service; may be repeated."),
    ] = None,
    drain_seconds: Annotated[
        float,
        typer.Option("--drain-seconds", min=0, max=3_600, help="On SIGTERM, time to go on taking connections."),
    ] = 0.5,
    grace_seconds: Annotated[
        float,
        typer.Option("--grace-seconds", min=1, max=3_600, help="Then, time to finish what was accepted."),
    ] = 60.0,
    request_log: Annotated[
        bool, typer.Option("--request-log/--no-request-log", help="A line of JSON a request on standard error.")
    ] = True,
    model: Model = None,
    collection: CollectionFolder = None,
    no_collection: NoCollection = False,
    tagger: TaggerOption = TaggerName.model,
    *,
    settings: Settings,
    limits: ServiceLimits,
) -> None:
    """An HTTP service with a page to look at keyphrases, at http://127.0.0.1:8000 unless told otherwise.

    SIGTERM stops it when everything accepted is answered. For example: erukg serve --port 8080 --workers 2
    """
    require_service()
    from erukg.research.baselines.comparisons import comparisons
    from erukg.serving.server import ServerOptions, run

    def load() -> tuple[KeyphraseGenerator, Comparisons]:
        generator = load_generator(model, collection, no_collection, tagger)
        generator.settings = settings
        return generator, comparisons(generator)

    options = ServerOptions(
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
    raise typer.Exit(run(load, options))
