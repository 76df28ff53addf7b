"""`erukg text`: what is read of documents, before anything is looked for in it."""

from __future__ import annotations

from enum import StrEnum
from typing import IO, Annotated, Any

import typer

from erukg.cli._options import InputOptions, option, options
from erukg.cli._work import Source, output_path
from erukg.io.outputs import Output
from erukg.io.writers import JsonWriter, LineWriter, Writer

__all__ = ["app"]

app = typer.Typer()


class TextFormat(StrEnum):
    text = "text"
    json = "json"


@app.command()
@options()
def text(
    documents: InputOptions,
    output: Annotated[str | None, option("--output", "-o", help="Write here.", show_default="the terminal")] = None,
    format: Annotated[
        TextFormat, option("--format", "-f", help="The texts alone, or lines of JSON with id, title and text.")
    ] = TextFormat.text,
) -> None:
    """What is read of documents: the text that positions of keyphrases are in.

    For example: erukg text report.pdf, or erukg text papers/ --format json --output papers.jsonl
    """
    source = Source(documents)
    path = output_path(output)
    source.refuse(path)

    def writer(stream: IO[bytes]) -> Writer:
        return JsonWriter(stream) if format is TextFormat.json else LineWriter(stream)

    with Output(path, writer) as out:
        for document in source:
            row: dict[str, Any] = {"id": document.id}
            if document.title:
                row["title"] = document.title
            out.write({**row, "text": document.text} if format is TextFormat.json else (document.text,))
        if not source.good:
            out.discard()
    source.finish()
