"""Worker processes, forked from one that has everything loaded, and forked again when one dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess

from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics

__all__ = ["supervise"]

# A worker that dies this soon after its start is likely to do so again.
_EARLY_SECONDS = 2.0
_MAX_EARLY_DEATHS = 4


def supervise(
    work: Callable[[int], int], workers: int, listening: socket.socket, patience: float, metrics: Metrics, log: Log
) -> int:
    """Run `work(i)` in `workers` processes until SIGTERM or SIGINT; the exit code.

    On a signal all workers get SIGTERM; those still running a little later than `patience` seconds are killed.
    """
    supervisor = _Supervisor(work, metrics, log)
    try:
        code = supervisor.run(workers)
        # Closed here too: otherwise connections would still queue up where nobody accepts them.
        listening.close()
        supervisor.stop(patience + 5)
        return code
    finally:
        supervisor.restore_signals()


class _Supervisor:
    def __init__(self, work: Callable[[int], int], metrics: Metrics, log: Log) -> None:
        self._work = work
        self._metrics = metrics
        self._log = log
        self._workers: dict[int, tuple[ForkProcess, float]] = {}
        self._early_deaths = 0
        self._signal: int | None = None
        # Signals arrive as bytes here, so that waiting for them has no gap in which one is missed.
        self._signals, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._handlers = {s: signal.signal(s, self._note) for s in (signal.SIGTERM, signal.SIGINT)}
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        # Only this process holds the end that is written to: when it is gone, workers read the end of the file.
        self._alive, self._life = os.pipe()

    def _note(self, number: int, frame: object) -> None:
        self._signal = number

    def restore_signals(self) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def run(self, workers: int) -> int:
        """Keep the workers running until a signal comes, or until they die as soon as they start."""
        for i in range(workers):
            self._start(i)
        while self._signal is None:
            wait([self._signals, *(process.sentinel for process, _ in self._workers.values())])
            for i in [i for i, (process, _) in self._workers.items() if process.exitcode is not None]:
                self._replace(i)
                if self._early_deaths >= _MAX_EARLY_DEATHS:
                    self._log.event("giving up", reason="workers die as soon as they start")
                    return 1
        self._log.event("stopping", signal=signal.Signals(self._signal).name)
        return 0

    def stop(self, seconds: float) -> None:
        """End all workers, by force those still running after this time."""
        processes = [process for process, _ in self._workers.values()]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + seconds
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            process.kill()
            process.join()

    def _replace(self, worker: int) -> None:
        process, started = self._workers.pop(worker)
        if self._signal is not None:
            return
        code = process.exitcode or 0
        self._log.event("worker died", worker=worker, worker_pid=process.pid, code=code)
        early = time.monotonic() - started < _EARLY_SECONDS and code > 0
        self._early_deaths = self._early_deaths + 1 if early else 0
        if self._early_deaths < _MAX_EARLY_DEATHS:
            self._metrics.restarted(worker)
            self._start(worker)

    def _start(self, worker: int) -> None:
        process = multiprocessing.get_context("fork").Process(target=self._run_worker, args=(worker,))
        self._workers[worker] = process, time.monotonic()
        process.start()

    def _run_worker(self, worker: int) -> None:
        code = 1
        try:
            self.restore_signals()
            for end in (self._life, self._signals, self._wake):
                os.close(end)
            threading.Thread(target=self._follow_parent, daemon=True, name="erukg-parent").start()
            code = self._work(worker)
        except BaseException as error:
            self._log.failure(error)
        finally:
            # Not sys.exit: the parent's clean-up is not this process' to do.
            sys.stderr.flush()
            os._exit(code)

    def _follow_parent(self) -> None:
        """Stop as on SIGTERM when the parent is gone."""
        os.read(self._alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)
