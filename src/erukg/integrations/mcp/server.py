"""The tools as an MCP server: over standard input and output, or over HTTP on this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from erukg._version import __version__
from erukg.errors import ErukgError, require
from erukg.integrations.mcp.tools import Tools

require("mcp.server.mcpserver", "mcp", "The MCP server")

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import ValidationError

__all__ = ["make_server", "serve_http"]

_HOST = "127.0.0.1"
_NAMES = (_HOST, "localhost", "[::1]")
_BYTES_PER_CHARACTER = 12  # in JSON that escapes what is not ASCII
_GRACE = 10.0  # seconds for documents that are under way
_TITLES = {
    "extract_keyphrases": "Keyphrases in a text",
    "generate_keyphrases": "Keyphrases in a text and beyond it",
    "suggest_concepts": "Concepts of a vocabulary for a text",
    "expand_query": "Phrases to search for beside a query",
    "compare_texts": "What two texts have in common",
    "folder_themes": "Themes of a folder",
}


class _Server(MCPServer):  # type: ignore[misc]
    """Says every mistake in one sentence."""

    async def call_tool(self, name: str, arguments: dict[str, Any], *more: Any, **named: Any) -> Any:
        try:
            return await super().call_tool(name, arguments, *more, **named)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                first = error.__cause__.errors()[0]
                raise ToolError(f"{'.'.join(map(str, first['loc'][:2]))}: {first['msg']}.") from error
            if isinstance(error.__cause__, ToolError):
                raise error.__cause__ from None
            raise


def make_server(tools: Tools) -> MCPServer:
    """The server with all tools; `Client(make_server(tools))` of the SDK talks to it in the same process."""
    folders = ", ".join(map(str, tools.folders.folders)) or "none"
    names = ", ".join(tools.suggesters) or "none"
    server = _Server(
        "erukg",
        title="Keyphrases",
        version=__version__,
        instructions="Finds the phrases that describe English texts. Give paths rather than texts where you can: the "
        f"server reads files itself. Folders it may read: {folders}. Vocabularies: {names}.",
        log_level="WARNING",
    )
    for name, title in _TITLES.items():
        hints = ToolAnnotations(title=title, read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        tool = getattr(tools, name)
        said = " ".join(str(tool.__doc__).split())
        server.add_tool(_limited(tool, tools.limits.max_seconds), title=title, description=said, annotations=hints)
    return server


def _limited(tool: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    """The tool in a thread, for so many seconds; what a user can mend is an error of the tool."""

    @wraps(tool)
    async def call(**arguments: Any) -> Any:
        try:
            # Tools look at the clock between documents, and then answer with what they have.
            with anyio.fail_after(seconds + _GRACE):
                return await anyio.to_thread.run_sync(partial(tool, **arguments), abandon_on_cancel=True)
        except TimeoutError:
            raise ToolError(f"The call took longer than {seconds:g} s; give shorter documents.") from None
        except ErukgError as error:
            raise ToolError(str(error)) from None

    return call


def serve_http(server: MCPServer, port: int, characters: int, ready: Callable[[str], None]) -> None:
    """Serve at /mcp on this machine alone; requests that a foreign page makes a browser send are refused."""
    import uvicorn

    names = [form for name in _NAMES for form in (name, f"{name}:*")]
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    app = server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=_BYTES_PER_CHARACTER * characters + 1_000_000,
        transport_security=security,
    )
    # A port that is taken is an error of ours to report, not one of uvicorn's.
    with socket.create_server((_HOST, port)) as bound:
        ready(f"http://{_HOST}:{bound.getsockname()[1]}/mcp")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])
