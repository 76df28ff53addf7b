"""Run as a module: streams documents and prints how much memory that took, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

__all__ = ["main", "peak_mb"]

_STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """The most megabytes (10^6 bytes) of memory that this process has held at once.

    Linux says it of the program itself; `getrusage` there also counts what the starting process held before.
    """
    if _STATUS.is_file():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def texts(paths: Sequence[str], words: int) -> Iterator[str]:
    """The documents of some files again and again, or built-in ones of so many words, without end."""
    from erukg.research.benchmark.texts import document, read_texts

    if not paths:
        yield from (document(words, number) for number in count())
    found: str | None = ""
    while found is not None:
        found = None
        for found in read_texts(paths):
            yield found


def main(task: str) -> None:
    from erukg.generator import KeyphraseGenerator

    given = json.loads(task)
    wanted, words, collection = given["documents"], given["words"], given["collection"]
    generator = KeyphraseGenerator.from_pretrained(given["model"], collection if collection is not None else False)
    loaded = peak_mb()

    stream = generator.generate_batch(islice(texts(given["paths"], words), wanted))
    quarter = max(1, wanted // 4)
    early, i = loaded, 0
    for i, _ in enumerate(stream, 1):
        if i == quarter:
            early = peak_mb()
    peak = peak_mb()
    found = {"documents": i, "words": None if given["paths"] else words, "loaded_mb": loaded, "quarter_mb": early}
    print(json.dumps({**found, "peak_mb": peak, "growth_after_quarter": peak / early - 1}))


if __name__ == "__main__":
    main(sys.argv[1])
