"""A worker process: everything about a text, or everything but the model itself. It loads no torch."""

from __future__ import annotations

import gc
import queue
import sys
from multiprocessing.connection import Connection
from typing import Any

from erukg.backends.batch import PackedEncodings, pack, unpack
from erukg.collection.reader import Hits
from erukg.core.backend import Pieces
from erukg.gpu.jobs import Job, Task
from erukg.gpu.messages import BEGIN, ENCODE, READY, SEARCH, SWITCH, Failure, Outbox, portable, read_into

__all__ = ["work", "work_alone"]

_CALLER, _SERVER = 0, 1


def work(caller: Connection, outbox: Outbox, server: Connection, job: Job[Any]) -> None:
    """Serve until the caller or the server has gone.

    The caller sends (number, items) and gets (number, results), one result or `Failure` per item. In between, the
    server gets (SEARCH, number, texts, arrays of `Lists`) and answers (SEARCH, number, documents and scores), if it
    searches at all; then it gets (ENCODE, number, texts, arrays of `Packed`) and answers (ENCODE, number, arrays of
    `PackedEncodings`). What it says first is (READY, whether it searches).
    """
    sys.setswitchinterval(SWITCH)
    inbox = _Inbox()
    read_into(inbox.put, (caller, server), vital=2)
    task = _opened(job)
    worker = _Worker(task, outbox, Outbox(server), on_device=inbox.ready.get())
    while True:
        worker.take(*inbox.get())


def work_alone(caller: Connection, outbox: Outbox, job: Job[Any]) -> None:
    """Serve until the caller has gone, with a model of its own; the caller sends and gets what it does with `work`."""
    sys.setswitchinterval(SWITCH)
    chunks: queue.SimpleQueue[tuple[int, list[Any]]] = queue.SimpleQueue()
    read_into(lambda _, chunk: chunks.put(chunk), (caller,), vital=1)
    task = _opened(job)
    while True:
        number, items = chunks.get()
        outbox.put((number, [_whole(task, item) for item in items]))


def _opened(job: Job[Any]) -> Task:
    task = job.open()
    # What is loaded stays, and texts leave no cycles behind; looking for garbage often would be much of the work.
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)
    return task


def _whole(task: Task, item: Any) -> Any:
    if isinstance(item, Failure):
        return item
    try:
        return task.whole(item)
    except Exception as error:  # it belongs to this item alone, and is told when its turn comes
        return portable(error)


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
            self._prepare(number, chunk, self._task.choose_hits(chunk.sound, chunk.asked, *content))
        else:
            del self._waiting[number]
            self._caller.put((number, chunk.complete(self._task, PackedEncodings(*content))))

    def _begin(self, number: int, items: list[Any]) -> None:
        chunk = self._waiting[number] = _Chunk(items)
        asked = self._task.plan_search(chunk.sound) if self._on_device else None
        if asked is None:
            self._prepare(number, chunk, [None] * len(chunk.sound))
            return
        chunk.asked, lists = asked
        self._server.put((SEARCH, number, len(lists), lists.arrays()))

    def _prepare(self, number: int, chunk: _Chunk, hits: list[Hits | None]) -> None:
        if chunk.prepare(self._task, hits):
            self._server.put((ENCODE, number, len(chunk.packed), chunk.packed.arrays()))
        else:
            del self._waiting[number]
            self._caller.put((number, chunk.results))


class _Chunk:
    """Items between the parts of the work; those that the caller has refused come as `Failure` and stay so."""

    def __init__(self, items: list[Any]) -> None:
        self.results: list[Any] = items
        self.asked: Any = None
        self._places = [i for i, item in enumerate(items) if not isinstance(item, Failure)]
        self.sound = [items[i] for i in self._places]
        self._prepared: list[tuple[int, Any, Pieces]] = []

    def prepare(self, task: Task, hits: list[Hits | None]) -> bool:
        """Prepare the items for the model; False if none is left."""
        ready = []
        for i, item, hit in zip(self._places, self.sound, hits, strict=True):
            try:
                kept, pieces, terms = task.prepare(item, hit)
            except Exception as error:  # it belongs to this item alone, and is told when its turn comes
                self.results[i] = portable(error)
                continue
            self._prepared.append((i, kept, pieces))
            ready.append((pieces, terms))
        self.sound, self.asked = [], None
        self.packed = pack(ready, task.window)
        return bool(ready)

    def complete(self, task: Task, encodings: PackedEncodings) -> list[Any]:
        terms, weights = encodings.top_terms, encodings.top_weights
        unpacked = unpack(self.packed, encodings, [pieces for _, _, pieces in self._prepared])
        for row, ((i, kept, _), encoding) in enumerate(zip(self._prepared, unpacked, strict=True)):
            best = None if terms is None or weights is None else (terms[row], weights[row])
            try:
                self.results[i] = task.complete(kept, encoding, best)
            except Exception as error:  # as above
                self.results[i] = portable(error)
        return self.results
