"""A command group that knows its commands' names and one-line helps, and imports one only when it is run.

It is also the one place where errors become a line on standard error and an exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main

from erukg.cli._common import INTERRUPTED, NOTHING_DONE, PIPE_CLOSED, say
from erukg.errors import ErukgError

__all__ = ["Later", "LazyGroup", "lazy_group", "one_line_errors"]


@dataclass(frozen=True, slots=True)
class Later:
    """A command loaded on use: its module's `app` itself (`group`), or the command of that name in it."""

    name: str
    module: str
    help: str
    group: bool = False

    def load(self) -> Any:
        loaded: Any = typer.main.get_group(import_module(self.module).app)
        if self.group:
            loaded.name = self.name
            loaded.help = loaded.help or self.help
            return loaded
        return loaded.commands[self.name]


class LazyGroup(typer.core.TyperGroup):
    """Shows stand-ins in its help, and swaps in the real command when one is called."""

    later: Sequence[Later] = ()

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for one in self.later:
            self.commands[one.name] = typer.core.TyperCommand(one.name, help=one.help)

    def list_commands(self, ctx: Any) -> list[str]:
        return [one.name for one in self.later]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        for one in self.later:
            if args[:1] == [one.name]:
                self.commands[one.name] = one.load()
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


def lazy_group(later: Sequence[Later]) -> type[LazyGroup]:
    """A `LazyGroup` class with these commands, as `typer.Typer(cls=…)` wants it."""
    return type("Commands", (LazyGroup,), {"later": tuple(later)})


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
