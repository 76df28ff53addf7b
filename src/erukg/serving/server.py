"""Serving on a port: one process, or several that share the port and everything loaded."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from erukg.backends.threads import cores
from erukg.errors import InputError
from erukg.generator import KeyphraseGenerator
from erukg.serving.app import create_app
from erukg.serving.keys import load_keys
from erukg.serving.limits import ServerOptions, ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics
from erukg.serving.service import PATHS, Comparisons, Service
from erukg.serving.subjects import SubjectsByName
from erukg.serving.supervisor import supervise

__all__ = ["bind", "run"]

# How long a computing thread keeps the interpreter before the one that answers gets its turn.
_SWITCH_SECONDS = 0.001
_MAX_HEADER_BYTES = 65_536
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
    """Serve until a signal comes; the exit code. `load` is called once, after the port is bound and before workers are
    forked, and gives the generator, the extractors to compare it with, and what to suggest concepts from."""
    if options.workers > 1 and not hasattr(os, "fork"):
        raise InputError("Several worker processes need a POSIX system; leave out --workers.")
    keys = load_keys(options.api_key_file)
    log = Log(requests=options.request_log)
    log.capture_uvicorn()
    listening = bind(options.host, options.port)
    generator, comparisons, subjects = load()
    if generator.background is None:
        log.event("warning", message="There is no collection, so no absent phrases are found.")
    host, port = listening.getsockname()[:2]
    log.event("listening", host=host, port=port, workers=options.workers)
    if not keys and host not in ("127.0.0.1", "::1"):
        log.event("warning", message="There is no API key: anyone who can reach this address may use the service.")
    metrics = Metrics(PATHS, options.workers)

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
            limits=limits,
            keys=keys,
            threads=options.threads or max(1, cores() // options.workers),
            metrics=metrics,
            log=log,
            on_ready=_freeze,
            on_failure=on_failure,
        )
        _serve(service, options, listening)
        return 1 if failures else 0

    if options.workers == 1:
        return work(0)
    _freeze()
    return supervise(work, options.workers, listening, options.drain_seconds + options.grace_seconds, metrics, log)


def _freeze() -> None:
    """Exclude everything that is loaded by now, and stays, from garbage collection.

    Scanning it would pause the service for tens of milliseconds, and in a worker copy the pages it shares.
    """
    gc.collect()
    gc.freeze()


def _serve(service: Service, options: ServerOptions, listening: socket.socket) -> None:
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        create_app(service, cors=options.cors or (), hosts=(options.host, *(options.allowed_host or ()))),
        http=type("Protocol", (_Protocol,), {"idle_seconds": service.limits.idle_seconds}),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(service.limits.idle_seconds) + 1,
        timeout_graceful_shutdown=int(options.grace_seconds) or 1,
    )
    server = _Server(config, service, options.drain_seconds)
    # Set before uvicorn sets its own handlers and kept after it: no signal is lost, and none kills a clean shutdown.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    server.run([listening])
    service.log.flush()


class _Server(uvicorn.Server):
    """Stops in three steps, so that no request that reaches it is lost.

    First it announces it (`/readyz`, `Connection: close`) and goes on for `drain_seconds`, so that load balancers
    notice; then it accepts no more connections, and waits a little for requests on the open ones; then it closes the
    idle ones and answers the rest, which may take `grace_seconds`.
    """

    def __init__(self, config: uvicorn.Config, service: Service, drain_seconds: float) -> None:
        super().__init__(config)
        self._service = service
        self._drain = drain_seconds
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._service.draining:
            self.force_exit = sig == signal.SIGINT
            self.should_exit = True
            return
        self._service.draining = True
        self._service.log.event("draining", signal=signal.Signals(sig).name)
        if self._loop is None:
            self.should_exit = True
        else:
            stop = partial(setattr, self, "should_exit", True)
            self._loop.call_soon_threadsafe(self._loop.call_later, self._drain, stop)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in sockets or []:
            await self._accept_waiting(listening)
            for server in self.servers:
                server.close()
            listening.close()
        assert self._loop is not None
        end = self._loop.time() + _LINGER_SECONDS
        while self.server_state.connections and self._loop.time() < end and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _accept_waiting(self, listening: socket.socket) -> None:
        """Accept the connections that the system has made already; closing the socket would reset them."""
        assert self._loop is not None
        while True:
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            connection.setblocking(False)
            make: Any = self.config.http_protocol_class
            state = {"server_state": self.server_state, "app_state": self.lifespan.state, "_loop": self._loop}
            make = partial(make, config=self.config, **state)
            await self._loop.connect_accepted_socket(make, connection)


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 on one connection, with limits that the server library lacks: on headers, in bytes and time.

    Closes connections without a whole request in time or with large headers; errors are JSON here too.
    """

    idle_seconds = 30.0
    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _unparsed_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # The parser says nothing of a header before all of it has come, so that one without end has to be noticed here.
        self._unparsed_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head and self._unparsed_bytes > _MAX_HEADER_BYTES:
            self._refuse_head()
        elif self._busy():
            self._disarm()

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes, self._unparsed_bytes = True, 0, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def _count(self, count: int) -> None:
        self._head_bytes += count
        if self._head_bytes > _MAX_HEADER_BYTES:
            raise ValueError("large headers")  # stops the parser, which then asks for a refusal

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._busy() and not self.transport.is_closing():
            self._arm()

    def send_400_response(self, msg: str) -> None:
        if self._head_bytes > _MAX_HEADER_BYTES:
            self._refuse_head()
        else:
            self._refuse(400, "This is not a valid HTTP/1.1 request.")

    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _arm(self) -> None:
        self._disarm()
        self._timer = self.loop.call_later(self.idle_seconds, self._expired)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        # Also ends the rest of a body that was refused: until now it was read and thrown away, so that the
        # client could see the refusal.
        if not self._busy() and not self.transport.is_closing():
            self.transport.close()

    def _refuse_head(self) -> None:
        self._refuse(431, f"The request's headers are larger than {_MAX_HEADER_BYTES} bytes; send less in them.")

    def _refuse(self, status: int, sentence: str) -> None:
        body = json.dumps({"error": sentence}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()
