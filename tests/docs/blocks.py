"""The code blocks of README and docs, and the command lines in them."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

from test_tasks import PAGES as TASKS

__all__ = ["PAGES", "ROOT", "Block", "Command", "blocks_of", "commands_of"]

ROOT = Path(__file__).parents[2]
#: Every page a reader sees but those of `test_tasks`, which writes their output too; `docs/results` is made by a
#: command of its own, but has a block too.
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - set(TASKS))]
_SHELL = {"sh", "bash", "shell", "console"}
_PROGRAMS = re.compile(
    r"(\$ |(erukg|curl|pip|pipx|uvx?|python3?|pytest|docker|openssl|cat|gzip|printf|echo|mkdir|cd|cp|ls|"
    r"git|ray|while|bin/\S+|"
    r"\.venv/\S+|[A-Z_]+=\S+ \S+)( |$))"
)
# What mkdocs indents and CommonMark takes for code: tabs and admonitions.
_CONTAINER = re.compile(r"^(===|!!!|\?\?\?\+?) ", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """`language`: python, shell, json, or what the fence says; `text` for what shows output or a sketch.

    follows  nothing but blank lines stands between it and the block before
    title    the name of the file that it is
    """

    page: str
    line: int
    language: str
    code: str
    follows: bool = False
    title: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass
class Command:
    """A command line, its words, and the output that is shown below it, if any."""

    line: str
    words: list[str]
    shown: list[str] = field(default_factory=list)


def blocks_of(path: Path) -> list[Block]:
    """All blocks of a page, in order."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return list(_blocks(name, path.read_text("utf-8"), 0))


def _blocks(page: str, text: str, before: int) -> Iterator[Block]:
    lines, end = text.splitlines(), -1
    for token in MarkdownIt("commonmark").parse(text):
        if token.type not in ("fence", "code_block") or token.map is None:
            continue
        line = before + token.map[0] + 1
        above = next((one for one in reversed(lines[: token.map[0]]) if one.strip()), "")
        if token.type == "code_block" and (_CONTAINER.match(above) or token.content.lstrip().startswith("```")):
            yield from _blocks(page, textwrap.dedent(token.content), line - 1)
        else:
            follows = end >= 0 and not "".join(lines[end : token.map[0]]).strip()
            title = re.search(r'title="([\w./-]+)"', token.info)
            language = _language(token.info, token.content)
            yield Block(page, line, language, token.content, follows, None if title is None else title[1])
        end = token.map[1]


def _language(info: str, code: str) -> str:
    said = info.split()[0].strip("{}.").lower() if info.strip() else ""
    if said:
        return "shell" if said in _SHELL else said
    if _PROGRAMS.match(code.lstrip("\n")):
        return "shell"
    try:
        for line in code.splitlines():
            json.loads(line)
        return "json"
    except ValueError:
        return "python" if re.match(r"(import|from) |\w+ = erukg\.", code) else "text"


def commands_of(code: str) -> list[Command]:
    """The command lines of a block: with continued lines and open quotes joined, and the output below each."""
    out: list[Command] = []
    prompts, pending = "$ " in {line[:2] for line in code.splitlines()}, ""
    for line in code.splitlines():
        begins = line.startswith("$ ") if prompts else bool(_PROGRAMS.match(line))
        if not pending and not begins:
            if out and (line.strip() or out[-1].shown):
                out[-1].shown.append(line)
            continue
        pending += line.removeprefix("$ ") if not pending else f"\n{line}"
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        try:
            words = _words(pending)
        except ValueError:  # a quote is open
            continue
        out.append(Command(pending.strip(), words))
        pending = ""
    assert not pending, f"a quote or a line that goes on is not closed: {pending}"
    return out


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>&;")
    lexer.whitespace_split, lexer.commenters = True, "#"
    return list(lexer)
