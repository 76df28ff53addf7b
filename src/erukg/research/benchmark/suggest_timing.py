"""How long `suggest` takes beside `generate`: turn by turn on the same texts, so that a busy machine slows both.

python -m erukg.research.benchmark.suggest_timing TEXTS --vocabulary V [--collection TAGGED] [--ranking R] [-o RUN]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from erukg.generator import KeyphraseGenerator
from erukg.io import InputDocument, read_documents
from erukg.research.evaluation.reporting import report_head, write_json
from erukg.subjects import Suggester

__all__ = ["compare", "main"]


def compare(generator: KeyphraseGenerator, suggester: Suggester, texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time a document, and how many times as long `suggest` takes, medians of the rounds."""
    ways: tuple[Callable[[str], object], ...] = (generator.generate, suggester.suggest)
    for way in ways:
        way(texts[0])
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        spent = [0.0, 0.0]
        for text in texts:
            for k, way in enumerate(ways):
                start = time.process_time()
                way(text)
                spent[k] += time.process_time() - start
        taken.append((spent[0], spent[1]))
    generate, suggest = (1000 * statistics.median(each) / len(texts) for each in zip(*taken, strict=True))
    return {
        "documents": len(texts),
        "generate_ms": generate,
        "suggest_ms": suggest,
        "ratio": statistics.median(suggest / generate for generate, suggest in taken),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How long suggest takes beside generate, on one core.")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--vocabulary")
    parser.add_argument("--collection")
    parser.add_argument("--ranking")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    rows = islice((row for row in read_documents(given.texts) if isinstance(row, InputDocument)), given.documents)
    generator = KeyphraseGenerator.from_pretrained()
    texts = [row.text for row in rows]
    ways: dict[str, dict[str, str]] = {"labels": {}}
    if given.collection is not None:
        ways["both"] = {"tagged": given.collection}
    if given.ranking is not None:
        ways["learned"] = {"tagged": given.collection, "ranking": given.ranking}
    found = {}
    for name, options in ways.items():
        suggester = generator.suggester(given.vocabulary, tagged=options.get("tagged"), ranking=options.get("ranking"))
        found[name] = {"concepts": len(suggester.vocabulary), **compare(generator, suggester, texts, given.rounds)}
    report = {**report_head("suggest-timing"), "rows": found}
    print(json.dumps(found))
    if given.output is not None:
        write_json(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
