"""A branch reads as one log: what it has in common with the other, then its own."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Draft
from domain.errors import PositionConflict
from drafts import SUBJECTS, TYPES, any_drafts, draft, drafts
from store.append import Batch
from store.branch import Branch, BranchSnapshots
from store.errors import CommitConflict, StoreError
from store.log import EventLog
from store.snapshots import Snapshots


def _append(log: EventLog, events: Sequence[Draft], start: int) -> None:
    """Append each by itself, ten microseconds after the one before."""
    log.append_all([Batch(drafts=[each], at=10 * at) for at, each in enumerate(events, start)])


@given(
    common=any_drafts(),
    own=any_drafts(),
    after=st.integers(0, 60),
    until=st.none() | st.integers(0, 60),
    limit=st.none() | st.integers(0, 20),
    newest_first=st.booleans(),
)
def test_it_reads_like_a_log_that_went_on(
    new_log: Callable[[], EventLog],
    common: list[Draft],
    own: list[Draft],
    after: int,
    until: int | None,
    limit: int | None,
    newest_first: bool,
) -> None:
    trunk, whole = new_log(), new_log()
    for log in (trunk, whole):
        _append(log, common, 0)
    branch = Branch(trunk, len(common))
    trunk.append(drafts(2, "later"), at=1000)
    for log in (branch, whole):
        _append(log, own, len(common))

    assert branch.head() == whole.head()
    assert list(branch.read(after, until)) == list(whole.read(after, until))
    positions = [after, 1, len(common), len(common) + 1]
    assert branch.read_positions(positions) == whole.read_positions(positions)
    assert branch.position_at(after * 5) == whole.position_at(after * 5)
    chosen = {"after": after, "until": until, "limit": limit, "newest_first": newest_first}
    for subject in SUBJECTS:
        assert list(branch.history(subject, **chosen)) == list(whole.history(subject, **chosen))
    for kind in TYPES:
        assert list(branch.of_type(kind, **chosen)) == list(whole.of_type(kind, **chosen))


def test_the_other_log_stays_as_it_is(log: EventLog) -> None:
    log.append(drafts(3), at=1)
    before = log.head()

    branch = Branch(log, 2)
    branch.append([draft("x")], at=2)

    assert log.head() == before
    assert [event.position for event in branch.own()] == [3]
    assert list(branch.read()) != list(log.read())


def test_it_is_appended_to_on_conditions(log: EventLog) -> None:
    log.append(drafts(2), at=1)
    branch = Branch(log, 2)
    branch.append([draft("x")], at=2, expected=2)

    with pytest.raises(PositionConflict):
        branch.append_all([], expected=2)
    with pytest.raises(CommitConflict):
        branch.append([draft("y")], at=3, guard=lambda tail: len(tail) == 1, snapshot_position=1)
    assert branch.append([draft("y")], at=3, guard=lambda tail: len(tail) == 2, snapshot_position=1).last == 4


def test_a_key_is_new_to_it(log: EventLog) -> None:
    log.append([draft("a")], at=1, idempotency_key="k")

    assert Branch(log, 1).append([draft("b")], at=1, idempotency_key="k").first == 2


def test_it_begins_where_there_is_something(log: EventLog) -> None:
    with pytest.raises(StoreError, match="has no position 1 to go on from"):
        Branch(log, 1)


def test_snapshots(log: EventLog) -> None:
    log.append(drafts(3), at=1)
    kept = Snapshots(log.store, log.stream, format=1)
    kept.save(1, log.read_positions([1])[0].hash, b"old")
    snapshots = BranchSnapshots(Branch(log, 2), b"begin", format=1)

    snapshots.save(2, b"", b"never kept")

    bodies = [found.snapshot and found.snapshot.body for found in map(snapshots.load, (None, 9, 2, 1, 0))]
    assert bodies == [b"begin", b"begin", b"begin", b"old", None]
    assert kept.positions() == [1]
