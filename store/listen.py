"""Noticing appends to a PostgreSQL store: each one notifies the stream's channel as it commits."""

import select
import socket

import psycopg
from psycopg import sql

from store.engine import Store
from store.postgres import channel


class Listener:
    """The signal of a `Watcher`."""

    def __init__(self, store: Store, stream: str) -> None:
        self._store = store
        self._listen = sql.SQL("LISTEN {}").format(sql.Identifier(channel(stream)))
        self._woken, self._waker = socket.socketpair()
        self._connection = self._connect()

    def arm(self) -> None:
        """Nothing to do: what is notified between two waits is kept by the connection."""

    def wait(self, after: int, timeout_s: float) -> None:
        try:
            select.select([self._connection.fileno(), self._woken.fileno()], [], [], timeout_s)
            for _ in self._connection.notifies(timeout=0):
                pass
        except psycopg.OperationalError:
            self._connection.close()
            self._connection = self._connect()

    def wake(self) -> None:
        self._waker.send(b"!")

    def close(self) -> None:
        self._connection.close()
        self._woken.close()
        self._waker.close()

    def _connect(self) -> psycopg.Connection:
        with self._store.explaining():
            pooled = self._store.engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()  # it is this signal's own from here on
        assert isinstance(connection, psycopg.Connection)
        connection.autocommit = True
        connection.execute(self._listen)
        return connection
