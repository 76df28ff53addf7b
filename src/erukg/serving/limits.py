"""The limits of the service: on one request, and on all of them together."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from erukg.errors import SettingsError

__all__ = ["ServiceLimits"]


def _limit(default: float, low: float, high: float, help: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """Every limit of a service process. Times are in seconds."""

    body_bytes: int = _limit(8_000_000, 1_000, 1_000_000_000, "Largest request body, in bytes.")
    file_bytes: int = _limit(20_000_000, 1_000, 1_000_000_000, "Largest file to read, in bytes.")
    held_bytes: int = _limit(256_000_000, 1_000, 100_000_000_000, "Bytes of all bodies held at a time; beyond it 429.")
    queue: int = _limit(256, 1, 1_000_000, "Documents that may wait; beyond it 429.")
    documents: int = _limit(100, 1, 100_000, "Documents per request.")
    characters: int = _limit(200_000, 100, 20_000_000, "Characters per document.")
    phrases: int = _limit(10_000, 1, 1_000_000, "Phrases to rank per request.")
    top_k: int = _limit(1_000, 1, 100_000, "Largest top_k.")
    baseline_characters: int = _limit(50_000, 100, 1_000_000, "Characters per document for a baseline.")
    seconds: float = _limit(60.0, 0.01, 3_600, "Longest time for a request, including waiting; then 504.")
    body_seconds: float = _limit(15.0, 0.1, 3_600, "Longest time for a body to arrive; then 408.")
    idle_seconds: float = _limit(30.0, 0.1, 3_600, "Longest time between requests, headers included.")
    pdf_pages: int = _limit(500, 1, 100_000, "Pages per PDF.")
    pdf_seconds: float = _limit(20.0, 0.1, 3_600, "Longest time for parsing a PDF.")
    pdf_memory: int = _limit(1_500_000_000, 100_000_000, 100_000_000_000, "Memory for parsing a PDF, in bytes.")
    pdf_readers: int = _limit(2, 1, 64, "PDFs parsed at a time; four times as many may wait.")

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            value, low, high = getattr(self, f.name), f.metadata["low"], f.metadata["high"]
            if not low <= value <= high:
                raise SettingsError(f"The limit '{f.name}' must be from {low:g} to {high:g}, not {value!r}.")
        if self.documents > self.queue:
            raise SettingsError(
                f"A request of {self.documents} documents would never fit a queue of {self.queue}; "
                "lower the documents of a request, or make the queue longer."
            )
