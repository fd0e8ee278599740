"""The queue: order, lanes, backoff, who wakes whom. Source: kube-scheduler 1.37, scheduling queue."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import Book, lost_wake_ups
from build import Story, fact, group, key_of, node, pod
from domain import events as ev
from domain.queue import Entity, Lane, Queue, Stir, Verdict, backoff_us, due_after
from domain.scheduling.cycle import decide
from domain.times import SECOND
from strategies import books

GANG = "PodGroup/default/g"
POD = "Pod/default/p"


def deleted(manifest: dict, **fields: str) -> ev.Payload:
    """The event that the object of `manifest` is gone."""
    uid = f"uid-of-{manifest['metadata']['name']}"
    return ev.PAYLOADS[f"{manifest['kind']}Deleted"](key=key_of(manifest), uid=uid, **fields)


# Backoff


@pytest.mark.parametrize(
    ("pods", "seconds"),
    [
        pytest.param(1, [1, 2, 4, 8, 10, 10, 10], id="a Pod or a group with one"),
        pytest.param(4, [1, 2, 4, 8, 16, 20, 20], id="four Pods"),
        pytest.param(9, [1, 2, 4, 8, 16, 30, 30], id="nine Pods"),
        pytest.param(100, [1, 2, 4, 8, 16, 32, 64, 100, 100], id="a hundred Pods"),
    ],
)
def test_backoff_doubles_up_to_ten_seconds_times_the_root_of_the_pods(pods: int, seconds: list[int]) -> None:
    found = [
        backoff_us(count, pods, initial=SECOND, longest=10 * SECOND) for count in range(1, len(seconds) + 1)
    ]
    assert found == [second * SECOND for second in seconds]


def test_the_longest_backoff_is_a_whole_root_in_microseconds() -> None:
    assert backoff_us(50, 2, initial=SECOND, longest=10 * SECOND) == 14_142_135


@given(
    st.integers(1, 10**6), st.integers(0, 10**5), st.integers(1, 60 * SECOND), st.integers(1, 3600 * SECOND)
)
def test_backoff_never_shrinks_and_never_exceeds_its_limit(
    count: int, pods: int, initial: int, longest: int
) -> None:
    now, later = (backoff_us(n, pods, initial=initial, longest=longest) for n in (count, count + 1))
    assert 0 < now <= later
    assert later**2 <= longest**2 * max(pods, 1)


@pytest.mark.parametrize(
    ("timestamp", "backoff", "due"),
    [
        pytest.param(10_400_000, 1_000_000, 12_000_000, id="between two seconds"),
        pytest.param(10_000_000, 1_000_000, 12_000_000, id="on a second still backs off"),
        pytest.param(10_999_999, 1_000_000, 12_000_000, id="just before a second"),
        pytest.param(0, 14_142_135, 15_000_000, id="a root"),
    ],
)
def test_backoff_is_over_on_the_next_whole_second(timestamp: int, backoff: int, due: int) -> None:
    assert due_after(timestamp, backoff) == due


def dues(story: Story, name: str, rounds: int) -> list[int]:
    """How long `name` waits after each of its refusals, in seconds, if something always wakes it."""
    found = []
    for number in range(rounds):
        story.decide()
        entity = story.state.queue.entities[name]
        found.append((entity.due_us - story.now) // SECOND)
        story.append(fact(node("small", cpu="1", pods=111 + number), "Updated"))
        story.wait(entity.due_us // SECOND - story.now // SECOND)
    return found


def test_a_gang_backs_off_longer_each_time() -> None:
    members = [pod(f"g-{number}", cpu="1", group="g") for number in range(4)]
    story = Story(node("small", cpu="1"), group("g", 4), *members)
    assert dues(story, GANG, 7) == [2, 3, 5, 9, 17, 21, 21]


def test_members_that_are_being_deleted_do_not_lengthen_the_backoff() -> None:
    """They are left out of the cycle, and of the queue after it (kube-scheduler 1.37)."""
    members = [pod(f"g-{number}", cpu="1", group="g") for number in range(9)]
    story = Story(node("small", cpu="1"), group("g", 4), *members)
    for number in range(4, 9):
        dying = ev.Deletion(at=story.now, grace=30)
        story.append(ev.PodUpdated(key=f"default/g-{number}", group="default/g", deletion=dying))
    assert dues(story, GANG, 7) == [2, 3, 5, 9, 17, 21, 21]


def test_a_success_ends_the_backoff_and_the_counting() -> None:
    story = Story(
        node("small", cpu="1"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(3)]
    )
    story.decide()
    assert story.state.queue.entities[GANG].unschedulable == 1
    story.append(fact(node("big", cpu="1"))).wait(2)
    first = decide(story.state, story.now)
    assert first is not None
    story.append(*first.payloads)
    left = story.state.queue.entities[GANG]
    assert (left.unschedulable, left.errors, left.verdict) == (0, 0, Verdict.UNTRIED)
    assert story.state.queue.lane(left, story.now) is Lane.ACTIVE


def test_an_error_counts_for_itself() -> None:
    """Refused twice and then in error: backs off for the first time."""
    story = Story(
        node("small", cpu="1"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(2)]
    )
    dues(story, GANG, 2)
    story.append(fact(pod("g-bad", cpu="1", group="g", priority=7))).decide()
    entity = story.state.queue.entities[GANG]
    assert (entity.unschedulable, entity.errors, entity.verdict) == (2, 1, Verdict.ERROR)
    assert entity.due_us == story.now + 2 * SECOND


def test_the_configuration_sets_initial_and_longest_backoff() -> None:
    story = Story(
        node("small", cpu="1"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(2)]
    )
    story.append(ev.SchedulerConfigured(initial_backoff_us=3 * SECOND, max_backoff_us=5 * SECOND))
    assert dues(story, GANG, 3) == [4, 7, 8]  # 3, 6, 5 × √2


# Order


def entity(name: str, **fields: int | str) -> Entity:
    return Entity(
        **{"name": name, "uid": "", "priority": 0, "timestamp": 0, "arrival": 0, "is_pod": True, **fields}
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"priority": 5, "timestamp": 9}, {"priority": 4, "timestamp": 1}, id="priority"),
        pytest.param({"timestamp": 1, "arrival": 9}, {"timestamp": 2, "arrival": 1}, id="timestamp"),
        pytest.param({"arrival": 1, "name": "Pod/z/z"}, {"arrival": 2, "name": "Pod/a/a"}, id="arrival"),
        pytest.param({"name": "Pod/a/z"}, {"name": "Pod/b/a"}, id="namespace"),
        pytest.param({"name": "Pod/a/a"}, {"name": "PodGroup/a/b"}, id="name"),
        pytest.param({"uid": "1"}, {"uid": "2"}, id="uid"),
    ],
)
def test_order_of_the_active_lane(first: dict, second: dict) -> None:
    one, other = ({"name": "Pod/a/a", **fields} for fields in (first, second))
    assert entity(**one).order() < entity(**other).order()


def test_a_group_waits_since_its_object_came_and_not_its_pods() -> None:
    """The Pods of `late` are older than `g`, but they became an entity after it."""
    story = Story(node("n", cpu="8"), pod("late-0", group="late"))
    story.wait(1).add(group("g", 1), pod("g-0", group="g")).wait(1).add(group("late", 1))
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.entity == GANG


def test_a_group_made_again_is_a_new_entity() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g")).decide()
    assert story.state.queue.entities[GANG].attempts == 1
    story.append(deleted(group("g")))
    assert story.state.queue.entities[GANG].attempts == 0
    again = group("g", 1)
    again["metadata"]["uid"] = "another"
    story.wait(1).add(again)
    found = story.state.queue.entities[GANG]
    assert (found.uid, found.attempts, found.timestamp) == ("another", 0, story.now)
    assert story.state.queue.lane(found, story.now) is Lane.ACTIVE


def test_further_members_do_not_change_since_when_a_group_waits() -> None:
    story = Story(group("g", 3), pod("g-0", group="g"))
    since = story.state.queue.entities[GANG].timestamp
    story.wait(5).add(pod("g-1", group="g"), pod("g-2", group="g"))
    assert story.state.queue.entities[GANG].timestamp == since


def test_a_refusal_renews_the_timestamp_and_what_wakes_it_does_not() -> None:
    story = Story(node("n", cpu="1"), pod("p", cpu="2")).wait(3).decide()
    assert story.state.queue.entities[POD].timestamp == story.now
    refused = story.now
    story.wait(2).add(node("m", cpu="1"))
    assert story.state.queue.entities[POD].timestamp == refused


def test_members_left_over_from_a_success_keep_their_place() -> None:
    story = Story(node("n", cpu="2"), group("g", 1), *[pod(f"g-{n}", cpu="1", group="g") for n in range(3)])
    since = story.now
    story.wait(4)
    decision = decide(story.state, story.now)
    assert decision is not None
    story.append(*decision.payloads)
    assert story.state.queue.entities[GANG].timestamp == since


# Lanes


def lane(story: Story, name: str, seconds: int = 0) -> Lane:
    return story.state.queue.lane(story.state.queue.entities[name], story.now + seconds * SECOND)


def test_a_refused_group_serves_its_backoff_then_rests() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g"))
    assert lane(story, GANG) is Lane.ACTIVE
    story.decide()
    assert [lane(story, GANG, seconds) for seconds in (0, 1, 2, 600)] == [
        Lane.BACKOFF,
        Lane.BACKOFF,
        Lane.UNSCHEDULABLE,
        Lane.UNSCHEDULABLE,
    ]
    story.add(node("m", cpu="4"))
    assert [lane(story, GANG, seconds) for seconds in (0, 1, 2)] == [
        Lane.BACKOFF,
        Lane.BACKOFF,
        Lane.ACTIVE,
    ]


def test_a_refused_pod_rests_until_it_is_woken_then_serves_what_is_left() -> None:
    story = Story(node("n", cpu="1"), pod("p", cpu="2")).decide()
    assert lane(story, POD) is Lane.UNSCHEDULABLE
    story.add(node("m", cpu="2"))
    assert lane(story, POD) is Lane.BACKOFF
    assert lane(story, POD, 2) is Lane.ACTIVE


def test_a_woken_pod_leaves_backoff_early_when_nobody_is_active() -> None:
    story = Story(node("n", cpu="1"), pod("p", cpu="2")).decide()
    story.add(node("m", cpu="4"))
    assert story.state.queue.next_due() == 0
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.entity == POD


def test_nobody_leaves_backoff_early_while_somebody_is_active() -> None:
    story = Story(node("n", cpu="1"), pod("p", cpu="2")).decide()
    story.add(node("m", cpu="4"), pod("other", cpu="8"))
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.entity == "Pod/default/other"


def test_of_pods_in_backoff_the_one_due_first_leaves_first() -> None:
    story = Story(node("n", cpu="1"), pod("p", cpu="2")).decide().wait(3)
    story.add(pod("important", cpu="3", priority=9)).decide()
    story.add(node("m", cpu="3"), pod("there", cpu="2", node="m", priority=9))
    decision = decide(story.state, story.now + 500_000)
    assert decision is not None
    assert decision.attempt.entity == POD  # its backoff was over long ago
    story.append(*decision.payloads)
    decision = decide(story.state, story.now + 500_000)
    assert decision is not None
    assert decision.attempt.entity == "Pod/default/important"


def test_a_group_never_leaves_backoff_early() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g")).decide()
    story.add(node("m", cpu="4"))
    assert decide(story.state, story.now) is None
    assert story.state.queue.next_due() == story.now + 2 * SECOND
    assert decide(story.state, story.now + 2 * SECOND - 1) is None
    assert decide(story.state, story.now + 2 * SECOND) is not None


def test_an_error_never_leaves_backoff_early() -> None:
    story = Story(node("n", cpu="1"), pod("p", cpu="1")).decide()
    story.append(ev.BindingFailed(pod="default/p", uid="uid-of-p", node="n", message="no"))
    assert story.state.queue.entities[POD].verdict is Verdict.ERROR
    assert decide(story.state, story.now) is None
    assert decide(story.state, story.now + 2 * SECOND) is not None


def test_by_the_clock_a_refused_group_is_tried_again_for_ever() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g"))
    story.append(ev.SchedulerConfigured(retry="byClock")).decide()
    waits = []
    for _ in range(6):
        due = story.state.queue.next_due()
        assert due is not None
        waits.append((due - story.now) // SECOND)
        story.wait(waits[-1]).decide()
    assert waits == [2, 3, 5, 9, 11, 11]
    attempts = [event.payload for event in story.events if isinstance(event.payload, ev.GroupAttempted)]
    assert [attempt.same_as is None for attempt in attempts] == [True] + [False] * 6
    assert len({attempt.same_as for attempt in attempts[1:]}) == 1


def test_by_the_clock_a_refused_pod_still_waits_for_an_event() -> None:
    story = Story(node("n", cpu="1"), pod("p", cpu="2"))
    story.append(ev.SchedulerConfigured(retry="byClock")).decide()
    assert story.state.queue.next_due() is None
    assert lane(story, POD, 3600) is Lane.UNSCHEDULABLE


def test_by_change_a_refused_group_is_at_rest() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g")).decide()
    assert story.state.queue.next_due() is None
    story.append(ev.SchedulerConfigured(retry="byClock"))
    assert story.state.queue.next_due() == story.now + 2 * SECOND
    story.append(ev.SchedulerConfigured())
    story.wait(2).decide()
    assert story.state.queue.next_due() is None


# Who wakes whom

ROOMLESS = [node("n", cpu="8"), node("m", cpu="1"), pod("busy", cpu="1", node="n")]
WAITERS: dict[str, tuple[str, list]] = {
    "a Pod": (POD, [pod("p", cpu="8"), group("g", 9), pod("g-0", group="g")]),
    "members alike": (GANG, [group("g", 2), *[pod(f"g-{n}", cpu="8", group="g") for n in range(2)]]),
    "members that differ": (
        GANG,
        [group("g", 2), pod("g-0", cpu="8", group="g"), pod("g-1", cpu="7", group="g")],
    ),
    "members that disagree": (GANG, [group("g", 1), pod("g-0", group="g", priority=4)]),
}
ALL = frozenset(WAITERS)
REFUSED = ALL - {"members that disagree"}
NOBODY: frozenset[str] = frozenset()
SOME = frozenset({"members that differ"})
GROUPS = ALL - {"a Pod"}


def busy_ends() -> ev.Payload:
    ended = pod("busy", cpu="1", node="n")
    ended["status"] = {"phase": "Succeeded"}
    return fact(ended, "Updated")


def busy_begins_to_end() -> ev.Payload:
    return ev.PodUpdated(key="default/busy", node="n", deletion=ev.Deletion(at=0, grace=30))


@pytest.mark.parametrize("waiter", WAITERS)
@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        pytest.param(lambda: fact(node("new", cpu="8")), REFUSED, id="a node comes"),
        pytest.param(lambda: fact(node("new", cpu="1")), SOME, id="a node comes that is too small"),
        pytest.param(lambda: fact(node("m", cpu="8"), "Updated"), REFUSED, id="a node changes"),
        pytest.param(lambda: fact(node("m", cpu="4"), "Updated"), NOBODY, id="a node stays too small"),
        pytest.param(lambda: deleted(node("m")), SOME, id="a node goes"),
        pytest.param(lambda: deleted(pod("busy"), node="n"), REFUSED, id="a Pod leaves its node"),
        pytest.param(busy_ends, REFUSED, id="a Pod ends"),
        pytest.param(busy_begins_to_end, NOBODY, id="a Pod begins to end"),
        pytest.param(lambda: fact(pod("extra", cpu="1", node="n")), SOME, id="a Pod comes bound"),
        pytest.param(lambda: fact(pod("extra", cpu="1", node="m")), NOBODY, id="a Pod comes to no use"),
        pytest.param(lambda: fact(pod("q", cpu="9")), NOBODY, id="another Pod waits"),
        pytest.param(lambda: deleted(pod("waits")), NOBODY, id="a waiting Pod goes"),
        pytest.param(lambda: fact(pod("g-9", cpu="8", group="g")), GROUPS, id="a member comes"),
        pytest.param(lambda: deleted(pod("g-0"), group="default/g"), GROUPS, id="a member goes"),
        pytest.param(lambda: fact(group("g", 1), "Updated"), GROUPS, id="minCount changes"),
        pytest.param(lambda: fact(group("other", 1)), NOBODY, id="another group comes"),
        pytest.param(ev.SchedulerConfigured, REFUSED, id="configuration"),
    ],
)
def test_what_wakes_whom(waiter: str, change: Callable[[], ev.Payload], wakes: frozenset[str]) -> None:
    """A member that goes may leave nobody behind who could be woken; then the entity is gone or held."""
    name, objects = WAITERS[waiter]
    story = Story(*ROOMLESS, pod("waits", gates=["example.com/wait"]), *objects).decide()
    entity = story.state.queue.entities[name]
    assert not story.state.queue.awake(entity)
    story.append(change())
    after = story.state.queue.entities.get(name)
    awake = after is None or after.hold is not None or story.state.queue.awake(after)
    assert awake is (waiter in wakes)


@given(books(min_size=12))
def test_nobody_sleeps_who_could_start(book: Book) -> None:
    assert lost_wake_ups(book.state, book.now) == []


# The indexes


@given(books(min_size=8), st.lists(st.integers(-3, 90), min_size=1, max_size=12))
def test_the_indexes_find_whom_a_search_finds(book: Book, seconds: list[int]) -> None:
    queue = book.state.queue
    for second in seconds:  # in any order: a replay may look back
        now = book.now + second * SECOND
        assert queue.first_due(now) is queue._first_due_by_search(now)


@given(books(min_size=8))
def test_the_next_due_moment_is_the_first_at_which_somebody_is_due(book: Book) -> None:
    queue = book.state.copy().queue
    due = queue.next_due()
    if due is None:
        assert queue._first_due_by_search(book.now + 10**9 * SECOND) is None
    elif due > book.now:
        assert queue._first_due_by_search(due - 1) is None
        assert queue._first_due_by_search(due) is not None
    else:
        assert queue._first_due_by_search(book.now) is not None


@given(books(min_size=8), st.integers(0, 100))
def test_in_order_is_the_order_in_which_they_are_tried(book: Book, seconds: int) -> None:
    now = book.now + seconds * SECOND
    listed = list(book.state.queue.in_order(now))
    assert {found.name for _, found in listed} == book.state.queue.entities.keys()
    for (lane, one), (next_lane, other) in pairwise(listed):
        assert list(Lane).index(lane) <= list(Lane).index(next_lane)
        if lane is next_lane is Lane.BACKOFF:
            assert (one.due_us, one.order()) < (other.due_us, other.order())
        elif lane is next_lane:
            assert one.order() < other.order()
    if listed and listed[0][0] is Lane.ACTIVE:
        assert book.state.queue.first_due(now) is listed[0][1]


def test_a_stir_wakes_those_that_sleep_on_it_or_on_something_more_frequent() -> None:
    queue = Queue()
    for name, kind in (("Pod/a/own", Stir.OWN), ("Pod/a/room", Stir.ROOM), ("Pod/a/move", Stir.MOVE)):
        queue.put(entity(name, verdict=Verdict.REJECTED, wakes_on=kind, snapshot=5))
    queue.stir(Stir.MOVE, 6)
    assert [queue.awake(found) for found in queue.entities.values()] == [False, False, True]
    queue.stir(Stir.ROOM, 7)
    assert [queue.awake(found) for found in queue.entities.values()] == [False, True, True]


def test_entries_that_are_overtaken_do_not_pile_up() -> None:
    queue = Queue()
    others = [entity(f"Pod/a/{number}", priority=number) for number in range(3)]
    for one in others:
        queue.put(one)
    for turn in range(1_000):
        last = others[turn % 3]
        last.priority += 3
        queue.put(last)
        if turn % 100 == 0:
            assert queue.first_due(0) is max(others, key=lambda one: one.priority)
    entries = queue._ready
    assert len(entries) < 100
    assert queue.first_due(0) is max(others, key=lambda one: one.priority)
