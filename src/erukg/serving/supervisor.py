"""Worker processes, forked from one that has everything loaded, and forked again when one dies or hangs."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess

from erukg.serving.limits import ServerOptions
from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics

__all__ = ["Supervisor"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# A worker that dies this soon after its start is likely to do so again.
_EARLY_SECONDS = 2.0
_MAX_EARLY_DEATHS = 4
# How often workers are looked at for signs of life.
_LOOK_SECONDS = 1.0
# What workers may take longer to end than they have been given.
_MORE_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1


class Supervisor:
    """Runs `work(i)` in as many processes as the options say, until SIGTERM or SIGINT comes.

    No worker outlives it: the system kills them when it is gone, and where systems cannot do that, workers notice
    that nobody holds the other end of a pipe.
    """

    def __init__(self, work: Callable[[int], int], options: ServerOptions, metrics: Metrics, log: Log) -> None:
        self._work = work
        self._options = options
        self._metrics = metrics
        self._log = log
        self._workers: dict[int, tuple[ForkProcess, float]] = {}
        self._early_deaths = 0
        self._signal: int | None = None

    @property
    def _patience(self) -> float:
        return self._options.drain_seconds + self._options.grace_seconds + _MORE_SECONDS

    def run(self, listening: socket.socket) -> int:
        """Keep the workers running until a signal comes, or until they die as soon as they start; the exit code."""
        self._pid = os.getpid()
        # Signals arrive as bytes here, so that waiting for them has no gap in which one is missed.
        self._signals, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, self._note)
        # Only this process holds the end that is written to: when it is gone, workers read the end of the file.
        self._alive, self._life = os.pipe()
        try:
            for i in range(self._options.workers):
                self._start(i)
            code = self._keep()
            # Closed here too: otherwise connections would still queue up where nobody accepts them.
            listening.close()
            return code
        finally:
            self._stop()

    def _note(self, number: int, frame: object) -> None:
        self._signal = number

    def _keep(self) -> int:
        while self._signal is None:
            sentinels = (process.sentinel for process, _ in self._workers.values())
            wait([self._signals, *sentinels], _LOOK_SECONDS)
            for i, (process, started) in list(self._workers.items()):
                if process.exitcode is not None:
                    self._replace(i)
                elif self._silent_for(i, started) > self._options.hung_seconds:
                    self._log.event("worker hung", worker=i, worker_pid=process.pid)
                    process.kill()
                if self._early_deaths >= _MAX_EARLY_DEATHS:
                    self._log.event("giving up", reason="workers die as soon as they start")
                    return 1
        self._log.event("stopping", signal=signal.Signals(self._signal).name)
        return 0

    def _silent_for(self, worker: int, started: float) -> float:
        return time.monotonic() - max(started, self._metrics.alive_at(worker))

    def _stop(self) -> None:
        """End all workers, by force those that take longer than they may."""
        processes = [process for process, _ in self._workers.values()]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + self._patience
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
        self._metrics.reset_alive(worker)
        self._workers[worker] = process, time.monotonic()
        # A signal that came before the worker has handlers of its own would be noted by the parent's, and forgotten.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _run_worker(self, worker: int) -> None:
        code = 1
        try:
            _die_with_parent(self._pid)
            signal.set_wakeup_fd(-1)
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            for end in (self._life, self._signals, self._wake):
                os.close(end)
            threading.Thread(target=self._follow_parent, daemon=True, name="erukg-parent").start()
            code = self._work(worker)
        except BaseException as error:
            self._log.failure(error)
        finally:
            # Not sys.exit: the parent's clean-up is not this process' to do.
            with suppress(BaseException):
                self._log.close()
            os._exit(code)

    def _follow_parent(self) -> None:
        """Stop as on SIGTERM when the parent is gone, and at once when that takes too long."""
        os.read(self._alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(self._patience)
        os._exit(1)


def _die_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent ends, where it can."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
