"""The worker: one thing after the other, each decision on a world that it saw."""

from collections.abc import Callable
from itertools import count
from threading import Event as Flag
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from books import lost_wake_ups
from build import START, Manifest, group, node, pod
from domain import events as ev
from domain.admission.kinds import kind_named
from domain.envelope import decode_line
from domain.queue import Lane
from domain.reducer import fold
from domain.scheduling.cycle import Decision, decide
from domain.state import State, encode_state
from domain.times import SECOND
from domain.upcast import CURRENT
from store.engine import Store
from store.errors import CommitConflict, LeaseHeld, StaleEpoch
from store.leases import acquire, release
from store.verify import verify
from strategies import CLASSES, Action, actions, perform
from worker import loop
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.replaying import StoredLog, replay

_streams = count(1)


class Writer:
    """A process that opens the cluster, and what it asks of it."""

    def __init__(self, store: Store, stream: str, clock: VirtualClock) -> None:
        self.cluster = Cluster.open(store, stream, clock=clock)

    def apply(self, manifests: list[Manifest]) -> Any:
        return self.cluster.apply(manifests)

    def delete(self, kind: str, key: str, *, grace: int | None = None) -> Any:
        return self.cluster.delete([(kind_named(kind), key)], grace=grace)

    def stored(self, kind: str, key: str) -> Any:
        self.cluster.refresh()
        return self.cluster.new_batch().get(kind, key)


class Scene:
    """A worker on a stream of its own, with writers beside it."""

    def __init__(self, store: Store, *manifests: Manifest) -> None:
        self.store = store
        self.stream = f"scene-{next(_streams)}"
        self.clock = VirtualClock(START)
        self.writer = Writer(store, self.stream, self.clock)
        if manifests:
            self.writer.apply(list(manifests))
        self.cluster = Cluster.open(store, self.stream, clock=self.clock)
        self.worker = Worker(self.cluster)

    @property
    def state(self) -> State:
        return self.cluster.state

    def node_of(self, name: str) -> str | None:
        return self.state.pods[f"default/{name}"].node

    def attempts(self) -> list[ev.GroupAttempted]:
        found = []
        for stored in self.cluster.log.of_type("GroupAttempted"):
            payload = CURRENT.event(stored.type, stored.line).payload
            assert isinstance(payload, ev.GroupAttempted)
            found.append(payload)
        return found

    def types(self) -> list[str]:
        return [stored.type for stored in self.cluster.log.read()]

    def assert_sound(self) -> None:
        """The log folds to the State, and its chain holds."""
        events = [CURRENT.event(each.type, each.line) for each in self.cluster.log.read()]
        assert encode_state(fold(State(), events)) == encode_state(self.state)
        verify(self.cluster.log)


@pytest.fixture
def scene(store: Store) -> Callable[..., Scene]:
    """Makes scenes on either store."""
    return lambda *manifests: Scene(store, *manifests)


GANG = [group("g", 2), pod("g-0", cpu="1", group="g"), pod("g-1", cpu="1", group="g")]


# One thing after the other


def test_a_step_is_a_decision_or_what_nodes_do(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="2"), *GANG)
    assert at.worker.step()
    assert at.types()[4:] == ["GroupAttempted", "PodBound", "PodBound"]
    assert at.worker.step()
    assert at.types()[7:] == ["PodUpdated", "PodUpdated"]
    assert not at.worker.step()
    at.assert_sound()


def test_a_decision_is_one_batch_by_the_scheduler_with_its_cause(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="2"), *GANG)
    at.worker.step()
    lines = [decode_line(stored.line) for stored in at.cluster.log.read(4)]
    assert [(line.batch, line.index) for line in lines] == [(5, 0), (5, 1), (5, 2)]
    assert {line.actor for line in lines} == {"scheduler"}
    assert {line.cause for line in lines} == {4}
    assert {line.at for line in lines} == {START}


def test_next_due(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="1"))
    assert at.worker.next_due() is None
    at.writer.apply([group("g", 1), pod("g-0", cpu="2", group="g")])
    at.cluster.refresh()
    assert at.worker.next_due() == 0
    assert at.worker.step()
    assert at.worker.next_due() is None  # refused, and nothing has changed
    at.writer.apply([node("m", cpu="2")])
    assert not at.worker.step()  # it backs off
    assert at.worker.next_due() == START + 2 * SECOND
    at.writer.apply([pod("short", cpu="0", annotations={"ganger.dev/run-seconds": "1"})])
    assert at.worker.step()
    assert at.worker.step()
    assert at.worker.next_due() == START + SECOND


def test_advance_does_what_falls_due_and_stops_where_it_was_told(scene: Callable[..., Scene]) -> None:
    run = {"ganger.dev/run-seconds": "10"}
    at = scene(node("n", cpu="1"), pod("a", cpu="1", annotations=run), pod("b", cpu="1", annotations=run))
    at.worker.advance(at.clock, START + 15 * SECOND)
    assert at.clock.now() == START + 15 * SECOND
    assert [at.state.pods[f"default/{name}"].phase for name in "ab"] == ["Succeeded", "Running"]
    at.worker.settle(at.clock)
    assert at.clock.now() == START + 20 * SECOND
    assert at.state.pods["default/b"].phase == "Succeeded"
    at.assert_sound()


def test_settled_is_when_time_would_move_nothing(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g"), pod("p", gates=["x/y"]))
    at.worker.settle(at.clock)
    assert at.clock.now() == START
    assert at.worker.next_due() is None
    assert len(at.attempts()) == 1


def test_settled_is_when_incomplete_trees_have_spoken(scene: Callable[..., Scene]) -> None:
    at = scene(pod("g-0", group="g"))
    assert "conditions" not in at.cluster.shown(kind_named("pod"), "default/g-0")["status"]
    at.worker.settle(at.clock)
    assert at.clock.now() == START + 300 * SECOND
    assert at.worker.next_due() is None
    for shown in (
        at.cluster.shown(kind_named("pod"), "default/g-0"),
        *at.cluster.shown_all(kind_named("pod")),
    ):
        assert shown is not None
        assert shown["status"]["conditions"] == [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastTransitionTime": "2026-01-01T00:05:00Z",
                "reason": "Unschedulable",
                "message": "pod group default/g not found in workload forest",
                "observedGeneration": 1,
            }
        ]
    assert len(at.attempts()) == 0


def test_time_does_not_go_back_in_the_log(scene: Callable[..., Scene]) -> None:
    at = scene(node("n"), pod("a"))
    at.worker.settle(at.clock)
    slow = Cluster.open(at.store, at.stream, clock=VirtualClock(START - 3600 * SECOND))
    slow.apply([node("m"), pod("b")])
    Worker(slow).step()
    assert [stored.at for stored in at.cluster.log.read()] == [START] * len(at.types())


def test_run_until_all_is_at_rest(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="1"), *GANG, pod("a", cpu="1", annotations={"ganger.dev/run-seconds": "5"}))
    waits: list[tuple[int, float | None]] = []

    def wait(position: int, seconds: float | None) -> None:
        waits.append((position, seconds))
        assert seconds is not None
        at.clock.advance_to(at.clock.now() + round(seconds * SECOND))

    at.worker.run(Flag(), wait, settled=True)
    assert [seconds for _, seconds in waits] == [5.0]
    assert waits[0][0] < at.state.position
    assert at.worker.next_due() is None


def test_run_stops_when_told_and_waits_without_limit_where_nothing_is_due(
    scene: Callable[..., Scene],
) -> None:
    at, stop = scene(node("n"), *GANG), Flag()
    waits: list[float | None] = []

    def wait(position: int, seconds: float | None) -> None:
        assert position == at.state.position
        waits.append(seconds)
        stop.set()

    at.worker.run(stop, wait, settled=False)
    assert waits == [None]
    assert at.node_of("g-0") == "n"


# While it decides, others write


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], list[Decision]]:
    """Lets something happen between the first decision and its commit; gives the decisions made."""
    made: list[Decision] = []

    def install(happens: Callable[[], object]) -> list[Decision]:
        def decide_while_it_happens(state: State, now: int) -> Decision | None:
            decision = decide(state, now)
            if decision is not None:
                made.append(decision)
                if len(made) == 1:
                    happens()
            return decision

        monkeypatch.setattr(loop, "decide", decide_while_it_happens)
        return made

    return install


Happening = Callable[[Scene], object]


def busy() -> list[Manifest]:
    """n1 is where the gang goes; `far` and n2 are none of its business."""
    return [
        node("n1", cpu="4"),
        node("n2", cpu="1"),
        pod("far", cpu="1", node="n2"),
        pod("near", cpu="1", node="n1"),
        group("other", 5),
        *GANG,
    ]


IRRELEVANT: dict[str, Happening] = {
    "a Pod waits": lambda at: at.writer.apply([pod("x", cpu="1", gates=["x/y"])]),
    "a member waits": lambda at: at.writer.apply([pod("g-2", cpu="1", group="g")]),
    "a node comes": lambda at: at.writer.apply([node("n3", cpu="8")]),
    "another node changes": lambda at: at.writer.apply([node("n2", cpu="2")]),
    "another node goes": lambda at: at.writer.delete("Node", "n2"),
    "a Pod elsewhere goes": lambda at: at.writer.delete("Pod", "default/far", grace=0),
    "a Pod goes from its node": lambda at: at.writer.delete("Pod", "default/near", grace=0),
    "a Pod comes bound elsewhere": lambda at: at.writer.apply([pod("x", node="n2")]),
    "another group changes": lambda at: at.writer.apply([group("other", 4)]),
    "many write": lambda at: [at.writer.apply([pod(f"x{n}", gates=["x/y"])]) for n in range(20)],
}


@pytest.mark.parametrize("happens", IRRELEVANT.values(), ids=IRRELEVANT)
def test_who_writes_of_other_things_never_makes_it_start_again(
    happens: Happening, scene: Callable[..., Scene], meanwhile: Callable[..., list[Decision]]
) -> None:
    at = scene(*busy())
    at.worker._let_nodes_act()
    made = meanwhile(lambda: happens(at))
    assert at.worker.step()
    assert len(made) == 1
    (attempt,) = at.attempts()
    assert attempt.snapshot == made[0].snapshot
    assert attempt.outcome == "scheduled"
    assert (at.node_of("g-0"), at.node_of("g-1")) == ("n1", "n1")
    at.worker.settle(at.clock)
    assert lost_wake_ups(at.state, at.clock.now()) == []
    at.assert_sound()


def configure(at: Scene) -> None:
    at.writer.cluster.refresh()
    at.writer.cluster.append([ev.SchedulerConfigured(initial_backoff_us=2 * SECOND)], actor="user")


RELEVANT: dict[str, tuple[Happening, str]] = {
    "a member goes": (lambda at: at.writer.delete("Pod", "default/g-0", grace=0), "held"),
    "its node goes": (lambda at: at.writer.delete("Node", "n1"), "unschedulable"),
    "its node is cordoned": (
        lambda at: at.writer.apply([node("n1", cpu="4", unschedulable=True)]),
        "unschedulable",
    ),
    "its node shrinks": (lambda at: at.writer.apply([node("n1", cpu="2")]), "unschedulable"),
    "its room is taken": (lambda at: at.writer.apply([pod("x", cpu="2", node="n1")]), "unschedulable"),
    "its minimum is raised": (lambda at: at.writer.apply([group("g", 3)]), "held"),
    "its minimum is lowered": (lambda at: at.writer.apply([group("g", 1)]), "scheduled"),
    "a member gets a node from elsewhere": (
        lambda at: at.writer.apply([pod("g-9", cpu="1", group="g", node="n2")]),
        "scheduled",
    ),
    "configuration": (configure, "scheduled"),
}


@pytest.mark.parametrize(("happens", "expected"), RELEVANT.values(), ids=RELEVANT)
def test_what_it_relied_on_changed_so_it_decides_again(
    happens: Happening, expected: str, scene: Callable[..., Scene], meanwhile: Callable[..., list[Decision]]
) -> None:
    at = scene(*busy())
    at.worker._let_nodes_act()
    made = meanwhile(lambda: happens(at))
    before = at.state.position
    assert at.worker.step()
    assert at.attempts() == []  # the decision is thrown away, whole
    assert at.state.position == before
    at.worker.settle(at.clock)
    if expected == "held":
        assert len(made) == 1
        assert at.attempts() == []
        assert (
            at.state.queue.lane(at.state.queue.entities["PodGroup/default/g"], at.clock.now()) is Lane.GATED
        )
    else:
        assert len(made) == 2
        (attempt,) = at.attempts()
        assert (attempt.outcome, attempt.snapshot) == (expected, made[1].snapshot)
        assert attempt.number == 1
        assert (at.node_of("g-0") is not None) is (expected == "scheduled")
    at.assert_sound()


def _whatever_others_write(at: Scene, first: list[Action], moves: list[Action]) -> None:
    for action in first:
        perform(action, at.writer)
    left = iter(moves)
    for _ in range(4 * len(moves)):
        at.cluster.refresh()
        decision = decide(at.state, at.clock.now())
        if decision is None:
            break
        action = next(left, None)
        if action is not None:
            perform(action, at.writer)
        try:
            at.cluster.commit(decision)
        except CommitConflict:
            continue
        assert lost_wake_ups(at.state, at.clock.now()) == []
    at.worker.settle(at.clock)
    at.assert_sound()
    assert replay(StoredLog(at.cluster.log)).same


def test_whatever_others_write_between_decision_and_commit(shared_store: Store) -> None:
    """Each decision finds that somebody wrote while it was made."""
    on_a_server = shared_store.url.get_backend_name() != "sqlite"

    @given(st.lists(actions(), min_size=3, max_size=10), st.lists(actions(), min_size=1, max_size=6))
    @settings(max_examples=settings().max_examples // (5 if on_a_server else 1))
    def holds(first: list[Action], moves: list[Action]) -> None:
        _whatever_others_write(Scene(shared_store, *CLASSES, node("n0", cpu="4"), *GANG), first, moves)

    holds()


# Two workers


@pytest.fixture
def two(scene: Callable[..., Scene]) -> tuple[Scene, Worker, Worker]:
    """A worker whose lease ran out while it was asleep, and the one that took over."""
    at = scene(node("n", cpu="2"), *GANG)
    old = acquire(at.store, at.stream, "old", now=START, ttl_us=15 * SECOND)
    asleep = Worker(at.cluster, epoch=old.epoch)
    with pytest.raises(LeaseHeld):
        acquire(at.store, at.stream, "new", now=START + SECOND, ttl_us=15 * SECOND)
    new = acquire(at.store, at.stream, "new", now=START + 16 * SECOND, ttl_us=15 * SECOND)
    return at, asleep, Worker(Cluster.open(at.store, at.stream, clock=at.clock), epoch=new.epoch)


def test_a_worker_that_lost_its_lease_decides_nothing(two: tuple[Scene, Worker, Worker]) -> None:
    at, asleep, active = two
    head = at.cluster.log.head()
    with pytest.raises(StaleEpoch):
        asleep.step()
    assert at.cluster.log.head() == head
    active.settle(at.clock)
    at.cluster.refresh()
    assert (at.node_of("g-0"), at.node_of("g-1")) == ("n", "n")
    at.assert_sound()


def test_nor_do_its_nodes_act(two: tuple[Scene, Worker, Worker]) -> None:
    at, asleep, active = two
    active.step()  # the binding; what nodes do about it comes next
    head = at.cluster.log.head()
    with pytest.raises(StaleEpoch):
        asleep.step()
    assert at.cluster.log.head() == head


def test_a_decision_made_before_the_lease_was_lost_is_fenced_off(two: tuple[Scene, Worker, Worker]) -> None:
    at, asleep, _ = two
    decision = decide(at.state, at.clock.now())
    assert decision is not None
    with pytest.raises(StaleEpoch):
        at.cluster.commit(decision, epoch=asleep.epoch)
    assert at.attempts() == []


def test_a_worker_that_gave_its_lease_back_is_fenced_off_too(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="2"), *GANG)
    lease = acquire(at.store, at.stream, "me", now=START, ttl_us=15 * SECOND)
    worker = Worker(at.cluster, epoch=lease.epoch)
    assert worker.step()
    release(at.store, lease)
    with pytest.raises(StaleEpoch):
        worker.step()


def test_two_that_decide_the_same_commit_it_once(scene: Callable[..., Scene]) -> None:
    """Without leases: the commit's own check is enough to keep the log sound."""
    at = scene(node("n", cpu="2"), *GANG)
    other = Cluster.open(at.store, at.stream, clock=at.clock)
    mine, theirs = decide(at.state, START), decide(other.state, START)
    assert mine is not None
    assert mine == theirs
    other.commit(theirs)
    with pytest.raises(CommitConflict):
        at.cluster.commit(mine)
    at.worker.settle(at.clock)
    assert len(at.attempts()) == 1
    at.assert_sound()


def test_two_workers_without_leases_take_turns(scene: Callable[..., Scene]) -> None:
    gangs = [
        each
        for name in "abcdef"
        for each in (group(name, 2), *[pod(f"{name}-{n}", cpu="1", group=name) for n in range(2)])
    ]
    at = scene(node("n", cpu="6"), *gangs)
    second = Worker(Cluster.open(at.store, at.stream, clock=at.clock))
    while at.worker.step() or second.step():
        pass
    at.cluster.refresh()
    whole = [name for name in "abcdef" if at.node_of(f"{name}-0") and at.node_of(f"{name}-1")]
    assert whole == ["a", "b", "c"]
    assert sum(each.node is not None for each in at.state.pods.values()) == 6
    at.assert_sound()
