"""Leases: one worker at a time, and none that was fenced off can do harm."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from drafts import draft
from store.errors import LeaseHeld, StaleEpoch
from store.leases import Lease, acquire, current_lease, release, renew
from store.log import EventLog
from store.verify import verify

TTL = 10


def test_a_held_lease_is_refused_until_it_has_run_out(log: EventLog) -> None:
    store, stream = log.store, log.stream
    assert current_lease(store, stream) is None
    one = acquire(store, stream, "one", now=100, ttl_us=TTL)
    assert one == Lease(stream, "one", 1, 110) == current_lease(store, stream)
    with pytest.raises(LeaseHeld, match="already has an active worker: one") as caught:
        acquire(store, stream, "two", now=109, ttl_us=TTL)
    assert (caught.value.holder, caught.value.expires_us) == ("one", 110)
    assert acquire(store, stream, "two", now=110, ttl_us=TTL) == Lease(stream, "two", 2, 120)


def test_a_renewed_lease_ends_later(log: EventLog) -> None:
    lease = acquire(log.store, log.stream, "one", now=0, ttl_us=TTL)
    renewed = renew(log.store, lease, now=8, ttl_us=TTL)
    assert renewed == Lease(log.stream, "one", lease.epoch, 18) == current_lease(log.store, log.stream)
    with pytest.raises(LeaseHeld):
        acquire(log.store, log.stream, "two", now=17, ttl_us=TTL)


def test_a_lease_that_ran_out_unnoticed_is_renewed_a_lost_one_is_not(log: EventLog) -> None:
    old = acquire(log.store, log.stream, "one", now=0, ttl_us=TTL)
    assert renew(log.store, old, now=50, ttl_us=TTL).expires_us == 60
    new = acquire(log.store, log.stream, "two", now=60, ttl_us=TTL)
    with pytest.raises(StaleEpoch):
        renew(log.store, old, now=61, ttl_us=TTL)
    assert current_lease(log.store, log.stream) == new


def test_a_released_lease_is_free_at_once_and_its_epoch_over(log: EventLog) -> None:
    old = acquire(log.store, log.stream, "one", now=0, ttl_us=TTL)
    release(log.store, old)
    assert current_lease(log.store, log.stream) is None
    with pytest.raises(StaleEpoch):
        log.append([draft()], at=1, epoch=old.epoch)
    new = acquire(log.store, log.stream, "two", now=1, ttl_us=TTL)
    assert new.epoch > old.epoch
    release(log.store, old)  # long gone
    assert current_lease(log.store, log.stream) == new


def test_a_restarted_holder_fences_off_itself(log: EventLog) -> None:
    before = acquire(log.store, log.stream, "one", now=0, ttl_us=TTL)
    after = acquire(log.store, log.stream, "one", now=1, ttl_us=TTL)
    with pytest.raises(StaleEpoch):
        log.append([draft()], at=1, epoch=before.epoch)
    log.append([draft()], at=1, epoch=after.epoch)


def test_two_fight_for_one_stream(log: EventLog) -> None:
    """Time runs as fast as they can read it: leases run out under their holders, commits race takeovers."""
    clock = iter(range(10**9))
    ticking = threading.Lock()

    def now() -> int:
        with ticking:
            return next(clock)

    def fight(holder: str) -> list[tuple[int, int]]:
        own = EventLog(log.store, log.stream)
        committed: list[tuple[int, int]] = []
        for _ in range(40):
            with suppress(LeaseHeld, StaleEpoch):
                epoch = acquire(log.store, log.stream, holder, now=now(), ttl_us=3).epoch
                for _ in range(3):
                    place = own.append([draft(holder)], at=now(), epoch=epoch)
                    committed.append((place.last, epoch))
        return committed

    with ThreadPoolExecutor(2) as pool:
        both = sorted(commit for commits in pool.map(fight, ["one", "two"]) for commit in commits)
    assert [position for position, _ in both] == list(range(1, len(both) + 1))
    epochs = [epoch for _, epoch in both]
    assert epochs == sorted(epochs)  # nothing of an older epoch lands after a newer one
    assert len(set(epochs)) > 1
    verify(log, deep=True)
