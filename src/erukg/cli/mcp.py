"""`erukg mcp`: keyphrases as tools of an agent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from erukg.cli._common import say
from erukg.cli._options import ModelOptions, option, options
from erukg.cli.serve import SubjectOptions
from erukg.errors import require
from erukg.integrations.mcp.files import AllowedFolders, ToolLimits

__all__ = ["app"]

app = typer.Typer()


@app.command()
@options(without={"device", "tagger"})
def mcp(
    parts: ModelOptions,
    subjects: SubjectOptions,
    limits: ToolLimits,
    allow: Annotated[
        list[Path] | None,
        option("--allow", help="A folder whose files tools may read; may be repeated.", show_default="none"),
    ] = None,
    http: Annotated[bool, option("--http", help="Serve over HTTP on this machine, not over stdin and stdout.")] = False,
    port: Annotated[int, option("--port", min=0, max=65_535, help="Port for --http; 0 picks a free one.")] = 8765,
) -> None:
    """Serve keyphrases to agents by the Model Context Protocol, over stdin and stdout or over HTTP.

    Put it into the settings of your agent, for example: erukg mcp --allow /home/me/papers
    """
    require("mcp.server.mcpserver", "mcp", "The MCP server")
    folders = AllowedFolders(allow or [], limits)
    from erukg.integrations.mcp.server import make_server, serve_http
    from erukg.integrations.mcp.tools import Tools
    from erukg.serving.subjects import load_subjects

    generator = parts.load()
    sources = load_subjects(generator, subjects.vocabulary or (), subjects.tagged, subjects.ranking or ())
    tools = Tools(generator, folders, limits, {name: source.suggester for name, source in sources.items()})
    server = make_server(tools)
    if http:
        serve_http(server, port, limits.characters, lambda address: say(f"Serving at {address}"))
    else:
        if sys.stdin.isatty():
            say("Waiting for an agent on standard input, which is what starts this command; Ctrl-C leaves it.")
        server.run("stdio")
