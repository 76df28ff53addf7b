"""The house stays easy to find one's way in: short files, short functions, one home for shared ideas."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "erukg").rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 400, 80
# What has one home, and the only modules that may write it out.
HOMES = {
    r"get_close_matches": {"errors.py"},
    r"os\.fsync|os\.replace": {"io/publish.py", "io/outputs.py", "collection/arrays.py"},
    r"rich\.progress|from rich import progress": {"io/progress.py"},
    r"\bgzip\.open|\blzma\.open": {"io/streams.py"},
    r"0xCBF29CE484222325": {"core/hashing.py"},
}


def name(path: Path) -> str:
    return path.relative_to(ROOT / "src" / "erukg").as_posix()


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            compiled = any(ast.unparse(each).startswith(("kernel(", "triton.jit")) for each in node.decorator_list)
            if not compiled and node.end_lineno is not None:
                yield node.name, node.end_lineno - node.lineno + 1


def test_no_file_is_too_long() -> None:
    lengths = {name(path): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert not {path: length for path, length in lengths.items() if length > LONGEST_FILE}


def test_no_function_is_too_long() -> None:
    long = {(name(path), function): n for path in SOURCES for function, n in functions(path) if n > LONGEST_FUNCTION}
    assert not long


def test_shared_ideas_have_one_home() -> None:
    for pattern, homes in HOMES.items():
        found = {name(path) for path in SOURCES if re.search(pattern, path.read_text("utf-8"))}
        assert found <= homes, f"{pattern} is written out in {sorted(found - homes)}"
