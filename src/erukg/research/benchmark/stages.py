"""Where the time of one document goes.

The generator itself is not touched: its back end and its collection are given to it inside wrappers that keep the
time, parsing and phrase finding are timed by doing them once more, and what is then left of the whole is scoring.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.settings import Settings
from erukg.generator import KeyphraseGenerator

__all__ = ["STAGES", "time_stages"]

STAGES = ("parse", "tokenise", "neighbours", "encode", "tags and phrases", "score")

_BACKEND = {"pieces": "tokenise", "phrase_terms": "tokenise", "encode": "encode"}
_BACKGROUND = {"neighbourhood": "neighbours"}


class _Clock:
    """Stands in for an object and adds up how long some of its methods take, by stage."""

    def __init__(self, inner: Any, stages: dict[str, str], spent: dict[str, float]) -> None:
        self._inner = inner
        self._stages = stages
        self._spent = spent
        self.last: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._inner)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        stage = self._stages.get(name)
        if stage is None:
            return found

        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            result = found(*arguments, **options)
            self._spent[stage] += time.perf_counter() - start
            self.last[name] = result
            return result

        return timed


def time_stages(
    generator: KeyphraseGenerator,
    texts: Sequence[str],
    settings: Settings,
    top_k: int = 10,
    step: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Milliseconds per document and share of the whole of each stage, over all texts."""
    spent = dict.fromkeys(STAGES, 0.0)
    backend = _Clock(generator.backend, _BACKEND, spent)
    background = None if generator.background is None else _Clock(generator.background, _BACKGROUND, spent)
    timed = KeyphraseGenerator(backend, background, settings=settings)
    timed.generate(texts[0], top_k)
    spent.update(dict.fromkeys(STAGES, 0.0))
    whole = 0.0
    for i, text in enumerate(texts):
        start = time.perf_counter()
        timed.generate(text, top_k)
        end = time.perf_counter()
        document = Document.parse(text)
        parsed = time.perf_counter()
        find_candidates(document, backend.last["encode"].tags, settings.max_words)
        whole += end - start
        spent["parse"] += parsed - end
        spent["tags and phrases"] += time.perf_counter() - parsed
        if step is not None:
            step(i + 1, len(texts))
    # Noise in what was done twice may exceed the little that scoring takes.
    spent["score"] = max(0.0, whole - sum(spent.values()))
    total = sum(spent.values())
    per_document = {
        stage: {"ms": value / len(texts) * 1e3, "share": value / total if total else 0.0}
        for stage, value in spent.items()
    }
    return {"documents": len(texts), "ms": whole / len(texts) * 1e3, "stages": per_document}
