"""Serving on a port: one process, or several that share the port and everything loaded."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

import uvicorn

from erukg.backends.threads import cores
from erukg.errors import InputError
from erukg.generator import KeyphraseGenerator
from erukg.serving.app import create_app
from erukg.serving.keys import Keys
from erukg.serving.limits import ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics
from erukg.serving.protocol import protocol
from erukg.serving.service import PATHS, Service
from erukg.serving.supervisor import supervise

__all__ = ["Options", "bind", "run"]

# Threads that compute hold the interpreter for this long before the one that answers gets its turn.
_SWITCH_SECONDS = 0.001
# After the last connection was taken, how long requests on those there are may still begin.
_LINGER_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to serve. `drain_seconds` is how long connections are still taken after the signal to stop, for load
    balancers to notice; `grace_seconds` how long accepted requests may then take."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    threads: int | None = None
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    keys: Keys = field(default_factory=Keys)
    cors: tuple[str, ...] = ()
    drain_seconds: float = 0.5
    grace_seconds: float = 30.0
    request_log: bool = True


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; raises InputError when the address cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, proto, _, address = found[0]
        out = socket.socket(family, kind, proto)
        out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        out.bind(address)
        out.listen(2048)
        out.setblocking(False)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"Cannot listen on {host}:{port} ({reason}); choose another --host or --port.") from error
    return out


def run(load: Callable[[], KeyphraseGenerator], options: Options) -> int:
    """Serve until a signal comes; the exit code. `load` is called once, after the port is bound."""
    if options.workers > 1 and not hasattr(os, "fork"):
        raise InputError("Several worker processes need a POSIX system; leave out --workers.")
    log = Log(requests=options.request_log)
    log.capture_uvicorn()
    listening = bind(options.host, options.port)
    generator = load()
    if generator.background is None:
        log.event("warning", message="There is no collection, so no absent phrases are found.")
    host, port = listening.getsockname()[:2]
    log.event("listening", host=host, port=port, workers=options.workers)
    if not options.keys and host not in ("127.0.0.1", "::1"):
        log.event("warning", message="Everybody who can reach this address may use the service; there is no API key.")
    metrics = Metrics(PATHS, options.workers)

    def work(worker: int) -> int:
        metrics.use_row(worker)
        return _serve(generator, options, listening, metrics, log)

    if options.workers == 1:
        return work(0)
    _settle()
    return supervise(work, options.workers, listening, options.drain_seconds + options.grace_seconds, metrics, log)


def _settle() -> None:
    """Move all that is loaded by now, and stays, out of the garbage collector's sight.

    Looking through it would pause the service for tens of milliseconds, and in a worker copy the pages it shares.
    """
    gc.collect()
    gc.freeze()


def _serve(
    generator: KeyphraseGenerator, options: Options, listening: socket.socket, metrics: Metrics, log: Log
) -> int:
    sys.setswitchinterval(_SWITCH_SECONDS)
    failed: list[BaseException] = []

    def broken(error: BaseException) -> None:
        failed.append(error)
        log.event("broken", error=type(error).__name__, message=str(error))
        os.kill(os.getpid(), signal.SIGTERM)

    service = Service(
        generator,
        limits=options.limits,
        keys=options.keys,
        threads=options.threads or max(1, cores() // options.workers),
        metrics=metrics,
        log=log,
        warmed=_settle,
        broken=broken,
    )
    config = uvicorn.Config(
        create_app(service, cors=options.cors),
        http=protocol(options.limits.idle_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(options.limits.idle_seconds) + 1,
        timeout_graceful_shutdown=int(options.grace_seconds) or 1,
    )
    server = _Server(config, service, options.drain_seconds)
    # Also before and after the library listens to signals itself: none gets lost, and none kills what is ending well.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    server.run([listening])
    log.flush()
    return 1 if failed else 0


class _Server(uvicorn.Server):
    """Stops in three steps, so that no request that reaches it is lost.

    First it says so (`/readyz`, `Connection: close`) and goes on; then it takes no more connections, and waits a
    little for requests on those it has; then it closes the idle ones and answers the rest.
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
            self._loop.call_soon_threadsafe(self._later)

    def _later(self) -> None:
        assert self._loop is not None
        self._loop.call_later(self._drain, self._stop)

    def _stop(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in sockets or []:
            await self._take_waiting(listening)
            for server in self.servers:
                server.close()
            listening.close()
        assert self._loop is not None
        end = self._loop.time() + _LINGER_SECONDS
        while self.server_state.connections and self._loop.time() < end and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _take_waiting(self, listening: socket.socket) -> None:
        """Accept the connections that the system has made already; closing the socket would reset them."""
        assert self._loop is not None
        while True:
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            connection.setblocking(False)
            await self._loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=self._loop)
