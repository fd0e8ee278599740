"""`why` and `history` over a real log: now, at past positions, and of what is gone."""

from collections.abc import Callable
from typing import Any

import pytest

from build import START, group, node, pod
from domain.errors import Expired, NotFound
from domain.explanation import Fate
from domain.times import SECOND
from live import Live
from store.engine import Store
from strategies import priority_class

GANG = "PodGroup/default/trainer"
POD = "Pod/default/trainer-0"


def gang(members: int, **spec: Any) -> list[dict[str, Any]]:
    return [pod(f"trainer-{index}", gpu=8, group="trainer", **spec) for index in range(members)]


@pytest.fixture
def live(sqlite_store: Store) -> Live:
    """A gang of two on one node that has room for one."""
    return Live(sqlite_store).apply(node("n1", gpu=8), group("trainer", 2), *gang(2)).settle()


@pytest.fixture
def bound(live: Live) -> Live:
    """The same, once a second node has come."""
    return live.apply(node("n2", gpu=8)).settle()


def test_a_refused_gang(live: Live) -> None:
    told = live.why(GANG)
    assert told.verdict is Fate.UNSCHEDULABLE
    assert told.summary.startswith("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
    assert (told.lane, told.attempts) == ("backoff", 1)
    assert told.attempt is not None
    assert (told.attempt.position, told.attempt.snapshot_position) == (5, 4)
    assert told.at.position == live.position == 5


def test_what_bound_it(bound: Live) -> None:
    told, member = bound.why(GANG), bound.why(POD)
    assert told.verdict is member.verdict is Fate.SCHEDULED
    assert told.attempt is not None
    assert told.attempt == member.attempt
    assert (told.attempt.position, told.attempt.number, told.attempt.outcome) == (7, 2, "scheduled")
    assert member.summary == "Successfully assigned default/trainer-0 to n1"
    assert (member.since, member.phase) == (told.since, "Running")


@pytest.mark.parametrize(
    ("position", "verdict", "lane", "created"),
    [
        pytest.param(2, Fate.GATED, None, 0, id="before its members"),
        pytest.param(3, Fate.GATED, "gated", 1, id="before all of them"),
        pytest.param(4, Fate.PENDING, "active", 2, id="before it was tried"),
        pytest.param(5, Fate.UNSCHEDULABLE, "backoff", 2, id="refused"),
        pytest.param(8, Fate.PARTLY_SCHEDULED, "active", 2, id="in the middle of the batch that binds it"),
        pytest.param(9, Fate.SCHEDULED, None, 2, id="bound"),
    ],
)
def test_at_any_past_position(
    bound: Live, position: int, verdict: Fate, lane: str | None, created: int
) -> None:
    told = bound.why(GANG, at=position)
    assert (told.verdict, told.lane, told.at.position) == (verdict, lane, position)
    assert told.quorum is not None
    assert told.quorum.created == created


def test_the_past_does_not_change(live: Live) -> None:
    position = live.position
    before = live.why(GANG, at=position)
    live.apply(node("n2", gpu=8)).settle().delete("Node/n1")
    assert live.why(GANG, at=position) == before


def test_a_deleted_pod(bound: Live) -> None:
    before = bound.wait(60).why(POD)
    bound.delete(POD).wait(60)
    told = bound.why(POD)
    assert told.verdict is Fate.DELETED
    assert (told.object, told.attempt) == (before.object, before.attempt)
    assert told.note == "it was deleted at 2026-01-01T00:01:02Z, position 13"
    assert told.before is not None
    assert told.before.verdict is Fate.SCHEDULED
    assert told.before.bound == before.bound


def test_a_deleted_group_keeps_its_last_attempt(bound: Live) -> None:
    bound.delete(GANG, POD, "Pod/default/trainer-1").settle()
    told = bound.why(GANG)
    assert told.verdict is Fate.DELETED
    assert told.attempt is not None
    assert (told.attempt.position, told.attempts) == (7, 2)
    assert told.before is not None
    assert (told.before.verdict, told.before.at.position) == (Fate.SCHEDULED, 9)


def test_a_refused_group_that_was_deleted(live: Live) -> None:
    refused = live.why(GANG, at=5)
    live.delete(POD, "Pod/default/trainer-1", GANG).settle()
    told = live.why(GANG)
    assert told.verdict is Fate.DELETED
    assert told.attempt is not None
    assert (told.attempt.position, told.attempt.outcome) == (5, "unschedulable")
    assert told.before == refused


def test_an_object_of_the_same_name_is_another_one(bound: Live) -> None:
    old = bound.why(GANG)
    bound.delete(GANG, POD, "Pod/default/trainer-1").settle().apply(group("trainer", 3)).settle()
    told = bound.why(GANG)
    assert told.object.uid != old.object.uid
    assert (told.verdict, told.attempt, told.attempts) == (Fate.GATED, None, 0)


def test_an_attempt_that_is_over_does_not_explain_what_came_later(bound: Live) -> None:
    told = bound.apply(pod("trainer-2", gpu=8, group="trainer")).why(GANG)
    assert (told.verdict, told.lane, told.attempt) == (Fate.PARTLY_SCHEDULED, "active", None)


def test_a_group_whose_members_were_created_on_nodes_has_no_attempt(sqlite_store: Store) -> None:
    live = Live(sqlite_store).apply(node("n1", gpu=8), group("trainer", 1), *gang(1, node="n1")).settle()
    told = live.why(GANG)
    assert (told.verdict, told.attempt) == (Fate.SCHEDULED, None)


def test_a_refusal_that_was_found_before(live: Live) -> None:
    first = live.why(GANG)
    live.apply(node("n1", gpu=8, pods=111)).settle()
    told = live.why(GANG)
    assert told.attempt is not None
    assert told.attempt.findings_position < told.attempt.position
    assert (told.summary, told.shapes) == (first.summary, first.shapes)


@pytest.mark.parametrize(
    ("subject", "position", "error", "text"),
    [
        pytest.param("Pod/default/no-such", None, NotFound, 'pods "no-such" not found', id="never"),
        pytest.param(POD, 2, NotFound, "up to position 2", id="not yet"),
        pytest.param(POD, 1000, Expired, "position 1000 is in the future", id="in the future"),
        pytest.param("Node/n9", None, NotFound, 'nodes "n9" not found', id="no such node"),
    ],
)
def test_what_never_was(
    live: Live, subject: str, position: int | None, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        live.why(subject, at=position)


def test_a_group_that_pods_only_name_never_was(sqlite_store: Store) -> None:
    live = Live(sqlite_store).apply(*gang(1))
    with pytest.raises(NotFound, match=r'"trainer" not found.*; Pod trainer-0 names it and waits$'):
        live.why(GANG)
    assert live.why(POD).lane == "incomplete"


def test_what_never_was_may_be_in_another_namespace(sqlite_store: Store) -> None:
    live = Live(sqlite_store).apply(*(group("trainer", 2, namespace=name) for name in ("b", "a")), *gang(2))
    with pytest.raises(NotFound, match=r"; 2 Pods \(trainer-0, trainer-1\) name it and wait; ") as caught:
        live.why(GANG)
    assert str(caught.value).endswith("; there is one in namespaces a, b")


def test_a_gang_that_runs_on_below_its_minimum_names_its_newest_victim(bound: Live) -> None:
    high = {"priorityClassName": "high"}
    bound.apply(priority_class("high", 100), pod("vip", gpu=8, **high)).settle()
    told = bound.why(GANG)
    assert told.verdict is Fate.SCHEDULED
    assert told.note == "1 member on nodes, 1 fewer than its minimum of 2, none waits"
    assert told.evicted is not None
    assert told.evicted.by == "Pod/default/vip"
    assert told.evicted.pod not in bound.cluster.state.pods
    assert bound.why(GANG, level=2).evicted is not None
    bound.delete("Pod/default/vip").apply(pod("trainer-9", gpu=8, group="trainer")).settle()
    assert bound.why(GANG).evicted is None


def test_members_on_a_node_that_has_left(bound: Live) -> None:
    bound.delete("Node/n2")
    assert [(each.node, each.gone) for each in bound.why(GANG).bound] == [("n1", False), ("n2", True)]


# History


def told(live: Live, subject: str) -> list[tuple[int, str]]:
    return [(entry.position, entry.summary) for entry in live.history(subject)]


REFUSED = (
    "attempt 1: Unschedulable: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, "
    "pod group preemption: No preemption victims found for incoming preemptor"
)


def test_history_of_a_group(bound: Live) -> None:
    assert told(bound, GANG) == [
        (2, "created: gang, minCount 2"),
        (3, "Pod trainer-0 created"),
        (4, "Pod trainer-1 created"),
        (5, REFUSED),
        (7, "attempt 2: Scheduled, 2 placed"),
        (8, "Pod trainer-0 bound to n1"),
        (9, "Pod trainer-1 bound to n2"),
        (10, "Pod trainer-0 is Running"),
        (11, "Pod trainer-1 is Running"),
    ]


def test_history_of_a_member_has_the_attempts_of_its_group(bound: Live) -> None:
    bound.apply(group("trainer", 3)).apply(pod("trainer-2", gpu=8, group="trainer")).settle()
    first, late = told(bound, POD), told(bound, "Pod/default/trainer-2")
    assert first == [
        (3, "created"),
        (5, f"{REFUSED}; it had a place, which was given up with those of its group"),
        (7, "attempt 2: Scheduled, 2 placed"),
        (8, "bound to n1"),
        (10, "is Running"),
    ]
    assert [summary[:24] for _, summary in late] == ["created", "attempt 1: Unschedulable"]


def test_history_of_a_node(bound: Live) -> None:
    bound.delete(POD).settle().delete("Node/n1")
    assert [summary for _, summary in told(bound, "Node/n1")] == [
        "created: cpu 8, memory 32Gi, nvidia.com/gpu 8, pods 110",
        "Pod default/trainer-0 bound to n1",
        "Pod default/trainer-0 is Running",
        "Pod default/trainer-0 is being deleted, with 30 s of grace",
        "Pod default/trainer-0 gone from n1",
        "gone",
    ]


def test_history_of_what_is_gone_and_came_again(bound: Live) -> None:
    bound.delete(POD).settle().apply(*gang(1)).settle()
    summaries = [summary for _, summary in told(bound, POD)]
    assert summaries.count("created") == 2
    assert summaries.count("gone from n1") == 1
    attempts = [summary for summary in summaries if summary.startswith("attempt")]
    assert [attempt[:10] for attempt in attempts] == ["attempt 1:", "attempt 2:", "attempt 1:"]


def test_history_of_what_never_was_is_empty(live: Live) -> None:
    assert live.history("Pod/default/no-such") == []


@pytest.mark.parametrize("subject", [GANG, POD, "Node/n1"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_pages_make_up_the_whole(bound: Live, subject: str, size: int) -> None:
    whole = bound.history(subject)
    pages, after = [], 0
    while page := bound.history(subject, after=after, limit=size):
        assert len(page) <= size
        pages += page
        after = page[-1].position
    assert pages == whole != []


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        pytest.param({"since": START + 1}, lambda entry: entry.position >= 6, id="since"),
        pytest.param({"until": START}, lambda entry: entry.position < 6, id="until"),
        pytest.param({"since": START, "until": START + 1000 * SECOND}, lambda entry: True, id="all"),
        pytest.param({"since": START + 1000 * SECOND}, lambda entry: False, id="later"),
    ],
)
def test_history_between_two_moments(
    live: Live, bounds: dict[str, int], expected: Callable[[Any], bool]
) -> None:
    live.wait(10).apply(node("n2", gpu=8)).settle()
    whole = live.history(GANG)
    assert live.history(GANG, **bounds) == [entry for entry in whole if expected(entry)]


def test_an_entry_says_who_did_it_and_what_led_to_it(bound: Live) -> None:
    entries = {entry.position: entry for entry in bound.history(GANG)}
    assert (entries[2].actor, entries[2].cause, entries[2].at) == (
        "user",
        None,
        "2026-01-01T00:00:00.000000Z",
    )
    assert (entries[7].actor, entries[7].cause, entries[7].type) == ("scheduler", 6, "GroupAttempted")
    assert (entries[9].batch, entries[9].subjects) == (7, ("Node/n2", "Pod/default/trainer-1", GANG))
