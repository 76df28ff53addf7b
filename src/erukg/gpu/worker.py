"""A worker: everything about a text but the model itself. It loads no torch."""

from __future__ import annotations

import gc
import queue
from multiprocessing.connection import Connection
from typing import Any

from erukg.encoder.batch import Answers, pack, unpack
from erukg.gpu.jobs import Job, Task
from erukg.gpu.messages import Failure, portable, read_into, send

__all__ = ["work"]

_CALLER, _SERVER = 0, 1


def work(caller: Connection, server: Connection, job: Job) -> None:
    """Serve until the caller or the server has gone.

    The caller sends (number, items) and gets (number, results), one result or `Failure` an item; in between, the
    server gets (number, arrays of `Packed`) and answers (number, arrays of `Answers`).
    """
    inbox: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    read_into(inbox, (caller, server), vital=2)
    task = job.open()
    # What is loaded stays, and texts leave no cycles behind; looking for garbage often would be much of the work.
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)
    waiting: dict[int, _Chunk] = {}
    while True:
        who, (number, content) = inbox.get()
        if who == _CALLER:
            chunk = _Chunk(task, content)
            if chunk.packed is None:
                send(caller, (number, chunk.results))
                continue
            waiting[number] = chunk
            send(server, (number, chunk.packed.arrays()))
        else:
            send(caller, (number, waiting.pop(number).finish(task, Answers(*content))))


class _Chunk:
    """Texts between the two halves of the work."""

    def __init__(self, task: Task, items: list[Any]) -> None:
        self.results: list[Any] = [None] * len(items)
        self._good: list[int] = []
        self._kept: list[Any] = []
        self._pieces = []
        ready = []
        for i, item in enumerate(items):
            try:
                kept, pieces, terms = task.read(item)
            except Exception as error:  # it belongs to this text alone, and is raised when its turn comes
                self.results[i] = portable(error)
                continue
            self._good.append(i)
            self._kept.append(kept)
            self._pieces.append(pieces)
            ready.append((pieces, terms))
        self.packed = pack(ready, task.window) if ready else None

    def finish(self, task: Task, answers: Answers) -> list[Any]:
        assert self.packed is not None
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
