"""`erukg model`: what there is to do with a model folder beside using it."""

from __future__ import annotations

from typing import Annotated

import typer

from erukg.cli._common import NOTHING_DONE, say

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Check the files of a model."""


@app.command()
def verify(
    model: Annotated[
        str | None, typer.Argument(help="Model folder, or the name of a bundled model.", show_default="tiny")
    ] = None,
) -> None:
    """Compare every file of a model with its checksum, and try whether it runs and has not collapsed in training."""
    import warnings

    from erukg.backends import ModelFolder, OnnxBackend, find_model
    from erukg.errors import ErukgWarning

    folder = ModelFolder.open(find_model(model))
    faults = folder.faults()
    if not faults:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ErukgWarning)
            backend = OnnxBackend(folder)
            pieces = backend.pieces(["word"])
            backend.encode(pieces, pieces.ids)
        faults = [str(one.message) for one in caught if issubclass(one.category, ErukgWarning)]
    for fault in faults:
        say(fault)
    if faults:
        raise typer.Exit(NOTHING_DONE)
    print(f"{folder.path} is in order: {len(folder.config['files'])} files.")
