"""Leases: one active worker a stream, and an epoch that fences off the ones before it.

A lease is held until it is released or has run out. Each acquisition raises the stream's epoch by one;
an append under an older epoch is refused in its own transaction, so a worker that was paused past the
end of its lease can do no harm. Times are microseconds since 1970, passed in.
"""

from dataclasses import dataclass, replace

from sqlalchemy import Connection, select, update

from store.engine import Store
from store.errors import LeaseHeld, StaleEpoch
from store.tables import streams


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to commit to `stream` under `epoch`, until `expires_us` unless it is renewed."""

    stream: str
    holder: str
    epoch: int
    expires_us: int


def acquire(store: Store, stream: str, holder: str, *, now: int, ttl_us: int) -> Lease:
    """Take the lease of `stream`, with a new epoch. Raises LeaseHeld while another holder has it.

    A holder that acquires again takes over from itself: name each process differently.
    """
    with store.writing() as connection:
        row = store.backend.lock_stream(connection, stream)
        held = _lease(connection, stream)
        if held is not None and held.holder != holder and held.expires_us > now:
            raise LeaseHeld(stream, holder=held.holder, expires_us=held.expires_us)
        lease = Lease(stream, holder, row.lease_epoch + 1, now + ttl_us)
        _write(connection, lease)
    return lease


def renew(store: Store, lease: Lease, *, now: int, ttl_us: int) -> Lease:
    """The same lease with a later end, also if it had run out and nobody took it. Raises StaleEpoch."""
    renewed = replace(lease, expires_us=now + ttl_us)
    with store.writing() as connection:
        row = store.backend.lock_stream(connection, lease.stream)
        if row.lease_epoch != lease.epoch:
            raise StaleEpoch(lease.stream, epoch=lease.epoch, current=row.lease_epoch)
        _write(connection, renewed)
    return renewed


def release(store: Store, lease: Lease) -> None:
    """Give the lease back, so that the next worker need not wait; nothing happens if it is gone already."""
    with store.writing() as connection:
        connection.execute(
            update(streams)
            .where(streams.c.name == lease.stream, streams.c.lease_epoch == lease.epoch)
            .values(lease_epoch=lease.epoch + 1, lease_holder=None, lease_expires_us=None)
        )


def current_lease(store: Store, stream: str) -> Lease | None:
    """The lease that was taken last, also if it has run out; None if it was released or there was none."""
    with store.reading() as connection:
        return _lease(connection, stream)


def _lease(connection: Connection, stream: str) -> Lease | None:
    row = connection.execute(
        select(streams.c.lease_holder, streams.c.lease_epoch, streams.c.lease_expires_us).where(
            streams.c.name == stream, streams.c.lease_holder.is_not(None)
        )
    ).one_or_none()
    return None if row is None else Lease(stream, row.lease_holder, row.lease_epoch, row.lease_expires_us)


def _write(connection: Connection, lease: Lease) -> None:
    connection.execute(
        update(streams)
        .where(streams.c.name == lease.stream)
        .values(lease_epoch=lease.epoch, lease_holder=lease.holder, lease_expires_us=lease.expires_us)
    )
