"""How to serve, and the limits of the service: on one request, and on all of them together."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erukg.errors import SettingsError

__all__ = ["KEY_VARIABLE", "ServerOptions", "ServiceLimits"]

KEY_VARIABLE = "ERUKG_API_KEY"


def _option(default: object, help: str, *more: str, **settings: Any) -> Any:
    return field(default=default, metadata={"help": help, "short": more, "settings": settings})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How to serve: the options of `erukg serve`."""

    host: str = _option("127.0.0.1", "Address to listen on; 0.0.0.0 means all.")
    port: int = _option(8000, "Port; 0 picks a free one.", min=0, max=65_535)
    workers: int = _option(1, "Worker processes.", min=1, max=256)
    threads: int | None = _option(
        None,
        "Documents at a time per worker: so many short ones and so many others.",
        min=1,
        show_default="one per core in all",
    )
    api_key_file: Path | None = _option(  # noqa: RUF009 (it is a field)
        None,
        f"File of API keys, one per line; the variable {KEY_VARIABLE} holds one more.",
        show_default="none: no key is needed",
    )
    cors: list[str] | None = _option(  # noqa: RUF009 (it is a field)
        None, "An origin whose pages may use the service; may be repeated.", metavar="ORIGIN"
    )
    allowed_host: list[str] | None = _option(  # noqa: RUF009 (it is a field)
        None,
        "A name that the service is reached by, beside --host, localhost and addresses; * means any; may be repeated.",
        metavar="NAME",
    )
    jobs_folder: Path | None = _option(  # noqa: RUF009 (it is a field)
        None, "Folder for jobs, the keyphrases of whole corpora, and their results.", show_default="none: no jobs"
    )
    drain_seconds: float = _option(0.5, "On SIGTERM, seconds to keep accepting connections.", min=0, max=3_600)
    grace_seconds: float = _option(60.0, "Then, seconds to finish accepted requests.", min=1, max=3_600)
    hung_seconds: float = _option(
        30.0, "With several workers, seconds without a sign of life until one is replaced.", min=3, max=3_600
    )
    request_log: bool = _option(True, "One line of JSON per request on standard error.", " /--no-request-log")


def _limit(default: float, low: float, high: float, help: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """Every limit of a service process. Times are in seconds."""

    body_bytes: int = _limit(8_000_000, 1_000, 1_000_000_000, "Largest request body, in bytes.")
    file_bytes: int = _limit(20_000_000, 1_000, 1_000_000_000, "Largest file to read, in bytes.")
    held_bytes: int = _limit(256_000_000, 1_000, 100_000_000_000, "Bytes of all bodies held at a time; beyond it 429.")
    connections: int = _limit(1_000, 1, 1_000_000, "Connections at a time; beyond it 429.")
    queue: int = _limit(256, 1, 1_000_000, "Documents that may wait in each lane; beyond it 429.")
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
    jobs: int = _limit(20, 1, 10_000, "Jobs kept at a time, done or not; beyond it 429.")
    job_documents: int = _limit(100_000, 1, 100_000_000, "Documents per job.")
    job_bytes: int = _limit(200_000_000, 1_000, 100_000_000_000, "Bytes of a job's documents, and of its results.")
    job_hours: float = _limit(72.0, 0.0001, 100_000, "Hours that the results of a job are kept.")

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
