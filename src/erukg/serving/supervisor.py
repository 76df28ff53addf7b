"""Worker processes, forked from one that has everything loaded, and forked anew when one dies."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics

__all__ = ["supervise"]

# A worker that dies this soon after its start is likely to do so again.
_SOON = 2.0
_MOST_IN_A_ROW = 4


def supervise(
    work: Callable[[int], int], workers: int, listening: socket.socket, patience: float, metrics: Metrics, log: Log
) -> int:
    """Run `work(i)` in `workers` processes until SIGTERM or SIGINT; the exit code.

    On a signal all workers get SIGTERM; those still there `patience` and a bit later are killed.
    """
    return _Supervisor(work, listening, patience, metrics, log).run(workers)


class _Supervisor:
    def __init__(
        self, work: Callable[[int], int], listening: socket.socket, patience: float, metrics: Metrics, log: Log
    ) -> None:
        self._work = work
        self._listening = listening
        self._patience = patience
        self._metrics = metrics
        self._log = log
        self._workers: dict[int, tuple[int, float]] = {}
        self._early_deaths = 0
        self._stop: int | None = None
        # Signals arrive as bytes here, so that waiting for them has no gap in which one is missed.
        self._signals, self._wake = os.pipe()
        for end in (self._signals, self._wake):
            os.set_blocking(end, False)
        # Only this process holds the end that is written to: when it is gone, workers read the end of the file.
        self._alive, self._life = os.pipe()

    def run(self, workers: int) -> int:
        before = {s: signal.signal(s, self._note) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)}
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        try:
            for i in range(workers):
                self._start(i)
            code = self._watch()
            self._end()
        finally:
            signal.set_wakeup_fd(-1)
            for s, handler in before.items():
                signal.signal(s, handler)
        return code

    def _note(self, number: int, frame: object) -> None:
        if number != signal.SIGCHLD:
            self._stop = number

    def _watch(self) -> int:
        while self._stop is None:
            self._wait(None)
            for worker in self._reap():
                if self._early_deaths >= _MOST_IN_A_ROW:
                    self._log.event("giving up", reason="workers die as soon as they start")
                    return 1
                if self._stop is None:
                    self._metrics.restarted(worker)
                    self._start(worker)
        self._log.event("stopping", signal=signal.Signals(self._stop).name)
        return 0

    def _wait(self, seconds: float | None) -> None:
        select.select([self._signals], [], [], seconds)
        with contextlib.suppress(BlockingIOError):  # the time is over and there was no signal
            os.read(self._signals, 4096)

    def _reap(self) -> list[int]:
        """The workers that have ended since."""
        out = []
        for pid, (worker, started) in list(self._workers.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if not found:
                continue
            del self._workers[pid]
            code = os.waitstatus_to_exitcode(status)
            if self._stop is None:
                self._log.event("worker died", worker=worker, worker_pid=pid, code=code)
            early = time.monotonic() - started < _SOON and code > 0
            self._early_deaths = self._early_deaths + 1 if early else 0
            out.append(worker)
        return out

    def _start(self, worker: int) -> None:
        pid = os.fork()
        if pid:
            self._workers[pid] = worker, time.monotonic()
            return
        code = 1
        try:
            self._become_worker()
            code = self._work(worker)
        except BaseException as error:
            self._log.failure(error)
        finally:
            # Not sys.exit: nothing of the parent's, such as its clean-up, is this process' to do.
            sys.stderr.flush()
            os._exit(code)

    def _become_worker(self) -> None:
        signal.set_wakeup_fd(-1)
        for s in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(s, signal.SIG_DFL)
        os.close(self._life)
        os.close(self._signals)
        os.close(self._wake)
        threading.Thread(target=self._follow, daemon=True, name="erukg-parent").start()

    def _follow(self) -> None:
        """Stop as on SIGTERM when the parent is gone."""
        os.read(self._alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _end(self) -> None:
        # Closed here too: otherwise connections would still queue up where nobody takes them.
        self._listening.close()
        for pid in self._workers:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + self._patience + 5
        while self._workers and time.monotonic() < deadline:
            self._wait(0.2)
            self._reap()
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
