"""The server: the HTTP API and, unless told otherwise, the workers, over one store."""

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Final

import uvicorn
import uvloop

from api.app import create_app
from api.clusters import Clusters
from domain.errors import GangerError
from store.engine import open_store
from worker.clocks import SystemClock

GRACE_S: Final = 10
"""How long requests that are under way have to end once the server is told to stop."""

log = logging.getLogger("ganger.server")


class CannotListen(GangerError):
    """The address is taken, or is not this machine's."""


def serve(store_url: str, cluster_name: str, host: str, port: int, *, worker: bool) -> int:
    """Serve until SIGTERM or SIGINT; 0 is the exit code of that.

    The whole log of `cluster_name` is checked first: raises CorruptLog with the position of a wrong
    byte, StoreError, and CannotListen. Port 0 takes any free one, which the log names.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    store = open_store(store_url, create=True)
    try:
        with _listening(host, port) as listener:
            clusters = Clusters(store, cluster_name, clock=SystemClock(), work=worker)
            with _stoppable(), closing(clusters):
                address, taken = listener.getsockname()[:2]
                log.info(
                    "serving cluster %s of %s at http://%s:%s", cluster_name, store.where, address, taken
                )
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    runner.run(_Server(clusters).serve(sockets=[listener]))
    finally:
        store.close()
    log.info("stopped")
    return 0


class _Server(uvicorn.Server):
    """uvicorn, except that followers of a log are let go first: they would never end by themselves."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        super().__init__(
            uvicorn.Config(
                create_app(clusters),
                http="httptools",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._clusters.end_following()
        await super().shutdown(sockets)


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}") from error
    with listener:
        yield listener


@contextmanager
def _stoppable() -> Iterator[None]:
    """Leave SIGTERM and SIGINT without effect of their own: uvicorn raises them again once it has
    stopped, and what comes after that is still to be done."""
    before = {each: signal.signal(each, _ignore) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _ignore(number: int, frame: FrameType | None) -> None:
    pass
