"""A command group that knows its commands' names and one-line helps, and imports one only when it is run.

It is also the one place where errors become a line on standard error and an exit code, and our warnings a line.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import typer
import typer.core
import typer.main

from erukg.cli._common import INTERRUPTED, NOTHING_DONE, PIPE_CLOSED, say
from erukg.errors import ErukgError, ErukgWarning

__all__ = ["LazyCommand", "lazy_group", "one_line_errors", "one_line_warnings"]


class LazyCommand(NamedTuple):
    """A command loaded on use: the one of this name in its module's `app`, or that `app` itself (`group`)."""

    name: str
    module: str
    help: str
    group: bool = False

    def load(self) -> Any:
        loaded: Any = typer.main.get_group(import_module(self.module).app)
        if not self.group:
            return loaded.commands[self.name]
        loaded.name, loaded.help = self.name, loaded.help or self.help
        return loaded


def lazy_group(*lazy: LazyCommand) -> type[typer.core.TyperGroup]:
    """A class for `typer.Typer(cls=…)` with these commands: stand-ins, until one of them is called."""

    class Commands(typer.core.TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands.update({one.name: typer.core.TyperCommand(one.name, help=one.help) for one in lazy})

        def list_commands(self, ctx: Any) -> list[str]:
            return [one.name for one in lazy]

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            self.commands.update({one.name: one.load() for one in lazy if args[:1] == [one.name]})
            return super().resolve_command(ctx, args)

        def invoke(self, ctx: Any) -> Any:
            with one_line_errors(), one_line_warnings():
                return super().invoke(ctx)

    return Commands


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Our own warnings as one line each, without the place in the code that they come from."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, ErukgWarning):
                say(str(message))
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        yield


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors that a user can do something about, as one line and an exit code; a bug keeps its traceback."""
    try:
        yield
        sys.stdout.flush()
    except ErukgError as error:
        say(str(error))
        raise typer.Exit(NOTHING_DONE) from error
    except KeyboardInterrupt as error:
        say("Interrupted.")
        raise typer.Exit(INTERRUPTED) from error
    except BrokenPipeError as error:
        # Whoever read our output has gone, as `head` does. Python flushes once more on leaving, and must find
        # somewhere to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        say(f"{where}{error.strerror or error}.")
        raise typer.Exit(NOTHING_DONE) from error
    except MemoryError as error:
        say("There is not enough memory for this; give smaller documents or use fewer --threads.")
        raise typer.Exit(NOTHING_DONE) from error
