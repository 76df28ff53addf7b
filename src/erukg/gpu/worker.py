"""A worker: everything about a text but the model itself. It loads no torch."""

from __future__ import annotations

import gc
import queue
import sys
from multiprocessing.connection import Connection
from typing import Any

from erukg.backends.batch import Answers, pack, unpack
from erukg.collection.reader import Hits
from erukg.gpu.jobs import Job, Task
from erukg.gpu.messages import BEGIN, ENCODE, READY, SEARCH, SWITCH, Failure, Outbox, portable, read_into

__all__ = ["work"]

_CALLER, _SERVER = 0, 1


def work(caller: Connection, outbox: Outbox, server: Connection, job: Job) -> None:
    """Serve until the caller or the server has gone.

    The caller sends (number, items) and gets (number, results), one result or `Failure` an item. In between, the
    server gets (SEARCH, number, texts, arrays of `Lists`) and answers (SEARCH, number, documents and scores), if it
    searches at all; then it gets (ENCODE, number, texts, arrays of `Packed`) and answers (ENCODE, number, arrays of
    `Answers`). What it says first is (READY, whether it searches).
    """
    sys.setswitchinterval(SWITCH)
    inbox = _Inbox()
    read_into(inbox.put, (caller, server), vital=2)
    task = job.open()
    # What is loaded stays, and texts leave no cycles behind; looking for garbage often would be much of the work.
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)
    worker = _Worker(task, outbox, Outbox(server), on_device=inbox.ready.get())
    while True:
        worker.take(*inbox.get())


class _Inbox:
    """Messages by the number of their chunk, the lowest first: the caller waits for the results in order."""

    def __init__(self) -> None:
        #: Whether the server searches, as soon as it has said so.
        self.ready: queue.SimpleQueue[bool] = queue.SimpleQueue()
        # Of one chunk there never are two messages at once.
        self._waiting: queue.PriorityQueue[tuple[int, int, Any]] = queue.PriorityQueue()

    def put(self, who: int, message: Any) -> None:
        if who == _CALLER:
            number, items = message
            self._waiting.put((number, BEGIN, items))
        elif message[0] == READY:
            self.ready.put(message[1])
        else:
            kind, number, content = message
            self._waiting.put((number, kind, content))

    def get(self) -> tuple[int, int, Any]:
        """The number of the chunk, what is to be done with it, and what that needs."""
        return self._waiting.get()


class _Worker:
    def __init__(self, task: Task, caller: Outbox, server: Outbox, on_device: bool) -> None:
        self._task, self._caller, self._server, self._on_device = task, caller, server, on_device
        self._waiting: dict[int, _Chunk] = {}

    def take(self, number: int, kind: int, content: Any) -> None:
        """Do the next part of a chunk's work."""
        if kind == BEGIN:
            self._begin(number, content)
            return
        chunk = self._waiting[number]
        if kind == SEARCH:
            self._read(number, chunk, self._task.found(chunk.items, chunk.asked, *content))
        else:
            del self._waiting[number]
            self._caller.put((number, chunk.finish(self._task, Answers(*content))))

    def _begin(self, number: int, items: list[Any]) -> None:
        chunk = self._waiting[number] = _Chunk(items)
        asked = self._task.ask(items) if self._on_device else None
        if asked is None:
            self._read(number, chunk, [None] * len(items))
            return
        chunk.asked, lists = asked
        self._server.put((SEARCH, number, len(lists), lists.arrays()))

    def _read(self, number: int, chunk: _Chunk, hits: list[Hits | None]) -> None:
        if chunk.read(self._task, hits):
            self._server.put((ENCODE, number, len(chunk.packed), chunk.packed.arrays()))
        else:
            del self._waiting[number]
            self._caller.put((number, chunk.results))


class _Chunk:
    """Texts between the parts of the work."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.asked: Any = None
        self.results: list[Any] = [None] * len(items)
        self._good: list[int] = []
        self._kept: list[Any] = []
        self._pieces: list[Any] = []

    def read(self, task: Task, hits: list[Hits | None]) -> bool:
        """Prepare the texts for the model; False if none is left."""
        ready = []
        for i, (item, hit) in enumerate(zip(self.items, hits, strict=True)):
            try:
                kept, pieces, terms = task.read(item, hit)
            except Exception as error:  # it belongs to this text alone, and is raised when its turn comes
                self.results[i] = portable(error)
                continue
            self._good.append(i)
            self._kept.append(kept)
            self._pieces.append(pieces)
            ready.append((pieces, terms))
        self.items, self.asked = [], None
        self.packed = pack(ready, task.window)
        return bool(ready)

    def finish(self, task: Task, answers: Answers) -> list[Any]:
        top = answers.top_terms, answers.top_weights
        for row, encoding in enumerate(unpack(self.packed, answers, self._pieces)):
            best = None if top[0] is None or top[1] is None else (top[0][row], top[1][row])
            try:
                result = task.finish(self._kept[row], encoding, best)
            except Exception as error:  # as above
                result = portable(error)
            self.results[self._good[row]] = result
            # The first error ends the stream, so what follows is never asked for.
            if isinstance(result, Failure):
                break
        return self.results
