"""Figures in the docs: each is in a stored run that is named beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "docs" / "results" / "runs"
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "results"]
# Scores come in pairs ("30.1 / 28.2"), and speeds as "3.8 times".
_SCORES = re.compile(r"(?<![\d.])\d{1,2}\.\d(?: / \d{1,2}\.\d)+(?![\d.])")
_TIMES = re.compile(r"(?<![\d.])(\d+\.\d+) times")
_RUN = re.compile(r"`([\w-]+\.json)`")


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, float):
        yield value


@lru_cache
def figures(name: str, times: bool) -> frozenset[str]:
    """What can be quoted from a run: scores in percent, or ratios and their inverses."""
    found = [value for value in numbers(json.loads((RUNS / name).read_bytes())) if value]
    if times:
        return frozenset(f"{ratio:.1f}" for value in found for ratio in (value, 1 / value))
    return frozenset(f"{100 * value:.1f}" for value in found)


def paragraphs(text: str) -> Iterator[tuple[str, list[str]]]:
    """Paragraphs and points of lists, with the runs named in them or in the first words of their section."""
    section: list[str] = []
    for block in re.split(r"\n(?=- |\n|#)", text):
        named = _RUN.findall(block)
        if block.lstrip().startswith("#") or (named and block.lstrip().startswith("Figures:")):
            section = named
        yield block, named or section


def unfounded(text: str) -> list[str]:
    out = []
    for block, runs in paragraphs(text):
        for times, pattern in ((False, _SCORES), (True, _TIMES)):
            for quoted in pattern.findall(block):
                values = quoted.split(" / ")
                if not any(all(value in figures(run, times) for value in values) for run in runs):
                    out.append(f"{quoted}{' times' if times else ''} (runs: {', '.join(runs) or 'none named'})")
    return out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_is_in_the_run_beside_it(page: Path) -> None:
    assert not unfounded(page.read_text("utf-8"))


def test_a_figure_without_a_run_is_found() -> None:
    assert unfounded("- It has 30.1 / 98.7 (run `ours.json`).\n- And 12.3 times the speed.\n") == [
        "30.1 / 98.7 (runs: ours.json)",
        "12.3 times (runs: none named)",
    ]
