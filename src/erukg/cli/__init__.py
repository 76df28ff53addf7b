"""The command `erukg`: one file per command, each loaded when it is used."""

from __future__ import annotations

from typing import Annotated

import typer

from erukg._version import __version__
from erukg.cli._lazy import LazyCommand, lazy_group

__all__ = ["app", "main"]

_EXIT_CODES = """Exit codes: 0 success, 1 nothing could be done, 2 the command line is wrong,
3 some documents were skipped, 130 interrupted."""

_GENERATE = "erukg.cli.generate"
_COMMANDS = lazy_group(
    LazyCommand("generate", _GENERATE, "Keyphrases of documents: those in the text and those not in it."),
    LazyCommand("extract", _GENERATE, "Keyphrases in the text only, without a background collection."),
    LazyCommand("rank", _GENERATE, "Score your own phrases (a thesaurus, tags) against documents."),
    LazyCommand("suggest", "erukg.cli.suggest", "Concepts of your vocabulary, or tags of your archive, for documents."),
    LazyCommand("expand", "erukg.cli.expand", "Keyphrases into a search engine's documents or queries."),
    LazyCommand("encode", "erukg.cli.encode", "Sparse vectors of documents and queries, for vector search."),
    LazyCommand("text", "erukg.cli.text", "What is read of documents: of PDF, HTML, Word and others, and of JSON."),
    LazyCommand("serve", "erukg.cli.serve", "An HTTP service, with a page to look at keyphrases."),
    LazyCommand("mcp", "erukg.cli.mcp", "Keyphrases as tools of an agent: a server of the Model Context Protocol."),
    LazyCommand("report", "erukg.cli.report", "Documents and their keyphrases as one HTML file to look at."),
    LazyCommand("collection", "erukg.cli.collection", "Build, extend, check and search background collections.", True),
    LazyCommand(
        "vocabulary", "erukg.cli.vocabulary", "Prepare vocabularies (SKOS, TSV, tag lists), look at them.", True
    ),
    LazyCommand("model", "erukg.cli.model", "Check the files of a model.", True),
    LazyCommand("train", "erukg.cli.train", "Train a model and export it.", True),
    LazyCommand("evaluate", "erukg.cli.evaluate", "Measure quality and speed on test sets.", True),
    LazyCommand("reproduce", "erukg.cli.reproduce", "Every table and figure, from data to stored runs to pages."),
    LazyCommand("benchmark", "erukg.cli.benchmark", "Measure speed and memory, against others too.", True),
)

app = typer.Typer(
    cls=_COMMANDS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"erukg {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Keyphrases for any English text, in milliseconds, by models trained without labelled data."""


def main() -> None:
    """Run the command line; the entry point of the installed program."""
    app(prog_name="erukg")
