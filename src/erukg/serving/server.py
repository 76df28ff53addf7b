"""Serving on a port: one process, or several that share the port and everything loaded."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from erukg.backends.threads import cores
from erukg.errors import InputError
from erukg.generator import KeyphraseGenerator
from erukg.serving.app import create_app
from erukg.serving.jobs import JobStore
from erukg.serving.keys import load_keys
from erukg.serving.limits import ServerOptions, ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics
from erukg.serving.protocol import SPARE_CONNECTIONS, limited_protocol
from erukg.serving.service import PATHS, Comparisons, Service
from erukg.serving.subjects import SubjectsByName
from erukg.serving.supervisor import Supervisor

__all__ = ["bind", "connection_limit", "run"]

# How long a computing thread keeps the interpreter before the one that answers gets its turn.
_SWITCH_SECONDS = 0.001
# Files that a process needs beside its connections: the model's, the collection's, those of the PDFs being read.
_OWN_FILES = 64
# How long requests may still begin on open connections after the last one was accepted.
_LINGER_SECONDS = 0.5


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; raises InputError when the address cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        out = socket.create_server(found[0][4][:2], family=found[0][0], backlog=2048)
        out.setblocking(False)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"Cannot listen on {host}:{port} ({reason}); choose another --host or --port.") from error
    return out


def run(
    load: Callable[[], tuple[KeyphraseGenerator, Comparisons, SubjectsByName]],
    options: ServerOptions,
    limits: ServiceLimits,
) -> int:
    """Serve until a signal comes; the exit code, with which the process has to end: signals are ignored from then on.

    `load` is called once, after the port is bound and before workers are forked, and gives the generator, the
    extractors to compare it with, and what to suggest concepts from.
    """
    if options.workers > 1 and not hasattr(os, "fork"):
        raise InputError("Several worker processes need a POSIX system; leave out --workers.")
    _open_standard_files()
    keys = load_keys(options.api_key_file)
    jobs = JobStore(options.jobs_folder, limits) if options.jobs_folder is not None else None
    metrics = Metrics(PATHS, options.workers, limits.seconds)
    log = Log(requests=options.request_log, on_dropped=partial(metrics.add, "log_lines_dropped"))
    log.capture_uvicorn()
    log.capture_warnings()
    listening = bind(options.host, options.port)
    connections = connection_limit(limits.connections, log)
    generator, comparisons, subjects = load()
    if generator.background is None:
        log.event("warning", message="There is no collection, so no absent phrases are found.")
    host, port = listening.getsockname()[:2]
    log.event("listening", host=host, port=port, workers=options.workers)
    if not keys and host not in ("127.0.0.1", "::1"):
        log.event("warning", message="There is no API key: anyone who can reach this address may use the service.")

    def work(worker: int) -> int:
        metrics.use_row(worker)
        failures: list[BaseException] = []

        def on_failure(error: BaseException) -> None:
            failures.append(error)
            log.event("broken", error=type(error).__name__, message=str(error))
            os.kill(os.getpid(), signal.SIGTERM)

        service = Service(
            generator,
            comparisons=comparisons,
            subjects=subjects,
            jobs=jobs,
            limits=limits,
            keys=keys,
            threads=options.threads or max(1, cores() // options.workers),
            metrics=metrics,
            log=log,
            on_ready=_freeze,
            on_failure=on_failure,
        )
        _serve(service, options, listening, connections)
        return 1 if failures else 0

    try:
        if options.workers == 1:
            return work(0)
        _freeze()
        return Supervisor(work, options, metrics, log).run(listening)
    finally:
        # What comes now cannot make it end sooner, and would only change its exit code.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        log.close()


def _open_standard_files() -> None:
    """Give a process that was started without standard files some: others would take their numbers, and the log or a
    library would write to a client's connection."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def connection_limit(wanted: int, log: Log) -> int:
    """How many connections a process can have, which is fewer than wanted where the system allows fewer open files."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                soft = hard
        infinite = soft == resource.RLIM_INFINITY
    except ImportError:  # not a POSIX system
        return wanted
    most = wanted if infinite else max(1, min(wanted, soft - _OWN_FILES - SPARE_CONNECTIONS))
    if most < wanted:
        log.event("warning", message=f"The system allows {soft} open files, so at most {most} connections are taken.")
    return most


def _freeze() -> None:
    """Exclude everything that is loaded by now, and stays, from garbage collection.

    Scanning it would pause the service for tens of milliseconds, and in a worker copy the pages it shares.
    """
    gc.collect()
    gc.freeze()


def _serve(service: Service, options: ServerOptions, listening: socket.socket, connections: int) -> None:
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        create_app(service, cors=options.cors or (), hosts=(options.host, *(options.allowed_host or ()))),
        http=limited_protocol(service, connections),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(service.limits.idle_seconds) + 1,
        timeout_graceful_shutdown=int(options.grace_seconds) or 1,
    )
    server = _Server(config, service, options)
    # Set before uvicorn sets its own handlers and kept after it: no signal is lost, and none kills a clean shutdown.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    server.run([listening])


class _Server(uvicorn.Server):
    """Stops in three steps, so that no request that reaches it is lost.

    First it announces it (`/readyz`, `Connection: close`) and goes on for `drain_seconds`, so that load balancers
    notice; then it accepts no more connections, and waits a little for requests on the open ones; then it closes the
    idle ones and answers the rest, which may take `grace_seconds`.
    """

    def __init__(self, config: uvicorn.Config, service: Service, options: ServerOptions) -> None:
        super().__init__(config)
        self._service = service
        self._options = options
        self._signal: int | None = None
        self._stop_at = math.inf

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Only notes it: the interpreter may be in the middle of anything.
        if self._signal is None:
            self._signal = sig
            self._service.draining = True
        elif sig == signal.SIGINT:
            self.force_exit = self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        now = time.monotonic()
        if self._signal is not None and self._stop_at == math.inf:
            self._stop_at = now + self._options.drain_seconds
            self._service.log.event("draining", signal=signal.Signals(self._signal).name)
        if now >= self._stop_at:
            self.should_exit = True
        if counter % 5 == 0:
            self._service.metrics.set("connections", len(self.server_state.connections))
            if not self._service.queue.hung(self._options.hung_seconds):
                self._service.metrics.set("alive_at", now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.metrics.set("alive_at", math.inf)  # from here on it has its time to end
        for listening in sockets or []:
            await self._accept_waiting(listening)
            for server in self.servers:
                server.close()
            listening.close()
        end = time.monotonic() + _LINGER_SECONDS
        while self.server_state.connections and time.monotonic() < end and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _accept_waiting(self, listening: socket.socket) -> None:
        """Accept the connections that the system has made already; closing the socket would reset them."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # there are no more, or no file descriptors for them
                return
            connection.setblocking(False)
            make: Any = self.config.http_protocol_class
            state = {"server_state": self.server_state, "app_state": self.lifespan.state, "_loop": loop}
            make = partial(make, config=self.config, **state)
            await loop.connect_accepted_socket(make, connection)
